"""Functions of NumPy on evaluated arrays: NumPy's own function runs, and a node is recorded.

A table says which functions these are. Others go through the NumPy surface, op by op.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...compiler.builder import _current
from ...compiler.callers.user_code import user_location
from ...compiler.frontend.conversion import Conversion
from ...compiler.tracing.registry import CONSTRUCTORS, FUNCTIONS, METHODS
from ...compiler.tracing.traced_array import located
from .after_call import is_value, with_values
from .call_graphs import Place
from .evaluated_array import ARRAYS, FAST_OPERANDS, EvaluatedArray, new_result
from .evaluating import Evaluating
from .operand_types import COMPLEX, NUMBER, operand_type
from .parts import SortPlan
from .plans import MOST_PLANS, PLANS, Plan, PlanWithoutDerivative, remember
from .ufuncs import evaluate_binary, evaluate_unary, is_plain_scalar, operand, plan_of

_COPIES: Final[frozenset[Any]] = frozenset(
    {
        np.amax, np.amin, np.average, np.clip, np.concatenate, np.cross, np.cumprod, np.cumsum, np.diff, np.dot,
        np.einsum, np.hstack, np.inner, np.kron, np.linalg.cholesky, np.linalg.det, np.linalg.inv, np.linalg.norm,
        np.linalg.solve, np.max, np.mean, np.min, np.outer, np.prod, np.ptp, np.repeat, np.roll, np.sort, np.stack,
        np.std, np.sum, np.tensordot, np.tile, np.trace, np.tril, np.triu, np.var, np.vdot, np.vstack, np.where,
    }
)  # fmt: skip
"""Functions whose result is new memory, except with a few options."""

_VIEWS: Final[frozenset[Any]] = frozenset(
    {
        np.broadcast_to, np.diag, np.diagonal, np.expand_dims, np.moveaxis, np.ravel, np.real, np.reshape, np.squeeze,
        np.swapaxes, np.transpose,
    }
)  # fmt: skip
"""Functions whose result shares memory with their first argument, or is a copy, as the memory order allows."""

_PRODUCTS: Final[frozenset[Any]] = frozenset(
    {np.cross, np.dot, np.inner, np.kron, np.linalg.solve, np.outer, np.vdot}
)
"""Those of two arrays."""
_OF_NUMBERS: Final[frozenset[Any]] = frozenset({np.clip, np.where})
"""Functions for which a Python number is an operand like an array, and not an option."""

_OF_LISTS: Final[dict[Any, Any]] = {np.array: CONSTRUCTORS["array"], np.asarray: CONSTRUCTORS["asarray"]}
"""Functions that NumPy's protocol does not dispatch."""

_SETTINGS: Final[frozenset[Any]] = frozenset({int, bool, str, type(None), float, complex, type})
"""Types of arguments that are part of the call."""


class NeedsNumpySurfaceError(Exception):
    """The call must go through the NumPy surface."""


class _Arguments:
    """The operands among the arguments of a call, and what else identifies it."""

    __slots__ = ("arrays", "has_numbers", "home", "key", "kinds", "nodes", "operands")

    def __init__(self, home: Any, function: Any) -> None:
        self.home = home
        self.has_numbers = function in _OF_NUMBERS
        self.key: list[Any] = [function]
        self.arrays: list[Any] = []
        self.kinds: list[Any] = []
        self.nodes: list[Any] = []
        self.operands: list[Any] = []

    def add(self, key: list[Any], kind: Any, array: Any, node: Any, operand: Any) -> Any:
        key.append(kind)
        self.kinds.append(kind)
        self.arrays.append(array)
        self.nodes.append(node)
        self.operands.append(operand)
        return array

    def read(self, x: Any, key: list[Any]) -> Any:
        """The argument for NumPy's function. The key gets the kinds of operands, and the values of others."""
        type_ = type(x)
        if type_ in ARRAYS:
            if not x.is_readable_in(self.home):
                raise NeedsNumpySurfaceError
            return self.add(key, x._kind, x._array, x._node, x)
        if type_ is float and self.has_numbers:
            return self.add(key, NUMBER, x, None, x)
        if type_ in _SETTINGS:
            key.append((type_, x))
            return x
        if type_ is tuple or type_ is list:
            inner: list[Any] = [type_]
            found = [self.read(one, inner) for one in x]
            key.append(tuple(inner))
            return tuple(found) if type_ is tuple else found
        if type_ is np.ndarray:
            found_array = self.home.captured_array(x).value.array
            return self.add(key, operand_type(found_array), found_array, None, found_array)
        if is_plain_scalar(x):
            return self.add(key, operand_type(x), x, None, x)
        raise NeedsNumpySurfaceError

    def template(self, x: Any, places: list[Place]) -> Any:
        """An argument with places for operands, in the order of `read`."""
        type_ = type(x)
        if type_ is tuple or type_ is list:
            return type_(self.template(one, places) for one in x)
        is_number = type_ is float and self.has_numbers
        if type_ in ARRAYS or is_number or isinstance(x, (np.ndarray, np.generic)):
            places.append(Place(len(places)))
            return places[-1]
        return x


