"""Reading ``x[index]`` of evaluated arrays, and writing to it."""

from contextlib import suppress
from sys import getrefcount
from typing import Any, Final

import numpy as np

from ...compiler.builder import current_builder
from ...compiler.callers.user_code import user_location
from ...compiler.dtypes import Array
from ...compiler.memory_layout.layout import layout_of
from ...compiler.tracing.sharing import invalidate_shared
from ...compiler.tracing.trace import Storage
from .evaluated_array import ARRAYS, FAST_OPERANDS, UNWRITTEN, EvaluatedArray, PartOf, new_result
from .evaluated_memory import Evaluated, laid_out
from .operand_types import operand_type
from .parts import GatherPlan, SetItemPlan, SlicePlan
from .ufuncs import OPERATORS, evaluate_binary, operand

_own: Any = EvaluatedArray
_get_by_surface: Final = _own.__getitem__
_set_by_surface: Final = _own.__setitem__


def get(self: Any, index: Any) -> Any:
    home = self._home
    if not self.is_readable_in(current_builder()):
        return _get_by_surface(self, index)
    index, plan = plain_index(index, home)
    if plan is None:
        return _get_by_surface(self, index)
    array, node = self._array, self._node
    try:
        out = array[index]
    except Exception:  # the surface raises the error that names the line
        return _get_by_surface(self, index)
    if node is not None:
        node = home.new_node(next(home.numbers_of_nodes), plan, (node,), (self._kind, index))
    new = new_result(home, out, operand_type(out), node)
    if plan is SlicePlan and not new.is_scalar:
        if self.is_scalar:
            return _get_by_surface(self, index)
        storage = self._storage
        new._storage = new._clock = storage
        new._seen = storage.version
        new._index = PartOf(self._views if self._index is None else self._index, array.shape, index)
    return new


def set_(self: Any, index: Any, new: Any) -> None:
    if not _written(self, index, new):
        _set_by_surface(self, index, new)


def _written(self: Any, index: Any, new: Any) -> bool:
    """Write to an array that is not a view of another one; False if the surface must do it."""
    home = self._home
    if self.is_scalar or not self.is_readable_in(current_builder()) or not _is_whole(self):
        return False
    index, plan = plain_index(index, home)
    if plan is not SlicePlan:
        return False
    if type(new) in ARRAYS and new._clock is self._clock and _is_own_part(self, new, index):
        return True  # ``x[index] += y`` has written to the part, which is now written to where it is
    kind, value, node = operand(home, new, self)
    own: Any = self._kind
    if kind is None or not np.can_cast(kind.type.dtype, own.type.dtype, "same_kind"):
        return False
    whole = self._array
    changed = whole if _is_unshared(self, whole) else whole.copy(order="K")
    try:
        changed[index] = value
    except Exception:
        return False
    _replace(self, changed, written_node(home, self._kind, self._node, index, kind, node))
    return True


def _is_unshared(self: Any, array: Array) -> bool:
    """Whether nothing else needs the elements: no view, no node and no other array."""
    if array.base is not None or not array.flags.writeable:
        return False
    if self._clock is UNWRITTEN:
        return getrefcount(array) == _HELD_BY_ARRAY
    value: Any = self._storage.value
    return (
        value.array is array
        and getrefcount(array) == _HELD_BY_ARRAY + 1
        and getrefcount(value) <= _HELD_BY_ARRAY
    )


def in_place(self: Any, ufunc: Any, other: Any) -> bool:
    """``x += y`` of an array, or of a part of one; False if the surface must do it."""
    home = self._home
    if self.is_scalar or self.weak is not None or not self.is_readable_in(current_builder()):
        return False
    is_whole, part = _is_whole(self), self._index
    if not is_whole and (part is None or part.base != () or not _is_in_own_memory(self)):
        return False
    result = evaluate_binary(ufunc, self, other)
    if type(result) not in ARRAYS or not result.is_up_to_date() or result._kind is not self._kind:
        return False
    if is_whole:
        _replace(self, result._array, result._node)
        return True
    storage: Any = self._storage
    before = storage.value
    whole = before.array.copy(order="K")
    whole[part.index] = result._array
    kind: Any = self._kind
    node = written_node(home, operand_type(whole), before.node, part.index, kind, result._node)
    if storage.shared_with:
        invalidate_shared(storage, user_location())
    storage.write(Evaluated(whole, node))
    self._array, self._node, self._seen = storage.value.array[part.index], result._node, storage.version
    self._known_value, self._version = Evaluated(self._array, self._node), storage.version
    return True


