"""How C accumulates the results of reductions: variables, adding a number, merging two accumulators.

Sums of floating-point numbers consist of sums of a few hundred numbers, which are added in double precision, or with
the error of each addition kept (Knuth's two-sum): the error of a long sum does not grow with its length.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ....dtypes import DType, dtype_name, kind, real_dtype
from ....loops.nest import Accumulator
from ....symbolic_size import is_known
from ..literals import c_literal
from ..types import c_type

LANES_BYTES: Final = 1024
"""The lanes of a vector add this many bytes of numbers in their own precision."""

SEARCHED: Final = 4096
"""Among this many bytes of numbers, the extreme one is found before its position is searched."""

AT: Final = "_at"
"""The suffix of the variable with the position of a number."""

NAN: Final = "_is_nan"
"""The suffix of the variable that says whether a number is NaN."""

ROWS: Final = 256
"""This many rows are added in their own precision, side by side."""

DECLARATIONS: Final = {
    name: f"""\
// The {word} number.
#pragma omp declare reduction({name} : float, double : omp_out = omp_in {sign} omp_out ? omp_in : omp_out) \\
    initializer(omp_priv = {first})
"""
    for name, word, sign, first in (
        ("tm_max", "largest", ">", "-__builtin_inff()"),
        ("tm_min", "smallest", "<", "__builtin_inff()"),
    )
}
"""Comes before functions with these reductions, in the text of a program."""


@dataclass(frozen=True, slots=True)
class Part:
    """One variable of an accumulator."""

    suffix: str
    dtype: DType
    initial: str
    clause: str | None = None
    """OpenMP's name of its reduction, if it is not that of the other parts."""


@dataclass(frozen=True, slots=True)
class Gathering:
    """How one accumulator is kept in variables."""

    parts: tuple[Part, ...]
    clause: str | None
    """OpenMP's name of the reduction of each part; None if numbers must come one after another."""
    blocks: "Gathering | None" = None
    """How a few hundred numbers are accumulated before they are merged into this; None: the same way."""


def longest(accumulator: Accumulator) -> int:
    """How many numbers a sum adds in their own precision, or how many are searched for the extreme one."""
    if is_search(accumulator):
        return SEARCHED // accumulator.dtype.itemsize
    return ROWS if accumulator.size is not None else LANES_BYTES // real_dtype(accumulator.dtype).itemsize


def is_search(accumulator: Accumulator) -> bool:
    """Whether the position of a number is searched for."""
    return accumulator.op in ("argmax", "argmin")


