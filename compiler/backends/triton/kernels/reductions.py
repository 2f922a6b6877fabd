"""How Triton accumulates the results of reductions: the initial block, adding to it, and its result."""

from typing import Final

import numpy as np

from ....dtypes import FLOAT32, DType, is_half, kind
from ....loops.nest import Accumulator
from ..literals import bare_literal
from ..types import triton_type

SEARCHES: Final = frozenset({"argmax", "argmin"})
"""Reductions that find a position: they keep the extreme number and its position."""


def gathered_dtype(dtype: DType) -> DType:
    """The dtype of accumulators: two-byte numbers use four bytes."""
    return FLOAT32 if is_half(dtype) else dtype


def meaning(op: str, dtype: DType) -> str:
    """The reduction that accumulates numbers; booleans have two."""
    op = op.removeprefix("arg") if op in SEARCHES else op
    if kind(dtype) == "b":
        return {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(op, op)
    return op


def neutral(accumulator: Accumulator) -> str:
    """A number that changes no result."""
    op, dtype = meaning(accumulator.op, accumulator.dtype), gathered_dtype(accumulator.dtype)
    if op in ("max", "min"):
        if kind(dtype) == "f":
            return '-float("inf")' if op == "max" else 'float("inf")'
        limits = np.iinfo(dtype)
        return bare_literal(np.asarray(limits.min if op == "max" else limits.max, dtype))
    return bare_literal(np.asarray(op in ("prod", "all")).astype(dtype))


def combined(op: str, dtype: DType, x: str, y: str) -> str:
    """Two numbers as one, element by element."""
    match op := meaning(op, dtype):
        case "sum":
            return f"{x} + {y}"
        case "prod":
            return f"{x} * {y}"
        case "any":
            return f"{x} | {y}"
        case "all":
            return f"{x} & {y}"
        case _:
            return f"tl.{op}imum({x}, {y}, propagate_nan=tl.PropagateNan.ALL)"


def reduced(accumulator: Accumulator, block: str, axis: int, keep_dims: bool) -> str:
    """The numbers of a block along an axis combined into one."""
    op, dtype = meaning(accumulator.op, accumulator.dtype), gathered_dtype(accumulator.dtype)
    along = f"{axis}, keep_dims=True" if keep_dims else f"{axis}"
    both = f"{axis}, {keep_dims}"
    match op:
        case "any":
            return f"(tl.max({block}.to(tl.int32), {along}) != 0)"
        case "all":
            return f"(tl.min({block}.to(tl.int32), {along}) != 0)"
        case "prod":
            return f"tm_prod({block}, {both})"
        case "max" | "min" if kind(dtype) == "f":
            return f"tm_{op}({block}, {both})"
        case _:
            # Triton widens narrow integers.
            narrow = f".to({triton_type(dtype)})" if kind(dtype) in "iu" and dtype.itemsize < 4 else ""
            return f"tl.{op}({block}, {along}){narrow}"


def is_better(accumulator: Accumulator, new: str, old: str) -> str:
    """Where a number is more extreme than all before it; the first NaN is."""
    sign = ">" if accumulator.op == "argmax" else "<"
    if kind(accumulator.dtype) == "f":
        return f"({new} {sign} {old}) | (({new} != {new}) & ({old} == {old}))"
    return f"{new} {sign} {old}"


def is_extreme(accumulator: Accumulator, number: str, extreme: str) -> str:
    """The position of the extreme number."""
    if kind(accumulator.dtype) == "f":
        return f"({number} == {extreme}) | ({number} != {number})"
    return f"{number} == {extreme}"
