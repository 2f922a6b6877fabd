"""Named axes: operations on all examples of `vmap(axis_name=…)`, such as `psum` over the axis."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...compiler.arguments.axes import normalize_axis
from ...compiler.arguments.leaves import is_array_like, weak_type
from ...compiler.arguments.option_checks import is_int
from ...compiler.builder import bind
from ...compiler.dtypes import BOOL, INT64
from ...compiler.errors import TransformArgumentError, UnboundAxisNameError
from ...compiler.ir import Value
from ...compiler.nesting import shown
from ...compiler.numpy_surface.statistics.averages import mean_dtypes
from ...compiler.tracing.array_values import PYTHON_NUMBERS, as_value
from ...compiler.tracing.traced_array import located, wrap
from ...compiler.value_ops import convert
from ..eager.mapped_axes import MappedAxis, mapped_axes
from ..trees import changed_leaves

AxisNames: TypeAlias = str | Sequence[str]


def psum(x: Any, axis_name: AxisNames) -> Any:
    """The sum of `x` over the examples of a mapped axis.

    Args:
        x: an array, a number, or a pytree of them.
        axis_name: what ``vmap(axis_name=…)`` calls the axis; or a tuple of names, to sum over all of them.

    Returns:
        The sums, the same for every example, so that ``out_dims=None`` may return them. Dtypes are those of `x`,
        bools are counted as int64. The sum of a Python number is a Python number: ``psum(1, "i")`` is the size.

    Raises:
        UnboundAxisNameError: (a NameError) no axis of that name is being mapped.
        CollectiveError: (a ValueError) the examples run in chunks, or in branches that each takes for itself.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return located(_reduced, "psum", x, axis_name)


