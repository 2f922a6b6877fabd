"""Products with a vector become sums of products, along the axes of the matrix in its own order."""

from typing import Any

import numpy as np
import pytest

from support.recording import recorded
from tracemill.compiler.builder import bind
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.verifier import check
from tracemill.passes.lowering.real_products import real_products
from tracemill.passes.optimizations.sum_products import sum_products

VECTORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "matrix and vector": ("[5, 4]", "[4]", {"contract_x": (1,), "contract_y": (0,)}),
    "vector and matrix": ("[4]", "[4, 5]", {"contract_x": (0,), "contract_y": (0,)}),
    "vectors": ("[4]", "[4]", {"contract_x": (0,), "contract_y": (0,)}),
    "one column": ("[5, 4]", "[4, 1]", {"contract_x": (1,), "contract_y": (0,)}),
    "one row, turned": ("[4, 1]", "[4, 5]", {"contract_x": (0,), "contract_y": (0,)}),
    "along two axes in another order": ("[3, 5, 4]", "[4, 3]", {"contract_x": (0, 2), "contract_y": (1, 0)}),
    "stacks": (
        "[5, 2, 4]",
        "[4, 2]",
        {"contract_x": (2,), "contract_y": (0,), "batch_x": (1,), "batch_y": (1,)},
    ),
    "stacks of vectors": (
        "[2, 3, 4]",
        "[3, 2, 4]",
        {"contract_x": (2,), "contract_y": (2,), "batch_x": (0, 1), "batch_y": (1, 0)},
    ),
    "no terms": ("[5, 0]", "[0]", {"contract_x": (1,), "contract_y": (0,)}),
}


def values(graph: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    both = (
        (value.dtype, rng.normal(size=value.shape), rng.normal(size=value.shape)) for value in graph.inputs
    )
    return [(a + 1j * b if dtype.kind == "c" else a).astype(dtype) for dtype, a, b in both]


@pytest.mark.parametrize("dtype", ["f64", "c128"])
@pytest.mark.parametrize("name", VECTORS)
def test_a_product_with_a_vector_is_a_sum(name: str, dtype: str) -> None:
    x, y, params = VECTORS[name]
    graph = recorded(lambda x, y: bind("dot", x, y, **params), dtype + x, dtype + y)
    found = sum_products(graph)
    check(found)
    assert "dot" not in {call.op for call in found.calls}
    given = values(graph)
    np.testing.assert_allclose(
        evaluate(found, *given)[0], evaluate(graph, *given)[0], rtol=1e-13, strict=True
    )


def test_other_products_stay() -> None:
    for dtype, x, y in (("f64", "[5, 4]", "[4, 3]"), ("i64", "[5, 4]", "[4]")):
        graph = recorded(
            lambda x, y: bind("dot", x, y, contract_x=(1,), contract_y=(0,)), dtype + x, dtype + y
        )
        assert sum_products(graph) is graph


def test_complex_products_are_four_real_ones() -> None:
    graph = recorded(
        lambda x, y: bind("dot", x, y, contract_x=(1,), contract_y=(0,)), "c128[5, 4]", "c128[4, 3]"
    )
    found = real_products(graph)
    check(found)
    assert [call.inputs[0].dtype.kind for call in found.calls if call.op == "dot"] == ["f"] * 4
    given = values(graph)
    np.testing.assert_allclose(evaluate(found, *given)[0], given[0] @ given[1], rtol=1e-13)
