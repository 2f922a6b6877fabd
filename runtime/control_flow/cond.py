"""`cond` and `switch`: run one of several functions, chosen by a value."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import (
    argument_names,
    flatten_arguments,
    is_array_like,
    leaf_type,
    remedy_for,
    strongest_type,
)
from ...compiler.builder import bind_all
from ...compiler.dtypes import INT64
from ...compiler.errors import BranchMismatchError, ShapeError, TransformArgumentError, TransformTypeError
from ...compiler.frontend.program import Static
from ...compiler.ir import ArrayType, Graph, Value
from ...compiler.nesting import shown
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import located
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import convert, minimum, nonzero_mask
from ..eager.nested_function import NestedFunction, Result
from ..eager.run import as_argument, overwrite, require_function, run, with_own_memory, zero_of
from ..tracebacks import with_users_frames
from ..trees import show
from .changing_code import may_change_objects
from .python_loop import known_number, running_bodies, runs_once


@with_users_frames
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """``true_fun(*operands) if pred else false_fun(*operands)``, also if `pred` is traced.

    If `pred` is traced, both functions are traced, and one of them runs. If it is not, for example outside any
    transform, only the chosen function is called; in uncompiled transforms also if they change objects. Under `vmap`
    with a mapped `pred`, each function that some example takes runs for all examples, and each example gets its own
    result: the printed graph shows ``…_for_all``. The functions may read and write outside arrays.

    Args:
        pred: a bool, or a number, which is true unless it is 0; no axes.
        true_fun, false_fun: functions of the operands. Their results must agree in structure, shapes and dtypes;
            Python numbers take the dtype of the other.
        operands: arrays, numbers, and pytrees of them.

    Raises:
        BranchMismatchError: (a TypeError and ValueError) the results do not agree.
        ShapeError, TransformTypeError: `pred` is not one number.

    >>> import numpy as np
    >>> from tracemill import grad
    >>> grad(lambda x: cond(x > 0, np.sin, np.cos, x))(0.0)
    np.float64(-0.0)
    """
    for name, function in (("true_fun", true_fun), ("false_fun", false_fun)):
        require_function(f"cond: {name}", function)
    return located(_cond, pred, true_fun, false_fun, operands)


def _cond(pred: Any, true_fun: Any, false_fun: Any, operands: tuple[Any, ...]) -> Any:
    _check_number("cond: pred", pred)
    if _is_known(pred, true_fun, false_fun):
        return _call("cond", true_fun if known_number(pred) else false_fun, operands)
    return _choose("cond", nonzero_mask, pred, (false_fun, true_fun), operands)


@with_users_frames
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``, also if `index` is traced; an index beyond an end chooses the last function
    there.

    Args:
        index: an integer without axes; -1 chooses the first branch, as all negative ones do.
        branches: a sequence of functions of the operands, whose results must agree.
        operands: arrays, numbers, and pytrees of them.

    Raises:
        TransformArgumentError: (a ValueError) there are no branches.
        BranchMismatchError, ShapeError, TransformTypeError: as of `cond`.

    >>> import numpy as np
    >>> from tracemill import compile
    >>> compile(lambda i, x: switch(i, [np.sin, np.cos, np.tan], x))(7, 0.0)
    np.float64(0.0)
    """
    if callable(branches) or not isinstance(branches, Sequence):
        raise TransformTypeError(
            f"switch: branches must be a sequence of functions, not {type(branches).__name__}"
        )
    for place, function in enumerate(branches):
        require_function(f"switch: branches[{place}]", function)
    return located(_switch, index, tuple(branches), operands)


def _switch(index: Any, branches: tuple[Callable[..., Any], ...], operands: tuple[Any, ...]) -> Any:
    if not branches:
        raise TransformArgumentError("switch: branches is empty: there is nothing to choose from")
    type_ = _check_number("switch: index", index)
    if type_.dtype.kind not in "iub":
        raise TransformTypeError(f"switch: index must be an integer, not {type_}")
    last = len(branches) - 1
    if _is_known(index, *branches):
        return _call("switch", branches[min(max(int(known_number(index)), 0), last)], operands)
    return _choose("switch", lambda value: _as_index(value, last), index, branches, operands)


def _as_index(index: Value, last: int) -> Value:
    if index.dtype == np.uint64:  # only those below 2^63 fit into i64
        index = minimum(index, last)
    return convert(index, INT64)


def _check_number(what: str, given: Any) -> ArrayType:
    if not is_array_like(given):
        raise TransformTypeError(
            f"{what} must be a number, not {type(given).__name__}: {shown(given)}{remedy_for(given)}"
        )
    found = leaf_type(given, what)
    if found.shape:
        raise ShapeError(f"{what} must be one number, not {found}: take an element, or use .any() or .all()")
    return found


