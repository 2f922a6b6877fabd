"""Sums of products become contractions, and long rows are summed in blocks."""

from typing import Any

import numpy as np
import pytest

from support.recording import ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.optimizations.contract_sums import contract_sums
from tracemill.runtime.compilation.compile import compile


def total(x: Value, *axes: int) -> Value:
    return bind("sum", x, axes=axes)


def of_products(x: Value, y: Value) -> Value:
    return total(fn.multiply(x, y), x.ndim - 1)


def of_squares(x: Value) -> Value:
    return total(bind("square", x), x.ndim - 1)


def of_made(x: Value) -> Value:
    """The sum of a value that a call has made, along all axes after the first; along the only one of a vector."""
    return total(bind("exp", x), *range(min(1, x.ndim - 1), x.ndim))


def checked(graph: Graph) -> Graph:
    """The graph after the pass, which computes the same."""
    found = contract_sums(graph)
    found.lint()
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=value.shape).astype(value.dtype) for value in graph.inputs]
    for ours, theirs in zip(evaluate(found, *arrays), evaluate(graph, *arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4, strict=True)
    assert contract_sums(found) is found
    return found


@pytest.mark.parametrize(
    ("shape", "made"),
    [
        ("f64[3]", ["dot"]),
        ("f32[1024]", ["dot"]),
        ("f32[4, 128]", ["dot"]),
        ("f64[2, 3, 1024]", ["dot"]),
        ("f32[4, 127]", ["multiply", "sum"]),  # short rows
        ("f32[1025]", ["multiply", "sum"]),  # which BLAS would add less exactly
        ("f32[20, 2048]", ["reshape", "reshape", "dot", "sum"]),
        ("c128[3]", ["multiply", "sum"]),
        ("i64[3]", ["multiply", "sum"]),
        ("f64[0]", ["multiply", "sum"]),
    ],
)
def test_a_sum_of_products_is_a_contraction(shape: str, made: list[str]) -> None:
    found = checked(recorded(of_products, shape, shape)) if shape != "c128[3]" else None
    found = found or contract_sums(recorded(of_products, shape, shape))
    assert ops(found) == made


def test_a_sum_of_squares_is_a_contraction_of_an_array_with_itself() -> None:
    assert ops(checked(recorded(of_squares, "f64[7]"))) == ["dot"]
    assert ops(checked(recorded(of_squares, "f64[65536]"))) == ["reshape", "dot", "sum"]


@pytest.mark.parametrize("axes", [(0,), (0, 1), ()])
def test_sums_along_other_axes_stay(axes: tuple[int, ...]) -> None:
    graph = recorded(lambda x: total(fn.multiply(x, x), *axes), "f64[128, 256]")
    assert contract_sums(graph) is graph


def test_products_that_are_used_twice_stay() -> None:
    def both(x: Value) -> tuple[Value, Value]:
        product = fn.multiply(x, x)
        return total(product, 0), product

    graph = recorded(both, "f64[7]")
    assert contract_sums(graph) is graph


@pytest.mark.parametrize(("shape", "vector"), [("f64[4, 256]", "f64[256]"), ("f32[2, 3, 128]", "f32[128]")])
@pytest.mark.parametrize("is_first", [False, True])
def test_sums_of_products_with_a_vector_are_a_product_of_matrices(
    shape: str, vector: str, is_first: bool
) -> None:
    graph = recorded(
        lambda x, w: total(fn.multiply(*((w, x) if is_first else (x, w))), x.ndim - 1), shape, vector
    )
    assert ops(checked(graph)) == ["dot"]


@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ("f64[4, 256]", "f64[4, 1]"),
        ("f64[4, 256]", "f64[1]"),
        ("f64[4, 256]", "f64[]"),
        ("f64[4, 127]", "f64[127]"),  # short rows
        ("f64[4, 1025]", "f64[1025]"),  # which BLAS would add less exactly
    ],
)
def test_products_with_other_broadcast_arrays_stay(shape: str, other: str) -> None:
    graph = recorded(of_products, shape, other)
    assert contract_sums(graph) is graph


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        ("f64[10, 3000]", 500),
        ("f32[65536]", 512),
        ("f32[1, 64, 1024]", 512),
        ("f32[2, 64, 20, 10]", 512),
        ("f64[9, 2021]", None),  # 43 · 47
        ("f64[2, 1500]", None),  # few numbers
        ("f64[64, 1024]", None),  # short enough
    ],
)
def test_long_rows_that_a_call_has_made_are_summed_in_blocks(shape: str, block: int | None) -> None:
    found = checked(recorded(of_made, shape))
    assert ops(found) == (["exp", "reshape", "sum", "sum"] if block else ["exp", "sum"])
    if block:
        assert found.calls[1].outputs[0].shape[-1] == block


