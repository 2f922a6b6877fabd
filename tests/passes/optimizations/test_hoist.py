"""Taking out of a graph what some of its inputs do not change."""

import numpy as np

from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.text.parser import parse
from tracemill.passes.optimizations.hoist import hoist

GRAPH = parse(
    """# tracemill ir 1
def f(x: f64[], w: f64[3], v: f64[3]) -> (f64[3], f64[3], f64[3], f64[]):
    sin_1: f64[3] = sin(w)
    cos_1: f64[3] = cos(v)
    broadcast_to_1: f64[3] = broadcast_to(x, shape=(3,))
    multiply_1: f64[3] = multiply(broadcast_to_1, sin_1)
    exp_1: f64[3] = exp(multiply_1)
    return multiply_1, cos_1, v, x
"""
)


def test_what_varies_is_told_from_what_does_not() -> None:
    shared, each = hoist(GRAPH, varying=[True, False, False])
    assert shared.code == (
        "def f_shared(w: f64[3], v: f64[3]) -> (f64[3], f64[3], f64[3]):\n"
        "    sin_1: f64[3] = sin(w)\n"
        "    cos_1: f64[3] = cos(v)\n"
        "    return cos_1, v, sin_1"
    )
    assert each.code == (
        "def f(shared0: f64[3], x: f64[]) -> (f64[3], f64[]):\n"
        "    broadcast_to_1: f64[3] = broadcast_to(x, shape=(3,))\n"
        "    multiply_1: f64[3] = multiply(broadcast_to_1, shared0)\n"
        "    return multiply_1, x"
    )


def test_both_parts_together_compute_the_same() -> None:
    x, w, v = np.float64(2.0), np.arange(3.0), np.ones(3)
    shared, each = hoist(GRAPH, varying=[False, True, False])
    fixed_v, fixed_x, *needed = evaluate(shared, x, v)[1:]
    product, *rest = evaluate(each, *needed, w)
    assert not rest
    for got, expected in zip(
        (product, evaluate(shared, x, v)[0], fixed_v, fixed_x), evaluate(GRAPH, x, w, v), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
