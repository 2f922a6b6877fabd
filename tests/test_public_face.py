"""What ``import tracemill as tm`` offers."""

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import tracemill as tm

ROOT = Path(tm.__file__)


def test_every_public_name_can_be_used_and_is_documented() -> None:
    for name in tm.__all__:
        assert getattr(tm, name).__doc__, name


def test_every_public_function_and_class_shows_an_example() -> None:
    public = [getattr(tm, name) for name in tm.__all__]
    public += [
        getattr(module, name)
        for module in (tm.autograd, tm.checkpoint_policies, tm.dask, tm.nn, tm.numpy, tm.linalg, tm.random)
        for name in module.__all__
    ]
    shown = [found for found in public if not isinstance(found, ModuleType)]
    assert not [found.__name__ for found in shown if ">>> " not in found.__doc__]


def test_what_people_call_on_our_objects_shows_an_example() -> None:
    classes = {
        tm.Artifact: "function save",
        tm.CompiledFunction: "explain_recompile lower report signatures",
        tm.Graph: "code lint print_tabular to_mermaid",
        tm.Interpreter: "run",
        tm.Transformer: "transform",
        tm.autograd.Variable: "backward detach grad is_leaf requires_grad",
    }
    assert not [
        f"{found.__name__}.{name}"
        for found, names in classes.items()
        for name in names.split()
        if ">>> " not in (inspect.getdoc(inspect.getattr_static(found, name)) or "")
    ]


def test_the_page_on_random_numbers_draws_from_every_distribution() -> None:
    page = (ROOT.parent / "docs" / "how-to" / "random.md").read_text(encoding="utf-8")
    methods = [name for name in vars(tm.random.Generator) if not name.startswith("_")]
    assert len(methods) > 30
    assert not [name for name in methods if not re.search(rf"rng\.{name}\b", page)]


def test_the_page_of_functions_names_everything_that_is_public() -> None:
    page = (ROOT.parent / "docs" / "functions.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page.partition("## By purpose")[2].partition("\n## ")[0]))
    assert not set(tm.__all__) - named


def test_type_checkers_see_the_names_that_are_imported_on_use() -> None:
    """The imports under TYPE_CHECKING, the homes of the names, and ``__all__`` say the same."""
    (block,) = (node for node in ast.parse(ROOT.read_text()).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names}
    assert sorted(seen) == sorted(tm.__all__)
    for name, (module, original) in seen.items():
        home = tm._HOME[name] if name in tm._HOME else tm._MODULES[name].removesuffix(f".{original}")
        assert module == f"tracemill.{home}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gradd'"):
        tm.gradd  # noqa: B018


def test_dir_lists_the_public_names_used_or_not() -> None:
    assert [name for name in dir(tm) if not name.startswith("__")] == sorted(tm.__all__)
