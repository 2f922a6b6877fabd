"""Calls of nested graphs and of the user's Python, and a stop for derivatives.

`call` and `callback` run a graph or a Python function, which NumPy has no word for: a backend prints them
itself and does not quote their meaning.

`DifferentiateGraph` in `compiler.op` says how the rules of `call` reach the passes.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..dtypes import DType, is_inexact
from ..errors import CallbackError, NotDifferentiableError, ShapeError
from ..ir import ArrayType, Graph, Shape, Value
from ..op import DifferentiateGraph, Linear, Op, not_linear, register
from ..trace import bind_all, depends_on, evaluate
from .elementwise import elementwise

FAMILY = "control"


# ---- call ------------------------------------------------------------------------------------------


def _call_type(*inputs: ArrayType, graph: Graph) -> tuple[ArrayType, ...]:
    expected = tuple(value.type for value in graph.inputs)
    if inputs != expected:
        given, wanted = (", ".join(map(str, types)) for types in (inputs, expected))
        raise ShapeError(f"call of {graph.name}({wanted}) with ({given})")
    return tuple(value.type for value in graph.outputs)


def _call_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    graph: Graph,
    *,
    recurse: DifferentiateGraph,
) -> tuple[tuple[Value, ...], tuple[Value | None, ...]]:
    wrt = [tangent is not None for tangent in tangents]
    given = [tangent for tangent in tangents if tangent is not None]
    reached = depends_on(graph, wrt)
    of = [value in reached and is_inexact(value.dtype) for value in graph.outputs]
    forward, linear = recurse(graph, wrt, of)
    if linear is None:
        results = bind_all("call", *inputs, *given, graph=forward)
        pushed = iter(results[len(outputs) :])
    else:
        results = bind_all("call", *inputs, graph=forward)
        pushed = iter(bind_all("call", *results[len(outputs) :], *given, graph=linear))
    return results[: len(outputs)], tuple(next(pushed) if wanted else None for wanted in of)


def _call_transpose(
    cotangents: tuple[Value, ...], inputs: tuple[Any, ...], graph: Graph, *, recurse: Callable[..., Graph]
) -> tuple[Value | None, ...]:
    linear = [isinstance(x, Linear) for x in inputs]
    known = [x for x in inputs if not isinstance(x, Linear)]
    found = iter(bind_all("call", *known, *cotangents, graph=recurse(graph, linear=linear)))
    return tuple(next(found) if is_linear else None for is_linear in linear)


def _call_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    graph: Graph,
    *,
    recurse: Callable[..., Graph],
) -> tuple[Value, ...]:
    in_axes = [0 if is_mapped else None for is_mapped in mapped]
    batched = recurse(graph, in_axes=in_axes, size=size, out_axes=[0] * len(graph.outputs))
    return bind_all("call", *inputs, graph=batched)


register(
    Op(
        "call",
        FAMILY,
        _call_type,
        lambda *inputs, graph: evaluate(graph, *inputs),
        _call_jvp,
        _call_transpose,
        _call_batch,
        spelling=None,
        effect=None,  # that of the calls in the graph
        doc="The outputs of a nested graph.",
    )
)


# ---- callback ----------------------------------------------------------------------------------------

Types: TypeAlias = tuple[tuple[DType, Shape], ...]
Loops: TypeAlias = tuple[tuple[int, tuple[bool, ...]], ...]
"""Per loop around the function, outermost first: its length, and which inputs it runs over."""


def _function_name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _callback_type(
    *inputs: ArrayType, function: Callable[..., Any], types: Types, loops: Loops = ()
) -> tuple[ArrayType, ...]:
    lengths = tuple(length for length, _ in loops)
    for place, x in enumerate(inputs):
        over = tuple(length for length, mapped in loops if mapped[place])
        if x.shape[: len(over)] != over:
            raise ShapeError(
                f"callback of {_function_name(function)}: input {place} is {x}, the loops run over {over}"
            )
    return tuple(ArrayType(dtype, (*lengths, *shape)) for dtype, shape in types)


def _as_result(result: Any, dtype: DType, shape: Shape, what: str) -> Any:
    """One result of the user's function, if it has the promised type. Python numbers take the dtype."""
    if isinstance(result, (bool, int, float, complex)) and not isinstance(result, np.generic):
        result = np.asarray(result, dtype if np.result_type(result, dtype) == dtype else None)
    array = np.asarray(result)
    if array.dtype != dtype or array.shape != shape:
        raise CallbackError(
            f"{what} must be {ArrayType(dtype, shape)}, the function gave "
            f"{array.dtype.name}[{', '.join(map(str, array.shape))}]: convert it there, or correct the spec"
        )
    return array


def _run_once(function: Callable[..., Any], arguments: Sequence[Any], types: Types) -> list[Any]:
    name = _function_name(function)
    results = function(*arguments)
    if not isinstance(results, (tuple, list)):
        results = (results,)
    if len(results) != len(types):
        raise CallbackError(
            f"callback of {name}: it must give {len(types)} outputs, the function gave {len(results)}"
        )
    return [
        _as_result(result, dtype, shape, f"callback of {name}: output {place}")
        for place, (result, (dtype, shape)) in enumerate(zip(results, types, strict=True))
    ]


def _read_only(x: Any) -> Any:
    view = np.asarray(x).view()
    view.flags.writeable = False
    return view


def _callback_numpy(*inputs: Any, function: Callable[..., Any], types: Types, loops: Loops = ()) -> Any:
    """The function must not write into its arguments: other calls use them, too."""
    lengths = tuple(length for length, _ in loops)
    outs = tuple(np.empty((*lengths, *shape), dtype) for dtype, shape in types)
    for index in np.ndindex(*lengths):
        arguments = []
        for place, x in enumerate(inputs):
            own = tuple(at for at, (_, mapped) in zip(index, loops, strict=True) if mapped[place])
            arguments.append(_read_only(x[own]))
        for out, result in zip(outs, _run_once(function, arguments, types), strict=True):
            out[index] = result
    return outs


def _callback_jvp(inputs: Any, tangents: Any, outputs: tuple[Value, ...], **params: Any) -> tuple[None, ...]:
    if any(is_inexact(out.dtype) for out in outputs):
        raise NotDifferentiableError(
            f"callback of {_function_name(params['function'])} has no derivative: Tracemill cannot look into "
            "Python code. Give the function a custom rule, or pass stop_gradient of its arguments"
        )
    return (None,) * len(outputs)


def _callback_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    *,
    function: Callable[..., Any],
    types: Types,
    loops: Loops = (),
) -> tuple[Value, ...]:
    """One more loop around the others: opaque code has no other batch."""
    loops = ((size, tuple(mapped)), *loops)
    return bind_all("callback", *inputs, function=function, types=types, loops=loops)


register(
    Op(
        "callback",
        FAMILY,
        _callback_type,
        _callback_numpy,
        _callback_jvp,
        not_linear,
        _callback_batch,
        spelling=None,
        effect="calls Python",
        doc="The results of a Python function of NumPy arrays, one per (dtype, shape) of `types`. Each of "
        "`loops` (length, which inputs have it as an axis in front) runs it per entry, stacking the results.",
    )
)


# ---- stop_gradient -----------------------------------------------------------------------------------

elementwise(
    "stop_gradient", 1, lambda x: x, kinds="biufc", family=FAMILY,
    spelling={"numpy": "{0}", "c": "{0}", "triton": "{0}"},
    doc="x, with derivative 0.",
)  # fmt: skip
