"""Arrays whose lengths depend on values: masks, slices with computed ends, and what is computed from them."""

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.thinning import mostly_on_numpy
from tracemill.compiler.errors import DataDependentShapeError, RecompileWarning

pytestmark = pytest.mark.usefixtures("lightly_optimised")

X = np.array([3.0, -1.0, 2.0, 5.0, -7.0, 0.0, 4.0])
GRID = np.arange(12.0).reshape(3, 4) - 5


def half(x: Any) -> Any:
    x[x > 2] *= 0.5
    return x


def copied_from(x: Any, y: Any) -> Any:
    mask = x > 0
    x[mask] = y[mask]
    return x


def written_view(x: Any, k: Any) -> Any:
    part = x[:k]
    part[:] = 0
    return x


def pushed_together(x: Any) -> Any:
    found = np.zeros(len(x))
    positive = x[x > 0]
    found[: len(positive)] = positive
    return found


def sums_of_copies(x: Any) -> Any:
    """Each copy is as long as there are copies."""
    positive = x[x > 0]
    copies = np.broadcast_to(positive, (len(positive), len(positive)))
    return copies.sum(axis=0), (copies * positive[:, None]).sum(axis=0)


def columns_in_other_places(x: Any) -> Any:
    """The rows are of selected entries."""
    columns = np.stack([x, x**2], axis=1)[x > 0]
    return np.pad(columns[:, ::-1], ((0, 0), (1, 0)), constant_values=2.0).prod(axis=1).sum()


def in_a_loop(x: Any) -> Any:
    while np.sum(np.abs(x)) > 1:
        x = 0.5 * x - 0.01 * x[x > 0].sum()
    return x


def in_a_branch(x: Any) -> Any:
    if np.sum(x) > 0:
        return x[x > 0].sum()
    return x.sum()


def slices_of_slices(x: Any) -> Any:
    first = x[x > -0.5]
    second = first[: np.count_nonzero(first > 0)] + 1
    third = second[: np.count_nonzero(first > 2)] + 1
    return first, second, third


PROGRAMS: dict[str, tuple[Callable[..., Any], ...]] = {
    "one_axis": (lambda x: x[x > 0], lambda: (X,)),
    "two_axes": (lambda x: x[x > 0], lambda: (GRID,)),
    "rows": (lambda x: x[x[:, 0] > -2], lambda: (GRID,)),
    "columns": (lambda x: x[:, x[0] > -4] * 2, lambda: (GRID,)),
    "beside_an_index": (lambda x: x[1, x[1] > -1], lambda: (GRID,)),
    "two_masks": (lambda x: np.concatenate([x[x > 0], x[x < 0]]), lambda: (X,)),
    "mask_of_selected": (lambda x: x[x > 0][x[x > 0] > 2], lambda: (X,)),
    "the_same_mask_twice": (lambda x, y: x[x > 0] / (1 + y[x > 0]), lambda: (X, X**2)),
    "pairs": (lambda x: np.subtract.outer(x[x > 0], x[x < 0]), lambda: (X,)),
    "sums_of_copies": (sums_of_copies, lambda: (X,)),
    "sorted": (lambda x: np.sort(x[x > 0])[::-1], lambda: (X,)),
    "lengths": (lambda x: (len(x[x > 0]), x[x > 0].shape[0] * 2.0, x[x < 0].size), lambda: (X,)),
    "reductions": (lambda x: (x[x > 0].mean(), x[x > 0].max(), x[x < 0].std()), lambda: (X,)),
    "elements": (lambda x: (x[x > 0][0], x[x > 0][-1], x[x > 0][np.argmax(x) - 2]), lambda: (X,)),
    "in_place": (half, lambda: (X.copy(),)),
    "from_another": (copied_from, lambda: (X.copy(), X**2)),
    "pushed_together": (pushed_together, lambda: (X,)),
    "slices_of_slices": (slices_of_slices, lambda: (X,)),
    "loop": (in_a_loop, lambda: (X,)),
    "branch": (in_a_branch, lambda: (X,)),
    "head": (lambda x, k: (x[:k], x[k:], x[-k:]), lambda: (X, np.int64(2))),
    "negative_end": (lambda x, k: (x[:k], x[k:], x[k::2]), lambda: (X, np.int64(-3))),
    "beyond_the_end": (lambda x, k: (x[:k], x[k:], x[::-1][:k]), lambda: (X, np.int64(30))),
    "window": (lambda x, k: x[k : k + 2], lambda: (X, np.int64(3))),
    "backwards": (lambda x, k: (x[k::-1], x[:k:-2]), lambda: (X, np.int64(3))),
    "written_view": (written_view, lambda: (X.copy(), np.int64(2))),
    "new_arrays": (lambda k: (np.zeros(k), np.arange(k) * 2, np.ones((k, 2))), lambda: (np.int64(4),)),
    "block": (lambda x, k: x[:k, 1:k].T @ x[:k], lambda: (GRID, np.int64(2))),
}


