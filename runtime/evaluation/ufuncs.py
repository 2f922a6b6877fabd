"""ufuncs and operators on evaluated arrays: NumPy's ufunc runs, and a node is recorded."""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ...compiler.builder import _current
from ...compiler.errors import TracemillError
from ...compiler.symbolic_size import is_symbolic_shape
from ...compiler.tracing.registry import UFUNCS
from ...compiler.tracing.traced_array import TracedArray
from .after_call import with_values
from .call_graphs import Place, graph_of_call
from .evaluated_array import ARRAYS, FAST_OPERANDS, EvaluatedArray, new_result
from .operand_types import COMPLEX, NUMBER, operand_type
from .plans import PLANS, Plan, PlanWithoutDerivative, remember

_REFUSED: Final[tuple[Any, Any, Any]] = (None, None, None)


def evaluate_binary(ufunc: Any, x: Any, y: Any) -> Any:
    """``ufunc(x, y)``, where at least one of them is an evaluated array."""
    home: Any = _current.builder
    kind_x, array_x, node_x = operand(home, x, y)
    kind_y, array_y, node_y = operand(home, y, x)
    if kind_x is None or kind_y is None:
        return _by_surface(ufunc, x, y)
    try:
        out = ufunc(array_x, array_y)
    except Exception:  # the surface raises the error that names the line
        return _by_surface(ufunc, x, y)
    if node_x is None:
        if node_y is None:
            return new_result(home, out, operand_type(out), None)
        key = ufunc, kind_x, kind_y, 2
    else:
        key = ufunc, kind_x, kind_y, 1 if node_y is None else 3
    plan = PLANS.get(key, _UNKNOWN)
    if plan is _UNKNOWN:
        plan = _plan_of_binary(key, out)
    if plan is None:
        return _by_surface(ufunc, x, y)
    if not plan.is_recorded:
        node = home.node_of_zero_derivative(ufunc.__name__, (node_x, node_y)) if plan.out.is_inexact else None
        return new_result(home, out, plan.out, node)
    new = new_result(home, out, plan.out, None)
    saved = plan.saved((array_x, array_y, new._array))
    new._node = home.new_node(next(home.numbers_of_nodes), plan, plan.parents((node_x, node_y)), saved)
    return new


def evaluate_unary(ufunc: Any, x: Any) -> Any:
    """``ufunc(x)`` of an evaluated array."""
    home: Any = x._home
    if not (x.is_readable_in(_current.builder) or x.is_number_in(_current.builder)):
        return _by_surface(ufunc, x)
    array = x._array
    key = ufunc, x._kind, x._node is not None
    plan = PLANS.get(key, _UNKNOWN)
    if plan is None:
        return _by_surface(ufunc, x)
    try:
        out = ufunc(array)
    except Exception:
        return _by_surface(ufunc, x)
    if plan is _UNKNOWN:
        plan = _plan_of_unary(key, out)
        if plan is None:
            return _by_surface(ufunc, x)
    if not plan.is_recorded:
        node = home.node_of_zero_derivative(ufunc.__name__, (x._node,)) if plan.out.is_inexact else None
        return new_result(home, out, plan.out, node)
    new = new_result(home, out, plan.out, None)
    saved = plan.saved((array, new._array))
    new._node = home.new_node(next(home.numbers_of_nodes), plan, (x._node,), saved)
    return new


def operand(home: Any, x: Any, other: Any) -> tuple[Any, Any, Any]:
    """The kind, the elements and the node of an operand; no kind if the call must go through the surface."""
    type_ = type(x)
    if type_ in ARRAYS:
        if x.is_readable_in(home):
            return x._kind, x._array, x._node
        return (
            (NUMBER, x._array.item(), x._node) if x.is_number_in(home) and _takes_numbers(other) else _REFUSED
        )
    if type_ is float or type_ is int or type_ is complex:
        kind = COMPLEX if type_ is complex else NUMBER
        return (kind, x, None) if type(other) in ARRAYS and _is_inexact(other) else _REFUSED
    if type_ is np.ndarray:
        if home is None:
            return _REFUSED
        try:
            x = home.captured_array(x).value.array
        except TracemillError:
            return _REFUSED
        return operand_type(x), x, None
    return (operand_type(x), x, None) if is_plain_scalar(x) else _REFUSED


