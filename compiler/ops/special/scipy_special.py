"""`scipy_special`: a ufunc of `scipy.special` that SciPy itself computes, on whole arrays, outside of kernels.

These are the functions of which a series or a fraction in every kernel would be long, and which are rarely the part of
a program that takes time. Their derivatives are closed forms in the tables of `scipy_derivatives`. The op is for hosts:
for a GPU it is refused by name.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from ...builder import bind_all
from ...dtypes import DType
from ...errors import DTypeError, NotDifferentiableError
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import add, broadcast_to, convert, multiply
from ..batch_axes import Batched, broadcast_to_physical
from ..elementwise.broadcasting import broadcast_shapes

FAMILY = "scipy_special"


@lru_cache(maxsize=1024)
def _loop(name: str, given: tuple[DType, ...]) -> tuple[DType, ...]:
    """The dtypes of the results for operands in the dtypes of one of SciPy's loops."""
    from .scipy_derivatives.terms import ufunc_named

    ufunc = ufunc_named(name)
    if ufunc is None or len(given) != ufunc.nin:
        raise DTypeError(f"scipy.special.{name} of {len(given)} arrays is not a ufunc of SciPy")
    try:
        found: tuple[DType, ...] = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))
    except TypeError:
        found = ()
    if found[: ufunc.nin] != given:
        raise DTypeError(f"scipy.special.{name} is not defined for ({', '.join(map(str, given))})")
    return found[ufunc.nin :]


def _type(*types: ArrayType, name: str) -> tuple[ArrayType, ...]:
    results = _loop(name, tuple(one.dtype for one in types))
    shape = broadcast_shapes(name, types)
    return tuple(ArrayType(dtype, shape) for dtype in results)


def _numpy(*operands: Any, name: str) -> Any:
    from scipy.special import _ufuncs

    found = getattr(_ufuncs, name)(*operands)
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else (np.asarray(found),)


def _jvp(inputs: Any, tangents: Any, outputs: tuple[Value, ...], name: str) -> tuple[Value | None, ...]:
    """The sums of tangents times derivatives. Few programs need the tables, so that they are read here."""
    from .scipy_derivatives import DERIVATIVES, NOT_HOLOMORPHIC
    from .scipy_derivatives.terms import Term

    rules = DERIVATIVES.get(name, ())
    results = [Term(out) for out in outputs]
    operands = [Term(x) for x in inputs]
    totals: list[Value | None] = [None] * len(outputs)
    for place, tangent in enumerate(tangents):
        if tangent is None:
            continue
        rule = rules[place] if place < len(rules) else None
        if rule is None or (name in NOT_HOLOMORPHIC and inputs[place].dtype.kind == "c"):
            raise NotDifferentiableError(_without_derivative(name, place, rules))
        slopes = rule(results if len(results) > 1 else results[0], *operands)
        for number, slope in enumerate(slopes if isinstance(slopes, tuple) else (slopes,)):
            out = outputs[number]
            part = multiply(convert(tangent, out.dtype), slope.in_dtype(out.dtype))
            total = totals[number]
            totals[number] = part if total is None else add(total, part)
    return tuple(
        None if total is None else broadcast_to(total, out.shape)
        for total, out in zip(totals, outputs, strict=True)
    )


def _without_derivative(name: str, place: int, rules: Any) -> str:
    known = [str(number + 1) for number, rule in enumerate(rules) if rule is not None]
    has = f"only by argument {' and '.join(known)}" if known else "by none of its arguments"
    return (
        f"scipy.special.{name} has no derivative by its argument {place + 1}, {has}: no closed form is known. "
        "Differences give it, through tm.custom_jvp"
    )


def _batch(inputs: Any, size: int, name: str) -> tuple[Batched, ...]:
    values, axis = broadcast_to_physical(inputs)
    return tuple(Batched(out, axis) for out in bind_all(FAMILY, *values, name=name))


register(
    Op(
        FAMILY, FAMILY, _type, _numpy, _jvp, not_linear, _batch, spelling=None, effect=None,
        doc="The ufunc of scipy.special with this name, computed by SciPy; its operands are in the dtypes of a loop.",
    )
)  # fmt: skip