def flat(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.sampled(*(f"{name}-numpy" for name in PROGRAMS), slow=3)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_function_matches_numpy(name: str, backend: str) -> None:
    function, arguments = PROGRAMS[name]
    wanted = flat(function(*arguments()))
    found = flat(tm.compile(function, backend=backend)(*arguments()))
    for ours, theirs in zip(found, wanted, strict=True):
        assert type(ours) is type(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_one_program_serves_all_lengths(backend: str) -> None:
    selected = tm.compile(lambda x: np.sort(x[x > 0]) * 2, backend=backend)
    for seed in range(40):
        x = np.random.default_rng(seed).normal(size=30)
        np.testing.assert_array_equal(selected(x), np.sort(x[x > 0]) * 2)
    assert len(selected.signatures()) == 1


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_nothing_and_everything_may_be_selected(backend: str) -> None:
    selected = tm.compile(lambda x: (x[x > 0] + 1, x[x > 0].sum()), backend=backend)
    for x in (np.full(4, -1.0), np.ones(4)):
        for ours, theirs in zip(selected(x), (x[x > 0] + 1, x[x > 0].sum()), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert len(selected.signatures()) == 1


def test_the_extreme_of_nothing_is_an_error_as_in_numpy() -> None:
    largest = tm.compile(lambda x: x[x > 0].max())
    assert largest(X) == 5
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        largest(-np.abs(X))


def test_a_negative_length_is_an_error_as_in_numpy() -> None:
    zeros = tm.compile(lambda k: np.zeros(k) + 1)
    assert len(zeros(np.int64(3))) == 3
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        zeros(np.int64(-1))


# ---- derivatives and batches ---------------------------------------------------------------------------

REDUCED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum(x[x > 0] ** 2),
    "mean": lambda x: x[x > 0].mean(),
    "log": lambda x: np.log(x[x > 0]).sum(),
    "std": lambda x: x[x > 0].std(),
    "written": lambda x: np.sum(np.where(x > 0, 0, x) + pushed_together(x) ** 2),
    "columns": columns_in_other_places,
    "pairs": lambda x: np.sum(np.sin(np.multiply.outer(x[x > 0], x[x < 0]))),
    "sorted": lambda x: np.sum(np.sort(x[x > 0]) * np.arange(1.0, 1 + len(x[x > 0]))),
}


@pytest.mark.sampled(*(f"{name}-numpy" for name in REDUCED), slow=3)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("name", REDUCED)
def test_a_compiled_derivative_matches_that_of_the_selected_entries(name: str, backend: str) -> None:
    function, step, x = REDUCED[name], 1e-6, X + 0.25
    differences = [
        (function(x + step * one) - function(x - step * one)) / (2 * step) for one in np.eye(len(x))
    ]
    found = tm.compile(tm.grad(function), backend=backend)(x)
    np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-7)


@pytest.mark.sampled("mean-numpy")
@pytest.mark.parametrize(("name", "backend"), mostly_on_numpy(["std", "sum", "mean", "log", "columns"], 5))
def test_reduced_selections_have_batches_and_derivatives(name: str, backend: str) -> None:
    function, batch = REDUCED[name], np.stack([X, X[::-1] - 1.5, X**2 + 1])
    looped = [function(x) for x in batch]
    np.testing.assert_allclose(tm.compile(tm.vmap(function), backend=backend)(batch), looped)
    np.testing.assert_allclose(tm.vmap(function)(batch), looped)
    gradients = [tm.grad(function)(x) for x in batch]
    np.testing.assert_allclose(tm.compile(tm.vmap(tm.grad(function)), backend=backend)(batch), gradients)
    total = tm.compile(tm.grad(lambda rows: tm.vmap(function)(rows).sum()), backend=backend)
    np.testing.assert_allclose(total(batch), gradients)


def test_writes_to_selected_entries_have_batches() -> None:
    batch = np.stack([X, -X, X * 3])
    np.testing.assert_array_equal(tm.vmap(half)(batch.copy()), [half(x.copy()) for x in batch])


def test_a_batch_of_different_lengths_is_refused_with_the_line() -> None:
    with pytest.raises(DataDependentShapeError, match=r"another length(.|\n)*test_lengths_at_run_time\.py"):
        tm.vmap(lambda x: x[x > 0])(np.stack([X, -X]))


def test_a_loop_that_gives_arrays_of_different_lengths_is_refused_with_the_line() -> None:
    with pytest.raises(
        DataDependentShapeError, match=r"different lengths(.|\n)*test_lengths_at_run_time\.py"
    ):
        tm.compile(lambda x: tm.scan(lambda _, i: (None, x[i:]), None, np.arange(3)))(X)


# ---- guards on values ----------------------------------------------------------------------------------

NAMES = {0: "none", 1: "one", 2: "two"}


def by_name(x: Any) -> Any:
    name = NAMES[int(np.count_nonzero(x > 3))]
    return np.sin(x) * len(name)


def test_a_value_that_python_needs_makes_a_program_for_that_value() -> None:
    compiled = tm.compile(by_name)
    for shift in (0, -4, 0, -1, -4):
        np.testing.assert_allclose(compiled(X + shift), by_name(X + shift))


def longest(x: Any) -> Any:
    pieces = "ab" * x.argmax()
    return x + len(pieces)


def test_why_another_value_needs_another_program_is_explained() -> None:
    compiled = tm.compile(longest)
    np.testing.assert_array_equal(compiled(X), longest(X))
    np.testing.assert_array_equal(compiled(X[::-1].copy()), longest(X[::-1]))
    assert "was 3 when this was compiled, and is 3 now" not in compiled.explain_recompile()
    np.testing.assert_array_equal(compiled(-X), longest(-X))
    np.testing.assert_array_equal(compiled(X), longest(X))
    why = compiled.explain_recompile()
    assert "was 3 when this was compiled, and is 4 now" in why
    assert "test_lengths_at_run_time.py" in why


def test_beyond_max_variants_other_values_run_uncompiled_with_one_warning() -> None:
    compiled = tm.compile(longest, max_variants=2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for place in range(7):
            x = np.eye(7)[place]
            np.testing.assert_array_equal(compiled(x), longest(x))
    assert [one.category for one in seen] == [RecompileWarning]


def of_two_lengths(x: Any) -> Any:
    if x.sum() > 0:
        chosen = x[x > 0]
    else:
        chosen = x[:2]
    return chosen * 2


SEEN: list[int] = []


def noting(x: Any) -> Any:
    if x[0] > 0:
        SEEN.append(1)
    return x * 2


@pytest.mark.parametrize("function", [of_two_lengths, noting])
def test_a_branch_that_no_program_can_hold_makes_a_program_for_each_side(
    function: Callable[[Any], Any],
) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for x in (X, -np.abs(X), X * 2, -np.abs(X) * 3):
        np.testing.assert_array_equal(compiled(x), function(x))
    assert len(list(compiled.signatures())) == 2
    assert "an `if` that a program cannot hold" in compiled.explain_recompile()


def without_outliers(x: Any) -> Any:
    while True:
        far = np.abs(x - x.mean()) > 1.5 * x.std()
        if not far.any():
            return x
        x = x[~far]


def sorted_by_recursion(x: Any) -> Any:
    if len(x) <= 1:
        return x
    pivot = x[len(x) // 2]
    return np.concatenate(
        [sorted_by_recursion(x[x < pivot]), x[x == pivot], sorted_by_recursion(x[x > pivot])]
    )


@pytest.mark.sampled("without_outliers-numpy", "sorted_by_recursion-numpy", slow=2)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", [without_outliers, sorted_by_recursion])
def test_an_array_may_have_another_length_in_each_iteration_or_call(
    function: Callable[[Any], Any], backend: str
) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for x in (X, np.array([1.0, 40.0, 0.9, 9.0, 1.0, 1.2]), np.arange(3.0)):
        np.testing.assert_array_equal(compiled(x), function(x))


def squares_or_sum(x: Any, k: Any) -> Any:
    head = x[:k]
    if len(head) > 1:
        return (head**2).sum()
    return x.sum() * 3


def test_a_derivative_is_for_the_answer_to_a_question_about_a_length() -> None:
    gradient = tm.compile(tm.grad(squares_or_sum))
    for k in (3, 0, 4, 1):
        np.testing.assert_array_equal(
            gradient(X, np.int64(k)), 2 * X * (np.arange(7) < k) if k > 1 else np.full(7, 3.0)
        )
    assert len(gradient.signatures()) == 2


# ---- looking at it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_program_with_a_computed_length_can_be_inspected(backend: str) -> None:
    lowered = tm.compile(lambda x: np.sort(x[x > 0]) * 2, backend=backend).lower(X)
    assert tm.parse(str(lowered.graph)) == lowered.graph
    assert "n_1 = int(" in lowered.source
    assert "f64[n_1]" in str(lowered)
    assert lowered.html().startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["sum", "columns"])
def test_a_selection_that_is_only_summed_needs_no_array(name: str) -> None:
    lowered = tm.compile(REDUCED[name]).lower(X)
    assert "flatnonzero" in str(lowered.graph)
    assert "flatnonzero" not in str(lowered.after("mask_selections"))


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_stage_is_not_that_of_a_program_for_other_lengths(backend: str) -> None:
    """The second program looks the same from the second length on, but its passes know that `y` is not empty."""

    def joined(x: Any, k: Any) -> Any:
        y = x[x > 0]
        y = y - y.mean() if y.size else y
        entries, counts = np.unique(k, return_counts=True)
        return np.append(y, (entries * counts).sum())

    compiled = tm.compile(joined, backend=backend, dynamic=False, on_recompile="ignore")
    for x in (np.array([-0.5]), np.array([0.5]), np.array([-0.5])):
        np.testing.assert_array_equal(compiled(x, np.array([1])), joined(x, np.array([1])))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.log([len(x[x > t]) for t in (-9.0, 0.0)]),
        lambda x: np.add.reduce([len(x[x > 0]), 2]),
        lambda x: np.multiply.outer([len(x[x > 0]), x[0]], [1.0, 2.0]),
        lambda x: np.add((len(x[x > 0]), x[1]), 1),
    ],
)
def test_ufuncs_and_their_methods_take_lists_of_lengths(function: Callable[[Any], Any]) -> None:
    compiled: Any = tm.compile(function)
    for x in (X, -X):
        found, expected = compiled(x), function(x)
        np.testing.assert_allclose(found, expected, strict=True)
        assert type(found) is type(expected)


