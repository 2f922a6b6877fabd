"""Named axes: `psum` and its kind over the axes that `vmap(axis_name=…)` maps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import AxisError, CollectiveError, TransformArgumentError, UnboundAxisNameError

X = np.random.default_rng(0).normal(size=(4, 3))
as_it_is_and_compiled = pytest.mark.parametrize(
    "wrap", [lambda f: f, tm.compile], ids=["as it is", "compiled"]
)
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def over_i(f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return tm.vmap(f, axis_name="i", **options)


@as_it_is_and_compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("collective", "reduction"),
    [(tm.psum, np.sum), (tm.pmean, np.mean), (tm.pmax, np.max), (tm.pmin, np.min)],
)
def test_a_reduction_over_the_examples(wrap: Wrap, dtype: Any, collective: Any, reduction: Any) -> None:
    x = X.astype(dtype)
    got = wrap(over_i(lambda x: x - collective(x, "i")))(x)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, x - reduction(x, axis=0), rtol=1e-5, atol=1e-6)


@as_it_is_and_compiled
def test_what_all_examples_agree_on_is_not_mapped(wrap: Wrap) -> None:
    f = over_i(lambda x: (np.sqrt(tm.psum(x**2, "i")), x), out_dims=(None, 0))
    norm, x = wrap(f)(X)
    np.testing.assert_allclose(norm, np.sqrt(np.sum(X**2, axis=0)))
    np.testing.assert_array_equal(x, X)
    with pytest.raises(TransformArgumentError, match="depends on the batch"):
        over_i(lambda x: tm.psum(x, "i") + x, out_dims=None)(X)


def test_psum_of_a_number_is_the_size_and_of_bools_a_count() -> None:
    sizes: list[Any] = []

    def f(x: Any) -> Any:
        sizes.append((tm.psum(1, "i"), tm.axis_size("i"), tm.pmean(2.0, "i"), tm.pmax(5, "i")))
        return tm.psum(x > 0, "i")

    counts = over_i(f)(X)
    assert sizes == [(4, 4, 2.0, 5)]
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts[0], np.sum(X > 0, axis=0))


def test_what_is_computed_of_a_python_number_takes_the_dtype_it_meets_compiled_too() -> None:
    def f(x: Any, s: Any) -> Any:
        return x * tm.psum(s, "i"), x + tm.pmean(s, "i"), x - tm.pmax(s, "i")

    x = X.astype(np.float32)
    for number in (2.0, 3):
        expected = tm.vmap(f, (0, None), axis_name="i")(x, number)
        got = tm.compile(tm.vmap(f, (0, None), axis_name="i"))(x, number)
        for ours, eager in zip(got, expected, strict=True):
            assert ours.dtype == eager.dtype == np.float32
            np.testing.assert_allclose(ours, eager, rtol=1e-6)


def test_a_value_that_is_not_mapped_counts_once_per_example() -> None:
    w = np.ones(2)
    np.testing.assert_array_equal(over_i(lambda x: tm.psum(w, "i"), out_dims=None)(X), 4 * w)
    np.testing.assert_array_equal(over_i(lambda x: tm.all_gather(w, "i"), out_dims=None)(X), np.ones((4, 2)))


def test_collectives_take_trees() -> None:
    got = over_i(lambda x: tm.psum({"a": x, "b": (1, x[0])}, "i"), out_dims=None)(X)
    np.testing.assert_allclose(got["a"], X.sum(0))
    assert got["b"][0] == 4
    np.testing.assert_allclose(got["b"][1], X[:, 0].sum())
    with pytest.raises(TransformArgumentError, match="psum: str is not an array or a number: 'text'"):
        over_i(lambda x: tm.psum(["text"], "i"))(X)


@as_it_is_and_compiled
def test_all_gather_stacks_or_concatenates(wrap: Wrap) -> None:
    stacked, behind, tiled = wrap(
        over_i(
            lambda x: (
                tm.all_gather(x, "i"),
                tm.all_gather(x, "i", axis=-1),
                tm.all_gather(x[:, None], "i", axis=1, tiled=True),
            ),
            out_dims=None,
        )
    )(X)
    np.testing.assert_array_equal(stacked, X)
    np.testing.assert_array_equal(behind, X.T)
    np.testing.assert_array_equal(tiled, X.T)
    with pytest.raises(TransformArgumentError, match="numbers cannot be concatenated"):
        over_i(lambda x: tm.all_gather(x[0], "i", tiled=True))(X)


@as_it_is_and_compiled
def test_ppermute_sends_values_around(wrap: Wrap) -> None:
    ring = [(i, (i + 1) % 4) for i in range(4)]
    np.testing.assert_array_equal(wrap(over_i(lambda x: tm.ppermute(x, "i", ring)))(X), np.roll(X, 1, axis=0))
    some = wrap(over_i(lambda x: tm.ppermute(x, "i", [(3, 0)])))(X)
    np.testing.assert_array_equal(some, np.concatenate([X[3:], np.zeros((3, 3))]))


@pytest.mark.parametrize(
    "perm",
    [
        [(0, 4)],
        [(0, 1), (0, 2)],
        [(0, 1), (2, 1)],
        [(0,)],
        [(-1, 0)],
        [0, 1],
        None,
        "ab",
        [()],
        [(0.0, 1)],
        [[(0, 1), 1]],
    ],
)
def test_ppermute_refuses_pairs_that_do_not_fit(perm: Any) -> None:
    with pytest.raises(TransformArgumentError, match="ppermute: perm must contain pairs"):
        over_i(lambda x: tm.ppermute(x, "i", perm))(X)


@as_it_is_and_compiled
@pytest.mark.parametrize("dtype", ["float16", "int8", "uint64", "bool", "complex64"])
def test_pmean_is_numpys_mean_in_value_and_dtype(wrap: Wrap, dtype: str) -> None:
    x = np.array([[100, 1], [120, 0]]).astype(dtype) * np.array(1 if dtype == "bool" else 100, dtype)
    found, expected = wrap(over_i(lambda x: tm.pmean(x, "i"), out_dims=None))(x), np.mean(x, axis=0)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_pmean_of_16_bit_floats_does_not_overflow() -> None:
    x = np.full((2, 3), 60000, np.float16)
    np.testing.assert_array_equal(over_i(lambda x: tm.pmean(x, "i"), out_dims=None)(x), x[0])


@pytest.mark.parametrize("tiled", [True, False])
def test_all_gather_checks_its_axis(tiled: bool) -> None:
    with pytest.raises(AxisError, match="5 is out of bounds"):
        over_i(lambda x: tm.all_gather(x, "i", axis=5, tiled=tiled))(X)
    wrong: Any = 1.0
    with pytest.raises(TransformArgumentError, match="all_gather: axis must be an int, not float"):
        over_i(lambda x: tm.all_gather(x, "i", axis=wrong, tiled=tiled))(X)


@as_it_is_and_compiled
def test_axis_index_is_the_number_of_the_example_in_chunks_too(wrap: Wrap) -> None:
    expected = X + np.arange(4)[:, None]
    for chunk_size in (None, 1, 3):
        got = wrap(over_i(lambda x: x + tm.axis_index("i") * tm.axis_size("i") / 4, chunk_size=chunk_size))(X)
        np.testing.assert_array_equal(got, expected)


# ---- several axes ----------------------------------------------------------------------------------------

GRID = np.arange(24.0).reshape(2, 3, 4)


@as_it_is_and_compiled
@pytest.mark.parametrize(
    ("names", "axes"), [("i", 0), ("j", 1), (("i", "j"), (0, 1)), (["j", "i"], (0, 1))], ids=str
)
def test_nested_axes_are_told_apart_by_name(wrap: Wrap, names: Any, axes: Any) -> None:
    f = over_i(tm.vmap(lambda x: tm.psum(x, names), axis_name="j"))
    expected = np.broadcast_to(np.sum(GRID, axis=axes, keepdims=True), GRID.shape)
    np.testing.assert_array_equal(wrap(f)(GRID), expected)


def test_two_axes_count_with_the_first_slowest() -> None:
    f = over_i(tm.vmap(lambda x: tm.axis_index(("i", "j")), axis_name="j"))
    assert f(GRID).tolist() == [[0, 1, 2], [3, 4, 5]]
    g = over_i(tm.vmap(lambda x: tm.all_gather(x, ("j", "i")), axis_name="j", out_dims=None), out_dims=None)
    np.testing.assert_array_equal(g(GRID), GRID.swapaxes(0, 1).reshape(6, 4))
    assert tm.vmap(lambda x: tm.axis_size("i") * x, axis_name="i", in_dims=1)(X)[0, 0] == 3 * X[0, 0]


def test_an_inner_axis_of_the_same_name_hides_the_outer_one() -> None:
    f = over_i(over_i(lambda x: tm.psum(x, "i")))
    np.testing.assert_array_equal(f(GRID)[:, 0], GRID.sum(1))


# ---- under transforms ------------------------------------------------------------------------------------


def coupled(x: Any) -> Any:
    """A loss of each example that looks at the others."""
    return np.sum(np.tanh(x * tm.pmean(x, "i")) * tm.pmax(x, "i")) + np.sum(
        tm.ppermute(x, "i", [(0, 1), (1, 0)]) * tm.all_gather(x, "i")[2]
    )


def plain(x: Any) -> Any:
    """The same for the whole batch, by hand."""
    swapped = np.concatenate([x[1:2], x[:1], np.zeros((2, 3))])
    return np.sum(np.tanh(x * np.mean(x, 0)) * np.max(x, 0), axis=1) + np.sum(swapped * x[2], axis=1)


@as_it_is_and_compiled
def test_the_gradient_outside_is_that_of_the_whole_batch(wrap: Wrap) -> None:
    got = wrap(tm.grad(lambda x: np.sum(over_i(coupled)(x) ** 2)))(X)
    np.testing.assert_allclose(got, tm.grad(lambda x: np.sum(plain(x) ** 2))(X))


@as_it_is_and_compiled
def test_the_gradient_inside_is_that_of_the_sum_of_all_losses(wrap: Wrap) -> None:
    got = wrap(over_i(tm.grad(coupled)))(X)
    np.testing.assert_allclose(got, tm.grad(lambda x: np.sum(plain(x)))(X))


@as_it_is_and_compiled
def test_forward_mode_inside_and_outside(wrap: Wrap) -> None:
    dx = np.cos(X)
    expected = tm.jvp(plain, (X,), (dx,))
    for got in (
        wrap(over_i(lambda x, dx: tm.jvp(coupled, (x,), (dx,))))(X, dx),
        wrap(lambda x, dx: tm.jvp(over_i(coupled), (x,), (dx,)))(X, dx),
    ):
        np.testing.assert_allclose(got[0], expected[0])
        np.testing.assert_allclose(got[1], expected[1])


def test_second_derivatives() -> None:
    got = tm.hessian(lambda x: np.sum(over_i(coupled)(x)))(X)
    np.testing.assert_allclose(got, tm.hessian(lambda x: np.sum(plain(x)))(X), atol=1e-12)


@as_it_is_and_compiled
def test_collectives_in_functions_that_calls_hold(wrap: Wrap) -> None:
    total = X.sum(0)

    def in_scan(x: Any) -> Any:
        return tm.scan(lambda carry, _: (carry + tm.psum(x, "i"), tm.psum(carry, "i")), x, None, length=2)

    carry, sums = wrap(over_i(in_scan))(X)
    np.testing.assert_allclose(carry, X + 2 * total)
    np.testing.assert_allclose(sums[0], [total, 5 * total])
    checkpointed = over_i(tm.checkpoint(lambda x: x * tm.psum(x, "i")))
    np.testing.assert_allclose(wrap(checkpointed)(X), X * total)
    compiled = over_i(tm.compile(lambda x: x * tm.psum(x, "i")))
    np.testing.assert_allclose(wrap(compiled)(X), X * total)
    w = np.ones(3)  # nothing that is mapped enters the branch but the index
    chosen = over_i(lambda x, go: tm.cond(go, lambda: tm.psum(w, "i"), lambda: w) + x, in_dims=(0, None))
    np.testing.assert_allclose(wrap(chosen)(X, True), X + 4)


@as_it_is_and_compiled
def test_a_loop_whose_end_all_examples_agree_on(wrap: Wrap) -> None:
    def halve(x: Any) -> Any:
        return tm.while_loop(lambda x: tm.pmax(np.max(np.abs(x)), "i") > 1.0, lambda x: x / 2, x)

    x = np.array([[8.0], [0.5]])
    np.testing.assert_array_equal(wrap(over_i(halve))(x), x / 8)  # all of them go on until the last is done


# ---- misuse ----------------------------------------------------------------------------------------------


def test_an_unbound_name_lists_those_in_scope() -> None:
    with pytest.raises(
        UnboundAxisNameError, match=r"pmean: no axis is named 'k' here; .*: 'i', 'j'"
    ) as found:
        over_i(tm.vmap(lambda x: tm.pmean(x, "k"), axis_name="j"))(GRID)
    assert "test_named_axes.py" in str(found.value)
    assert issubclass(UnboundAxisNameError, NameError)
    with pytest.raises(UnboundAxisNameError, match="mapped: none"):
        tm.psum(X, "i")
    with pytest.raises(UnboundAxisNameError, match="mapped: none"):
        tm.vmap(lambda x: tm.axis_index("i"))(X)


@pytest.mark.parametrize("name", [3, ("i", "i"), (), None])
def test_a_wrong_name_is_an_error(name: Any) -> None:
    with pytest.raises(TransformArgumentError, match="psum: axis_name must be a string or a tuple"):
        over_i(lambda x: tm.psum(x, name))(X)


@pytest.mark.parametrize("name", ["", 3, ("i",)])
def test_vmap_checks_the_name_when_wrapping(name: Any) -> None:
    with pytest.raises(TransformArgumentError, match=r"vmap\(sin\): axis_name must be a string"):
        tm.vmap(np.sin, axis_name=name)


@pytest.mark.parametrize("options", [{"chunk_size": 2}, {"memory_limit": 100}])
def test_a_collective_over_an_axis_in_chunks_says_why_and_what_to_do(options: Any) -> None:
    message = r"psum over the axis 'i' needs all 4 examples at once, but they run in chunks: .*vmap of its own before"
    with pytest.raises(CollectiveError, match=message) as found:
        over_i(lambda x: x + np.sum(np.outer(x, tm.psum(x, "i"))), **options)(X)
    assert "test_named_axes.py" in str(found.value)
    with pytest.raises(CollectiveError, match="in chunks"):
        over_i(tm.checkpoint(lambda x: x + tm.psum(x, "i")), chunk_size=2)(X)


def test_a_collective_over_another_axis_than_the_one_in_chunks_works() -> None:
    f = over_i(tm.vmap(lambda x: tm.psum(x, "i"), chunk_size=2, axis_name="j"))
    np.testing.assert_array_equal(f(GRID), np.broadcast_to(GRID.sum(0), GRID.shape))


def test_a_collective_that_not_all_examples_reach_is_refused() -> None:
    with pytest.raises(CollectiveError, match="in a branch or a loop that only some of the examples may run"):
        over_i(lambda x: tm.cond(x[0] > 0, lambda: tm.psum(x, "i"), lambda: x))(X)
    with pytest.raises(CollectiveError, match="in a branch or a loop"):
        over_i(lambda x: tm.while_loop(lambda v: v[0] < 9, lambda v: v + tm.pmax(v, "i") ** 2, x))(X)
