"""Operators in loops that are read: of arrays as NumPy's, of numbers only where a program has Python's results."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ....compiler.dtypes import INT64
from ....compiler.symbolic_size import SymbolicFact, SymbolicSize, is_known
from .counted import BoundedInt, combined, is_whole, negated
from .values import NUMBERS, NotInLanguageError, is_array, is_dtype_type, is_weak_float

_OPERATORS: Final[Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.MatMult: ("@", operator.matmul),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
}
_IN_PLACE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FLOATS: Final = "efdFD"


def binary(op: ast.operator, left: Any, right: Any, *, in_place: bool = False) -> Any:
    """``left + right`` and the like, or ``left += right`` where that writes to an array."""
    if type(op) not in _OPERATORS:
        raise NotInLanguageError("it shifts bits")
    sign, compute = _OPERATORS[type(op)]
    if is_array(left) or is_array(right):
        _check_operands(sign, left, right)
        return (_IN_PLACE[sign] if in_place else compute)(as_operand(left), as_operand(right))
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return compute(left, right)
    if is_whole(left) and is_whole(right) and sign in ("+", "-", "*", "//", "%"):
        return _of_whole_numbers(sign, compute, left, right)
    if not (_is_real(left) and _is_real(right)) or not _is_safe(sign, right):
        raise NotInLanguageError(f"it computes {_shown(left)} {sign} {_shown(right)}")
    return compute(as_operand(left), as_operand(right))


def unary(op: ast.unaryop, x: Any) -> Any:
    """``-x`` and the like."""
    compute = _UNARY[type(op)]
    if type(x) is BoundedInt:
        found = negated(x) if compute is operator.neg else x if compute is operator.pos else None
        if found is None:
            raise NotInLanguageError("it turns the bits of its counter")
        return found
    if is_array(x) or type(x) in NUMBERS or (compute is not operator.invert and _is_real(x)):
        return compute(x)
    raise NotInLanguageError(f"it computes with {_shown(x)}")


def compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    """``left < right``: an array, or a bool where Python knows it."""
    if isinstance(op, ast.Is | ast.IsNot) and (left is None or right is None):
        return (left is right) is isinstance(op, ast.Is)
    compute = _COMPARISONS.get(type(op))
    if compute is None:
        raise NotInLanguageError("it asks what is in something, or is the same object")
    if is_array(left) or is_array(right):
        _check_operands("<", left, right)
        return compute(as_operand(left), as_operand(right))
    if not (_is_known(left) and _is_known(right)):
        raise NotInLanguageError(f"it asks how {_shown(left)} and {_shown(right)} compare")
    found = compute(left, right)
    return bool(found) if isinstance(found, SymbolicFact) else found


def truth(x: Any) -> bool:
    """A condition that Python knows, and that is the same in each turn."""
    if type(x) is not bool:
        raise NotInLanguageError(f"it asks whether {_shown(x)} is true")
    return x


def as_operand(x: Any) -> Any:
    """What stands for a value where functions of NumPy meet it."""
    if type(x) is BoundedInt:
        return x.number
    return x.as_number() if isinstance(x, SymbolicSize) else x


def check_meets(x: Any, dtype: Any) -> None:
    """Refuse a counter where NumPy would raise, as a dtype might not hold it, or would round it otherwise."""
    if type(x) is not BoundedInt or dtype == INT64 or dtype.kind == "b" or dtype.char in _FLOATS:
        return
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if x.fits(int(limits.min), int(limits.max)):
            return
    raise NotInLanguageError(f"its counter meets {dtype}, which may not hold it")


def _check_operands(sign: str, *operands: Any) -> None:
    dtypes = [x.dtype for x in operands if is_array(x)]
    for x in operands:
        if is_array(x) or type(x) in NUMBERS:
            continue
        if not _is_real(x) or sign in ("**", "&", "|", "^", "@"):
            raise NotInLanguageError(f"it computes {_shown(operands[0])} {sign} {_shown(operands[-1])}")
        for dtype in dtypes:
            check_meets(x, dtype)


def _of_whole_numbers(sign: str, compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if type(left) is BoundedInt or type(right) is BoundedInt:
        found = combined(sign, left, right)
        if found is None:
            raise NotInLanguageError(f"it computes {_shown(left)} {sign} {_shown(right)}")
        return found
    return compute(left, right)


def _is_real(x: Any) -> bool:
    """Whether it is a number, but no complex one."""
    return type(x) in (int, float) or is_whole(x) or is_weak_float(x)


def _is_safe(sign: str, right: Any) -> bool:
    """Whether Python does not raise, where NumPy gives an infinity."""
    if sign != "/":
        return sign in ("+", "-", "*")
    if type(right) is BoundedInt:
        return right.is_not_zero
    return (type(right) in (int, float) or isinstance(right, SymbolicSize)) and is_known(right != 0)


def _is_known(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_known, x))
    plain = x is None or type(x) in (*NUMBERS, str) or isinstance(x, SymbolicSize | np.dtype)
    return plain or is_dtype_type(x)


def _shown(x: Any) -> str:
    """In messages."""
    if type(x) is BoundedInt:
        return "its counter"
    return "a number of the program" if is_array(x) or is_weak_float(x) else repr(x)
