"""Runs the doctests of modules as they are, and again with all their functions converted.

``python doctests_of_converted.py MODULE …``. It replaces functions in the modules, so it needs a process of its own.
Prints how many functions were converted, how many examples gave the same when run twice, and the tests in which some of
these differ then.
"""

import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import random
import re
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import tracemill as tm
from tracemill.compiler.callers.user_code import CONVERTS
from tracemill.compiler.frontend.conversion import conversion_of, converted


def modules(names: list[str]) -> list[types.ModuleType]:
    """The modules with these names and, for packages, those in them, without tests."""
    found = []
    for name in names:
        module = importlib.import_module(name)
        found.append(module)
        inner = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}.")
        kept = (one.name for one in inner if not one.name.endswith((".tests", ".conftest")))
        found += map(importlib.import_module, kept)
    return found


def functions(module: types.ModuleType) -> Iterator[tuple[Any, str, types.FunctionType]]:
    """The functions that a module and its classes define, with what holds them."""
    for name, one in list(vars(module).items()):
        if getattr(one, "__module__", None) != module.__name__:
            continue
        if isinstance(one, types.FunctionType):
            yield module, name, one
        elif isinstance(one, type):
            methods = [(key, held) for key, held in vars(one).items() if isinstance(held, types.FunctionType)]
            yield from ((one, key, held) for key, held in methods)


class Recording(doctest.DocTestRunner):
    """Notes what each example prints, or the exception that it raises, whether that is expected or not."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.noted: list[str] = []

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        self.noted.append(got)

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        self.noted.append(got)

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        self.noted.append(f"{exc_info[0].__name__}: {exc_info[1]}")


def outcomes(module: types.ModuleType, tests: list[doctest.DocTest]) -> list[list[str]]:
    """What the examples of each test print, with the functions that the module has now.

    Tracebacks are the same but for the marks below their lines, and addresses differ.
    """
    found = []
    for test in tests:
        test.globs = {**vars(module), "np": np}
        random.seed(0)
        np.random.seed(0)
        runner = Recording()
        with np.printoptions(), np.errstate(), contextlib.redirect_stdout(io.StringIO()):
            runner.run(test, clear_globs=False)
        found.append([re.sub(r"0x[0-9a-f]+|\n +[~^]*(?=\n)", "", one) for one in runner.noted])
    return found


def main() -> None:
    """Compare both runs."""
    warnings.simplefilter("ignore")
    found = modules(sys.argv[1:])
    tests = [doctest.DocTestFinder(exclude_empty=True).find(module) for module in found]
    before = [outcomes(*pair) for pair in zip(found, tests, strict=True)]
    again = [outcomes(*pair) for pair in zip(found, tests, strict=True)]
    tm.compile(np.sin)  # the hooks of conversion
    CONVERTS.set(tuple({module.__name__.partition(".")[0] for module in found}))
    count = 0
    for module in found:
        for holder, name, function in functions(module):
            if isinstance(conversion_of(function), str):
                continue
            new = converted(function)
            new.__dict__.update(vars(function))
            with contextlib.suppress(TypeError, AttributeError):
                setattr(holder, name, new)
                count += 1
    after = [outcomes(*pair) for pair in zip(found, tests, strict=True)]
    compared, differ = 0, []
    for several, *runs in zip(tests, before, again, after, strict=True):
        for test, first, second, last in zip(several, *runs, strict=True):
            if first == second:  # otherwise it shows something else each time
                compared += len(first)
                differ += [test.name] if last != first else []
    print(json.dumps({"functions": count, "examples": compared, "differ": differ}))


if __name__ == "__main__":
    main()
