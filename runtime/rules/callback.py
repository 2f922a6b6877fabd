"""`pure_callback`: calls Python code from a traced function when the program runs."""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import leaf_type, path_names
from ...compiler.arguments.option_checks import is_choice
from ...compiler.builder import Builder, bind_all, recording
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import is_supported
from ...compiler.errors import DTypeError, ShapeError, TransformArgumentError, TransformTypeError
from ...compiler.errors.tracemill_error import text_of
from ...compiler.ir import ArrayType, Graph, Value
from ...compiler.nesting import shown
from ...compiler.ops.control.control import METHODS
from ...compiler.symbolic_size import SymbolicSize
from ..eager.run import require_function, run
from ..tracebacks import with_users_frames
from ..trees import check_same_structure, flatten


@with_users_frames
def pure_callback(
    function: Callable[..., Any], result_spec: Any, *args: Any, vmap_method: str = "sequential"
) -> Any:
    """The result of `function` for the values of `args`: Python code that tracing cannot see.

    The function receives read-only NumPy arrays in the structure of `args`. It must be pure: it may run any number of
    times, or not at all if nothing needs its result. It has no derivative; apply `stop_gradient` to the arguments if
    you do not want one.

    Args:
        function: any Python function.
        result_spec: what it returns: a pytree of things with a ``shape`` and a ``dtype``, such as
            ``np.empty(3)``; a dtype stands for a scalar.
        args: arrays, numbers, and pytrees of them.
        vmap_method: what `vmap` does. ``"sequential"`` calls the function once per example, and a
            `CallbackLoopWarning` says so. The others call it once with all examples, and its results must have
            them as their first axis, too: of the arguments that are not mapped ``"expand_dims"`` makes a first axis
            of size 1, ``"broadcast_all"`` as many copies as there are examples.

    Returns:
        The results, in the structure of `result_spec`, as arrays of exactly these shapes and dtypes.

    Raises:
        TransformTypeError, DTypeError, ShapeError: `function` or `result_spec` is none.
        TransformArgumentError: (a ValueError) an unknown `vmap_method`.
        CallbackError: the function returned other shapes or dtypes.
        TreeMismatchError: (a ValueError) the function returned another structure.

    >>> import math
    >>> pure_callback(math.gamma, np.float64, 5.0)
    np.float64(24.0)
    >>> from tracemill import vmap
    >>> vmap(lambda x: pure_callback(np.cbrt, x, x, vmap_method="expand_dims"))(np.array([1.0, 8.0]))
    array([1., 2.])
    """
    require_function("pure_callback", function)
    leaves, tree = flatten(args)
    if not is_choice(vmap_method, METHODS):
        raise TransformArgumentError(
            f"pure_callback({describe(function)}): vmap_method must be one of {', '.join(map(repr, METHODS))}, not "
            f"{shown(vmap_method)}"
        )
    method = {} if vmap_method == "sequential" else {"method": vmap_method}
    specs, spec_tree = flatten(result_spec)
    where = f"pure_callback({describe(function)})"
    types = [
        _spec_type(spec, f"{where}: {path}")
        for spec, path in zip(specs, path_names(spec_tree, "result_spec"), strict=True)
    ]
    inputs = [
        Value(leaf_type(x, f"{where}: {path}"))
        for x, path in zip(leaves, path_names(tree, "args"), strict=True)
    ]
    with recording(Builder()) as builder:
        outputs = bind_all(
            "callback",
            *inputs,
            function=_FlatFunction(function, tree, spec_tree),
            types=tuple((type.dtype, type.shape) for type in types),
            **method,
        )
    graph = Graph("pure_callback", tuple(inputs), tuple(builder.calls), outputs)
    return optree.tree_unflatten(spec_tree, run(graph, leaves))


class _FlatFunction:
    """A function of trees as one of flat arrays. Equal if the function and the trees are."""

    def __init__(self, function: Callable[..., Any], arguments: Any, result: Any) -> None:
        self._parts = (function, arguments, result)
        self.__name__ = self.__qualname__ = describe(function)
        self.__module__ = str(getattr(function, "__module__", None))

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        function, arguments, result = self._parts
        returned = function(*optree.tree_unflatten(arguments, arrays))
        leaves, found = flatten(returned)
        check_same_structure(f"callback of {self.__name__}: the result", found, result)
        return tuple(leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FlatFunction) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


def _spec_type(spec: Any, where: str) -> ArrayType:
    is_dtype = isinstance(spec, (type, np.dtype))
    if not is_dtype and not (hasattr(spec, "shape") and hasattr(spec, "dtype")):
        raise TransformTypeError(
            f"{where} must have a shape and a dtype, as np.empty(3) has, or be a dtype for a scalar; "
            f"{type(spec).__name__} is neither: {shown(spec)}"
        )
    try:
        dtype = np.dtype(spec if is_dtype else spec.dtype)
        sizes = () if is_dtype else spec.shape
        shape: Any = tuple(size if isinstance(size, SymbolicSize) else index(size) for size in sizes)
    except TypeError as error:
        raise TransformTypeError(f"{where} has no shape and dtype of an array: {text_of(error)}") from error
    if not is_supported(dtype):
        raise DTypeError(f"{where}: there are no traced arrays of dtype {dtype}")
    if any(size < 0 for size in shape):
        raise ShapeError(f"{where}: the shape {shape} has a negative size")
    return ArrayType(dtype, shape)
