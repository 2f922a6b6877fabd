"""Graphs of one call that is not a loop nest: of sizes at which programs are full, or none is, and parts meet."""

import numpy as np

from support.recording import recorded
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.dtypes import DType
from tracemill.compiler.ir import Graph, Shape, Value

U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)


def bits(shape: Shape, dtype: DType, *types: str) -> Graph:
    return recorded(lambda key, counter: bind("random_bits", key, counter, shape=shape, dtype=dtype), *types)


def running(op: str, type: str, axis: int, *, reverse: bool = False) -> Graph:
    return recorded(lambda x: bind(op, x, axis=axis, reverse=reverse), type)


def ordered(*types: str, axis: int, keys: int = 1, descending: bool = False) -> Graph:
    def sort(*operands: Value) -> tuple[Value, ...]:
        return bind_all("sort", *operands, axis=axis, num_keys=keys, descending=descending)

    return recorded(sort, *types)


def written(mode: str, *types: str, axes: Shape = (0,), unique: bool = False) -> Graph:
    return recorded(lambda *values: bind("scatter", *values, axes=axes, mode=mode, unique=unique), *types)


def pendulum(*values: Value) -> tuple[Value, ...]:
    """An iteration of two coupled arrays and a counter, driven by a row of each of two arrays."""
    damping, angle, speed, time, push, scale = values
    pull = bind("multiply", bind("sin", angle), scale)
    faster = bind("add", bind("multiply", speed, damping), bind("subtract", push, pull))
    further = bind("add", angle, faster)
    return further, faster, bind("add", time, scale), bind("square", faster), time


def pendulum_loop(length: int, size: int, dtype: str, *, reverse: bool = False) -> Graph:
    array, number = f"{dtype}[{size}]", f"{dtype}[]"
    body = recorded(pendulum, array, array, array, number, array, number)
    rows = (f"{dtype}[{length}, {size}]", f"{dtype}[{length}]")
    return recorded(
        lambda *values: bind_all("scan", *values, graph=body, counts=(1, 3), length=length, reverse=reverse),
        *(array, array, array, number),
        *rows,
    )


def attending(*types: str, causal: bool = False) -> Graph:
    return recorded(lambda *values: bind("attention", *values, scale=0.125, causal=causal), *types)


def gradient_of_attention(type: str, *mask: str, causal: bool = False) -> Graph:
    """By the sums of its weights: cotangent, query, key, value, mask, result, and both sums."""
    dtype, _, shape = type.rpartition("[")
    row = f"{'f64' if dtype == 'f64' else 'f32'}[{shape.rpartition(',')[0]}]"

    def gradient(*values: Value) -> tuple[Value, ...]:
        return bind_all("attention_gradient_by_sums", *values, scale=0.125, causal=causal)

    return recorded(gradient, *(type,) * 4, *mask, type, row, row)