def pmean(x: Any, axis_name: AxisNames) -> Any:
    """The mean of `x` over the examples of a mapped axis; for integers in float64. Arguments and errors as for
    `psum`.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    return located(_mean, x, axis_name)


def pmax(x: Any, axis_name: AxisNames) -> Any:
    """The maximum of `x` over the examples of a mapped axis; NaN wins. Arguments and errors as for `psum`.

    Examples that share the maximum share its derivative.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: x == pmax(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([False,  True])
    """
    return located(_reduced, "pmax", x, axis_name)


def pmin(x: Any, axis_name: AxisNames) -> Any:
    """The minimum of `x` over the examples of a mapped axis, like `pmax`.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: pmin(x, "i"), out_dims=None, axis_name="i")(np.array([1.0, 3.0]))
    np.float64(1.0)
    """
    return located(_reduced, "pmin", x, axis_name)


def all_gather(x: Any, axis_name: AxisNames, *, axis: int = 0, tiled: bool = False) -> Any:
    """The values of `x` of all examples of a mapped axis, in order.

    Args:
        x: an array, a number, or a pytree of them.
        axis_name: the name of the axis; of several, the examples of the first change slowest.
        axis: where the new axis goes.
        tiled: concatenate along `axis` instead of stacking.

    Returns:
        Arrays with a new axis, the same for every example.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: all_gather(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([[1., 3.],
           [1., 3.]])
    """
    return located(_gathered, x, axis_name, axis, tiled)


def ppermute(x: Any, axis_name: str, perm: Sequence[tuple[int, int]]) -> Any:
    """Send `x` from example to example of a mapped axis.

    Args:
        x: an array, a number, or a pytree of them.
        axis_name: the name of the axis.
        perm: pairs (from, to) of numbers of examples; none twice on the same side. Who receives nothing has zeros.

    Raises:
        TransformArgumentError: (a ValueError) the pairs do not fit the axis; and the errors of `psum`.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(np.array([1, 2, 3]))
    array([3, 1, 2])
    """
    return located(_permuted, x, axis_name, perm)


def axis_index(axis_name: AxisNames) -> Any:
    """The index of this example on a mapped axis, an int64; for several axes, the first one varies slowest.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: x + 10 * axis_index("i"), axis_name="i")(np.array([1, 2]))
    array([ 1, 12])
    """
    index: Any = None
    for axis in located(_axes, "axis_index", axis_name):
        index = axis.index if index is None else index * axis.size + axis.index
    return index


def axis_size(axis_name: AxisNames) -> int:
    """The number of examples of a mapped axis, or of several together: a Python int.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.5, 1.5])
    """
    size = 1
    for axis in located(_axes, "axis_size", axis_name):
        size *= axis.size
    return size


# ---- what they share -------------------------------------------------------------------------------------


def _axes(function: str, names: Any) -> list[MappedAxis]:
    """The innermost mapped axes with these names."""
    wanted = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, (tuple, list)) else ()
    if not wanted or not all(isinstance(name, str) for name in wanted) or len(set(wanted)) != len(wanted):
        raise TransformArgumentError(
            f"{function}: axis_name must be a string or a tuple of different ones, not {shown(names)}"
        )
    known = {axis.name: axis for axis in mapped_axes() if axis.name is not None}
    for name in wanted:
        if name not in known:
            those = ", ".join(map(repr, known)) or "none"
            raise UnboundAxisNameError(
                f"{function}: no axis is named {shown(name)} here; those that are mapped: {those}. Give the name where "
                f"the axis is mapped, vmap(…, axis_name={shown(name)}), and call the function inside"
            )
    return [known[name] for name in wanted]


def _on_leaves(function: str, change: Callable[[Any], Any], tree: Any) -> Any:
    def changed(leaf: Any) -> Any:
        if not is_array_like(leaf):
            raise TransformArgumentError(
                f"{function}: {type(leaf).__name__} is not an array or a number: {shown(leaf)}"
            )
        return change(leaf)

    return changed_leaves(f"the argument of {function}", changed, tree)


def _is_python_number(x: Any) -> bool:
    return isinstance(x, PYTHON_NUMBERS) and not isinstance(x, np.generic)


def _index(axis: MappedAxis) -> Value:
    return as_value(axis.index)


def _reduced(op: str, tree: Any, names: Any) -> Any:
    axes = _axes(op, names)

    def reduced(x: Any) -> Any:
        if _is_python_number(x):
            return x * axis_size(names) if op == "psum" else x
        value = as_value(x)
        if op == "psum" and value.dtype == BOOL:
            value = convert(value, INT64)
        for axis in reversed(axes):
            value = bind(op, _index(axis), value, axis=axis.name, count=axis.size)
        return wrap(value, weak=weak_type(x))

    return _on_leaves(op, reduced, tree)


def _mean(tree: Any, names: Any) -> Any:
    """In the dtypes of `numpy.mean`, which sums integers in float64 and float16 in float32."""
    _axes("pmean", names)

    def mean(x: Any) -> Any:
        if _is_python_number(x):
            return _reduced("psum", x, names) / axis_size(names)
        value = as_value(x)
        wide, result = mean_dtypes(value.dtype, None)
        total = _reduced("psum", wrap(convert(value, wide)), names)
        weak = weak_type(x)
        return wrap(convert((total / axis_size(names)).value, result), weak=float if weak is int else weak)

    return _on_leaves("pmean", mean, tree)


def _gathered(tree: Any, names: Any, place: Any, tiled: bool) -> Any:
    axes = _axes("all_gather", names)
    if not is_int(place):
        raise TransformArgumentError(
            f"all_gather: axis must be an int, not {type(place).__name__}: {shown(place)}"
        )
    size = axis_size(names)

    def gathered(x: Any) -> Any:
        value = as_value(x)
        shape = value.shape
        for axis in reversed(axes):
            value = bind("all_gather", _index(axis), value, axis=axis.name, count=axis.size)
        stacked = np.reshape(wrap(value), (size, *shape))
        if not tiled:
            return np.moveaxis(stacked, 0, place)
        if not shape:
            raise TransformArgumentError("all_gather: numbers cannot be concatenated: leave tiled out")
        along = normalize_axis(place, len(shape))
        joined = np.moveaxis(stacked, 0, along)
        return np.reshape(joined, (*shape[:along], size * shape[along], *shape[along + 1 :]))

    return _on_leaves("all_gather", gathered, tree)


def _permuted(tree: Any, name: Any, perm: Any) -> Any:
    (axis,) = _axes("ppermute", (name,))
    sources = _sources(perm, axis.size)

    def permuted(x: Any) -> Any:
        return wrap(
            bind("ppermute", _index(axis), as_value(x), axis=axis.name, count=axis.size, sources=sources)
        )

    return _on_leaves("ppermute", permuted, tree)


def _sources(perm: Any, size: int) -> tuple[int, ...]:
    """The example from which each example receives, −1 for none."""
    try:
        pairs = [list(map(operator.index, pair)) for pair in perm]
    except TypeError:
        pairs = [[]]
    senders, receivers = {pair[0] for pair in pairs if pair}, {pair[-1] for pair in pairs if pair}
    fits = all(len(pair) == 2 for pair in pairs) and len(senders) == len(receivers) == len(pairs)
    if not fits or not senders | receivers <= set(range(size)):
        raise TransformArgumentError(
            f"ppermute: perm must contain pairs (from, to) of numbers below {size}, none twice on the same side, "
            f"not {shown(perm, 80)}"
        )
    source = {pair[1]: pair[0] for pair in pairs}
    return tuple(source.get(example, -1) for example in range(size))
