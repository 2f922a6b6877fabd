"""Large products are computed in C, in blocks, where the compiler's vectors are wider than those of NumPy's BLAS."""

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.recording import recorded
from tracemill.compiler.backends.c.function import COptions
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.builder import bind
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine import blas
from tracemill.runtime.machine.target import target_of

pytestmark = pytest.mark.usefixtures("c_compiler")

WIDER = COptions(blas=True, blas_on_thread=True, wider_than_blas=True)

ORDERS: dict[str, tuple[int, int]] = {
    "rows with columns": (1, 0),
    "rows with rows": (1, 1),
    "columns with columns": (0, 0),
    "columns with rows": (0, 1),
}
"""The axes of two matrices along which they are multiplied."""

SIZES = ((128, 128, 128), (97, 300, 61), (131, 101, 257), (64, 1500, 33), (1031, 16, 77))
"""Rows, terms of a sum, columns: multiples of the blocks or not, and sums of one block or of several."""


def multiplied(x: Any, y: Any, axes: tuple[int, int]) -> Any:
    """The product as it is on a machine whose BLAS has narrower vectors."""
    f = {"float32": "f32", "float64": "f64"}[x.dtype.name]
    types = [f"{f}{list(array.shape)}" for array in (x, y)]
    contracted = {"contract_x": (axes[0],), "contract_y": (axes[1],)}
    graph = recorded(lambda left, right: bind("dot", left, right, **contracted), *types)
    target = target_of("c", fast_math=False)
    wider = replace(target, options=replace(target.options, wider_than_blas=True))
    (out,) = build(graph, wider).function(x, y)
    return out


def matrices(sizes: tuple[int, int, int], axes: tuple[int, int], dtype: str) -> tuple[Any, Any]:
    rows, length, columns = sizes
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, length)), rng.normal(size=(length, columns))
    left, right = x if axes[0] else x.T, y.T if axes[1] else y
    return np.ascontiguousarray(left.astype(dtype)), np.ascontiguousarray(right.astype(dtype))


def exact(x: Any, y: Any, axes: tuple[int, int]) -> Any:
    return np.tensordot(x.astype(np.float64), y.astype(np.float64), ((axes[0],), (axes[1],)))


@pytest.fixture
def threads() -> Iterator[Any]:
    before = tm.get_num_threads()
    yield tm.set_num_threads
    tm.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ORDERS)
def test_products_are_as_accurate_as_numpys_on_any_number_of_threads(
    order: str, dtype: str, threads: Any
) -> None:
    axes = ORDERS[order]
    for sizes in SIZES:
        x, y = matrices(sizes, axes, dtype)
        results = []
        for count in (1, 2, 3, 8):
            threads(count)
            results.append(multiplied(x, y, axes))
        assert len({result.tobytes() for result in results}) == 1
        wanted = exact(x, y, axes)
        scale = np.tensordot(np.abs(x), np.abs(y), ((axes[0],), (axes[1],)))
        bound = float(np.finfo(x.dtype).eps) * np.sqrt(sizes[1]) * scale
        assert (np.abs(results[0] - wanted) <= bound).all()


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_stay_in_their_rows_and_columns(special: float) -> None:
    x, y = matrices((131, 101, 257), (1, 0), "f4")
    x[130, 100] = y[3, 256] = special
    y[100] = np.abs(y[100]) + 1
    with np.errstate(invalid="ignore"):
        wanted, found = x @ y, multiplied(x, y, (1, 0))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    np.testing.assert_array_equal(found[~np.isfinite(found)], wanted[~np.isfinite(wanted)])


def test_products_of_zeros_are_zeros() -> None:
    x, y = np.zeros((128, 128)), np.full((128, 128), -1.0)
    assert not multiplied(x, y, (1, 0)).any()


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("[512, 512]", "[512, 10]"),
        ("[8, 2048]", "[2048, 2048]"),
        ("[100, 100]", "[100, 100]"),
        ("[2000, 2000]", "[2000]"),
        ("[0, 2000]", "[2000, 2000]"),
        ("[2000, 0]", "[0, 2000]"),
    ],
    ids=["few columns", "few rows", "small", "a vector", "no rows", "empty sums"],
)
def test_blas_multiplies_what_would_be_packed_for_little_arithmetic(x: str, y: str) -> None:
    contracted = {"contract_x": (1,), "contract_y": (0,)}
    graph = recorded(lambda x, y: bind("dot", x, y, **contracted), f"f64{x}", f"f64{y}")
    function = print_function(graph.calls[0], "product", WIDER)
    assert function is None or "_pack(" not in function.text


def test_blas_multiplies_matrices_of_unknown_sizes() -> None:
    program = tm.compile(np.matmul, backend="c", dynamic=True)
    lowered = program.lower(np.ones((1000, 2000)), np.ones((2000, 2000)))
    assert "matmul" in lowered.source
    assert not any("_pack(" in kernel.source for kernel in lowered.kernels)


def test_others_are_packed_only_where_vectors_are_wider() -> None:
    graph = recorded(
        lambda x, y: bind("dot", x, y, contract_x=(1,), contract_y=(0,)), "f32[512, 784]", "f32[784, 512]"
    )
    function = print_function(graph.calls[0], "product", WIDER)
    assert function
    assert "product_pack(" in function.text
    assert print_function(graph.calls[0], "product", replace(WIDER, wider_than_blas=False)) is None


@pytest.mark.parametrize(
    ("name", "is_narrow"),
    [(b"Haswell", True), (b"Zen", True), (b"SkylakeX", False), (b"SapphireRapids", False), (None, False)],
)
def test_openblas_says_for_which_processor_its_kernels_are(
    name: bytes | None, is_narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SimpleNamespace(scipy_openblas_get_corename64_=lambda: name)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    assert blas.has_narrow_vectors.__wrapped__() is is_narrow


def test_a_blas_that_does_not_say_so_counts_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    assert not blas.has_narrow_vectors.__wrapped__()


def test_compiled_functions_and_their_derivatives_multiply_as_numpy_does() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(200, 130)), rng.normal(size=(130, 150))

    def loss(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w / 12))

    slope = tm.compile(tm.grad(loss), backend="c")(w, x)
    np.testing.assert_allclose(slope, x.T @ (1 - np.tanh(x @ w / 12) ** 2) / 12, 1e-9, 1e-12)
    stack = np.stack([x, 2 * x, -x])
    many = tm.compile(tm.vmap(lambda x: x @ w), backend="c")(stack)
    np.testing.assert_allclose(many, stack @ w, 1e-10, 1e-10)
    turned = tm.compile(lambda x, w: x @ w, backend="c")(np.asfortranarray(x)[::-1], w[:, ::-1])
    np.testing.assert_allclose(turned, x[::-1] @ w[:, ::-1], 1e-10, 1e-10)
