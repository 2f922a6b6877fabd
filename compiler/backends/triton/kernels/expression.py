"""Elementwise calls as Triton expressions, from the spellings of their ops."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ....dtypes import dtype_name, is_half, kind
from ....errors import InternalError
from ....ir import Call
from ....op import lookup
from ....ops.elementwise.arithmetic import may_be_root
from ..types import has_type, triton_type

_KINDS: Final = {"b": "bool", "i": "int", "u": "int", "f": "real"}
_OF_TWO_BYTES: Final = frozenset({"bitcast", "convert", "nextafter", "spacing", "where"})
"""Ops that take two-byte numbers directly."""

_WIDE: Final = "tl.float32"
"""The dtype in which two-byte numbers are computed, as in NumPy."""


@dataclass(frozen=True, slots=True)
class TritonExpression:
    """The text of a block of elements, and the names of the functions in `functions` that it calls."""

    text: str
    needs: frozenset[str]


def is_spelled(call: Call) -> bool:
    """Whether Triton has the op for these dtypes."""
    spelling = lookup(call.op).spelling
    values = (*call.inputs, *call.outputs)
    return spelling is not None and "triton" in spelling and all(has_type(value.dtype) for value in values)


def expression(call: Call, operands: Sequence[str]) -> TritonExpression:
    """The result of an elementwise call, given texts for its operands, which should be names or numbers."""
    spelling = _spelling(call)
    operand, result = call.inputs[0].dtype, call.outputs[0].dtype
    texts = list(operands)
    widens = is_half(operand) and call.op not in _OF_TWO_BYTES
    if widens:
        texts = [f"{text}.to({_WIDE})" for text in texts]
    fields = {
        **{name: int(param) for name, param in call.params.items() if isinstance(param, int)},
        "t": "f32" if widens else dtype_name(operand),
        "r": dtype_name(result),
        "type": triton_type(operand),
        "result": triton_type(result),
    }
    text = spelling.format(*texts, **fields)
    if widens and is_half(result):
        text = f"{text}.to({triton_type(result)})"
    return TritonExpression(text, functions_in(text))


def needed_by(call: Call) -> frozenset[str]:
    """The functions in `functions` that an elementwise call uses."""
    return expression(call, ["x"] * len(call.inputs)).needs


def takes_bare(call: Call, is_known: Sequence[bool]) -> list[bool]:
    """Which operands may be Python numbers, given which are known: the functions take blocks."""
    spelling = _spelling(call)
    if "tm_" in spelling or ".to(" in spelling or all(is_known):
        return [False] * len(is_known)
    return [call.op != "where" or position > 0 for position in range(len(is_known))]


def _spelling(call: Call) -> str:
    """The spelling for the dtypes of a call: the most specific one of its op."""
    spelling: Mapping[str, str] | None = lookup(call.op).spelling
    if spelling is None or not call.inputs:
        raise InternalError(f"{call.op} is not an elementwise op")
    if call.op == "power" and may_be_root(call):
        root = lookup("sqrt").spelling
        assert root is not None
        own = root.get(f"triton_{dtype_name(call.inputs[0].dtype)}", root["triton"])
        return f"tl.where({{1}} == 0.5, {own}, {spelling['triton']})"
    given, made = (_KINDS[kind(value.dtype)] for value in (call.inputs[0], call.outputs[0]))
    keys = (
        f"triton_{dtype_name(call.inputs[0].dtype)}",
        f"triton_{given}_{made}",
        f"triton_{given}",
        "triton",
    )
    return next(spelling[key] for key in keys if key in spelling)


_CALLED: Final = re.compile(r"\b(tm_\w+)[(,)]")


def functions_in(text: str) -> frozenset[str]:
    """The functions in `functions` that a text calls, or passes to a Triton reduction."""
    return frozenset(_CALLED.findall(text))
