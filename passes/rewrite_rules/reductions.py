"""Reductions over one entry, over equal entries, and of transposed arrays."""

import math

import numpy as np

from ...compiler.builder import bind
from ...compiler.dtypes import DType, kind
from ...compiler.ir import Extent, Value
from ...compiler.params import ints_param
from ...compiler.symbolic_size import SymbolicSize, is_known, is_one
from ...compiler.value_ops import add, broadcast_to, constant, convert, multiply, reshape, sum_, transpose
from .rule import Site, rule


@rule("sum over axes of length 1 → reshape", "sum")
def _sum_of_one(site: Site) -> Value | None:
    """NumPy's sum of −0 is 0, hence the + 0 if no other axis is summed."""
    (x,), axes = site.inputs, ints_param(site, "axes")
    ones = [axis for axis in axes if is_one(x.shape[axis])]
    if not ones:
        return None
    kept = [axis for axis in range(x.ndim) if axis not in ones]
    rest = [kept.index(axis) for axis in axes if axis not in ones]
    dropped = reshape(x, tuple(x.shape[axis] for axis in kept))
    return sum_(dropped, rest) if rest else add(dropped, 0)


@rule("max over axes of length 1 → reshape", "prod", "max", "min", "any", "all")
def _extremum_of_one(site: Site) -> Value | None:
    (x,), axes = site.inputs, ints_param(site, "axes")
    return reshape(x, site.type.shape) if all(is_one(x.shape[axis]) for axis in axes) else None


@rule("sum of transposed x → transposed sum of x", "sum", "prod", "max", "min", "any", "all")
def _reduced_transpose(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "transpose")
    if inner is None:
        return None
    order = ints_param(inner, "axes")
    axes = ints_param(site, "axes")
    left = [at for axis, at in enumerate(order) if axis not in axes]
    reduced = bind(
        site.op, inner.inputs[0], **{**site.params, "axes": tuple(sorted(order[axis] for axis in axes))}
    )
    return transpose(reduced, [sorted(left).index(at) for at in left])


@rule("sum of repeated x → repeated sum of x · how many", "sum", "prod", "max", "min", "any", "all")
def _reduced_repetition(site: Site) -> Value | None:
    """A sum is rounded once instead of many times, if the dtype can represent the number of equal entries."""
    (x,), axes = site.inputs, ints_param(site, "axes")
    inner = site.made_by(x, "broadcast_to")
    if inner is None or not all(is_known(dim >= 1) for dim in x.shape):
        return None
    (once,) = inner.inputs
    shape = (1,) * (x.ndim - once.ndim) + once.shape
    count = math.prod(x.shape[axis] for axis in axes if is_one(shape[axis]))
    factor = None
    if not is_one(count) and site.op in ("sum", "prod"):
        factor = _number_of(x.dtype, count) if site.op == "sum" else None
        if factor is None:
            return None
    reduced = bind(site.op, reshape(once, shape), axes=axes)
    if factor is not None:
        reduced = multiply(reduced, factor)
    return broadcast_to(reduced, site.type.shape)


def _number_of(dtype: DType, count: Extent) -> Value | None:
    """The factor of a sum of this many equal numbers; None if the dtype cannot represent it.

    A symbolic factor is rounded if it is large, in a dtype of four bytes or more: one rounding more than the product.
    """
    if kind(dtype) not in "iuf":  # complex infinities would become NaN
        return None
    if isinstance(count, SymbolicSize):
        return convert(bind("size", of=count), dtype) if kind(dtype) != "f" or dtype.itemsize >= 4 else None
    with np.errstate(over="ignore"):
        number = np.asarray(count).astype(dtype)  # integers wrap, as their sum does
    return constant(number, dtype) if kind(dtype) != "f" or float(number) == count else None
