"""Batches, and derivatives of loops, of what is computed with arrays whose lengths depend on values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import DataDependentShapeError, UndecidedDimError

pytestmark = pytest.mark.usefixtures("lightly_optimised")

X = np.random.default_rng(0).normal(size=(4, 7))
Y = X[::-1] * 2
ANY = np.array([0, 3, 9, -2])
INSIDE = np.array([1, 3, 6, -2])

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def mean_or_zero(x: Any) -> Any:
    chosen = x[x > 1]
    if len(chosen) == 0:
        return 0.0
    return chosen.mean()


def of_more(x: Any) -> Any:
    above, below = x[x > 0], x[x < 0]
    if len(above) > len(below):
        return (above**2).sum()
    return np.cumsum(below).sum()


def part_of_many(x: Any, k: Any) -> Any:
    """A length that a branch finds out, which follows from one outside."""
    above = x[x > 0]
    if len(above) > 2:
        return np.cumsum(above[: np.abs(k)]).sum()
    return above.sum()


def row_by_row(x: Any) -> Any:
    total = 0.0
    for one in x[x > 0]:
        total = total * 0.5 + one**2
    return total


def while_there_are_more(x: Any) -> Any:
    chosen, total, place = x[x > 0], 0.0, 0
    while place < len(chosen) and total < 2:
        total += chosen[place] ** 2
        place += 1
    return total


REDUCED: dict[str, Case] = {
    "sum": (lambda x, k: x[:k].sum(), (X, ANY)),
    "mean": (lambda x, k: x[k:].mean(), (X, INSIDE)),
    "std": (lambda x, k: x[:k].std(), (X, INSIDE)),
    "max": (lambda x, i, j: np.max(x[i:j]), (X, np.array([1, 3, 2, 0]), np.array([4, 4, 7, 2]))),
    "argmax": (lambda x, k: x[np.argmax(np.abs(x[k:])) + k % 7] ** 2, (X, INSIDE)),
    "dot": (lambda x, y, k: np.dot(x[:k], y[:k]), (X, Y, ANY)),
    "outer": (lambda x, y, k: (np.outer(x[:k], y[k:]) ** 2).sum(), (X, Y, ANY)),
    "prod": (lambda x: np.prod(x[x > 0]), (X,)),
    "smallest": (lambda x: np.sort(x[x > 0])[0], (X,)),
    "descending": (lambda x: (np.sort(x[x > 0])[::-1] * np.arange(np.count_nonzero(x > 0))).sum(), (X,)),
    "last": (lambda x: x[x > 0][-1], (X,)),
    "differences": (lambda x: (np.diff(x[x > 0]) ** 2).sum(), (X,)),
    "joined": (lambda x: (np.cumsum(np.concatenate([x[x > 0], x[x < 0.5]])) ** 2).sum(), (X,)),
    "with_steps": (lambda x, k: (np.cumsum(x[k::2]) ** 2).sum(), (X, ANY)),
    "backwards": (lambda x, k: (np.cumsum(x[k::-1]) ** 2).sum(), (X, ANY)),
    "logarithm": (lambda x, k: np.log(x[:k] ** 2).sum() * x[0], (X, ANY)),
    "raveled": (lambda x, k: (np.cumsum(np.outer(x[:k], x[k:]).ravel()) ** 2).sum(), (X, ANY)),
    "mask_of_selected": (lambda x: (x[x > -0.5][x[x > -0.5] < 0.5] ** 2).sum(), (X,)),
    "length": (lambda x: len(x[x > 0]) * x[0], (X,)),
    "median": (lambda x: np.median(x[x > 0]), (X,)),
    "median_of_slice": (lambda x, k: np.median(x[k:]) + np.quantile(x[k:], 0.3), (X, INSIDE)),
    "different_values": (lambda x: np.unique(np.round(x)).size + x[0], (X,)),
    "mean_or_zero": (mean_or_zero, (X,)),
    "polynomial": (lambda x: np.polyval(x[x > 0], x[:3]).sum(), (X,)),
    "interpolated": (lambda x: np.interp(x, np.sort(x[x > 0]), x[x > 0] ** 2).sum(), (X,)),
    "convolved": (lambda x: (np.convolve(x[x > 0], [1.0, -2.0, 0.5]) ** 2).sum(), (X,)),
    "convolved_selections": (lambda x: (np.convolve(x[x > 0], x[x < 0.5]) ** 2).sum(), (X,)),
    "convolved_in_place": (lambda x: (np.convolve([1.0, 3, 2, 1], x[x > 0], "same") ** 2).sum(), (X,)),
    "convolved_inside": (lambda x: (np.convolve(x[x > 0], x[:2], "valid") ** 2).sum(), (X,)),
    "remainder": (lambda x: (np.polydiv(x, x[:3])[1] ** 2).sum(), (X,)),
    "largest_or_not": (lambda x: x[x > 1].max() if x[x > 1].size else -x[0], (X,)),
    "of_more": (of_more, (X,)),
    "part_of_many": (part_of_many, (X, ANY)),
    "row_by_row": (row_by_row, (X,)),
    "while_there_are_more": (while_there_are_more, (X,)),
}


def differences(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    step = 1e-6
    ends = [[function(x + sign * step * one, *others) for sign in (1, -1)] for one in np.eye(len(x))]
    return [(high - low) / (2 * step) for high, low in ends]


@pytest.mark.parametrize("name", REDUCED)
def test_a_batch_is_the_loop(name: str) -> None:
    function, batch = REDUCED[name]
    np.testing.assert_allclose(
        tm.vmap(function)(*batch), [function(*one) for one in zip(*batch, strict=True)]
    )


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "argmax",
        "logarithm",
        "joined",
        "prod",
        "median",
        "of_more",
        "row_by_row",
        "convolved_selections",
    ],
)
def test_a_batch_of_derivatives_is_the_loop(name: str) -> None:
    function, batch = REDUCED[name]
    wanted = [differences(function, *one) for one in zip(*batch, strict=True)]
    np.testing.assert_allclose(tm.vmap(tm.grad(function))(*batch), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.sampled(slow=8)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("name", REDUCED)
def test_a_compiled_batch_and_its_derivatives_are_the_loop(name: str, backend: str) -> None:
    function, batch = REDUCED[name]
    examples = list(zip(*batch, strict=True))
    batched = tm.compile(tm.vmap(function), backend=backend)
    np.testing.assert_allclose(batched(*batch), [function(*one) for one in examples])
    wanted = [differences(function, *one) for one in examples]
    gradients = tm.compile(tm.vmap(tm.grad(function)), backend=backend)
    np.testing.assert_allclose(gradients(*batch), wanted, rtol=1e-5, atol=1e-7)
    total = tm.compile(tm.grad(lambda *batch: tm.vmap(function)(*batch).sum()), backend=backend)
    np.testing.assert_allclose(total(*batch), wanted, rtol=1e-5, atol=1e-7)


def test_new_arrays_of_bounded_length_have_batches() -> None:
    def both(k: Any) -> Any:
        k = np.minimum(k, 6)
        return np.arange(k).sum() + np.ones(k).sum()

    np.testing.assert_array_equal(tm.vmap(both)(np.arange(9)), [both(k) for k in range(9)])


def test_the_place_of_the_greatest_entry_bounds_a_length() -> None:
    def up_to_greatest(x: Any) -> Any:
        return np.ones(np.argmax(x)).sum()

    rows = np.array([[1.0, 5.0, 2.0], [9.0, 0.0, 0.0], [0.0, 1.0, 7.0]])
    np.testing.assert_array_equal(tm.vmap(up_to_greatest)(rows), [1.0, 0.0, 2.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.zeros(abs(x.astype(int)[0])).sum(),
        lambda x: x[x > 0] * 2,
        np.unique,
    ],
)
def test_what_differs_in_length_or_has_no_bound_is_refused_with_the_line(
    function: Callable[..., Any],
) -> None:
    with pytest.raises(
        DataDependentShapeError, match=r"another length(.|\n)*test_batches_of_computed_lengths"
    ):
        tm.vmap(function)(X)


# ---- loops and branches --------------------------------------------------------------------------------


def eliminated(x: Any) -> Any:
    """Each iteration has a slice of another length."""
    y = np.outer(x, x) + 3 * np.eye(len(x))
    k = np.argmin(x) * 0
    while k < len(x) - 1:
        y[k + 1 :, k:] -= np.outer(y[k + 1 :, k] / y[k, k], y[k, k:])
        k = k + 1
    return np.prod(np.diag(y))


def in_a_branch(x: Any) -> Any:
    if x[0] > 0:
        return (x[x > 0] ** 2).sum()
    return np.cumsum(x[np.argmax(x) :]).sum()


@pytest.mark.parametrize(
    ("backend", "function"),
    [
        ("numpy", eliminated),
        ("numpy", in_a_branch),
        pytest.param("c", eliminated, marks=pytest.mark.exhaustive),
        pytest.param("c", in_a_branch, marks=pytest.mark.slow),
    ],
)
def test_loops_and_branches_have_batches_and_derivatives(
    function: Callable[[Any], Any], backend: str
) -> None:
    batch = X[:2, :3]
    np.testing.assert_allclose(tm.vmap(function)(batch), [function(x) for x in batch])
    wanted = [differences(function, x) for x in batch]
    of_one = tm.compile(tm.grad(function), backend=backend)
    np.testing.assert_allclose(of_one(batch[0]), wanted[0], rtol=1e-5, atol=1e-7)
    of_each = tm.compile(tm.vmap(tm.grad(function)), backend=backend)
    np.testing.assert_allclose(of_each(batch), wanted, rtol=1e-5, atol=1e-7)
    of_all = tm.compile(tm.grad(lambda rows: tm.vmap(function)(rows).sum()), backend=backend)
    np.testing.assert_allclose(of_all(batch), wanted, rtol=1e-5, atol=1e-7)


# ---- entries that do not count -------------------------------------------------------------------------

NOTHING_THERE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "logarithm": lambda x, w, k: np.sum(np.log(x[:k]) * w),
    "reciprocal": lambda x, w, k: np.sum(w / x[:k]),
    "of_selected": lambda x, w, k: np.sum(np.log(x[x > 0]) / w) * k,
    "product": lambda x, w, k: np.sum(np.log(np.outer(x, x)[:k] @ (w * x))),
    "cumulative": lambda x, w, k: np.sum(np.log(np.cumprod(x[:k] * w))),
}


@pytest.mark.parametrize("name", NOTHING_THERE)
def test_an_infinite_derivative_of_what_does_not_count_reaches_nothing(name: str) -> None:
    """Beyond `k` there are zeros, whose logarithm has no derivative; an example may have nothing else."""
    function = NOTHING_THERE[name]
    batch = (
        np.array([[2.0, 3.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        np.array([1.5, 1.5, 1.5]),
        np.array([2, 0, 1]),
    )
    wanted = [tm.grad(function, (0, 1))(*one) for one in zip(*batch, strict=True)]
    assert all(np.isfinite(part).all() for one in wanted for part in one)
    found = tm.vmap(tm.grad(function, (0, 1)))(*batch)
    total = tm.grad(lambda *batch: tm.vmap(function)(*batch).sum(), (0, 1))(*batch)
    for ours in (found, total):
        for part in (0, 1):
            np.testing.assert_allclose(ours[part], [one[part] for one in wanted])


def mean_or_0(x: Any) -> Any:
    chosen = x[x > 0]
    return chosen.sum() / max(len(chosen), 1)


def product_of_first(x: Any) -> Any:
    shared = min(len(x[x > 0]), len(x[x < 0]), 3)
    return x[x > 0][:shared] @ x[x < 0][:shared] + abs(shared - 2)


@pytest.mark.parametrize("function", [mean_or_0, product_of_first])
def test_extremes_and_magnitudes_of_lengths_need_no_length(function: Any) -> None:
    rows = np.array([[1.0, -2.0, 3.0, 5.0], [4.0, -5.0, -6.0, 1.0], [-2.0, -2.0, -2.0, -2.0]])
    wanted = [function(row) for row in rows]
    np.testing.assert_allclose(tm.vmap(function)(rows), wanted)
    compiled = tm.compile(function)
    np.testing.assert_allclose([compiled(row) for row in rows], wanted)
    assert len(compiled.signatures()) == 1


ASKING = {
    "whether n_2 >= 1": lambda x: np.insert(np.delete(x, np.nonzero(x > 2)[0]), 1, 7.0).sum(),
    "whether n_1 == n_2": lambda x: (x[x > 0] * x[x > 1]).sum(),
    "n_1 as an int": lambda x: sum([2 * v for v in x[x > 0]]),
}


@pytest.mark.parametrize("asked", ASKING)
def test_a_function_that_needs_the_length_of_an_example_is_refused_with_a_fix(asked: str) -> None:
    rows = np.array([[1.0, -2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]])
    message = (
        rf"under vmap each example .* needs to know {asked}: reduce .* np\.stack\(\[f\(x\) for x in batch\]\)"
    )
    for mapped in (
        tm.vmap(ASKING[asked]),
        tm.compile(tm.vmap(ASKING[asked])),
        tm.grad(tm.vmap(ASKING[asked])),
    ):
        with pytest.raises(UndecidedDimError, match=message):
            mapped(rows)
