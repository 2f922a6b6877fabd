"""Every name of NumPy that dispatches is either traced, and has a sample, or refused for one of a few reasons."""
# ruff: noqa: PLW0108  (lambdas look NumPy's functions up while they are traced)

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

from numpy_surface.differential import run_traced
from samples import numpy_functions, numpy_linalg, numpy_math
from samples.grouping import Case, in_groups
from tracemill.compiler.errors import UnsupportedFunctionError
from tracemill.compiler.numpy_surface import refused
from tracemill.compiler.tracing.registry import FUNCTIONS, LEAVING, METHODS, REFUSED
from tracemill.compiler.tracing.traced_array import TracedArray

REASONS = {refused.TEXT, refused.FILES, refused.DATES, refused.MEMORY, refused.OBJECTS}
ON_DEMAND = {"numpy.char", "numpy.strings", "numpy.polynomial.polynomial"}
"""NumPy loads them when they are asked for, so that their names dispatch only then: text, and one more class."""
OURS = {
    "creation", "dtype_functions", "editing", "factorizations", "flat", "indexing_functions", "joining",
    "linear_systems", "matrices", "padding", "ranges", "rearranging", "reshaping", "splitting",
}  # fmt: skip
"""The modules with samples in `samples.numpy_functions` and `samples.numpy_linalg`."""
SAMPLED = {
    *numpy_functions.all_uses(),
    *numpy_linalg.USES,
    *(name for table in numpy_math.CHAPTERS.values() for name in table),
}
ROW = np.arange(3.0)


@cache
def public_functions() -> dict[str, Any]:
    """NumPy's functions that dispatch by ``__array_function__``, by their full name."""
    functions = get_overridable_numpy_array_functions()
    return {f"{f.__module__}.{f.__name__}": f for f in functions if f.__module__ not in ON_DEMAND}


def public_ufuncs() -> dict[str, Any]:
    """NumPy's ufuncs by name, without those that users only reach through a function, such as ``np.real``."""
    ufuncs = {u.__name__: u for u in get_overridable_numpy_ufuncs() if not u.__name__.startswith("_")}
    return {name: u for name, u in ufuncs.items() if getattr(np, name, u) is u}


def by_module(names: Iterable[str]) -> list[Case]:
    """The names as cases of a test; those of ufuncs have no module."""
    return [Case(name.rpartition(".")[0] or "numpy", name, (name,)) for name in sorted(names)]


def implemented(name: str) -> bool:
    function = public_functions()[name]
    return function in FUNCTIONS or getattr(np, function.__name__, None) in FUNCTIONS


def traces(ufunc: Any) -> bool:
    """Whether a traced call of the ufunc is recorded, on operands of some dtype."""
    for operand in (np.float64(0.5), np.int64(1), True, ROW, np.eye(3)):
        try:
            run_traced(lambda *args: ufunc(*args), *[operand] * ufunc.nin)
        except UnsupportedFunctionError:
            return False
        except (TypeError, ValueError):
            continue
        return True
    return False


@in_groups(by_module(public_functions()))
def test_a_function_is_traced_or_refused_for_a_reason(name: str) -> None:
    short = name.rpartition(".")[2]
    if implemented(name):
        assert short not in REFUSED
    else:
        assert short in REFUSED, f"{name} is neither traced nor refused"


@in_groups(by_module(public_ufuncs()))
def test_a_ufunc_is_traced_or_refused_for_a_reason(name: str) -> None:
    assert traces(public_ufuncs()[name]) != (name in REFUSED)


def test_the_reasons_for_refusing_are_few() -> None:
    assert set(REFUSED.values()) == REASONS


def test_refused_names_are_names_of_numpy() -> None:
    names = {name.rpartition(".")[2] for name in public_functions()} | set(public_ufuncs())
    assert set(REFUSED) <= names


@in_groups(
    by_module(name for name, own in public_functions().items() if not (implemented(name) or own in LEAVING))
)
def test_what_is_not_traced_raises_the_named_error(name: str) -> None:
    function = public_functions()[name]
    with pytest.raises(
        UnsupportedFunctionError, match=rf"np\..*{function.__name__} cannot be traced: .+(\n|.)*at test_names"
    ):
        run_traced(lambda x: x.__array_function__(function, (TracedArray,), (x,), {}), ROW)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.shares_memory(x, x),
        lambda x: np.busday_count(x, x),
        lambda x: np.isnat(x),
        lambda x: np.strings.isalpha(x),
        lambda x: np.fromiter([1.0], float, like=x),
    ],
)
def test_a_refused_call_says_why_and_where(call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        UnsupportedFunctionError, match=r"cannot be traced: .{10}(\n|.)*at test_names\.py:\d+  lambda x"
    ):
        run_traced(call, ROW)


def test_every_function_of_these_chapters_has_a_sample() -> None:
    prefix = "tracemill.compiler.numpy_surface."
    ours = {f.__name__ for f, does in FUNCTIONS.items() if does.__module__.removeprefix(prefix) in OURS}
    assert ours <= SAMPLED


def test_most_of_numpy_is_traced(capsys: pytest.CaptureFixture[str]) -> None:
    functions = [name for name in public_functions() if implemented(name)]
    ufuncs = [name for name, ufunc in public_ufuncs().items() if traces(ufunc)]
    refused_names = [name for name in public_functions() if name.rpartition(".")[2] in REFUSED]
    without_sample = {f.__name__ for f in FUNCTIONS} - SAMPLED
    with capsys.disabled():
        print(
            f"\nNumPy: {len(functions)} functions, {len(ufuncs)} ufuncs and {len(METHODS)} methods are traced; "
            f"{len(refused_names)} functions are refused; "
            f"without a sample here: {' '.join(sorted(without_sample))}"
        )
    assert len(functions) + len(ufuncs) >= 200
