"""What ``import tracemill as tm`` offers."""

import ast
from pathlib import Path

import pytest

import tracemill as tm

ROOT = Path(tm.__file__)


def test_every_public_name_can_be_used_and_is_documented() -> None:
    for name in tm.__all__:
        assert getattr(tm, name).__doc__, name


def test_type_checkers_see_the_names_that_are_imported_on_use() -> None:
    """The imports under TYPE_CHECKING, the homes of the names, and ``__all__`` say the same."""
    (block,) = (node for node in ast.parse(ROOT.read_text()).body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == sorted(tm.__all__)
    for name, module in seen.items():
        expected = tm._HOME.get(name) or tm._MODULES[name].rpartition(".")[0]
        assert module == f"tracemill.{expected}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gradd'"):
        tm.gradd  # noqa: B018


def test_dir_lists_what_has_not_been_used_yet() -> None:
    assert set(tm.__all__) <= set(dir(tm))