def test_long_rows_of_products_that_calls_have_made_are_contracted_in_blocks() -> None:
    graph = recorded(lambda x: of_products(bind("exp", x), bind("sin", x)), "f64[10, 3000]")
    assert ops(checked(graph)) == ["exp", "sin", "reshape", "reshape", "dot", "sum"]


def test_long_rows_of_views_and_arguments_stay() -> None:
    """Their elements may lie far apart."""
    graph = recorded(lambda x: total(fn.transpose(bind("exp", x), (1, 0)), 1), "f64[3000, 10]")
    assert contract_sums(graph) is graph
    graph = recorded(lambda x: total(x, 1), "f64[10, 3000]")
    assert contract_sums(graph) is graph
    assert ops(checked(recorded(lambda x: total(x, 0), "f64[30000]"))) == ["reshape", "sum", "sum"]


def test_matrices_may_have_any_number_of_rows() -> None:
    compiled = compile(
        lambda x: (np.sum(x * x, axis=1), np.sum(np.exp(x))), backend="numpy", dynamic={"x": "[N, 200]"}
    )
    rng = np.random.default_rng(0)
    for rows in (0, 1, 5, 300):
        x = rng.normal(size=(rows, 200))
        for found, expected in zip(compiled(x), (np.sum(x * x, axis=1), np.sum(np.exp(x))), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, strict=True)
    assert "np.vecdot(x, x" in str(compiled.lower(x).source)


# ---- what the NumPy backend computes ---------------------------------------------------------------------------


def test_bodies_of_loops_and_tiles_contract_their_sums() -> None:
    def loop(x: Any) -> Any:
        for _ in range(100):
            x = x / np.sqrt(np.sum(x * x))
        return x

    compiled = compile(loop, backend="numpy")
    x = np.arange(1.0, 8.0)
    np.testing.assert_allclose(compiled(x), loop(x), rtol=1e-14)
    assert "np.dot(carried0, carried0)" in str(compiled.lower(x).source)


@pytest.mark.parametrize(
    ("shape", "most"),
    [
        ((500, 128), 1.5),
        ((500, 512), 1.5),
        ((500, 1000), 2.5),  # BLAS adds the last 8 one by one
        ((500, 3000), 2.0),
        ((100, 8192), 1.5),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_hard_numbers_are_about_as_exact_as_pairwise_sums(
    shape: tuple[int, int], most: float, dtype: type[np.floating[Any]]
) -> None:
    """Numbers of many magnitudes, some of which cancel: the root of the mean square error of all rows."""
    rng = np.random.default_rng(3)
    x = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
    y = rng.normal(size=shape).astype(dtype)

    def sums(x: Any, y: Any) -> Any:
        made, other = np.abs(x), -y
        return np.sum(made * made, axis=-1), np.sum(made * other, axis=-1), np.sum(made + other, axis=-1)

    wide = [x.astype(np.longdouble), y.astype(np.longdouble)]
    exact = (*sums(*wide)[:2], np.sum((np.abs(x) - y).astype(np.longdouble), axis=-1))
    ours, plain = compile(sums, backend="numpy")(x, y), sums(x, y)
    for a, b, c in zip(ours[:2], plain[:2], exact[:2], strict=True):
        assert _error(a, c) <= most * _error(b, c)
    if shape[1] > 1024:
        assert _error(ours[2], exact[2]) <= most * _error(plain[2], exact[2])


def _error(found: Any, exact: Any) -> float:
    return float(np.sqrt(np.mean((found - exact) ** 2)))


def test_infinities_and_nans_reach_the_sum() -> None:
    def squares(x: Any) -> Any:
        return np.sum(x * x, axis=-1)

    x = np.ones((3, 256))
    x[0, 3], x[1, 200] = np.inf, np.nan
    np.testing.assert_array_equal(compile(squares, backend="numpy")(x), [np.inf, np.nan, 256.0])