def gathering(accumulator: Accumulator, count: int | None = None) -> Gathering:
    """The variables of an accumulator, or of a part of it that combines `count` numbers."""
    op, dtype = accumulator.op, accumulator.dtype
    if op == "sum" and kind(dtype) in "fc":
        return _sum(accumulator, accumulator.count if count is None else count)
    if is_search(accumulator):
        extreme = gathering(replace(accumulator, op=op[3:]))
        parts = (Part("", dtype, _extreme(dtype, op[3:])), Part(AT, np.dtype(np.int64), "0"))
        return Gathering(parts, None, extreme if accumulator.size is None else None)
    if kind(dtype) == "b":
        op = {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(op, op)
        # gcc runs no loop on vectors whose variable is a bool, and few steps turn comparisons of numbers into this.
        integer = np.dtype(np.int32 if accumulator.size is None else np.uint8)
        return Gathering((Part("", integer, "1" if op == "all" else "0"),), "&" if op == "all" else "|")
    if op in ("max", "min"):
        return _extremes(accumulator)
    initial = c_literal(np.asarray(op == "prod").astype(dtype))
    clause = {"sum": "+", "prod": "*"}[op]
    return Gathering((Part("", dtype, initial),), None if kind(dtype) == "c" else clause)


def _sum(accumulator: Accumulator, count: int) -> Gathering:
    real, double = real_dtype(accumulator.dtype), np.dtype(np.float64)
    suffixes = ("_re", "_im") if kind(accumulator.dtype) == "c" else ("",)
    zero = "0.0f" if real.itemsize == 4 else "0.0"
    narrow = Gathering(tuple(Part(suffix, real, zero) for suffix in suffixes), "+")
    if is_known(count <= longest(accumulator)):
        return narrow
    wide = [Part(suffix, double, "0.0") for suffix in suffixes]
    if real.itemsize == 8:
        wide += [Part(f"{suffix}_error", double, "0.0") for suffix in suffixes]
    return Gathering(tuple(wide), None, narrow)


def _extremes(accumulator: Accumulator) -> Gathering:
    """Beside the extreme number of one result, whether a number is NaN: then the next number has to wait for one
    instruction, not for three that would compare it with NaN, too."""
    op, dtype = accumulator.op, accumulator.dtype
    extreme = Part("", dtype, _extreme(dtype, op))
    if kind(dtype) != "f":
        return Gathering((extreme,), op)
    integer = np.dtype(f"i{dtype.itemsize}")  # in vectors of as many elements
    is_nan = [] if accumulator.size is not None else [Part(NAN, integer, "0", "|")]
    return Gathering((extreme, *is_nan), f"tm_{op}")


def _extreme(dtype: DType, op: str) -> str:
    """The initial value, which every number of the dtype replaces."""
    if kind(dtype) == "f":
        suffix = "f" if dtype.itemsize == 4 else ""
        return f"{'-' if op == 'max' else ''}__builtin_inf{suffix}()"
    if kind(dtype) == "b":
        return "0" if op == "max" else "1"
    limits = np.iinfo(dtype)
    return c_literal(np.asarray(limits.min if op == "max" else limits.max, dtype))


def added(accumulator: Accumulator, how: Gathering, names: Sequence[str], value: str, at: str) -> list[str]:
    """Statements that add a number to the variables `names`, one per part; `value` is a name."""
    op, dtype = accumulator.op, accumulator.dtype
    if is_search(accumulator) and how.parts[-1].suffix != AT:
        op = op[3:]
    if op == "sum" and kind(dtype) == "c":
        f = "f" if dtype.itemsize == 8 else ""
        return _summed(how, names, [f"creal{f}({value})", f"cimag{f}({value})"])
    if op == "sum" and kind(dtype) == "f":
        return _summed(how, names, [value])
    name = names[0]
    if op in ("argmax", "argmin"):
        return [f"if ({replaces(accumulator, value, name)}) {name} = {value}, {names[1]} = {at};"]
    if kind(dtype) == "b":
        return [_any_or_all(accumulator, how, name, value)]
    if op in ("max", "min") and len(names) == 2:
        sign = ">" if op == "max" else "<"
        return [f"{name} = {value} {sign} {name} ? {value} : {name};", f"{names[1]} |= {value} != {value};"]
    if op in ("max", "min"):
        return [f"{name} = {_extremum(op, dtype, value, name)};"]
    if op == "prod" and kind(dtype) == "c":
        return [f"{name} = {_product(dtype, name, value)};"]
    return [f"{name} {'+' if op == 'sum' else '*'}= {value};"]


def _any_or_all(accumulator: Accumulator, how: Gathering, name: str, value: str) -> str:
    """For one result, a choice, which takes an instruction less than to make a number of the condition first."""
    if accumulator.size is not None:
        return f"{name} {how.clause}= {value};"
    return f"{name} = {value} ? 1 : {name};" if how.clause == "|" else f"{name} = {value} ? {name} : 0;"


def replaces(accumulator: Accumulator, value: str, name: str) -> str:
    """The condition that a number is more extreme than all before it; the first NaN is."""
    sign = ">" if accumulator.op == "argmax" else "<"
    nan = f" || ({value} != {value} && {name} == {name})" if kind(accumulator.dtype) == "f" else ""
    return f"{value} {sign} {name}{nan}"


def equals(accumulator: Accumulator, value: str, name: str) -> str:
    """The condition that a number is the extreme one."""
    nan = f" || {value} != {value}" if kind(accumulator.dtype) == "f" else ""
    return f"{value} == {name}{nan}"


def _summed(how: Gathering, names: Sequence[str], values: Sequence[str]) -> list[str]:
    count = len(values)
    if len(names) == count:
        return [f"{name} += {value};" for name, value in zip(names, values, strict=True)]
    return [
        f"tm_add_exactly_f64(&{name}, &{error}, {value});"
        for name, error, value in zip(names[:count], names[count:], values, strict=True)
    ]


def _extremum(op: str, dtype: DType, x: str, y: str) -> str:
    return f"tm_{'maximum' if op == 'max' else 'minimum'}_{dtype_name(dtype)}({x}, {y})"


def merged(
    accumulator: Accumulator, how: Gathering, names: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Statements that add the contents of other variables, with later numbers, in the form of `how` or of its
    blocks."""
    op, dtype = accumulator.op, accumulator.dtype
    if op == "sum" and kind(dtype) in "fc":
        values = len(how.blocks.parts) if how.blocks else len(names)
        lines = _summed(how, names, others[:values])
        return lines + [
            f"{name} += {other};" for name, other in zip(names[values:], others[values:], strict=False)
        ]
    if how.parts[-1].suffix == NAN:
        return [*added(accumulator, how, names, others[0], "")[:1], f"{names[1]} |= {others[1]};"]
    return added(accumulator, how, names, others[0], others[-1])


def result(accumulator: Accumulator, how: Gathering, names: Sequence[str], dtype: DType) -> str:
    """The result of the reduction, as an expression."""
    op = accumulator.op
    if op in ("argmax", "argmin"):
        return names[1]
    if op in ("max", "min") and len(names) == 2:
        return f'({names[1]} ? __builtin_nan{"f" if dtype.itemsize == 4 else ""}("") : {names[0]})'
    if op != "sum" or kind(dtype) not in "fc":
        return names[0]
    values = 2 if kind(dtype) == "c" else 1
    sums = list(names[:values])
    if len(names) > values:
        sums = [f"tm_exact_sum_f64({s}, {e})" for s, e in zip(names[:values], names[values:], strict=True)]
    if values == 2:
        real = c_type(real_dtype(dtype))
        return f"__builtin_complex(({real}){sums[0]}, ({real}){sums[1]})"
    return f"({c_type(dtype)}){sums[0]}" if how.blocks and dtype.itemsize == 4 else sums[0]


def folded(op: str, dtype: DType, operands: Sequence[str]) -> str:
    """The reduction of a few numbers, as an expression."""
    if kind(dtype) == "b":
        return f" {'&' if op in ('all', 'prod', 'min') else '|'} ".join(operands)
    if op == "sum":
        zero = [] if kind(dtype) in "iu" else [c_literal(np.zeros((), dtype))]  # no sum is −0
        return " + ".join([*operands, *zero])
    if op == "prod" and kind(dtype) != "c":
        return " * ".join(operands)
    text = operands[0]
    for operand in operands[1:]:
        text = _product(dtype, text, operand) if op == "prod" else _extremum(op, dtype, operand, text)
    return text


def _product(dtype: DType, x: str, y: str) -> str:
    return f"tm_multiply_{dtype_name(dtype)}({x}, {y})"
