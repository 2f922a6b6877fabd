"""`associative_scan`: cumulative results of an associative function, in a logarithmic number of steps.

The method is that of Blelloch, "Prefix sums and their applications" (1990): combine neighbours, scan the resulting
half, and fill in the entries between.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import is_array_like, leaf_type, path_names
from ...compiler.arguments.option_checks import flag
from ...compiler.callers.function_names import describe
from ...compiler.callers.user_code import location_at
from ...compiler.errors import CarryMismatchError, TransformArgumentError
from ...compiler.frontend.conversion import converted
from ...compiler.ops.parallel_prefix import prefix_strides
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.traced_array import located
from ..eager.run import require_function
from ..int_options import int_option, joint_length
from ..tracebacks import with_users_frames
from ..trees import flatten, show
from .scan import array_leaves


@with_users_frames
def associative_scan(f: Callable[[Any, Any], Any], xs: Any, reverse: bool = False, axis: int = 0) -> Any:
    """``[x0, f(x0, x1), f(f(x0, x1), x2), …]`` for the slices of `xs`; `f` must be associative, because calls are
    regrouped.

    Args:
        f: an associative function of two trees like `xs` to a third. It gets many slices at a time, along `axis`, and
            must combine them one by one, as ``np.add``, ``np.matmul`` and what `vmap` makes do.
        xs: a pytree of arrays, all of the same length along `axis`.
        reverse: begin at the end, where `f` gets the later slice first.
        axis: of the slices; negative ones count from the end.

    Returns:
        The running results, of the structure, shapes and dtypes of `xs`.

    For a symbolic length, a program serves all lengths from 2ᵏ + 1 to 2ᵏ⁺¹, and combines nearly all slices in each of
    its k + 1 steps. An export serves all lengths up to the declared maximum, with the steps for that maximum.

    Raises:
        TransformArgumentError: (a ValueError) the lengths differ, or an array has no such axis.
        CarryMismatchError: (a TypeError and ValueError) `f` gives another structure, shape or dtype than it gets.

    >>> import numpy as np
    >>> associative_scan(np.add, np.arange(5))
    array([ 0,  1,  3,  6, 10])
    """
    require_function("associative_scan", f)
    return located(_associative_scan, f, xs, reverse, axis)


def _associative_scan(f: Callable[[Any, Any], Any], xs: Any, reverse: bool, axis: int) -> Any:
    where = f"associative_scan({describe(f)})"
    reverse = flag("reverse", reverse)
    axis = int_option(where, "axis", axis, minimum=None)
    leaves, tree = flatten(xs)
    if not leaves:
        return xs
    axes: list[int] = []
    lengths: dict[str, int] = {}
    for path, found in array_leaves(where, leaves, tree):
        if not -found.ndim <= axis < found.ndim:
            raise TransformArgumentError(f"{where}: {path} is {found}, which has no axis {axis}")
        axes.append(axis % found.ndim)
        lengths[path] = found.shape[axis]
    if joint_length(lengths.values()) is None:
        shown = ", ".join(f"{path} has {n}" for path, n in lengths.items())
        raise TransformArgumentError(f"{where}: the lengths along axis {axis} differ: {shown}")
    halving = _Halving(where, converted(f), tree, axes)
    turned = halving.each(np.flip, leaves) if reverse else list(leaves)
    results = halving.running(turned)
    results = halving.each(np.flip, results) if reverse else results
    own = [x.copy() if x is leaf else x for x, leaf in zip(results, leaves, strict=True)]
    return optree.tree_unflatten(tree, own)


class _Halving:
    """The scan of lists of arrays, each along its axis."""

    def __init__(self, where: str, f: Callable[[Any, Any], Any], tree: Any, axes: Sequence[int]) -> None:
        self.where, self.f, self.tree, self.axes = where, f, tree, axes

    def running(self, xs: list[Any]) -> list[Any]:
        length: Any = xs[0].shape[self.axes[0]]
        if isinstance(length, SymbolicSize):
            return self.doubling(xs, length)
        if length < 2:
            return xs
        pairs = self.combine(self.part(xs, slice(0, length - 1, 2)), self.part(xs, slice(1, None, 2)))
        odd = self.running(pairs)
        known = self.part(odd, slice(0, (length - 1) // 2))
        even = self.part(xs, slice(0, 1))
        if length > 2:
            between = self.combine(known, self.part(xs, slice(2, None, 2)))
            even = [np.concatenate([a, b], axis) for a, b, axis in zip(even, between, self.axes, strict=True)]
        return [_alternating(a, b, axis) for a, b, axis in zip(even, odd, self.axes, strict=True)]

    def doubling(self, xs: list[Any], length: Any) -> list[Any]:
        """Each step adds entries from twice as far back."""
        for step in prefix_strides(length):
            later = self.combine(self.part(xs, slice(0, length - step)), self.part(xs, slice(step, None)))
            first = self.part(xs, slice(0, step))
            xs = [np.concatenate([a, b], axis) for a, b, axis in zip(first, later, self.axes, strict=True)]
        return xs

    def part(self, xs: Sequence[Any], where: slice) -> list[Any]:
        """A slice of each along its axis."""
        return self.each(lambda x, axis: x[(slice(None),) * axis + (where,)], xs)

    def each(self, function: Callable[[Any, int], Any], xs: Sequence[Any]) -> list[Any]:
        return [function(x, axis) for x, axis in zip(xs, self.axes, strict=True)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Any]:
        """The results of `f` on adjacent slices."""
        result = self.f(optree.tree_unflatten(self.tree, left), optree.tree_unflatten(self.tree, right))
        found, tree = flatten(result)
        if tree != self.tree:
            raise CarryMismatchError(
                f"{self.where}: the function must return what it receives: it receives {show(self.tree)} and returns "
                f"{show(tree)}{self._line()}"
            )
        for path, x, new in zip(path_names(tree, "xs"), left, found, strict=True):
            given = leaf_type(x, path)
            returned = leaf_type(new, path) if is_array_like(new) else type(new).__name__
            if returned != given:
                raise CarryMismatchError(
                    f"{self.where}: the function must return what it receives: it receives {path} as {given} and "
                    f"returns {returned}{self._line()}"
                )
        return found

    def _line(self) -> str:
        code = getattr(self.f, "__code__", None)
        return "" if code is None else f", at {location_at(code.co_filename, code.co_firstlineno)}"


def _alternating(even: Any, odd: Any, axis: int) -> Any:
    """``even[0], odd[0], even[1], …`` along `axis`; `even` may be longer by one."""
    count = odd.shape[axis]
    first = even[(slice(None),) * axis + (slice(0, count),)]
    both = np.stack([first, odd], axis + 1)
    both = np.reshape(both, (*odd.shape[:axis], 2 * count, *odd.shape[axis + 1 :]))
    if even.shape[axis] == count:
        return both
    return np.concatenate([both, even[(slice(None),) * axis + (slice(count, None),)]], axis)
