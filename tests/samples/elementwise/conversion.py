"""Changing the dtype: conversion, reinterpretation of bits, and the parts of complex numbers."""

from itertools import product
from typing import Any

import numpy as np

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Points, Sample
from tracemill.compiler.dtypes import DType, dtype_named, dtype_names, is_inexact
from tracemill.compiler.errors import DTypeError


def _reference_convert(x: Any, dtype: DType) -> Any:
    """Number by number through Python: bool is "not 0", integers wrap, floats round once."""
    numbers = [
        complex(v) if x.dtype.kind == "c" else float(v) if is_inexact(x.dtype) else int(v) for v in x.flat
    ]
    out = np.empty(x.size, dtype)
    for i, number in enumerate(numbers):
        part: Any = number.real if isinstance(number, complex) and dtype.kind not in "cb" else number
        if dtype.kind == "b":
            out[i] = part != 0
        elif dtype.kind in "iu":
            limits = np.iinfo(dtype)
            out[i] = (int(part) - limits.min) % (limits.max - limits.min + 1) + limits.min
        else:
            out[i] = part if isinstance(part, complex) else float(part)
    return out.reshape(x.shape)


def _reference_bitcast(x: Any, dtype: DType) -> Any:
    return np.frombuffer(x.tobytes(), dtype).reshape(x.shape)


def _conversions() -> list[Sample]:
    points = Points((0, 1, 2, -3, 1.75, -2.5, 100, 1 / 3))
    samples = [
        Sample(
            "convert", ((2, 4),), source, {"dtype": dtype_named(target)}, points, reference=_reference_convert
        )
        for source, target in product(dtype_names(), dtype_names())
    ]
    for source, target in product(("f64", "c128"), ("f32", "f64", "c64", "c128", "i32")):
        for shape in ((), (2, 3), (0,)):
            params = {"dtype": dtype_named(target)}
            samples.append(Sample("convert", (shape,), source, params, reference=_reference_convert))
    return samples


BITCASTS = (
    ("f64", "i64"), ("f64", "u64"), ("i64", "f64"), ("f32", "i32"), ("u32", "f32"),
    ("f16", "u16"), ("i16", "f16"), ("bf16", "u16"), ("u16", "bf16"),
    ("i8", "u8"), ("u8", "i8"), ("bool", "u8"), ("c64", "u64"), ("i64", "c64"),
)  # fmt: skip
SAMPLES: tuple[Sample, ...] = (
    *_conversions(),
    *(
        Sample("bitcast", (shape,), source, {"dtype": dtype_named(target)}, "special",
               reference=_reference_bitcast, widened=False, layout="strided")
        for source, target in BITCASTS
        for shape in ((), (2, 3), (0,))
    ),
    *elementwise("conjugate", 1, "c"),
    *elementwise("real", 1, "c"),
    *elementwise("imag", 1, "c"),
    *(
        Sample("complex", shapes, name, reference=lambda re, im: re + 1j * im)
        for name in ("f64", "f32")
        for shapes in (((), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0,), (1,)))
    ),
    Sample("complex", ((17, 1), (1, 17)), "f64", domain="special", reference=np.vectorize(complex)),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    Failure("convert", ((2,),), "i64", DTypeError, "no arrays of that dtype", {"dtype": np.dtype("M8[s]")}),
    Failure("convert", ((2,),), "i64", DTypeError, "no arrays of that dtype", {"dtype": np.dtype(">i4")}),
    Failure("bitcast", ((2,),), "i64", DTypeError, "no such arrays", {"dtype": np.dtype("M8[s]")}),
    Failure(
        "bitcast", ((2,),), "f64", DTypeError, "sizes of the elements differ", {"dtype": dtype_named("i32")}
    ),
    *(failure for op in ("conjugate", "real", "imag") for failure in misuse(op, 1, "c")),
    *(
        Failure("complex", ((2,), (2,)), name, DTypeError, "complex is not defined for")
        for name in dtype_names()
        if name not in {"f32", "f64"}
    ),
    Failure("complex", ((2,), (2,)), ("f32", "f64"), DTypeError, "complex is not defined for"),
)
