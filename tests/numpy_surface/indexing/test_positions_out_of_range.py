"""NumPy's functions of positions raise NumPy's exceptions for positions that are out of range, compiled or not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

CHOICES = [np.arange(3.0), np.arange(3.0) + 10, np.arange(3.0) + 20]
ROW = np.arange(5.0)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "choose": lambda k: np.choose(k, CHOICES),
    "choose, a method": lambda k: k.choose(CHOICES),
    "choose, out": lambda k: np.choose(k, CHOICES, out=np.zeros(3)),
    "unravel_index": lambda k: np.unravel_index(k, (1, 3))[1],
    "unravel_index, order F": lambda k: np.unravel_index(k, (3, 1), order="F")[0],
    "ravel_multi_index": lambda k: np.ravel_multi_index((0 * k, k), (4, 3)),
    "ravel_multi_index, two modes": lambda k: np.ravel_multi_index((k, k), (2, 3), mode=("clip", "raise")),
}


def outcome(function: Callable[..., Any], *args: Any) -> str:
    """The result, or the exception as a handler sees it: NumPy's class and the first line of the text."""
    try:
        return str(function(*args))
    except (ValueError, IndexError) as error:
        kind = "IndexError" if isinstance(error, IndexError) else "ValueError"
        return f"{kind}: {str(error).splitlines()[0]}"


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_compiled_function_raises_as_numpy_does(function: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend)
    outcomes = set()
    for last in (2, 3, -1, 2**40, np.iinfo(np.int64).min):
        positions = np.array([0, 1, last])
        expected = outcome(function, positions)
        assert outcome(compiled, positions) == expected
        outcomes.add(expected)
    assert sum(one.startswith("ValueError") for one in outcomes) == len(outcomes) - 1


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_other_modes_take_any_position(mode: Any, backend: str) -> None:
    def f(k: Any) -> Any:
        return np.choose(k, CHOICES, mode=mode), np.ravel_multi_index((k, k), (2, 3), mode=mode)

    positions = np.array([-4, 1, 9])
    for found, expected in zip(tm.compile(f, backend=backend)(positions), f(positions), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "raise_if" not in str(tm.compile(f).lower(positions).graph)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_that_nothing_uses_raise_too_and_handlers_see_it(function: Callable[[Any], Any]) -> None:
    def unused(k: Any) -> Any:
        function(k)
        return k.sum()

    def handled(k: Any) -> Any:
        try:
            function(k)
        except IndexError:
            return -2
        except ValueError:
            return -1
        return k.sum()

    wrong, right = np.array([0, 1, 7]), np.array([0, 1, 2])
    with pytest.raises(ValueError, match=r"invalid entry in|out of bounds for array"):
        tm.compile(unused)(wrong)
    compiled = tm.compile(handled, on_recompile="ignore")
    assert [int(compiled(k)) for k in (right, wrong, right)] == [3, -1, 3]


def of_three(k: Any) -> Any:
    return np.choose(k, [1.0, 2.0, 3.0])


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "vmap": tm.vmap(of_three),
    "compiled vmap": tm.compile(tm.vmap(of_three)),
    "grad": lambda k: tm.grad(lambda x: np.choose(k, [x, 2 * x, 3 * x]).sum())(np.ones(3)),
    "compiled grad": lambda k: tm.compile(tm.grad(lambda x, k: np.choose(k, [x, 2 * x, 3 * x]).sum()))(
        np.ones(3), k
    ),
    "export": tm.export(of_three, "k: i64[3]").function(),
}


@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
def test_transforms_and_exports_raise_as_numpy_does(transformed: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(transformed(np.array([0, 2, 1])), [1.0, 3.0, 2.0])
    for wrong in (3, -1):
        with pytest.raises(ValueError, match="invalid entry in choice array"):
            transformed(np.array([0, wrong, 1]))


def test_a_branch_that_does_not_run_raises_nothing() -> None:
    def f(k: Any, c: Any) -> Any:
        return np.unravel_index(k, (2, 2))[1] if c > 0 else k

    compiled = tm.compile(f)
    assert compiled(np.int64(9), 0.0) == 9
    with pytest.raises(ValueError, match="index 9 is out of bounds for array with size 4"):
        compiled(np.int64(9), 1.0)


def test_positions_that_are_in_range_by_construction_are_not_checked_when_run() -> None:
    def f(x: Any) -> Any:
        row, column = np.unravel_index(np.argmax(x), x.shape)
        return x[row, column]

    x = np.arange(6.0).reshape(2, 3)
    lowered = tm.compile(f).lower(x)
    assert "greater_equal" not in str(lowered.after("simplify"))
    assert tm.compile(f)(x) == 5.0


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_programs_for_many_sizes_name_the_size_of_the_call(backend: str) -> None:
    compiled = tm.compile(lambda x, k: np.unravel_index(k, x.shape)[1], backend=backend, dynamic=True)
    for length in (3, 4, 5):
        with pytest.raises(ValueError, match=f"index 99 is out of bounds for array with size {2 * length}"):
            compiled(np.ones((length, 2)), np.array([0, 99]))
        np.testing.assert_array_equal(compiled(np.ones((length, 2)), np.array([1, 4])), [1, 0])
    np.testing.assert_array_equal(compiled(np.ones((3, 2)), np.zeros(0, int)), np.zeros(0, int))


def test_an_empty_result_needs_no_positions_in_range() -> None:
    def f(k: Any) -> Any:
        return np.choose(k, [np.zeros((0, 1)), np.zeros((0, 1))])

    assert tm.compile(f)(np.array([5, 9])).shape == f(np.array([5, 9])).shape == (0, 2)


# ---- others that refuse values -------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", [np.compress, np.extract], ids=lambda f: f.__name__)
def test_a_mask_may_be_longer_than_the_axis_if_it_is_false_there(function: Any, backend: str) -> None:
    compiled = tm.compile(lambda mask: function(mask, ROW), backend=backend)
    for mask in ([1, 0, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 0, 1], [0] * 7, [1] * 7):
        holds = np.array(mask, bool)
        assert outcome(compiled, holds) == outcome(lambda m: function(m, ROW), holds)


def test_compress_names_its_axis() -> None:
    table = np.arange(6.0).reshape(3, 2)
    for axis in (0, 1, -1):
        mask = np.array([False, True, False, True])
        expected = outcome(lambda m, axis=axis: np.compress(m, table, axis), mask)
        assert outcome(tm.compile(lambda m, axis=axis: np.compress(m, table, axis)), mask) == expected


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_geometric_sequence_cannot_include_zero(backend: str) -> None:
    compiled = tm.compile(lambda a, b: np.geomspace(a, b, 3), backend=backend)
    np.testing.assert_allclose(compiled(1.0, 4.0), [1.0, 2.0, 4.0])
    for ends in ((0.0, 1.0), (1.0, 0.0), (-0.0, 1.0)):
        with pytest.raises(ValueError, match="Geometric sequence cannot include zero"):
            compiled(*ends)