def _is_in_own_memory(self: Any) -> bool:
    storage = self._storage
    return storage.trace is self._home and _is_writeable(storage)


def _replace(self: Any, array: Array, node: Any) -> None:
    """Let the memory hold new elements."""
    if self._clock is UNWRITTEN:
        if array.strides != self._array.strides:
            array = laid_out(Evaluated(array), layout_of(self._array)).array
        self._array, self._node = array, node
        with suppress(AttributeError):
            del self._known_value
        return
    storage = self._storage
    if storage.shared_with:
        invalidate_shared(storage, user_location())
    storage.write(Evaluated(array, node))
    value = storage.value
    self._array, self._node, self._seen = value.array, value.node, storage.version
    self._known_value, self._version = value, storage.version


def _is_whole(self: Any) -> bool:
    """Whether this is not a view, and writing to it needs no permission."""
    if self._clock is UNWRITTEN:
        return True
    storage = self._storage
    return not self._views and storage.trace is self._home and _is_writeable(storage)


def _is_own_part(self: Any, part: Any, index: Any) -> bool:
    """Whether `part` is what this array has at an index, and up to date."""
    place = part._index
    return place is not None and place.base == () and part.is_up_to_date() and place.index == index


def _is_writeable(storage: Storage) -> bool:
    """Whether writing to memory needs no permission, and nothing must be known about it."""
    return not storage.is_input and (storage.argument is None or storage.argument.writeable)


def written_node(home: Any, whole: Any, node: Any, index: Any, kind: Any, node_of_new: Any) -> Any:
    """The node of an array after a write to a part of it."""
    parents = tuple([one for one in (node, node_of_new) if one is not None])
    if not parents:
        return None
    saved = index, whole, kind, node is not None, node_of_new is not None
    return home.new_node(next(home.numbers_of_nodes), SetItemPlan, parents, saved)


def plain_index(index: Any, home: Any) -> tuple[Any, Any]:
    """An index for NumPy, and the plan of reading by it; no plan if the surface must take it."""
    type_ = type(index)
    if type_ is int:
        return index, SlicePlan
    if type_ is slice:
        return (index, SlicePlan) if _has_plain_ends(index) else (index, None)
    if type_ is tuple:
        plan: Any = SlicePlan
        items = []
        for one in index:
            item, own = _plain_item(one, home)
            if own is None:
                return index, None
            plan = GatherPlan if own is GatherPlan else plan
            items.append(item)
        return tuple(items), plan
    return _plain_item(index, home)


def _plain_item(item: Any, home: Any) -> tuple[Any, Any]:
    type_ = type(item)
    if type_ is int or item is None or item is Ellipsis:
        return item, SlicePlan
    if type_ is slice:
        return item, SlicePlan if _has_plain_ends(item) else None
    if type_ in ARRAYS:
        if item._home is not home or item.dtype.kind not in "iub" or item.ndim == 0:
            return item, None
        return (item._array, GatherPlan) if item.is_up_to_date() else (item, None)
    if type_ is np.ndarray and item.ndim and item.dtype.kind in "iub":
        return item.copy(), GatherPlan
    if type_ is list and item and all(type(one) is int for one in item):
        return np.array(item), GatherPlan
    return item, None


def _has_plain_ends(index: slice) -> bool:
    return type(index.start) in _ENDS and type(index.stop) in _ENDS and type(index.step) in _ENDS


_ENDS: Final = frozenset({int, type(None)})


def _references() -> int:
    """How many references NumPy's array has that only one object and a method of it hold."""
    array = EvaluatedArray.__new__(EvaluatedArray)
    array._array = np.empty(1)

    def count(held: Any) -> int:
        return getrefcount(held)

    whole = array._array
    return count(whole)


_HELD_BY_ARRAY: Final = _references()


def _install() -> None:
    own: Any = EvaluatedArray
    own.__getitem__, own.__setitem__ = get, set_
    for name, ufunc in OPERATORS.items():
        if name == "matmul":
            continue
        by_surface = getattr(own, f"__i{name}__")

        by_operator = getattr(own, f"__{name}__")

        def update(
            self: Any,
            other: Any,
            ufunc: Any = ufunc,
            by_surface: Any = by_surface,
            by_operator: Any = by_operator,
        ) -> Any:
            if type(other) in FAST_OPERANDS:
                if self.is_number_in(current_builder()):
                    return by_operator(self, other)
                if in_place(self, ufunc, other):
                    return self
            return by_surface(self, other)

        setattr(own, f"__i{name}__", update)


_install()