def evaluate_function(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``function(*args, **options)``, where an evaluated array is among the arguments."""
    return _evaluated(function, args, options)[0]


def _evaluated(
    function: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> "tuple[Any, Plan | PlanWithoutDerivative | None]":
    """The same, and the plan with which it was recorded; None if it went through the NumPy surface."""
    home: Any = _current.builder
    read = _Arguments(home, function)
    try:
        out = _called(function, args, options, read)
    except Exception:  # the surface raises the error that names the line
        return _by_surface(function, args, options), None
    if not isinstance(out, (np.ndarray, np.generic)):  # such as the positions from np.where(x)
        return _by_surface(function, args, options), None
    nodes = tuple(read.nodes)
    layouts: tuple[Any, ...] = ()
    if function in _VIEWS:
        x = read.operands[0]
        if type(x) not in ARRAYS or x.is_scalar or len(nodes) != 1:
            return _by_surface(function, args, options), None
        if not x._array.flags.c_contiguous:
            read.key.append(x._array.strides)
            layouts = (x.layout,)
    elif _is_shared(out, read.arrays):
        return _by_surface(function, args, options), None
    elif not any(nodes):
        return new_result(home, out, operand_type(out), None), None
    wrt = tuple([node is not None for node in nodes])
    read.key.append(wrt)
    key = tuple(read.key)
    try:
        plan = PLANS[key]
    except KeyError:
        plan = remember(key, _plan(function, args, options, read, wrt, out, layouts))
    if plan is None or (
        function in _VIEWS and _is_view(plan) is not np.may_share_memory(out, read.arrays[0])
    ):
        return _by_surface(function, args, options), None
    node = _node(home, function, options, plan, nodes, (*read.arrays, np.asarray(out)))
    new = new_result(home, out, plan.out, node)
    if plan.views is not None:
        new.is_scalar = False
        new.share(read.operands[0], plan.views)
    return new, plan


def _is_shared(out: Any, arrays: list[Any]) -> bool:
    """Whether what should be new memory is that of an operand, as for ``einsum("ii->i", x)`` or ``diff(x, n=0)``."""
    if out.base is None and not any(out is x for x in arrays):
        return False
    return any(np.may_share_memory(out, x) for x in arrays)


def _called(function: Any, args: tuple[Any, ...], options: dict[str, Any], read: _Arguments) -> Any:
    """The result of NumPy's function."""
    if "out" in options:
        raise NeedsNumpySurfaceError
    key = read.key
    given = [read.read(x, key) for x in args]
    if not options:
        return function(*given)
    named = {}
    for name, x in options.items():
        key.append(name)
        named[name] = read.read(x, key)
    return function(*given, **named)


def _is_view(plan: "Plan | PlanWithoutDerivative") -> bool:
    return plan.views is not None


def _node(
    home: Any,
    function: Any,
    options: dict[str, Any],
    plan: "Plan | PlanWithoutDerivative",
    nodes: tuple[Any, ...],
    arrays: tuple[Any, ...],
) -> Any:
    """The node of a call, given its operands and the result; None if it has no derivative."""
    if isinstance(plan, PlanWithoutDerivative) or not plan.is_recorded:
        return home.node_of_zero_derivative(function.__name__, nodes) if plan.out.is_inexact else None
    node = home.new_node(next(home.numbers_of_nodes), plan, plan.parents(nodes), plan.saved(arrays))
    if function is np.where or "where" in options:
        node.place = user_location()
    return node


def _plan(
    function: Any,
    args: tuple[Any, ...],
    options: dict[str, Any],
    read: _Arguments,
    wrt: tuple[bool, ...],
    out: Any,
    layouts: tuple[Any, ...],
) -> Any:
    places: list[Place] = []
    template = tuple(read.template(x, places) for x in args)
    named = {name: read.template(x, places) for name, x in options.items()}
    traced = _traced_meaning(function)
    return plan_of(function.__name__, traced, template, named, read.kinds, wrt, out, layouts)


def _by_surface(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The same call through the NumPy surface, which records it op by op."""
    if _current.builder is None:
        values = with_values(args)
        if not any(map(_holds_evaluated, values)):
            return function(*values, **with_values(options))
    return located(_traced_meaning(function), *args, **options)


def _traced_meaning(function: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = _OF_LISTS.get(function) or FUNCTIONS[function]
    return found


# ---- what calls these functions ------------------------------------------------------------------------


def evaluated_meaning(function: Any) -> Callable[..., Any] | None:
    """What converted code calls instead of a function of NumPy in an evaluating trace; None for other functions."""
    try:
        return _MEANINGS.get(function)
    except TypeError:  # not hashable
        return None


def _of_unary(ufunc: Any) -> Callable[..., Any]:
    def called(*args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options and type(args[0]) in ARRAYS:
            return evaluate_unary(ufunc, args[0])
        return _elsewhere(ufunc)(*args, **options)

    return called


def _of_binary(ufunc: Any) -> Callable[..., Any]:
    def called(*args: Any, **options: Any) -> Any:
        if len(args) == 2 and not options:
            x, y = args
            type_x, type_y = type(x), type(y)
            if (type_x in ARRAYS and type_y in FAST_OPERANDS) or (
                type_y in ARRAYS and type_x in FAST_OPERANDS
            ):
                return evaluate_binary(ufunc, x, y)
        return _elsewhere(ufunc)(*args, **options)

    return called


def _of_one(function: Any, x: Any, options: dict[str, Any]) -> Any:
    """``function(x, axis=0)`` of an evaluated array that gives new memory: a short way to `evaluate_function`."""
    home: Any = x._home
    if "out" in options or not x.is_readable_in(_current.builder):
        return evaluate_function(function, (x,), options)
    array, node = x._array, x._node
    key = function, x._kind, node is not None, *options.items()
    try:
        plan = _PLANS_OF_ONE.get(key)
        if plan is None:
            raise NeedsNumpySurfaceError
        out = function(array, **options)
        if out is array:
            raise NeedsNumpySurfaceError
    except (
        Exception
    ):  # an unknown call, or an option that is not a setting, or an error that the surface names
        result, plan = _evaluated(function, (x,), options)
        if plan is not None and all(type(x) in _SETTINGS or type(x) is tuple for _, x in key[3:]):
            _note_plan(_PLANS_OF_ONE, key, plan)
        return result
    if not plan.is_recorded:
        node = home.node_of_zero_derivative(function.__name__, (node,)) if plan.out.is_inexact else None
        return new_result(home, out, plan.out, node)
    if function is np.sort and not options and array.ndim == 1:
        sorted_node = home.new_node(next(home.numbers_of_nodes), SortPlan, (node,), (x._kind, array))
        return new_result(home, out, plan.out, sorted_node)
    new = new_result(home, out, plan.out, None)
    saved = plan.saved((array, new._array))
    new._node = home.new_node(next(home.numbers_of_nodes), plan, (node,), saved)
    return new


def _of_two(function: Any, x: Any, y: Any) -> Any:
    """``function(x, y)`` of arrays that gives new memory, the same short way."""
    home: Any = _current.builder
    kind_x, array_x, node_x = operand(home, x, y)
    kind_y, array_y, node_y = operand(home, y, x)
    key = function, kind_x, kind_y, node_x is not None, node_y is not None
    plan = _PLANS_OF_TWO.get(key)
    if plan is None:
        result, plan = _evaluated(function, (x, y), {})
        if plan is not None and not {kind_x, kind_y} & _OF_NO_ARRAY:
            _note_plan(_PLANS_OF_TWO, key, plan)
        return result
    try:
        out = function(array_x, array_y)
    except Exception:  # the surface raises the error that names the line
        return _by_surface(function, (x, y), {})
    new = new_result(home, out, plan.out, None)
    if plan.is_recorded:
        saved = plan.saved((array_x, array_y, new._array))
        parents = plan.parents((node_x, node_y))
        new._node = home.new_node(next(home.numbers_of_nodes), plan, parents, saved)
    elif plan.out.is_inexact:
        new._node = home.node_of_zero_derivative(function.__name__, (node_x, node_y))
    return new


_OF_NO_ARRAY: Final = frozenset({None, NUMBER, COMPLEX})
"""Kinds of operands that the general way must take."""
_PLANS_OF_TWO: Final[dict[Any, Any]] = {}
"""Plans by function, kinds of the operands, and which of them are differentiated."""
_PLANS_OF_ONE: Final[dict[Any, Any]] = {}
"""Plans by function, kind of the operand, whether it is differentiated, and options."""


def _note_plan(plans: dict[Any, Any], key: Any, plan: "Plan | PlanWithoutDerivative") -> None:
    """Remember the plan of a call."""
    if len(plans) >= MOST_PLANS:
        plans.clear()
    plans[key] = plan


def _of_function(function: Any) -> Callable[..., Any]:
    is_copy = function in _COPIES and function not in _OF_NUMBERS
    is_product = function in _PRODUCTS

    def called(*args: Any, **options: Any) -> Any:
        if is_copy and len(args) == 1 and type(args[0]) in ARRAYS:
            return _of_one(function, args[0], options)
        if is_product and len(args) == 2 and not options:
            x, y = args
            type_x, type_y = type(x), type(y)
            if (type_x in ARRAYS and type_y in FAST_OPERANDS) or (
                type_y in ARRAYS and type_x in FAST_OPERANDS
            ):
                return _of_two(function, x, y)
        if any(map(_holds_evaluated, args)):
            return evaluate_function(function, args, options)
        return _elsewhere(function)(*args, **options)

    return called


def _of_list(function: Any) -> Callable[..., Any]:
    def called(*args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options and type(args[0]) is list and _holds_evaluated(args[0]):
            return evaluate_function(function, args, options)
        return _elsewhere(function)(*args, **options)

    return called


def _holds_evaluated(x: Any) -> bool:
    type_ = type(x)
    if type_ is list or type_ is tuple:
        return any(map(_holds_evaluated, x))
    return type_ in ARRAYS


def _elsewhere(function: Any) -> Callable[..., Any]:
    """What converted code calls in other traces: here, if no operand is an evaluated array."""
    found: Callable[..., Any] = Conversion.numpy_meaning(function) or function
    return found


_UFUNCS: Final = [x for x in vars(np).values() if isinstance(x, np.ufunc) and x.nin <= 2 and x.nout == 1]
_MEANINGS: Final[dict[Any, Callable[..., Any]]] = {
    **{ufunc: (_of_unary if ufunc.nin == 1 else _of_binary)(ufunc) for ufunc in _UFUNCS},
    **{function: _of_function(function) for function in (*_COPIES, *_VIEWS)},
    **{function: _of_list(function) for function in _OF_LISTS},
}
_own: Any = EvaluatedArray
_METHODS: Final = """
    clip cumprod cumsum diagonal dot max mean min prod ptp ravel repeat squeeze std sum swapaxes trace var
"""


_function_by_surface: Final = _own.__array_function__


def _implement(self: Any, function: Any, types: Any, args: Any, options: Any) -> Any:
    if function in _COPIES or function in _VIEWS:
        return evaluate_function(function, args, options)
    return _function_by_surface(self, function, types, args, options)


def _method(function: Any) -> Callable[..., Any]:
    is_copy = function in _COPIES and function not in _OF_NUMBERS

    def called(self: Any, *args: Any, **options: Any) -> Any:
        if is_copy and not args:
            return _of_one(function, self, options)
        return evaluate_function(function, (self, *args), options)

    return called


def _reshape_by_surface(self: Any, *shape: Any, **options: Any) -> Any:
    if is_value(self):
        return self._outside.reshape(*shape, **options)
    return located(METHODS["reshape"], self, *shape, **options)


def _reshape(self: Any, *shape: Any, **options: Any) -> Any:
    if options:
        return _reshape_by_surface(self, *shape, **options)
    return evaluate_function(np.reshape, (self, shape[0] if len(shape) == 1 else shape), {})


def _transpose(self: Any, *axes: Any) -> Any:
    if not axes:
        return evaluate_function(np.transpose, (self,), {})
    first = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return evaluate_function(np.transpose, (self, first), {})


def _install() -> None:
    for name in _METHODS.split():
        setattr(EvaluatedArray, name, _method(getattr(np, name)))
    _own.reshape, _own.transpose, _own.T = _reshape, _transpose, property(_transpose)
    _own.__array_function__ = _implement
    Evaluating.meaning = staticmethod(evaluated_meaning)


_install()
