"""Shared code of all elementwise ops: broadcasting, one derivative per input, batching by aligning axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...builder import bind
from ...dtypes import BOOL, DType, dtype_name, kind
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import (
    Aliasing,
    BatchRule,
    JvpRule,
    Linear,
    Meaning,
    Op,
    TransposeRule,
    not_linear,
    register,
    zero_derivative,
)
from ...symbolic_size import joint_shape
from ...value_ops import add, broadcast_to, multiply, negative, unbroadcast
from ..batch_axes import Batched, broadcast_to_physical

Derivative: TypeAlias = Callable[..., "Value | int"]
"""``derivative(output, *inputs)``: d output / d input, elementwise; it may return the number 1 or −1."""

ResultDType: TypeAlias = Callable[[DType], DType]


def broadcast_shapes(op: str, types: Sequence[ArrayType]) -> Shape:
    """The common shape of operands aligned from the right; raises `ShapeError` if there is none."""
    shape = joint_shape(*[t.shape for t in types])
    if shape is None:
        raise ShapeError(f"{op} of {' and '.join(map(str, types))}: shapes do not broadcast")
    return shape


def same_dtype(dtype: DType) -> DType:
    return dtype


def bool_dtype(dtype: DType) -> DType:
    return BOOL


def elementwise_type(op: str, arity: int, kinds: str, result: ResultDType) -> Callable[..., ArrayType]:
    """Operands of one dtype of the given kinds, broadcast. `result` may refuse a dtype with a `DTypeError`."""

    def rule(*types: ArrayType) -> ArrayType:
        if len(types) != arity:
            raise DTypeError(f"{op} takes {arity} operands, not {len(types)}")
        dtype = types[0].dtype
        if kind(dtype) not in kinds or any(t.dtype != dtype for t in types):
            given = ", ".join(dtype_name(t.dtype) for t in types)
            raise DTypeError(f"{op} is not defined for ({given})")
        return ArrayType(result(dtype), broadcast_shapes(op, types))

    return rule


def scale(tangent: Value, factor: "Value | int") -> Value:
    """``tangent * factor``; the numbers 1 and −1 cost nothing or a negation."""
    if isinstance(factor, int):
        return tangent if factor == 1 else negative(tangent)
    return multiply(tangent, factor)


def jvp_of(derivatives: Sequence[Derivative | None]) -> JvpRule:
    """The sum of tangent × derivative over the inputs that have a tangent."""

    def rule(
        inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: tuple[Value, ...]
    ) -> Value | None:
        total: Value | None = None
        for tangent, derivative in zip(tangents, derivatives, strict=True):
            if tangent is not None and derivative is not None:
                term = scale(tangent, derivative(outputs[0], *inputs))
                total = term if total is None else add(total, term)
        return None if total is None else broadcast_to(total, outputs[0].shape)

    return rule


def batch_elementwise(op: str) -> BatchRule:
    """Align the operands around the batch axis; broadcasting does the rest."""

    def rule(inputs: Sequence[Batched], size: int, **params: Any) -> Batched:
        values, axis = broadcast_to_physical(inputs)
        return Batched(bind(op, *values, **params), axis)

    return rule


def elementwise(
    name: str,
    arity: int,
    numpy: Meaning,
    *,
    derivatives: Sequence[Derivative | None] | None = None,
    jvp: JvpRule | None = None,
    transpose: TransposeRule = not_linear,
    kinds: str,
    result: ResultDType = same_dtype,
    spelling: Mapping[str, str],
    family: str,
    doc: str,
    aliasing: Aliasing = Aliasing.NONE,
) -> Op:
    """Register an elementwise op with `derivatives` or a `jvp` rule; otherwise it is piecewise constant."""
    if jvp is None:
        jvp = zero_derivative if derivatives is None else jvp_of(derivatives)
    return register(
        Op(
            name=name,
            family=family,
            type=elementwise_type(name, arity, kinds, result),
            numpy=numpy,
            jvp=jvp,
            transpose=transpose,
            batch=batch_elementwise(name),
            spelling=spelling,
            effect=None,
            doc=doc,
            aliasing=aliasing,
        )
    )


def check_order(op: str, order: int, lowest: int, highest: int, instead: str = "") -> None:
    """Raises `DTypeError` for an order for which `op` is not defined, or whose formula would be unreasonably long."""
    if order < lowest:
        raise DTypeError(f"{op} of order {order} is not defined: orders start from {lowest}{instead}")
    if order > highest:
        raise DTypeError(f"{op} of order {order} is not supported: orders end at {highest}")


def transpose_of(*factors: Callable[[Value], Value]) -> TransposeRule:
    """The transpose of an op that is linear in all its inputs together: a function of the cotangent per input."""

    def rule(cotangents: tuple[Value], inputs: tuple[Value | Linear, ...]) -> tuple[Value | None, ...]:
        return tuple(
            unbroadcast(factor(cotangents[0]), x.shape) if isinstance(x, Linear) else None
            for factor, x in zip(factors, inputs, strict=True)
        )

    return rule


def identity(x: Value) -> Value:
    return x


def ufunc_spelling(name: str, c: str, triton: str, **kinds: str) -> dict[str, str]:
    """Spellings of an op that is the ufunc ``np.name``, and those for kinds of operands that C spells differently."""
    return {"numpy": f"np.{name}", "c": c, "triton": triton, **kinds}


def ufunc(name: str) -> Meaning:
    """NumPy's ufunc of that name."""
    function: Meaning = getattr(np, name)
    return function
