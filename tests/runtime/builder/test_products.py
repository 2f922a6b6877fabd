"""Matrix products in C: by loops, by panels and by blocks, in every order, as accurate as NumPy's, on any number of
threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import tracemill as tm
from c.compiling import compiled
from c.through_c import Run, assert_close, assert_means_the_same_through_c, merged
from support.recording import recorded
from tracemill.compiler.backends.c.function import COptions
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine.target import target_of
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = pytest.mark.usefixtures("c_compiler")

PRODUCTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rows with columns": ("[70, 90]", "[90, 80]", {"contract_x": (1,), "contract_y": (0,)}),
    "rows with rows": ("[70, 90]", "[80, 90]", {"contract_x": (1,), "contract_y": (1,)}),
    "columns with columns": ("[90, 70]", "[90, 80]", {"contract_x": (0,), "contract_y": (0,)}),
    "columns with rows": ("[90, 70]", "[80, 90]", {"contract_x": (0,), "contract_y": (1,)}),
    "along two axes": ("[70, 9, 10]", "[9, 10, 80]", {"contract_x": (1, 2), "contract_y": (0, 1)}),
    "of three axes": ("[9, 10, 90]", "[90, 8, 10]", {"contract_x": (2,), "contract_y": (0,)}),
    "of stacks": (
        "[3, 70, 90]",
        "[3, 90, 80]",
        {"contract_x": (2,), "contract_y": (1,), "batch_x": (0,), "batch_y": (0,)},
    ),
    "of stacks that lie within": (
        "[70, 3, 90]",
        "[80, 3, 90]",
        {"contract_x": (2,), "contract_y": (2,), "batch_x": (1,), "batch_y": (1,)},
    ),
}
THIN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a matrix with a vector": ("[700, 600]", "[600]", {"contract_x": (1,), "contract_y": (0,)}),
    "a vector with a matrix": ("[600]", "[600, 700]", {"contract_x": (0,), "contract_y": (0,)}),
    "a column with a row": ("[700, 1]", "[1, 600]", {"contract_x": (1,), "contract_y": (0,)}),
}
UNEVEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "axes apart": ("[9, 70, 10]", "[9, 10, 80]", {"contract_x": (0, 2), "contract_y": (0, 1)}),
    "no entries together": (
        "[70, 90, 3]",
        "[3, 90, 80]",
        {"contract_x": (1,), "contract_y": (1,), "batch_x": (2,), "batch_y": (0,)},
    ),
}
STACKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    f"{about}, {how}": (
        str([count, length, rows] if turned_x else [count, rows, length]),
        str([count, columns, length] if turned_y else [count, length, columns]),
        {
            "contract_x": (1 if turned_x else 2,),
            "contract_y": (2 if turned_y else 1,),
            "batch_x": (0,),
            "batch_y": (0,),
        },
    )
    for about, (count, rows, columns, length) in {
        "small ones": (37, 31, 23, 65),
        "some of them larger": (5, 83, 97, 101),
        "large for panels": (19, 103, 101, 107),
        "in blocks": (2, 331, 219, 301),
    }.items()
    for how, turned_x, turned_y in (
        ("rows with columns", False, False),
        ("rows with rows", False, True),
        ("columns with columns", True, False),
        ("columns with rows", True, True),
    )
} | {
    "of two axes, that lie within": (
        "[2, 200, 3, 100]",
        "[2, 60, 3, 100]",
        {"contract_x": (3,), "contract_y": (3,), "batch_x": (0, 2), "batch_y": (0, 2)},
    ),
    "of three axes on both sides": (
        "[7, 9, 10, 110]",
        "[7, 110, 11, 10]",
        {"contract_x": (3,), "contract_y": (1,), "batch_x": (0,), "batch_y": (0,)},
    ),
}
"""Stacks of sizes for each way to multiply them, and in each order."""

OTHER_STACKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    name: (x, y, {"contract_x": (2,), "contract_y": (1,), "batch_x": (0,), "batch_y": (0,)})
    for name, (x, y) in {
        "of none": ("[0, 70, 90]", "[0, 90, 80]"),
        "of one": ("[1, 70, 90]", "[1, 90, 80]"),
        "of empty sums": ("[3, 70, 0]", "[3, 0, 80]"),
        "of vectors": ("[3, 1, 900]", "[3, 900, 800]"),
        "of few rows with much": ("[3, 2, 700]", "[3, 700, 600]"),
        "of small ones": ("[9, 7, 5]", "[9, 5, 6]"),
    }.items()
}
"""Stacks without elements, of vectors, and of few rows."""

ALL = PRODUCTS | THIN | UNEVEN | STACKS | OTHER_STACKS

ORDERS: dict[str, tuple[int, int]] = {
    "rows with columns": (1, 0),
    "rows with rows": (1, 1),
    "columns with columns": (0, 0),
    "columns with rows": (0, 1),
}
"""The axes of two matrices along which they are multiplied."""

SIZES = (
    *((128, 128, 128), (97, 300, 61), (131, 101, 257), (64, 1500, 33), (1031, 16, 77)),
    *((700, 1100, 10), (5, 1025, 300), (700, 3, 3), (3, 600, 40), (16, 16, 1030), (41, 6000, 2)),
)
"""Rows, terms of a sum, columns: multiples of tiles or not, sums of one block or of several, narrow and flat ones."""


def multiplied(x: Any, y: Any, axes: tuple[int, int]) -> Any:
    f = {"float32": "f32", "float64": "f64"}[x.dtype.name]
    types = [f"{f}{list(array.shape)}" for array in (x, y)]
    contracted = {"contract_x": (axes[0],), "contract_y": (axes[1],)}
    graph = recorded(lambda left, right: bind("dot", left, right, **contracted), *types)
    (out,) = build(graph, target_of("c", fast_math=False)).function(x, y)
    return out


def matrices(sizes: tuple[int, int, int], axes: tuple[int, int], dtype: str) -> tuple[Any, Any]:
    rows, length, columns = sizes
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, length)), rng.normal(size=(length, columns))
    left, right = x if axes[0] else x.T, y.T if axes[1] else y
    return np.ascontiguousarray(left.astype(dtype)), np.ascontiguousarray(right.astype(dtype))


def exact(x: Any, y: Any, axes: tuple[int, int]) -> Any:
    return np.tensordot(x.astype(np.float64), y.astype(np.float64), ((axes[0],), (axes[1],)))


def product(name: str, dtype: str) -> Graph:
    x, y, params = ALL[name]
    return recorded(lambda x, y: bind("dot", x, y, **params), dtype + x, dtype + y)


def loop(body: Graph) -> Graph:
    rows = [f"{value.dtype}[2, {str(list(value.shape))[1:]}" for value in body.inputs]
    types = [text.replace("float", "f") for text in rows]
    return recorded(lambda x, y: tuple(bind_all("scan", x, y, graph=body, counts=(0, 0), length=2)), *types)


def arrays_for(graph: Graph) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=value.shape).astype(value.dtype) for value in graph.inputs]


Threads: TypeAlias = Callable[..., Iterator[int]]


@pytest.fixture
def threads() -> Iterator[Threads]:
    """``for count in threads(1, 2)``: the body of the loop uses this many threads."""

    def each(*counts: int) -> Iterator[int]:
        for count in counts:
            tm.set_num_threads(count)
            yield count

    before = tm.get_num_threads()
    yield each
    tm.set_num_threads(before)


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ORDERS)
def test_products_are_as_accurate_as_numpys_on_any_number_of_threads(
    order: str, dtype: str, threads: Threads
) -> None:
    axes = ORDERS[order]
    for sizes in SIZES:
        x, y = matrices(sizes, axes, dtype)
        results = [multiplied(x, y, axes) for _ in threads(1, 2, 3, 8)]
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


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_products_in_loops_are_those_of_numpy(dtype: str) -> None:
    graphs = {name: loop(product(name, dtype)) for name in (*PRODUCTS, *THIN, *UNEVEN)}
    runs = [Run(graph, arrays_for(graph), name) for name, graph in graphs.items()]
    assert_means_the_same_through_c(runs, ulps=5000)


@pytest.mark.parametrize("name", ALL)
def test_no_product_needs_numpy(name: str) -> None:
    call = product(name, "f64").calls[0]
    assert call.op == "dot"
    assert print_function(call, "product", COptions())


def test_products_of_two_byte_numbers_are_numpys() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 33, 33)).astype("f2")
    multiply = tm.compile(np.matmul, backend="c")
    for left, right in ((x, y), (x, y.T), (x, y[0]), (x[0], y[0]), (x[:3, :4], y[:4, :5])):
        np.testing.assert_array_equal(multiply(left, right), left @ right, strict=True)


def test_complex_products_are_four_real_ones() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(2, 90, 90)) + 1j * rng.normal(size=(2, 90, 90)) for _ in range(2))
    multiply = tm.compile(np.matmul, backend="c")
    for left, right in ((x, y), (x[0], y[1].T), (x[0], y[1, 0]), (x[0, 0], y[1, 0])):
        np.testing.assert_allclose(multiply(left, right), left @ right, rtol=1e-12, atol=1e-12)
    assert "_tile(" in (multiply.lower(x, y).c_source or "")


@pytest.mark.slow
def test_stacks_of_products_are_those_of_numpy_with_any_number_of_threads(threads: Threads) -> None:
    graphs = [
        product(name, "f32" if number % 3 else "f64") for number, name in enumerate((*STACKS, *OTHER_STACKS))
    ]
    runs = [Run(graph, arrays_for(graph), str(graph)) for graph in graphs]
    assert_means_the_same_through_c(runs, ulps=5000)
    program = build(merged(graphs), target_of("c", fast_math=False)).function
    arrays = [array for run in runs for array in run.inputs]
    results = [[out.tobytes() for out in program(*arrays)] for _ in threads(1, 2, 4, 100)]
    assert all(result == results[0] for result in results)


def test_a_stack_may_have_any_memory_layout() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 8, 110)), rng.normal(size=(110, 130, 8))
    multiply = tm.compile(np.matmul, backend="c")
    turned, strided = x.swapaxes(0, 1), y.transpose(2, 0, 1)[::2]
    for left, right in ((turned, y.T.swapaxes(1, 2)), (turned[::-2], strided), (turned, strided[:1])):
        np.testing.assert_allclose(multiply(left, right), np.matmul(left, right), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_one_program_multiplies_stacks_of_any_size_with_any_number_of_threads(threads: Threads) -> None:
    multiply = tm.compile(np.matmul, backend="c", dynamic=True)
    rng = np.random.default_rng(0)
    for count, rows, length, columns in (
        *((3, 50, 60, 70), (4, 90, 97, 99), (2, 110, 120, 130), (2, 310, 90, 200)),
        *((2, 2, 700, 600), (9, 7, 5, 6), (1, 200, 200, 200), (3, 1, 500, 40)),
        *((0, 3, 4, 5), (3, 0, 4, 5), (3, 4, 0, 5), (3, 4, 5, 0)),
    ):
        x, y = rng.normal(size=(count, rows, length)), rng.normal(size=(count, length, columns))
        results = [multiply(x, y) for _ in threads(1, 2, 4)]
        np.testing.assert_allclose(results[0], x @ y, rtol=0, atol=1e-11)
        assert all(result.tobytes() == results[0].tobytes() for result in results)


def test_threads_of_python_may_multiply_at_once() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4, 150, 150)).astype("f4")
    multiply = tm.compile(np.matmul, backend="c")
    expected, by_numpy = multiply(x, y), x[0] @ y[0]
    with ThreadPoolExecutor(4) as pool:
        ours = [pool.submit(multiply, x, y) for _ in range(20)]
        theirs = [pool.submit(np.matmul, x[0], y[0]) for _ in range(20)]
    assert all((result.result() == expected).all() for result in ours)
    for result in theirs:
        np.testing.assert_allclose(result.result(), by_numpy, rtol=0, atol=1e-3)


@pytest.mark.slow
def test_a_program_on_its_own_multiplies(c_toolchain: Toolchain, tmp_path: Path) -> None:
    graphs = [product(name, dtype) for name in PRODUCTS for dtype in ("f64", "f32")]
    graphs += [product(name, "f32") for name in STACKS]
    functions = [
        print_function(graph.calls[0], f"product_{number}", COptions(alone=True))
        for number, graph in enumerate(graphs)
    ]
    runs = compiled([function for function in functions if function], c_toolchain, tmp_path, level=1)
    for graph, run in zip(graphs, runs, strict=True):
        arrays = arrays_for(graph)
        (expected,) = evaluate(graph, *arrays)
        for threads in (1, 2):
            assert_close(run(*arrays, threads=threads)[0], expected, str(graph), 5000)


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
