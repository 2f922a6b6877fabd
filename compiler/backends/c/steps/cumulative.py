"""Cumulative sums, products, extrema and log-sums in C: in order along the axis, as in NumPy.

Adjacent rows run in step, in the lanes of vector registers. If the axis is the last one, four rows run at once,
because each addition of one row waits for the one before.
"""

import math
from string import Template

from ....dtypes import DType, dtype_name, kind, real_dtype
from ....ir import Call
from ....params import flag_param, int_param
from ....symbolic_size import is_one, min_expr
from ..expression import functions_in
from ..function import CFunction
from ..parameters import parameters
from ..sizes import factor_text, names_in_call, scaled, size_text
from ..types import element_type
from .chunks import chunk_size, over_chunks

_ALONG = Template("""\
static void ${name}_chunk($parameters, long begin, long end)
{
    long row = begin;
    for (; row + 4 <= end; row += 4) {  // four at once
        const $type *from = $x0 + row * $length$first;
        $type *to = $out0 + row * $length$first;
        $type a = from[0], b = from[$length], c = from[$twice], d = from[$thrice];
        to[0] = a, to[$length] = b, to[$twice] = c, to[$thrice] = d;
        for (long i = 1; i < $length; i++) {
            from += $step, to += $step;
            a = $join_a, b = $join_b, c = $join_c, d = $join_d;
            to[0] = a, to[$length] = b, to[$twice] = c, to[$thrice] = d;
        }
    }
    for (; row < end; row++) {
        const $type *from = $x0 + row * $length$first;
        $type *to = $out0 + row * $length$first;
        $type a = to[0] = from[0];
        for (long i = 1; i < $length; i++) {
            from += $step, to += $step;
            to[0] = a = $join_a;
        }
    }
}
""")

_ACROSS = Template("""\
static void ${name}_chunk($parameters, long begin, long end)
{
    for (long item = begin; item < end; item++) {
        const long start = item / $blocks * $slab + item % $blocks * $width;
        const long width = item % $blocks == $blocks - 1 ? $last_width : $width;
        const $type *restrict x = $x0 + start$first;
        $type *restrict out = $out0 + start$first;
        memcpy(out, x, (size_t)width * sizeof *out);
        for (long i = 1; i < $length; i++) {
            const $type *restrict before = out;
            $type *restrict now = out + $step;
            x += $step, out = now;
            for (long j = 0; j < width; j++)
                now[j] = $join;
        }
    }
}
""")

_JOIN = {
    "cumsum": "{a} + {b}",
    "cumprod": "{a} * {b}",
    "cummax": "{a} >= {b} ? {a} : {b}",
    "cummin": "{a} <= {b} ? {a} : {b}",
}
_JOIN_FLOATS = {
    "cummax": "{a} >= {b} || {a} != {a} ? {a} : {b}",  # NaN stays
    "cummin": "{a} <= {b} || {a} != {a} ? {a} : {b}",
    "cumlogsumexp": "{function}({a}, {b})",
}
_JOIN_COMPLEX = {"cumprod": "tm_multiply_{t}({a}, {b})"}
_WORK = {"cumsum": 1.0, "cumprod": 1.0, "cummax": 1.0, "cummin": 1.0, "cumlogsumexp": 25.0}

_LOG_ADD_EXP = Template("""\
static $type ${name}_log_add_exp($type a, $type b)
{
    if (a == b)
        return a + ($type)0.693147180559945309417232121458176568;  // infinities, too
    const $type gap = a - b;
    return gap > 0 ? a + log1p$f(exp$f(-gap)) : gap <= 0 ? b + log1p$f(exp$f(gap)) : gap;
}
""")

BLOCK = 2048
"""Entries that run in step: they stay in the nearest cache."""


def cumulative(call: Call, name: str, *, alone: bool = False) -> CFunction | None:
    """The C function of a cumulative sum, product, extremum or log-sum; `alone` if NumPy cannot compute it."""
    (x,) = call.inputs
    is_complex = x.dtype.kind == "c"
    dtype = x.dtype if is_complex and call.op != "cumsum" else real_dtype(x.dtype)
    if dtype.name in ("float16", "bfloat16") or (dtype.kind == "c" and not (alone and call.op == "cumprod")):
        return None
    axis, reverse = int_param(call, "axis"), flag_param(call, "reverse")
    length, outer = x.shape[axis], math.prod(x.shape[:axis])
    inner = math.prod(x.shape[axis + 1 :]) * (1 if dtype == x.dtype else 2)  # a complex sum is two sums
    work = 1 + scaled(outer * length * inner, _WORK[call.op])
    sizes = names_in_call(call)
    type, step = element_type(dtype), -inner if reverse else inner
    texts = {
        "name": name,
        "parameters": ", ".join(declared := parameters((x.type,), (x.type,), sizes=sizes)),
        "type": type,
        "x0": "x0" if dtype == x.dtype else f"(const {type} *)x0",
        "out0": "out0" if dtype == x.dtype else f"({type} *)out0",
        "twice": factor_text(2 * length),
        "thrice": factor_text(3 * length),
        "length": factor_text(length),
        "step": factor_text(step),
        "first": f" + {factor_text((length - 1) * inner)}" if reverse else "",
    }
    if is_one(inner):
        joined = {f"join_{row}": _joined(call.op, row, f"from[{size_text(place)}]", dtype, name)
                  for row, place in zip("abcd", ("0", length, 2 * length, 3 * length), strict=True)}  # fmt: skip
        items, text = outer, _ALONG.substitute(texts, **joined)
    else:
        blocks = (inner + (BLOCK - 1)) // BLOCK
        items = outer * blocks
        text = _ACROSS.substitute(
            texts,
            blocks=factor_text(blocks),
            slab=factor_text(length * inner),
            width=factor_text(min_expr(BLOCK, inner)),
            last_width=factor_text(inner - (blocks - 1) * BLOCK),
            join=_joined(call.op, "before[j]", "x[j]", dtype, name),
        )
    if call.op == "cumlogsumexp":
        text = _LOG_ADD_EXP.substitute(name=name, type=type, f="f" if type == "float" else "") + text
    needs = frozenset(needed for needed in functions_in(text) if needed.startswith("tm_"))
    driver = over_chunks(name, declared, items, chunk_size(items, work), x.type.size)
    return CFunction(name, text + driver, (x.type,), (x.type,), needs, work, sizes=sizes)


def _joined(op: str, so_far: str, entry: str, dtype: DType, name: str) -> str:
    """The C expression that combines the previous result with one more entry."""
    forms = {"f": _JOIN_FLOATS, "c": _JOIN_COMPLEX}.get(kind(dtype), _JOIN)
    return {**_JOIN, **forms}[op].format(
        a=so_far, b=entry, t=dtype_name(dtype), function=f"{name}_log_add_exp"
    )
