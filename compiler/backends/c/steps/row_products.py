"""Products of rows in C: for blocks of rows that are in the cache, on the calling thread."""

import math

from ....analysis.row_products import is_one_row_product
from ....ir import Call
from ..function import CFunction
from ..parameters import parameters
from ..row_products import NAMES


def row_product(call: Call, name: str) -> CFunction | None:
    """The C function of such a product; None for others."""
    if not is_one_row_product(call):
        return None
    x, y = call.inputs
    length, columns = y.shape[-2:]
    rows = math.prod(x.shape[:-1])
    inputs, outputs = tuple(value.type for value in call.inputs), (call.outputs[0].type,)
    declared = ", ".join([*parameters(inputs, outputs), "long threads"])
    text = (
        f"static void {name}({declared})\n"
        "{\n"
        f"    {NAMES[x.dtype.name]}({rows}, {columns}, {length}, x0, x1, out0);\n"
        "}\n"
    )
    work = 1 + rows * columns * length * x.dtype.itemsize // 256
    return CFunction(name, text, inputs, outputs, frozenset(), work)