READS_AT: dict[str, Callable[[Any, Any], Any]] = {
    "entry": lambda y, i: y[i],
    "entries": lambda y, i: y[np.stack([i, i])],
    "clipped": lambda y, i: np.take(y, i, mode="clip"),
    "row": lambda y, i: np.outer(y, y)[i],
}


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("read", READS_AT.values(), ids=READS_AT)
def test_an_empty_array_has_no_entry_at_a_computed_place(
    read: Callable[[Any, Any], Any], backend: str
) -> None:
    def function(x: Any, i: Any) -> Any:
        return read(x[x > 10], i)

    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    many, none, place = np.array([11.0, 12.0, 1.0]), np.ones(3), np.array(1)
    np.testing.assert_array_equal(compiled(many, place), function(many, place))
    with pytest.raises(IndexError, match=r"size 0|empty"):
        compiled(none, place)
    np.testing.assert_array_equal(compiled(many, place), function(many, place))


def test_nothing_is_written_to_an_empty_array_at_a_computed_place() -> None:
    def function(x: Any, i: Any) -> Any:
        y = x[x > 10]
        y[i] = 7.0
        return y

    compiled = tm.compile(function)
    assert compiled(np.array([11.0, 12.0]), np.array(1)).tolist() == [11.0, 7.0]
    with pytest.raises(IndexError, match="size 0"):
        compiled(np.ones(2), np.array(1))