def is_plain_scalar(x: Any) -> bool:
    """Whether it is a NumPy scalar of a type that graphs have."""
    return isinstance(x, np.generic) and x.dtype.kind in "fciub" and x.dtype.itemsize <= 16


def _takes_numbers(x: Any) -> bool:
    """Whether an operand beside a Python float decides the dtype, or is such a number, too."""
    type_ = type(x)
    if type_ in ARRAYS:
        return x.weak is float or (x.weak is None and _is_inexact(x))
    return (
        type_ is float or type_ is int or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc")
    )


def _is_inexact(x: Any) -> bool:
    return x._kind is not None and bool(x._kind.is_inexact)


def _by_surface(ufunc: Any, *inputs: Any) -> Any:
    """The same call through the NumPy surface, which records it op by op."""
    array: Any = next(x for x in inputs if isinstance(x, TracedArray))
    if _current.builder is None and array._home.has_ended:
        return ufunc(*with_values(inputs))
    return array._located(UFUNCS["call"], ufunc, "__call__", inputs, {})


# ---- plans -------------------------------------------------------------------------------------------

_UNKNOWN: Final[Any] = object()


def _plan_of_binary(key: Any, out: Any) -> Any:
    ufunc, kind_x, kind_y, which = key
    return remember(key, _plan_of_ufunc(ufunc, (kind_x, kind_y), [bool(which & 1), bool(which & 2)], out))


def _plan_of_unary(key: Any, out: Any) -> Any:
    ufunc, kind, is_differentiated = key
    found = _plan_of_ufunc(ufunc, (kind,), [is_differentiated], out) if ufunc.nout == 1 else None
    return remember(key, found)


def _plan_of_ufunc(
    ufunc: Any, kinds: Any, wrt: list[bool], out: Any
) -> "Plan | PlanWithoutDerivative | None":
    def called(*given: Any) -> Any:
        return UFUNCS["call"](ufunc, "__call__", given, {})

    places = tuple(map(Place, range(len(kinds))))
    return plan_of(ufunc.__name__, called, places, {}, kinds, wrt, out)


def plan_of(
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    kinds: Any,
    wrt: Any,
    out: Any,
    layouts: tuple[Any, ...] = (),
) -> "Plan | PlanWithoutDerivative | None":
    """The plan for a call whose result is `out`; None if only the NumPy surface can record it."""
    kind = operand_type(out)
    try:
        graph, views = graph_of_call(name, function, arguments, options, kinds, layouts)
    except (TracemillError, ValueError, TypeError, NotImplementedError):
        return None
    found = graph.outputs[0].type
    if is_symbolic_shape(found.shape) or found != kind.type or len(graph.inputs) != len(kinds):
        return None
    wanted = [is_wanted and one.is_inexact for is_wanted, one in zip(wrt, kinds, strict=True)]
    if not kind.is_inexact or not any(wanted):
        return PlanWithoutDerivative(kind, views)
    return Plan(graph, wanted, kinds, kind, views)


# ---- operators ---------------------------------------------------------------------------------------

