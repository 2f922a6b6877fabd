"""Functions and classes by name: ``package.module:function`` or ``path/file.py:Class``."""

import contextlib
import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click


def find_function(name: str) -> Callable[..., Any]:
    """The function with that name. Imports its module, so its code runs; its output goes to standard error.

    Raises `click.UsageError` if there is no such function, `click.ClickException` if its module fails.

    >>> find_function("math:hypot")(3.0, 4.0)
    5.0
    """
    found = _found(name, "function")
    if not callable(found):
        raise click.UsageError(f"{name} is {type(found).__name__}, not a function")
    function: Callable[..., Any] = found
    return function


def find_class(name: str) -> type[Any]:
    """The class with that name. Imports and raises like `find_function`.

    >>> find_class("fractions:Fraction")(1, 2)
    Fraction(1, 2)
    """
    found = _found(name, "class")
    if not isinstance(found, type):
        raise click.UsageError(f"{name} is {type(found).__name__}, not a class")
    return found


def last_part(name: str) -> str:
    """What the user calls the function with that name.

    >>> last_part("model.py:dloss"), last_part("package.module:Model.loss")
    ('dloss', 'loss')
    """
    return name.rpartition(":")[2].rpartition(".")[2]


def _found(name: str, what: str) -> Any:
    place, colon, path = name.rpartition(":")
    if not colon or not place or not path:
        raise click.UsageError(
            f"{name!r} names no {what}: write package.module:{what} or path/file.py:{what}"
        )
    with contextlib.redirect_stdout(sys.stderr):  # the module's output is not part of the result
        found: Any = _module_in_file(Path(place)) if place.endswith(".py") else _module_named(place)
    for part in path.split("."):
        if not hasattr(found, part):
            raise click.UsageError(f"{place} has no {what} {path!r}{_suggestion(found, part)}")
        found = getattr(found, part)
    return found


def _module_named(name: str) -> ModuleType:
    _put_first(os.getcwd())  # as `python -m` does
    try:
        known = (
            all(part.isidentifier() for part in name.split("."))
            and importlib.util.find_spec(name) is not None
        )
    except ModuleNotFoundError:  # the package around it
        known = False
    except Exception as error:
        raise _failed(name, error) from error
    if not known:
        raise click.UsageError(f"there is no module {name!r} here or among the installed packages")
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise _failed(name, error) from error


def _module_in_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise click.UsageError(f"there is no file {path}")
    _put_first(str(path.resolve().parent))  # as `python path` does
    name = path.stem if path.stem not in sys.modules else f"{path.stem} in {path.resolve().parent}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _failed(str(path), error) from error
    return module


def _put_first(folder: str) -> None:
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def _failed(name: str, error: Exception) -> click.ClickException:
    return click.ClickException(f"importing {name} failed: {type(error).__name__}: {error}")


def _suggestion(module: Any, wanted: str) -> str:
    near = difflib.get_close_matches(
        wanted, [name for name in dir(module) if callable(getattr(module, name, None))], 1
    )
    return f": did you mean {near[0]!r}?" if near else ""
