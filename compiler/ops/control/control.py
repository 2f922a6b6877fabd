"""Calls of nested graphs and of the user's Python functions, and `stop_gradient`.

`call` and `callback` run a graph or a Python function, for which NumPy has no spelling: a backend prints them itself
and does not quote their definition.

`DifferentiateGraph` in `compiler.op` says how the rules of `call` get the passes.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...builder import bind_all
from ...dtypes import DType, is_inexact
from ...errors import CallbackError, NotDifferentiableError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import Aliasing, Op, not_linear, refuses, register
from ...value_ops import broadcast_to
from ..batch_axes import in_front
from ..elementwise.broadcasting import elementwise
from .graph_call import register_call

FAMILY = "control"


# ---- call ------------------------------------------------------------------------------------------


register_call("call", FAMILY, "The outputs of a nested graph.")


# ---- callback ----------------------------------------------------------------------------------------

Types: TypeAlias = tuple[tuple[DType, Shape], ...]
Loops: TypeAlias = tuple[tuple[int, tuple[bool, ...]], ...]
"""Per loop around the function, outermost first: its length, and the inputs over which it runs."""

METHODS = ("sequential", "expand_dims", "broadcast_all")
"""What a batch of calls becomes: a loop, or one call with the batch as the first axis of all inputs and outputs.
Unmapped inputs then have a first axis of size 1, or are repeated."""


def _function_name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _callback_type(
    *inputs: ArrayType,
    function: Callable[..., Any],
    types: Types,
    loops: Loops = (),
    method: str = "sequential",
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
    """One result of the user's function, if it has the declared type. Python numbers take the dtype."""
    if isinstance(result, (bool, int, float, complex)) and not isinstance(result, np.generic):
        result = np.asarray(result, dtype if np.result_type(result, dtype) == dtype else None)
    array = np.asarray(result)
    if array.dtype != dtype or array.shape != shape:
        raise CallbackError(
            f"{what} must be {ArrayType(dtype, shape)}, the function returned "
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
            f"callback of {name}: it must give {len(types)} outputs, the function returned {len(results)}"
        )
    return [
        _as_result(result, dtype, shape, f"callback of {name}: output {place}")
        for place, (result, (dtype, shape)) in enumerate(zip(results, types, strict=True))
    ]


def _read_only(x: Any) -> Any:
    view = np.asarray(x).view()
    view.flags.writeable = False
    return view


def _callback_numpy(
    *inputs: Any,
    function: Callable[..., Any],
    types: Types,
    loops: Loops = (),
    method: str = "sequential",
) -> Any:
    """The function must not write to its arguments: other calls use them, too."""
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


@refuses("Python code has none, unless a custom rule gives it")
def _callback_jvp(inputs: Any, tangents: Any, outputs: tuple[Value, ...], **params: Any) -> tuple[None, ...]:
    if any(is_inexact(out.dtype) for out in outputs):
        raise NotDifferentiableError(
            f"callback of {_function_name(params['function'])} has no derivative: Tracemill cannot look into "
            "Python code. Give the function a custom rule, or pass stop_gradient of its arguments"
        )
    return (None,) * len(outputs)


@in_front
def _callback_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    *,
    function: Callable[..., Any],
    types: Types,
    loops: Loops = (),
    method: str = "sequential",
) -> tuple[Value, ...]:
    """One more loop around the others, unless the function takes batches."""
    if method == "sequential":
        loops = ((size, tuple(mapped)), *loops)
        return bind_all("callback", *inputs, function=function, types=types, loops=loops)
    given = [
        x if is_mapped else broadcast_to(x, (1 if method == "expand_dims" else size, *x.shape))
        for x, is_mapped in zip(inputs, mapped, strict=True)
    ]
    types = tuple((dtype, (size, *shape)) for dtype, shape in types)
    return bind_all("callback", *given, function=function, types=types, method=method)


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
        "`loops` (length, which inputs have it as an axis in front) runs it per entry, stacking the results. `method` "
        "says what `vmap` makes of it: one more loop (sequential), or one call on the batch.",
    )
)


# ---- stop_gradient -----------------------------------------------------------------------------------


def _stop_gradient_transpose(cotangents: Any, inputs: Any) -> tuple[None]:
    """No cotangent. Only the batch rule of a branch has it in a linear graph, for examples that do not take the
    branch."""
    return (None,)


elementwise(
    "stop_gradient", 1, lambda x: x, kinds="biufc", family=FAMILY, transpose=_stop_gradient_transpose,
    spelling={"numpy": "{0}", "c": "{0}", "triton": "{0}"},
    doc="x, with derivative 0.", aliasing=Aliasing.SAME,
)  # fmt: skip