OPERATORS: Final[dict[str, Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "matmul": np.matmul,
}
_OF_NUMBERS: Final = frozenset({"add", "sub", "mul", "truediv"})
"""The operators that give a number for two numbers."""
_COMPARISONS: Final[dict[str, Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SHORTCUTS: Final[dict[float, Any]] = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
"""ndarray's own for ``x ** 2`` and similar powers."""
_OF_EXACT_NUMBERS: Final = frozenset({"decimal", "fractions"})
"""The modules of numbers that Python compares exactly with floats."""
_EXACT: Final = 2**53
"""Floats compare exactly with ints up to this one."""


def _install_binary(name: str, ufunc: Any, *, mirrored: bool) -> None:
    by_surface = _operator_by_surface(name, mirrored=mirrored)
    kind = bool if name in _COMPARISONS else float if name in _OF_NUMBERS else None
    divides = name == "truediv"

    def straight(self: Any, other: Any) -> Any:
        if type(other) in FAST_OPERANDS:
            if self.weak is None:
                return evaluate_binary(ufunc, self, other)
            if type(other) is not complex and self.is_number_in(_current.builder):
                if type(other) is int and not -_EXACT <= other <= _EXACT:
                    return by_surface(self, other)
                found = evaluate_binary(ufunc, self, other)
                if not (divides and _may_raise(found)):
                    return _of_number(found, other, kind)
        return by_surface(self, other)

    def swapped(self: Any, other: Any) -> Any:
        if type(other) in FAST_OPERANDS:
            if self.weak is None:
                return evaluate_binary(ufunc, other, self)
            if type(other) is not complex and self.is_number_in(_current.builder):
                found = evaluate_binary(ufunc, other, self)
                if not (divides and _may_raise(found)):
                    return _of_number(found, other, kind)
        return by_surface(self, other)

    setattr(EvaluatedArray, f"__{'r' * mirrored}{name}__", swapped if mirrored else straight)


def _operator_by_surface(name: str, *, mirrored: bool) -> Any:
    by_surface = getattr(EvaluatedArray, f"__{'r' * mirrored}{name}__")
    return partial(_compared, getattr(operator, name), by_surface) if name in _COMPARISONS else by_surface


def _compared(own: Any, by_surface: Any, self: Any, other: Any) -> Any:
    """A comparison, with an exact number as Python compares its own floats, as the value is known."""
    found = by_surface(self, other)
    if found is NotImplemented and type(other).__module__ in _OF_EXACT_NUMBERS:
        return own(self._for_reading(), other)
    return found


def _may_raise(quotient: Any) -> bool:
    """Whether Python numbers may have been divided by zero, for which the surface has Python's exception."""
    return not np.all(np.isfinite(quotient._array))


def _of_number(found: Any, other: Any, kind: "type[Any] | None" = float) -> Any:
    """The result of an operator on a Python float: Python's, of this type, if the other operand is a number, too."""
    if type(other) in (float, int) or (type(other) in ARRAYS and other.weak in (float, bool)):
        found.weak = kind
    return found


_own: Any = EvaluatedArray
_power_by_surface: Final = _own.__pow__
_negative_by_surface: Final = _own.__neg__
_ufunc_by_surface: Final = _own.__array_ufunc__


def _power(self: Any, other: Any) -> Any:
    type_ = type(other)
    if self.weak is None and _is_inexact(self):
        if type_ is int or type_ is float:
            shortcut = _SHORTCUTS.get(other)
            if shortcut is not None:
                return evaluate_unary(shortcut, self)
            return evaluate_binary(np.power, self, other)
        if type_ in ARRAYS and other.weak is None:
            return evaluate_binary(np.power, self, other)
    if type_ is int and other == 2 and self.is_number_in(_current.builder):
        square = evaluate_unary(np.square, self)
        if math.isfinite(square._array):
            return _of_number(square, other)
    return _power_by_surface(self, other)


def _negative(self: Any) -> Any:
    if self.weak is None:
        return evaluate_unary(np.negative, self)
    if self.is_number_in(_current.builder):
        return _of_number(evaluate_unary(np.negative, self), 0)
    return _negative_by_surface(self)


def _ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__" and not options and ufunc.nout == 1:
        if len(inputs) == 2:
            return evaluate_binary(ufunc, *inputs)
        if len(inputs) == 1:
            return evaluate_unary(ufunc, self)
    return _ufunc_by_surface(self, ufunc, method, *inputs, **options)


def _install() -> None:
    for name, ufunc in OPERATORS.items():
        _install_binary(name, ufunc, mirrored=False)
        _install_binary(name, ufunc, mirrored=True)
    for name, ufunc in _COMPARISONS.items():
        _install_binary(name, ufunc, mirrored=False)
    _own.__pow__, _own.__neg__, _own.__array_ufunc__ = _power, _negative, _ufunc


_install()
