"""Conversions that keep every value, and the parts of complex numbers."""

import numpy as np

from ...compiler.builder import bind
from ...compiler.dtypes import DType, is_integer
from ...compiler.ir import Value
from ...compiler.params import dtype_param
from ...compiler.value_ops import broadcast_to, convert, negative
from .rule import Site, rule

_FLOATS = {"float16": (11, 5), "bfloat16": (8, 8), "float32": (24, 8), "float64": (53, 11)}
"""Bits of the significand and of the exponent."""


def holds(dtype: DType, other: DType) -> bool:
    """Whether every value of `other` is exactly representable in `dtype`."""
    if other.kind == "c":
        return dtype.kind == "c" and dtype.itemsize >= other.itemsize
    if dtype.kind == "c":
        return holds(np.dtype(f"f{dtype.itemsize // 2}"), other)
    if other.kind == "b":
        return True
    if is_integer(other):
        bits = 8 * other.itemsize - (other.kind == "i")
        if dtype.kind == "b" or (dtype.kind == "u" and other.kind == "i"):
            return False
        if is_integer(dtype):
            return 8 * dtype.itemsize - (dtype.kind == "i") >= bits
        return _FLOATS[dtype.name][0] >= bits
    return dtype.name in _FLOATS and all(
        a >= b for a, b in zip(_FLOATS[dtype.name], _FLOATS[other.name], strict=True)
    )


@rule("x as its own dtype → x", "convert", "bitcast")
def _same_dtype(site: Site) -> Value | None:
    return site.inputs[0] if dtype_param(site) == site.inputs[0].dtype else None


@rule("x as wider as narrower → x as narrower", "convert")
def _through_wider(site: Site) -> Value | None:
    """Not for conversions from floating point to integer: values out of range depend on the width."""
    (x,), dtype = site.inputs, dtype_param(site)
    inner = site.made_by(x, "convert")
    if inner is None or not holds(x.dtype, inner.inputs[0].dtype):
        return None
    if is_integer(dtype) and inner.inputs[0].dtype.kind not in "biu":
        return None
    if is_integer(dtype) and not is_integer(x.dtype):
        return None
    return convert(inner.inputs[0], dtype)


@rule("bits of bits of x → bits of x", "bitcast")
def _bits_of_bits(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "bitcast")
    return None if inner is None else bind("bitcast", inner.inputs[0], dtype=dtype_param(site))


@rule("real(complex(x, y)) → x", "real", "imag")
def _part_of_complex(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "complex")
    return None if inner is None else broadcast_to(inner.inputs[site.op == "imag"], site.type.shape)


@rule("real(conj(x)) → real(x)", "real", "imag")
def _part_of_conjugate(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "conjugate")
    if inner is None:
        return None
    part = bind(site.op, inner.inputs[0])
    return part if site.op == "real" else negative(part)


@rule("complex(real(x), imag(x)) → x", "complex")
def _parts_joined(site: Site) -> Value | None:
    re, im = site.made_by(site.inputs[0], "real"), site.made_by(site.inputs[1], "imag")
    return re.inputs[0] if re is not None and im is not None and re.inputs[0] is im.inputs[0] else None
