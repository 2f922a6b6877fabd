"""C functions that are printed once compute, for arrays of any size, what static graphs of that size mean."""

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
import pytest

from compiling import Compiled, compiled, shape_at
from symbolic_kernels import HINTS, KERNELS, OTHER_SIZES, SIZES
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.kernel import kernel_function
from tracemill.compiler.dtypes import Array, is_inexact, real_dtype
from tracemill.compiler.ir import Graph
from tracemill.compiler.parse import parse
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.text import HEADER
from tracemill.compiler.trace import evaluate
from tracemill.passes.fix_sizes import fix_sizes
from tracemill.runtime.toolchain import Toolchain


def printed(name: str) -> tuple[Graph, CFunction, Observed]:
    """A kernel, its C function, and what was assumed when that was printed."""
    scope = Observed(HINTS)
    with answering(scope):
        graph = parse(f"{HEADER}{KERNELS[name]}")
        function = kernel_function(graph, f"c_{name}", COptions(), in_place=True)
    assert function is not None
    return graph, function, scope


PRINTED = {name: printed(name) for name in KERNELS}


def drawn(graph: Graph, sizes: Mapping[str, int], seed: str) -> list[Array]:
    rng = np.random.default_rng(crc32(repr((seed, sorted(sizes.items()))).encode()))
    arrays: list[Array] = []
    for value in graph.inputs:
        shape, dtype = shape_at(value.type, sizes), value.dtype
        if dtype.kind in "iu":
            arrays.append(rng.integers(0 if dtype.kind == "u" else -3, 9, shape).astype(dtype))
        elif dtype.kind == "c":
            arrays.append((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype))
        else:
            arrays.append(rng.normal(size=shape).astype(dtype))
    return arrays


def assert_close(found: Sequence[Array], expected: Sequence[Array]) -> None:
    """Integers equal; numbers as near as the order of additions lets them be."""
    for x, y in zip(found, expected, strict=False):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if not is_inexact(y.dtype):
            np.testing.assert_array_equal(x, y)
            continue
        eps = float(np.finfo(real_dtype(y.dtype)).eps)
        np.testing.assert_allclose(x, y, rtol=64 * eps, atol=64 * eps * float(np.abs(y).max()))


@pytest.fixture(scope="module")
def kernels(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compiled]:
    functions = [function for _, function, _ in PRINTED.values()]
    made = compiled(functions, c_toolchain, tmp_path_factory.mktemp("symbolic"), level=1)
    return dict(zip(PRINTED, made, strict=True))


@pytest.mark.parametrize("name", KERNELS)
def test_printing_assumes_nothing_of_the_sizes(name: str) -> None:
    _, function, scope = PRINTED[name]
    assert str(scope.guards) == "True"
    assert function.sizes


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_give_what_they_mean_for_each_size(name: str, kernels: dict[str, Compiled]) -> None:
    graph, _, _ = PRINTED[name]
    for sizes in OTHER_SIZES.get(name, SIZES):
        arrays = drawn(graph, sizes, name)
        with np.errstate(all="ignore"):
            expected = [np.asarray(x) for x in evaluate(fix_sizes(graph, sizes), *arrays)]
        found = kernels[name](*arrays, sizes=sizes)
        assert_close(found, expected)
        for threads in (2, 3):
            again = kernels[name](*arrays, sizes=sizes, threads=threads)
            for x, y in zip(found[: len(expected)], again, strict=False):
                np.testing.assert_array_equal(x, y)
