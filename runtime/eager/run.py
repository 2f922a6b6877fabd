"""Shared by all transforms: arguments for tracing, and running or recording a graph."""

from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any, TypeAlias

import numpy as np

from ...compiler.arguments.leaves import leaf_type, weak_type
from ...compiler.builder import bind, inline
from ...compiler.callers.function_names import function_name
from ...compiler.dtypes import Array
from ...compiler.errors import TransformTypeError
from ...compiler.frontend.program import Argument, Program
from ...compiler.interpreter import evaluate
from ...compiler.ir import ArrayType, Constant, Graph, Param, Value
from ...compiler.memory_layout.layout import Layout, LayoutQuestion, layout_of
from ...compiler.nesting import shown
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.known_values import Known
from ...compiler.tracing.trace import KnownOutside, array_type, current_trace
from ...compiler.tracing.traced_array import TracedArray, wrap
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ...compiler.value_ops import constant, full
from ...passes.pipeline import Made, apply
from ..environment import checking
from ..gpu.device_array import DeviceArray
from ..host_arrays import taking_host_arrays
from ..tracebacks import with_users_frames
from ..trees import changed_leaves
from .current_tape import is_recording, joined
from .transform_log import record_for

Wrapper: TypeAlias = Callable[..., Any]


# ---- wrapping a function ---------------------------------------------------------------------------------


def like_function(func: Callable[..., Any]) -> Callable[[Wrapper], Wrapper]:
    """`functools.wraps`, also for callables without a name: partials, objects with ``__call__``."""
    require_function("a transform", func)

    def name(wrapper: Wrapper) -> Wrapper:
        shown = with_users_frames(taking_host_arrays(wrapper))
        shown.__name__ = shown.__qualname__ = function_name(func)
        return update_wrapper(shown, func, updated=())

    return name


def require_function(what: str, func: Any) -> None:
    """Raises `TransformTypeError` unless `func` can be called."""
    if not callable(func):
        raise TransformTypeError(f"{what} needs a function, not {type(func).__name__}: {shown(func)}")


# ---- arguments -------------------------------------------------------------------------------------------


def is_array(leaf: Any) -> bool:
    """Whether a leaf is memory that a function may write to; numbers and NumPy scalars are not."""
    return isinstance(leaf, (np.ndarray, TracedArray))


def as_argument(leaf: Any, name: str, *, known: bool, shared: bool = True) -> Argument:
    """An argument of the traced function for an array or a number.

    Args:
        leaf: the array or number.
        name: how it is reached, such as ``args[0]['w']``.
        known: tracing may look at the value.
        shared: arguments that are the same array are the same memory inside, too.
    """
    scalar = leaf.is_scalar if is_traced(leaf) else not isinstance(leaf, np.ndarray)
    identity = id(leaf) if shared and is_array(leaf) else None
    value = known_value(leaf) if known else None
    layout, flags = _layout(leaf), _flags(leaf, name)
    return Argument(leaf_type(leaf, name), name, weak_type(leaf), scalar, value, identity, layout, flags)


def _layout(leaf: Any) -> Layout | None:
    """The layout of an array; inside a trace, as the enclosing function knows it."""
    if isinstance(leaf, TracedArray):
        return leaf.layout
    return layout_of(leaf) if is_numpy_array(leaf) else None


def _flags(leaf: Any, name: str) -> LayoutQuestion | None:
    if is_numpy_array(leaf):
        return LayoutQuestion(name, owndata=leaf.flags.owndata, writeable=leaf.flags.writeable)
    return leaf._storage.argument if is_traced(leaf) and not leaf._views else None


def known_value(leaf: Any) -> Known:
    """Lets tracing read the value of an argument, if it has one."""
    if is_traced(leaf):
        with joined() as outer:
            return KnownOutside(outer, leaf.value)
    return lambda: np.asarray(leaf)


def inputs_of(program: Program, leaves: Sequence[Any]) -> list[Any]:
    """The values of the inputs of a program's graph: the traced leaves, then the captured arrays."""
    return [*leaves, *program.captured]


# ---- transforming and running ------------------------------------------------------------------------------


def transformed(step: Callable[[Graph], Made], graph: Graph) -> Made:
    """The result of a transform of a graph, run by the pipeline. Bind options with `functools.partial`."""
    return apply(step, graph, check=checking(), record=record_for(step, graph))


def run(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of `graph`: recorded if a trace is active in this thread or an input is a variable, otherwise
    computed.

    Inputs are NumPy or traced arrays, numbers, or constants. 0-d results are scalars, as in NumPy. Other results are
    separate arrays in C order, which share no memory with the inputs or with each other. An input that is returned
    keeps its order.
    """
    if is_recording(inputs):
        with joined():
            return [wrap(value) for value in inline(graph, [as_value(x) for x in inputs])]
    arrays = as_arrays(inputs)
    outputs = evaluate(graph, *arrays)
    given = set(map(id, arrays))
    return separate([x if id(x) in given else in_rows(x) for x in outputs], arrays)


def in_rows(array: Array) -> Array:
    """The array in C order: itself if it lies so already."""
    return array if array.flags.c_contiguous else array.copy()


def separate(outputs: Iterable[Array], inputs: Iterable[Array]) -> list[Any]:
    """Scalars, and arrays that share no memory with the inputs or with each other."""
    taken = {id(_memory(x)) for x in inputs}
    results: list[Any] = []
    for out in outputs:
        if out.ndim == 0:
            results.append(out[()])
            continue
        memory = _memory(out)
        own = out.flags.writeable and memory.flags.writeable and id(memory) not in taken
        results.append(out if own else out.copy(order="K"))
        taken.add(id(memory))
    return results


def with_own_memory(name: str, result: Any) -> Any:
    """A result, which errors call `name`, with copies of its arrays, so that it shares no memory with others."""
    return changed_leaves(name, _own_memory, result)


def _own_memory(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.copy(order="K")
    return leaf.copy() if is_traced(leaf) and leaf.ndim else leaf


def as_arrays(inputs: Sequence[Any]) -> list[Array]:
    """Inputs of a graph as NumPy arrays."""
    return [x.array if isinstance(x, Constant) else np.asarray(x) for x in inputs]


def on_traced_leaves(op: str, x: Any, **params: Param) -> Any:
    """`x` with an op of one array, which keeps its type, recorded on every traced leaf; other leaves do not change."""

    def recorded(leaf: Any) -> Any:
        if not is_traced(leaf):
            return leaf
        with joined():
            return wrap(bind(op, leaf.value, **params), is_scalar=leaf.is_scalar, weak=leaf.weak)

    return changed_leaves(f"the argument of {op}", recorded, x)


def zeros(type: ArrayType) -> Any:
    """A zero tangent or cotangent: a separate array, traced inside a trace."""
    return run(graph_of("zeros", (), lambda: (zero_of(type),)), [])[0]


def zero_of(type: ArrayType) -> Value:
    """The same as a value: a constant if the sizes are known."""
    if any(isinstance(dim, SymbolicSize) for dim in type.shape):
        return full(type.shape, 0, type.dtype)
    return constant(np.zeros(type.shape, type.dtype))


def _memory(array: Array) -> Array:
    """The array that owns the memory behind a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def overwrite(target: Any, new: Any) -> None:
    """``target[...] = new`` for an array from outside the function; recorded inside a trace."""
    if isinstance(target, DeviceArray):
        target.overwrite(new)
        return
    trace = current_trace()
    if trace is not None and is_numpy_array(target):
        target = TracedArray(trace.storage_of_array(target), array_type(target))
    target[...] = new
