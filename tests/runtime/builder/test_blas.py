"""Products in C call NumPy's BLAS, if it is found and multiplies as it should: large ones in loops, and stacks."""

import ctypes
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
from tracemill.compiler.backends.c.blas import blas_text
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.source import functions_text, print_function
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine import blas
from tracemill.runtime.machine.loaded_library import LoadedLibrary
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
        "a call of BLAS for each": (37, 31, 23, 65),
        "some calls for each": (5, 83, 97, 101),
        "a batch for each": (19, 103, 101, 107),
        "some batches for each": (2, 331, 219, 301),
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
"""Stacks of each size for which there is a way, and of each order that BLAS knows."""

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
"""Those that NumPy multiplies, or C itself."""

ON_THREAD = COptions(blas=True, blas_on_thread=True)


def product(name: str, dtype: str) -> Graph:
    x, y, params = {**PRODUCTS, **THIN, **UNEVEN, **STACKS, **OTHER_STACKS}[name]
    return recorded(lambda x, y: bind("dot", x, y, **params), dtype + x, dtype + y)


def in_loop(graph: Graph, options: COptions) -> CFunction | None:
    return print_function(graph.calls[0], "product", options, in_loop=True)


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


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_products_in_loops_of_c_are_those_of_numpy(dtype: str) -> None:
    graphs = {name: loop(product(name, dtype)) for name in (*PRODUCTS, *THIN, *UNEVEN)}
    runs = [Run(graph, arrays_for(graph), name) for name, graph in graphs.items()]
    assert_means_the_same_through_c(runs, ulps=5000)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_loop_with_a_large_product_is_c_that_calls_blas(name: str) -> None:
    call = loop(product(name, "f64")).calls[0]
    function = print_function(call, "loop", COptions(blas=True))
    assert function
    assert "tm_multiply_f64(" in function.text
    assert print_function(call, "loop", COptions()) is None, "without BLAS it is a loop of Python"


@pytest.mark.parametrize("name", UNEVEN)
def test_what_is_not_a_matrix_of_blas_stays_with_numpy(name: str) -> None:
    assert in_loop(product(name, "f64"), COptions(blas=True)) is None


@pytest.mark.parametrize("name", THIN)
def test_what_takes_as_long_as_to_read_it_needs_no_blas(name: str) -> None:
    function = in_loop(product(name, "f64"), COptions(blas=True))
    assert function
    assert "tm_multiply" not in functions_text([function])


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


@pytest.mark.parametrize("name", STACKS)
def test_tracemills_threads_share_a_stack_of_products(name: str) -> None:
    graph = product(name, "f32")
    function = print_function(graph.calls[0], "product", ON_THREAD)
    assert function
    assert "tm_multiply_here_f32(" in function.text
    assert print_function(graph.calls[0], "product", COptions(blas=True)) is None


@pytest.mark.parametrize("name", [*OTHER_STACKS, *THIN, *UNEVEN, "rows with columns"])
def test_other_products_take_no_part_in_that(name: str) -> None:
    function = print_function(product(name, "f64").calls[0], "product", ON_THREAD)
    assert function is None or "tm_multiply" not in function.text


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
def test_a_program_on_its_own_multiplies_without_blas(c_toolchain: Toolchain, tmp_path: Path) -> None:
    graphs = [product(name, dtype) for name in PRODUCTS for dtype in ("f64", "f32")]
    graphs += [product(name, "f32") for name in STACKS]
    functions = [
        print_function(graph.calls[0], f"product_{number}", ON_THREAD, in_loop=True)
        for number, graph in enumerate(graphs)
    ]
    runs = compiled([function for function in functions if function], c_toolchain, tmp_path, level=1)
    for graph, run in zip(graphs, runs, strict=True):
        arrays = arrays_for(graph)
        (expected,) = evaluate(graph, *arrays)
        for threads in (1, 2):
            assert_close(run(*arrays, threads=threads)[0], expected, str(graph), 5000)


def test_numpys_wheels_have_a_blas_that_is_found() -> None:
    wheel = Path(np.__file__).parent.with_name("numpy.libs").exists()
    assert blas.products() is not None or not wheel
    assert target_of("c", fast_math=False).options.blas is (blas.products() is not None)
    assert (blas.address_of_products() == 0) is (blas.products() is None)
    found = blas.products()
    assert target_of("c", fast_math=False).options.blas_on_thread is bool(found and found.has_batches)


def test_sizes_that_a_blas_of_32_bits_cannot_be_told_are_multiplied_without_it(
    c_toolchain: Toolchain,
) -> None:
    shortened = blas_text("tm_multiply_f64(").replace("INT32_MAX", "63")
    text = f"""
    #include <stdbool.h>
    #include <stdint.h>
    {shortened}
    void product(const tm_products *blas, int turned, int other,
                 const int64_t *sizes, double *x, double *y, double *out)
    {{
        tm_blas = blas;
        tm_multiply_f64(turned, other, sizes[0], sizes[1], sizes[2], x, sizes[3], y, sizes[4], out);
    }}"""
    called: list[int] = []
    integer, number, pointer = ctypes.c_int, ctypes.c_double, ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(
        None, *[integer] * 6, number, pointer, integer, pointer, integer, number, pointer, integer
    )
    narrow = prototype(lambda *arguments: called.append(arguments[3]))
    products = blas.Products(None, ctypes.cast(narrow, ctypes.c_void_p), 0)
    rng = np.random.default_rng(0)
    loaded = LoadedLibrary(c_toolchain.compile(text))
    function = loaded.library.product
    for rows, columns, length in ((64, 3, 4), (3, 64, 4), (3, 4, 64), (63, 7, 8)):
        for turned in (False, True):
            for other in (False, True):
                x = rng.normal(size=(length, rows) if turned else (rows, length))
                y = rng.normal(size=(columns, length) if other else (length, columns))
                out = np.full((rows, columns), np.nan)
                sizes = np.array([rows, columns, length, x.shape[1], y.shape[1]])
                data = [ctypes.c_void_p(array.ctypes.data) for array in (sizes, x, y, out)]
                function(ctypes.byref(products), turned, other, *data)
                if rows == 63:
                    assert called.pop() == 63
                else:
                    np.testing.assert_allclose(
                        out, (x.T if turned else x) @ (y.T if other else y), atol=1e-12
                    )
    assert not called


@pytest.mark.parametrize("writes", [False, True])
def test_a_function_that_multiplies_wrongly_is_not_trusted(writes: bool) -> None:
    number, pointer, order = ctypes.c_double, ctypes.c_void_p, ctypes.c_int

    def multiply(*arguments: Any) -> None:
        if writes:
            ctypes.memset(arguments[12], 0, 64)

    prototype = ctypes.CFUNCTYPE(
        *(None, order, order, order, order, order, order),
        *(number, pointer, order, pointer, order, number, pointer, order),
    )
    assert not blas.multiplies(prototype(multiply), ctypes.c_double, ctypes.c_int)


@pytest.mark.parametrize("writes", [False, True])
def test_a_function_that_multiplies_batches_wrongly_is_not_trusted(writes: bool) -> None:
    pointer = ctypes.c_void_p

    def multiply(*arguments: Any) -> None:
        if writes:
            out = ctypes.cast(arguments[12], ctypes.POINTER(pointer))[0]
            assert out
            ctypes.memset(out, 0, 64)

    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int, *[pointer] * 13, ctypes.c_int64, pointer)
    assert not blas.multiplies_batches(prototype(multiply), ctypes.c_double)
