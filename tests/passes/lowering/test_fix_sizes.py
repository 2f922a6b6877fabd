"""The sizes of a symbolic graph get their values: what remains is what tracing gives for them."""

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.interpreter import evaluate
from tracemill.passes.lowering.fix_sizes import fix_sizes

TEXT = """# tracemill ir 1
def f(x: f32[B, N]) -> (f32[B*N], i64[], f32[B]):  # B in 2.., N in 2.., N % 2 == 0
    def body(x0: f32[], row: f32[N]) -> (f32[], f32[]):
        sum_1: f32[] = sum(row, axes=(0,))
        return x0, sum_1
    reshape_1: f32[B*N] = reshape(x, shape=(B*N,))
    size_1: i64[] = size(of=B*(N // 2) + min(B, N))
    scan_1: f32[], scan_2: f32[B] = scan(f32(0.0), x, graph=body, counts=(0, 1), length=B)
    return reshape_1, size_1, scan_2
"""


def test_a_graph_with_sizes_in_parameters_reads_back() -> None:
    graph = tm.parse(TEXT)
    assert tm.parse(str(graph)) == graph
    graph.lint()


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 4), (5, 2)])
def test_fixed_sizes_are_those_of_the_arrays(rows: int, columns: int) -> None:
    fixed = fix_sizes(tm.parse(TEXT), {"B": rows, "N": columns})
    fixed.lint()
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    flat, size, sums = evaluate(fixed, x)
    np.testing.assert_array_equal(flat, x.reshape(-1))
    assert size == rows * columns // 2 + min(rows, columns)
    np.testing.assert_array_equal(sums, x.sum(axis=1))


def test_a_size_without_a_value_is_named() -> None:
    with pytest.raises(KeyError, match="N"):
        fix_sizes(tm.parse(TEXT), {"B": 3})


@pytest.mark.parametrize("name", ["f32", "nan", "callable", "min"])
def test_a_dim_is_not_called_by_a_word_of_the_text(name: str) -> None:
    with pytest.raises(tm.errors.DimSpecError, match=name):
        tm.Dim(name)
