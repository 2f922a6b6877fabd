"""Changing the dtype: conversion, reinterpretation of bits, and the parts of complex numbers."""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import DType, complex_dtype, dtype_name, is_complex, is_inexact, is_supported, real_dtype
from ...errors import DTypeError
from ...ir import ArrayType, Value
from ...op import Aliasing, Linear, Op, register, zero_derivative
from ...value_ops import conjugate, convert, imag, make_complex, negative, real, unbroadcast, zeros_like
from .broadcasting import batch_elementwise, elementwise, transpose_of

FAMILY = "conversion"


def _convert_type(x: ArrayType, dtype: DType) -> ArrayType:
    if not is_supported(dtype):
        raise DTypeError(f"convert of {x} to {dtype}: there are no arrays of that dtype")
    return ArrayType(dtype, x.shape)


def _convert_numpy(x: Any, dtype: Any) -> Any:
    return (np.real(x) if x.dtype.kind == "c" and dtype.kind not in "cb" else x).astype(dtype)


def _convert_jvp(inputs: Any, tangents: tuple[Value], outputs: tuple[Value], dtype: DType) -> Value | None:
    return convert(tangents[0], dtype) if is_inexact(dtype) else None


def _convert_transpose(cotangents: tuple[Value], inputs: tuple[Linear], dtype: DType) -> Value:
    (ct,), (x,) = cotangents, inputs
    return convert(real(ct) if is_complex(ct.dtype) and not is_complex(x.dtype) else ct, x.dtype)


register(
    Op(
        name="convert",
        family=FAMILY,
        type=_convert_type,
        numpy=_convert_numpy,
        jvp=_convert_jvp,
        transpose=_convert_transpose,
        batch=batch_elementwise("convert"),
        spelling={
            "numpy": "{0}.astype({dtype})",
            "c": "(({result}){0})",
            "c_bool_real": "({0} ? ({result})1 : ({result})0)",  # a cast from bools to floats is not vectorised
            "c_real_int": "tm_convert_{t}_{r}({0})",
            "c_complex_int": "tm_convert_{t}_{r}({0})",
            "triton": "{0}.to({result})",
            "triton_real_bool": "({0} != 0)",
            "triton_int_bool": "({0} != 0)",
        },
        effect=None,
        doc="The values as another dtype, as `astype`; a complex number loses its imaginary part.",
    )
)


def _bitcast_type(x: ArrayType, dtype: DType) -> ArrayType:
    if not is_supported(dtype) or x.dtype.itemsize != dtype.itemsize:
        raise DTypeError(
            f"bitcast of {x} to {dtype}: the sizes of the elements differ, or there are no such arrays"
        )
    return ArrayType(dtype, x.shape)


register(
    Op(
        name="bitcast",
        family=FAMILY,
        type=_bitcast_type,
        numpy=lambda x, dtype: np.ascontiguousarray(x).view(dtype).reshape(x.shape),
        jvp=zero_derivative,
        transpose=lambda cotangents, inputs, dtype: (None,),
        batch=batch_elementwise("bitcast"),
        spelling={
            "numpy": "{0}.view({dtype})",
            "c": "((union {{ {type} x; {result} y; }}){{{0}}}).y",
            "triton": "{0}.to({result}, bitcast=True)",
            "triton_bool": "{0}.to({result})",
            "triton_int_bool": "({0} != 0)",
        },
        effect=None,
        doc="The same bits read as another dtype of the same size.",
        aliasing=Aliasing.WHOLE,
    )
)


def _linear_jvp(name: str) -> Any:
    """The derivative of a function that is linear over the reals is the function itself."""
    return lambda inputs, tangents, outputs: bind(name, tangents[0])


elementwise(
    "conjugate", 1, np.conjugate, jvp=_linear_jvp("conjugate"), transpose=transpose_of(conjugate), kinds="c",
    spelling={"numpy": "np.conjugate", "c": "conj{f}({0})"}, family=FAMILY,
    doc="The complex conjugate.",
)  # fmt: skip
elementwise(
    "real", 1, np.real, jvp=_linear_jvp("real"), transpose=transpose_of(lambda ct: make_complex(ct, zeros_like(ct))),
    kinds="c", result=real_dtype, spelling={"numpy": "{0}.real", "c": "creal{f}({0})"},
    family=FAMILY, doc="The real part of a complex number.", aliasing=Aliasing.PART,
)  # fmt: skip
elementwise(
    "imag", 1, np.imag, jvp=_linear_jvp("imag"),
    transpose=transpose_of(lambda ct: make_complex(zeros_like(ct), negative(ct))),
    kinds="c", result=real_dtype, spelling={"numpy": "{0}.imag", "c": "cimag{f}({0})"},
    family=FAMILY, doc="The imaginary part of a complex number.", aliasing=Aliasing.PART,
)  # fmt: skip


def _complex_numpy(re: Any, im: Any) -> Any:
    out = np.empty(
        np.broadcast_shapes(re.shape, im.shape), np.complex64 if re.dtype.itemsize == 4 else np.complex128
    )
    out.real = re
    out.imag = im
    return out


def _pair_dtype(dtype: DType) -> DType:
    if dtype.itemsize < 4:
        raise DTypeError(f"complex is not defined for {dtype_name(dtype)}: convert to f32 first")
    return complex_dtype(dtype)


def _complex_jvp(inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: Any) -> Value:
    re, im = (zeros_like(x) if t is None else t for x, t in zip(inputs, tangents, strict=True))
    return make_complex(re, im)


def _complex_transpose(cotangents: tuple[Value], inputs: tuple[Any, ...]) -> tuple[Value | None, ...]:
    """Pairs are matched by Re(a·b), so the cotangent of the imaginary part is −Im ct."""
    (ct,), (re, im) = cotangents, inputs
    return (
        unbroadcast(real(ct), re.shape) if isinstance(re, Linear) else None,
        unbroadcast(negative(imag(ct)), im.shape) if isinstance(im, Linear) else None,
    )


elementwise(
    "complex", 2, _complex_numpy, jvp=_complex_jvp, transpose=_complex_transpose, kinds="f", result=_pair_dtype,
    spelling={"numpy": "({0} + 1j * {1})", "c": "__builtin_complex({0}, {1})"},
    family=FAMILY, doc="The complex number with these real and imaginary parts (f32 or f64).",
)  # fmt: skip
