"""Large products in loops of C call NumPy's BLAS, if it is found and multiplies as it should."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiling import compiled
from recording import recorded
from through_c import Run, assert_close, assert_means_the_same_through_c
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.source import functions_text, print_function
from tracemill.compiler.ir import Graph
from tracemill.compiler.trace import bind, bind_all, evaluate
from tracemill.runtime import blas
from tracemill.runtime.target import target_of
from tracemill.runtime.toolchain import Toolchain

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


def product(name: str, dtype: str) -> Graph:
    x, y, params = {**PRODUCTS, **THIN, **UNEVEN}[name]
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
def test_what_is_no_matrix_of_blas_stays_with_numpy(name: str) -> None:
    assert in_loop(product(name, "f64"), COptions(blas=True)) is None


@pytest.mark.parametrize("name", THIN)
def test_what_takes_as_long_as_to_read_it_needs_no_blas(name: str) -> None:
    function = in_loop(product(name, "f64"), COptions(blas=True))
    assert function
    assert "tm_multiply" not in functions_text([function])


def test_a_program_on_its_own_multiplies_without_blas(c_toolchain: Toolchain, tmp_path: Path) -> None:
    graphs = [product(name, dtype) for name in PRODUCTS for dtype in ("f64", "f32")]
    functions = [
        print_function(graph.calls[0], f"product_{number}", COptions(blas=True), in_loop=True)
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