STEPS: dict[str, Graph] = {
    "loop": pendulum_loop(9, 301, "f32"),
    "loop backwards": pendulum_loop(7, 128, "f64", reverse=True),
    "loop of 16-bit floats": pendulum_loop(5, 33, "bf16"),
    "loop of numbers": pendulum_loop(6, 1, "f32"),
    "loop of no iterations": pendulum_loop(0, 40, "f32"),
    "random words": bits((9001,), U32, "u32[2]", "u32[4]"),
    "random pairs": bits((83, 7), U64, "u32[3, 1, 2]", "u32[5, 4]"),
    "random streams": bits((3,), U32, "u32[1999, 2]", "u32[4]"),
    "running sum of rows": running("cumsum", "f32[37, 512]", 1),
    "running sum of columns": running("cumsum", "f64[301, 83]", 0),
    "running sum back": running("cumsum", "f64[3, 20001]", 1, reverse=True),
    "running sum in parts": running("cumsum", "f64[1, 50021]", 1),
    "running product in parts": running("cumprod", "i16[70, 100, 5]", 1, reverse=True),
    "running maximum": running("cummax", "f64[3, 5003]", 1),
    "running minimum": running("cummin", "bool[257]", 0),
    "running log-sum": running("cumlogsumexp", "f32[4099]", 0),
    "short rows": ordered("f32[301, 19]", "i64[301, 19]", axis=1),
    "rows of doubles": ordered("f64[3, 700]", axis=1),
    "columns by two keys": ordered("i8[70, 9]", "f64[70, 9]", "f16[70, 9]", axis=0, keys=2, descending=True),
    "long rows": ordered("f32[2, 7001]", axis=1),
    "long rows by two keys": ordered(
        "i8[5003, 2]", "i64[5003, 2]", "f32[5003, 2]", axis=0, keys=2, descending=True
    ),
    "largest": recorded(lambda x: bind_all("top_k", x, k=7, axis=1), "f32[40, 33]"),
    "largest of long rows": recorded(lambda x: bind_all("top_k", x, k=70, axis=0), "bf16[2500, 2]"),
    "sums of rows": written("add", "f32[5, 7]", "f32[1500, 7]", "i64[1500]"),
    "sums in long order": written("add", "f64[9]", "f64[5003]", "i32[5003]"),
    "sums of few": written("add", "f32[2]", "f32[4500]", "i64[4500]"),
    "largest of wide rows": written("maximum", "f16[3, 2, 20]", "f16[600, 2, 20]", "i32[600]"),
    "truths of few": written("multiply", "bool[3]", "bool[300]", "i64[300]"),
    "products": written("multiply", "f16[4, 3, 6]", "f16[40, 3]", "i64[40]", "i64[1]", axes=(2, 0)),
    "last ones": written("set", "i8[5, 400]", "i8[20, 400]", "i8[20]"),
    "counts": written("add", "i64[6]", "i64[3001]", "u64[3001]"),
    "largest ones": written("maximum", "f32[6]", "f32[300]", "i64[300]"),
    "truths": written("add", "bool[6]", "bool[30]", "i64[30]"),
    "attention": attending("f32[2, 67, 16]", "f32[2, 131, 16]", "f32[2, 131, 16]"),
    "attention in order": attending("f32[3, 131, 5]", "f32[3, 131, 5]", "f32[3, 131, 7]", causal=True),
    "attention of one query": attending("bf16[1, 33]", "bf16[131, 33]", "bf16[131, 20]"),
    "attention of later queries": attending("f32[131, 16]", "f32[37, 16]", "f32[37, 16]", causal=True),
    "attention of earlier queries": attending("f64[37, 16]", "f64[131, 16]", "f64[131, 16]", causal=True),
    "attention of grouped heads": attending(
        "f16[2, 2, 3, 37, 16]", "f16[2, 2, 1, 37, 16]", "f16[2, 2, 1, 37, 16]", causal=True
    ),
    "gradient of attention": gradient_of_attention("f32[2, 131, 7]", causal=True),
    "gradient of attention with a bias": gradient_of_attention("f64[67, 16]", "f64[1, 67]"),
    "attention through a mask": attending("f32[2, 37, 16]", "f32[67, 16]", "f32[2, 67, 16]", "bool[37, 67]"),
    "attention with a bias": attending(
        "f32[2, 37, 16]", "f32[67, 16]", "f32[67, 16]", "f32[2, 1, 67]", causal=True
    ),
}

BF16, SINGLES = ("bf16[4, 8, 1024, 64]",) * 3, ("f32[4, 8, 1024, 128]",) * 3
LARGE: dict[str, Graph] = {
    "attention with 16-bit heads of 64": attending(*BF16, causal=True),
    "attention with 16-bit heads of 128": attending(*("f16[4, 8, 1024, 128]",) * 3, causal=True),
    "attention with 16-bit heads of 256": attending(*("bf16[4, 8, 1024, 256]",) * 3, causal=True),
    "attention with 16-bit heads of 80": attending(*("bf16[4, 8, 1021, 80]",) * 3),
    "attention of 16-bit floats through a mask": attending(*BF16, "bool[4, 1, 1024, 1024]"),
    "attention of 16-bit floats with a bias": attending(*("f16[4, 8, 1024, 128]",) * 3, "f16[8, 1024, 1024]"),
    "attention of singles": attending(*SINGLES, causal=True),
    "attention of singles through a mask": attending(*SINGLES, "bool[1024, 1024]", causal=True),
    "gradient of attention with 16-bit heads of 64": gradient_of_attention(BF16[0], causal=True),
    "gradient of attention with 16-bit heads of 128": gradient_of_attention(
        "f16[4, 8, 1024, 128]", "bool[1024, 1024]"
    ),
    "gradient of attention with 16-bit heads of 256": gradient_of_attention(
        "bf16[4, 8, 1024, 256]", causal=True
    ),
    "gradient of attention of singles": gradient_of_attention(SINGLES[0], causal=True),
    "gradient of attention of doubles": gradient_of_attention("f64[4, 8, 1024, 64]", causal=True),
    "attention of doubles": attending(*("f64[4, 8, 1024, 64]",) * 3, causal=True),
}
"""Those that are compiled only."""
