"""Composite ops: known by name until a pass decomposes them, and defined by their decomposition.

A composite is registered with its decomposition. Its types and its NumPy definition follow from it. It has its own
transform rule if that keeps more structure than the decomposition would, such as the op itself. Otherwise the rule is
`by_decomposition`, and the transforms decompose the calls first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from typing import Any, TypeAlias

import numpy as np

from ..builder import Builder, as_tuple, current_builder, recording
from ..dtypes import FLOAT32, dtype_name, is_half, is_inexact, kind
from ..errors import DTypeError, InternalError
from ..interpreter import evaluate
from ..ir import ArrayType, Graph, Param, Value
from ..op import BatchRule, JvpRule, Op, TransposeRule, all_ops, by_decomposition, register
from ..value_ops import convert
from .decompositions import Decomposition, decomposable, decomposition, register_decomposition

COMPOSITES: set[str] = set()
"""The names of all composite ops."""

Check: TypeAlias = Callable[..., object]
"""``check(*input_types, **params)``: raises `ShapeError` or `DTypeError` for arguments for which the op is not
defined."""


def composite(
    name: str,
    decomposed: Decomposition,
    *,
    check: Check,
    jvp: JvpRule,
    transpose: TransposeRule,
    batch: BatchRule,
    family: str,
    doc: str,
    wide: Sequence[int] = (),
) -> Op:
    """Register an op that is defined by `decomposed`. f16 and bf16 are computed in f32 and rounded once.

    The outputs `wide` stay in f32.
    """

    @wraps(check)  # which has the types of the parameters
    def type_rule(*types: ArrayType, **params: Param) -> tuple[ArrayType, ...]:
        check(*types, **params)
        return tuple(value.type for value in definition(name, types, params).outputs)

    def meaning(*arrays: Any, **params: Param) -> tuple[Any, ...]:
        types = tuple(ArrayType(x.dtype, x.shape) for x in arrays)
        outputs = evaluate(definition(name, types, params), *arrays)
        return tuple(
            out.copy() if any(np.may_share_memory(out, x) for x in arrays) else out for out in outputs
        )

    COMPOSITES.add(name)
    register_decomposition(name)(_in_single_precision(decomposed, wide))
    return register(
        Op(name, family, type_rule, meaning, jvp, transpose, batch, spelling=None, effect=None, doc=doc)
    )


def definition(name: str, types: tuple[ArrayType, ...], params: Mapping[str, Param]) -> Graph:
    """The decomposition of a composite op for these types; it may contain other composites."""
    return _recorded(name, types, tuple(sorted(params.items())))


@lru_cache(maxsize=1024)
def _recorded(name: str, types: tuple[ArrayType, ...], params: tuple[tuple[str, Param], ...]) -> Graph:
    inputs, outer, builder = tuple(map(Value, types)), current_builder(), Builder()
    builder.location = None if outer is None else outer.where()  # for guards about sizes
    with recording(builder):
        outputs = as_tuple(decomposition(name)(*inputs, **dict(params)))
    calls = tuple(replace(call, location=None) for call in builder.calls)  # others use the definition
    return Graph(name, inputs, calls, outputs)


def _in_single_precision(decomposed: Decomposition, wide: Sequence[int]) -> Decomposition:
    """The same, with half precision widened on input and rounded on output, except for the outputs `wide`."""

    def widened(*inputs: Value, **params: Any) -> Any:
        narrow = next((x.dtype for x in inputs if is_half(x.dtype)), None)
        if narrow is None:
            return decomposed(*inputs, **params)
        given = [convert(x, FLOAT32) if x.dtype == narrow else x for x in inputs]
        outputs = as_tuple(decomposed(*given, **params))
        return tuple(
            convert(out, narrow) if out.dtype == FLOAT32 and place not in wide else out
            for place, out in enumerate(outputs)
        )

    return widened


def floating_operands(name: str) -> Check:
    """Checks that all floating-point inputs are real and have one dtype, the first among them."""

    def check(*types: ArrayType, **params: Param) -> None:
        floating = {t.dtype for t in types if is_inexact(t.dtype)}
        if not types or kind(types[0].dtype) != "f" or len(floating) > 1:
            given = ", ".join(dtype_name(t.dtype) for t in types)
            raise DTypeError(f"{name} is not defined for ({given})")

    return check


def require_decompositions() -> None:
    """Raises `InternalError` if an op has neither a rule nor a decomposition from which it follows."""
    for op in all_ops().values():
        for rule in ("jvp", "transpose", "batch"):
            if getattr(op, rule) is by_decomposition and op.name not in decomposable():
                raise InternalError(f"{op.name} has neither a {rule} rule nor a decomposition")
