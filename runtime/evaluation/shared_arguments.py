"""`SharedArguments`: arguments that share memory. The function gets copies, so it must not write to them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import argument_names, users_name
from ...compiler.builder import recording
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import Array
from ...compiler.errors import TracemillError, TransformArgumentError
from ...compiler.tracing.traced_array import TracedArray
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..eager.run import is_array
from .evaluated_array import EvaluatedArray
from .evaluated_memory import Evaluated, elements
from .evaluating import Evaluating


class SharedArguments:
    """The arguments of a call that share memory, with each other or with arrays from outside.

    The function sees copies of them. So it must not write to one of them: Python would show that in another one, too.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        tree: Any,
        given: Sequence[Any],
        filled: Sequence[Any],
        home: Evaluating,
    ) -> None:
        """`tree` and `given` are the arguments of the caller, and `filled` are those that the function sees."""
        self.function, self.tree, self.given, self.filled = function, tree, given, filled
        self._nodes = [getattr(x, "_node", None) for x in filled]
        self._leaves = [_original(x, home) for x in given]
        """The arguments; if they are copies for a function around this one, what it was given."""
        self._arrays = [place for place, x in enumerate(self._leaves) if is_array(x)]
        if (
            self._are_shared() or not home.originals
        ):  # a function around others is often a part of the derivative
            home.originals |= {id(filled[i]): (filled[i], self._leaves[i]) for i in self._arrays}

    @cached_property
    def _owners(self) -> set[int]:
        return {_owner(self._leaves[place]) for place in self._arrays}

    def _are_shared(self) -> bool:
        return len(self._arrays) > 1 and len(self._owners) < len(self._arrays)

    def refuse_writes(self, outside: Sequence[tuple[Array, bool]] = ()) -> None:
        """Refuse what the function has written. `outside`: arrays that it has used, and whether it wrote to them.

        Raises:
            TransformArgumentError: (a ValueError) if it has written to memory that two of them share.
        """
        if not self._are_shared() and not (
            outside and self._arrays and any(_owner(array) in self._owners for array, _ in outside)
        ):
            return
        for place in self._arrays:
            x, is_written = self._leaves[place], self._is_written(place)
            for other in self._arrays if is_written else ():
                if other != place and _share_memory(x, self._leaves[other]):
                    raise refusal(self.function, self.tree, place, other)
            for array, is_outside_written in outside:
                if (is_written or is_outside_written) and _share_memory(x, array):
                    raise refusal(self.function, self.tree, place, None)

    def _is_written(self, place: int) -> bool:
        """Whether the function has written to an argument."""
        array, leaf = self.filled[place], self.given[place]
        if not isinstance(array, EvaluatedArray) or not array.is_unshared():
            return is_traced(array) and array._storage.version > 0
        found, node = array.evaluated()
        if node is not self._nodes[place]:
            return True
        before = leaf.evaluated()[0] if isinstance(leaf, EvaluatedArray) else np.asarray(leaf)
        return found.tobytes() != before.tobytes()


def refuse_shared_writes(
    function: Callable[..., Any], tree: Any, leaves: Sequence[Any], written: Sequence[bool]
) -> None:
    """Refuse the writes of a function that was traced: `written` says to which of its arguments.

    Raises:
        TransformArgumentError: (a ValueError) if it has written to memory that two of them share.
    """
    for place in (i for i, is_written in enumerate(written) if is_written):
        for other, x in enumerate(leaves):
            if other != place and is_array(x) and _share_memory(leaves[place], x):
                raise refusal(function, tree, place, other)


def _original(argument: Any, home: Evaluating) -> Any:
    """The argument of an enclosing function that this is a copy of; itself if it is not a copy."""
    copy, original = home.originals.get(id(argument), (None, None))
    return original if copy is argument and copy is not None else argument


def _owner(array: Any) -> int:
    """The id of what has the memory of an array."""
    if isinstance(array, EvaluatedArray):
        return id(array) if array.is_unshared() else id(array._storage)
    if is_traced(array):
        return id(array._storage)
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array if array.base is None else array.base)


def refusal(
    function: Callable[..., Any], tree: Any, place: int, other: "int | None"
) -> TransformArgumentError:
    """The error that names two arguments, or an argument and an array from outside."""
    names = argument_names(tree)
    name = users_name(function, names[place])
    second = "an array from outside that it uses" if other is None else users_name(function, names[other])
    return TransformArgumentError(
        f"{describe(function)} writes to memory that {name} shares with {second}. A function that is differentiated "
        f"sees separate arrays, and the write would show in one of them only: pass {name}.copy(), or the array once"
    )


def _share_memory(x: Any, y: Any) -> bool:
    if is_numpy_array(x) and is_numpy_array(y):
        return np.shares_memory(x, y)
    if not (isinstance(x, TracedArray) and isinstance(y, TracedArray)) or x._storage is not y._storage:
        return False
    if x.is_scalar or y.is_scalar:  # NumPy's scalars are copies
        return False
    places, others = _places(x), _places(y)
    return places is None or others is None or bool(np.intersect1d(places, others).size)


def _places(x: TracedArray) -> "Array | None":
    """The places of its elements in memory; None if they are not known."""
    shape = x._storage.value.shape
    if not all(isinstance(dim, int) for dim in shape):
        return None
    value: Any = Evaluated(np.arange(np.prod(shape, dtype=int)).reshape(shape))
    try:
        with recording(Evaluating("places", keeps=False)):
            for view in x._views:
                value = view.read(value)
    except TracemillError:  # it is a view of other numbers, or depends on values
        return None
    return elements(value)
