"""Calls of functions with rules that give the derivatives that the functions have anyway."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as functions
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import NotDifferentiableError, ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value
from tracemill.compiler.ops.control.custom_rule import Reverse
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.transpose import transpose
from tracemill.passes.transforms.vjp import vjp
from tracemill.passes.transforms.vmap import vmap

SHAPES: tuple[Shape, ...] = ((3,), (), (2,))
DTYPES = ("f64", "f64", "i64")
DIFFERENTIABLE = (True, True, False)


def values() -> tuple[Value, ...]:
    return tuple(Value(ArrayType(dtype_named(d), s)) for d, s in zip(DTYPES, SHAPES, strict=True))


def wave() -> Graph:
    """``x, y, n -> sin(x) * y, n``."""
    x, y, n = values()
    with recording(Builder()) as builder:
        product = functions.multiply(functions.sin(x), y)
    return Graph("wave", (x, y, n), tuple(builder.calls), (product, n), ("x", "y", "n"))


def scaled() -> Graph:
    """``x, y, n -> sum(n) * (x + y), n``: linear in x and y."""
    x, y, n = values()
    with recording(Builder()) as builder:
        factor = functions.convert(functions.sum_(n, (0,)), x.dtype)
        product = functions.multiply(functions.add(x, y), factor)
    return Graph("scaled", (x, y, n), tuple(builder.calls), (product, n), ("x", "y", "n"))


def wave_jvp() -> Graph:
    return jvp(wave(), wrt=DIFFERENTIABLE)


def wave_vjp() -> Reverse:
    forward, backward = vjp(wave(), wrt=DIFFERENTIABLE)
    residuals = len(forward.outputs) - 2
    marks = [place >= residuals for place in range(len(backward.inputs))]
    return Reverse(forward, backward, transpose(backward, linear=marks), residuals)


def wave_batch(mapped: tuple[bool, ...], size: int) -> Graph:
    return vmap(wave(), in_axes=[0 if m else None for m in mapped], size=size, out_axes=[0, 0])


def scaled_transpose() -> Graph:
    x, _, n = values()
    ct = Value(x.type)
    with recording(Builder()) as builder:
        factor = functions.convert(functions.sum_(n, (0,)), x.dtype)
        product = functions.multiply(ct, factor)
        outputs = (product, functions.sum_(product, (0,)))
    return Graph("scaled_transpose", (n, ct), tuple(builder.calls), outputs)


def pushed() -> Graph:
    """``c, dx, dy -> c * dx + dy``."""
    c, dx, dy = (Value(ArrayType(dtype_named("f64"), shape)) for shape in ((3,), (3,), ()))
    with recording(Builder()) as builder:
        out = functions.add(functions.multiply(c, dx), dy)
    return Graph("pushed", (c, dx, dy), tuple(builder.calls), (out,), ("c", "dx", "dy"))


def pulled() -> Graph:
    return transpose(pushed(), linear=[False, True, True])


def clipped() -> Graph:
    """``ct -> sign(ct)``: what is not linear."""
    ct = Value(ArrayType(dtype_named("f64"), (3,)))
    with recording(Builder()) as builder:
        out = functions.sign(ct)
    return Graph("clipped", (ct,), tuple(builder.calls), (out,))


def _wave(x: Any, y: Any, n: Any, **rules: Any) -> Any:
    return np.sin(x) * y, n


def _scaled(x: Any, y: Any, n: Any, **rules: Any) -> Any:
    return n.sum() * (x + y), n


RULES: tuple[dict[str, Any], ...] = (
    {"jvp": wave_jvp},
    {"vjp": wave_vjp},
    {"jvp": wave_jvp, "vjp": wave_vjp},
    {"batch": wave_batch},
    {"jvp": wave_jvp, "batch": wave_batch},
)
SAMPLES: tuple[Sample, ...] = (
    *(
        Sample(
            "custom_rule",
            SHAPES,
            DTYPES,
            {"graph": wave(), "differentiable": DIFFERENTIABLE, **rules},
            reference=_wave,
        )
        for rules in RULES
    ),
    Sample(
        "custom_rule",
        SHAPES,
        DTYPES,
        {"graph": scaled(), "differentiable": DIFFERENTIABLE, "transpose": scaled_transpose},
        reference=_scaled,
    ),
    Sample(
        "linear_call",
        ((3,), (3,), ()),
        "f64",
        {"graph": pushed(), "transposed": pulled()},
        reference=lambda c, dx, dy, **graphs: c * dx + dy,
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure(
        "custom_rule",
        ((3,),),
        "f64",
        ShapeError,
        r"custom_rule of wave\(f64\[3\], f64\[\], i64\[2\]\) with \(f64\[3\]\)",
        {"graph": wave(), "differentiable": DIFFERENTIABLE, "jvp": wave_jvp},
    ),
    Failure(
        "linear_call",
        ((3,), (2,), ()),
        "f64",
        ShapeError,
        "linear_call of pushed_transposed",
        {"graph": pushed(), "transposed": pulled()},
    ),
    Failure(
        "linear_call",
        ((3,),),
        "f64",
        NotDifferentiableError,
        "clipped, a backward rule, is not linear",
        {"graph": None, "transposed": clipped()},
        "jvp",
    ),
)