def _is_known(choice: Any, *functions: Callable[..., Any]) -> bool:
    """Whether a choice among functions can be made now; an outside array may have another value in the next call.

    Inside of uncompiled transforms, it is made for functions that may change objects. Others are traced, so that the
    types of their results agree.
    """
    trace = current_trace()
    if trace is None or not (is_traced(choice) or isinstance(choice, np.ndarray)):
        return True
    return runs_once(trace) and known_number(choice) is not None and may_change_objects(*functions)


def _call(where: str, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """The result of the chosen function, in memory of its own, as if the choice was recorded."""
    with running_bodies() as ready:
        return with_own_memory(f"the result of a function of {where}", ready(function)(*operands))


# ---- a choice that is recorded ---------------------------------------------------------------------


def _choose(
    where: str,
    as_index: Callable[[Value], Value],
    choice: Any,
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
) -> Any:
    leaves, tree = flatten_arguments(operands, {})
    names = argument_names(tree)
    entering = [
        as_argument(leaf, name, known=False) if is_array_like(leaf) else Static(leaf)
        for leaf, name in zip(leaves, names, strict=True)
    ]
    ways = [NestedFunction(where, function, tree, entering) for function in functions]
    results = _agreed(where, ways)
    arrays = [leaf for leaf in leaves if is_array_like(leaf)]
    picks = [[place] * len(ways) for place in range(len(results))]
    given = record_switch(where, as_index, choice, ways, arrays, results, picks)
    return optree.tree_unflatten(ways[0].tree, given)


def record_switch(
    where: str,
    as_index: Callable[[Value], Value],
    choice: Any,
    ways: Sequence[NestedFunction],
    operands: Sequence[Any],
    results: Sequence[Result],
    picks: Sequence[Sequence[int | None]],
) -> list[Any]:
    """Record a switch between functions of operands: its results, and what the functions write to arrays.

    `picks` says for each result which leaf of each function it is; None for a function that returns zero.
    """
    inputs: dict[Hashable, Any] = dict(enumerate(operands))
    count = len(inputs)
    for way in ways:
        inputs |= way.captured
    written = [place for place in inputs if any(place in way.written for way in ways)]
    types = [leaf_type(array, where) for array in inputs.values()]

    def branch(number: int, way: NestedFunction) -> Graph:
        def body(*values: Value) -> list[Value]:
            now = dict(zip(inputs, values, strict=True))
            leaves, wrote = way.record(values[:count], now)
            found = [
                _as_result(leaves, pick[number], result) for pick, result in zip(picks, results, strict=True)
            ]
            return [*found, *(wrote.get(place, now[place]) for place in written)]

        inner = way.program.graph
        names = [f"captured{i}" for i in range(len(inputs) - count)]
        return graph_of(inner.name, types, body, (*inner.input_names[:count], *names))

    branches = tuple(branch(number, way) for number, way in enumerate(ways))
    index_type = leaf_type(choice, where)
    graph = graph_of(
        where,
        [index_type, *types],
        lambda index, *values: bind_all("switch", as_index(index), *values, branches=branches),
    )
    outputs = run(graph, [choice, *inputs.values()])
    for place, new in zip(written, outputs[len(results) :], strict=True):
        overwrite(inputs[place], new)
    return [result.returned(x) for result, x in zip(results, outputs, strict=False)]


def _as_result(leaves: Sequence[Value], place: int | None, result: Result) -> Value:
    return zero_of(result.type) if place is None else convert(leaves[place], result.type.dtype)


def _agreed(where: str, ways: Sequence[NestedFunction]) -> list[Result]:
    """The types of the leaves of the result, whichever function runs."""
    first = ways[0]
    for other in ways[1:]:
        if other.tree != first.tree:
            raise BranchMismatchError(
                f"{where}: the functions must return the same structure: {first} returns {show(first.tree)}, "
                f"{other} returns {show(other.tree)}"
            )
    return [
        _agreed_leaf(where, ways, [way.results[place] for way in ways]) for place in range(len(first.results))
    ]


def _agreed_leaf(where: str, ways: Sequence[NestedFunction], found: Sequence[Result]) -> Result:
    typed = next((result for result in found if result.weak is None), None)
    is_scalar = all(result.is_scalar for result in found)
    if typed is None:
        weak = [result.weak for result in found if result.weak is not None]
        dtype = np.result_type(*[one(0) for one in weak])
        strongest = strongest_type(weak)
        return Result(ArrayType(dtype, ()), strongest, is_scalar, 0)
    for way, result in zip(ways, found, strict=True):
        if not result.fits(typed.type):
            reference = ways[found.index(typed)]
            raise BranchMismatchError(
                f"{where}: the functions must return the same shapes and dtypes: {reference} returns {typed}, "
                f"{way} returns {result}"
            )
    return Result(typed.type, None, is_scalar, 0)