def first_at(x: Any, k: Any) -> Any:
    return x[x > 0][k] if (x > 0).any() else np.float64(0.0)


def sum_of_firsts(x: Any, k: Any) -> Any:
    total = np.float64(0.0)
    for limit in range(20):
        total += x[x > limit - 40][k]
    return total


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", [first_at, sum_of_firsts])
def test_indices_are_checked_in_branches_and_loops_that_compute_the_length(
    function: Any, backend: Any
) -> None:
    compiled = tm.compile(function, backend=backend)
    for k in (0, 1, 2):
        assert compiled(X, k) == function(X, k)
    with pytest.raises(IndexError) as wanted:
        function(X, 9)
    with pytest.raises(IndexError, match=str(wanted.value)):
        compiled(X, 9)


def test_an_index_is_checked_in_a_branch_of_a_branch_that_computes_the_length(tmp_path: Path) -> None:
    def chosen(x: Any, k: Any) -> Any:
        if x[0] < 9:
            positive = x[x > 0]
            if k > 0:
                return positive[positive > 1][k]
            return positive[0]
        return x[0]

    file = tmp_path / "chosen.py"
    tm.export(chosen, f"f64[{len(X)}]", "i64[]").save(file, format="python")
    exported = runpy.run_path(str(file))["chosen"]
    compiled = tm.compile(chosen)
    for k in (0, 1):
        assert compiled(X, np.int64(k)) == exported(X, np.int64(k)) == chosen(X, k)
    length = np.sum(X > 1)
    with pytest.raises(IndexError, match=f"index 9 is out of bounds for axis 0 with size {length}"):
        compiled(X, np.int64(9))
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0\n"):
        exported(X, np.int64(9))


def pieces(x: Any) -> Any:
    places = np.flatnonzero(x > 0)
    return np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.diff(x[x > 0]).tolist(),
        lambda x: [int(place) for place in np.flatnonzero(np.diff(x[x > 0]) > 0)],
        lambda x: [len(piece) for piece in pieces(x)],
    ],
)
def test_values_of_differences_of_a_selection_leave_the_program(function: Any, backend: Any) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for x in (X, -X, X[::-1].copy()):
        assert compiled(x) == function(x)


@pytest.mark.parametrize("make", [lambda n: np.zeros(n, np.float32), lambda n: np.full(n, 2.0), np.ones])
def test_a_huge_length_has_numpys_error_of_memory(make: Callable[[int], Any]) -> None:
    compiled = tm.compile(lambda x: make(int(x[0])))
    np.testing.assert_array_equal(compiled(np.array([3.0])), make(3))
    with pytest.raises(MemoryError, match="array") as expected:
        make(2**45)
    with pytest.raises(MemoryError) as found:
        compiled(np.array([2.0**45]))
    assert str(found.value) == str(expected.value)
