"""`real_products`: products of complex matrices as products of real ones, which C computes."""

from collections.abc import Mapping
from typing import Any

from ...compiler.builder import bind
from ...compiler.dtypes import is_complex
from ...compiler.ir import Graph, Value
from ...compiler.value_ops import add, imag, make_complex, real, subtract
from ..rewrite import rewrite


def real_products(graph: Graph) -> Graph:
    """Replace each complex ``dot`` by four real ones, of the real and imaginary parts.

    Before ``dot_1: c128[3, 5] = dot(x, y, contract_x=(1,), contract_y=(0,))``, after::

        real_1: f64[3, 4] = real(x)
        imag_1: f64[3, 4] = imag(x)
        …
        make_complex_1: c128[3, 5] = make_complex(subtract_1, add_1)
    """
    return rewrite(graph, _replacement)


def _replacement(op: str, inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    if op != "dot" or not is_complex(inputs[0].dtype):
        return None
    (a, b), (c, d) = ((real(value), imag(value)) for value in inputs)

    def product(left: Value, right: Value) -> Value:
        return bind("dot", left, right, **params)

    return (make_complex(subtract(product(a, c), product(b, d)), add(product(a, d), product(b, c))),)
