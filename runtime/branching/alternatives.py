"""The forms of the entries of a `OneOf`, and how to make a `OneOf` that has given forms."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import leaf_type, weak_type
from ...compiler.callers.user_code import OPERATORS, user_location
from ...compiler.errors import ConcretizationError
from ...compiler.frontend.conversion import OperatorsNeededError
from ..eager.run import zeros
from .one_of import OneOf, entries_of, is_one_of, place_of
from .python_numbers import selected
from .variables import Held, has_memory, held


def require_operators() -> None:
    """Trace the function again with hooks for operators, if it has none: Python's operators do not know `OneOf`."""
    if not OPERATORS.get():
        raise OperatorsNeededError


def one_of(entries: Sequence[Any], place: Any) -> Any:
    """The entry at a traced place, as one flat `OneOf` without repeated entries; entries may be a `OneOf` themselves.

    Raises:
        OperatorsNeededError: the function is traced without hooks for operators.
    """
    flat: list[Any] = []
    at: Any = 0
    for number, one in enumerate(entries):
        inner = len(flat) + place_of(one) if is_one_of(one) else len(flat)
        at = inner if number == 0 else np.where(np.equal(place, number), inner, at)
        flat += entries_of(one) if is_one_of(one) else [one]
    forms = distinct(held(one) for one in flat)
    if len(forms) == 1 and not forms[0].arrays:
        return flat[0]
    if not all(callable(one) for one in flat):
        require_operators()
    if len(forms) < len(flat) and not any(has_memory(x) for one in flat for x in held(one).arrays):
        numbers = [index_of(held(one), forms) for one in flat]
        return OneOf(
            [_chosen(flat, numbers, number, at) for number in range(len(forms))], mapped(numbers, at)
        )
    return OneOf(flat, at)


def _chosen(entries: Sequence[Any], numbers: Sequence[int], number: int, place: Any) -> Any:
    """The entry at a traced place among those of the form with this number, which differ in numbers alone."""
    first, *others = (at for at, found in enumerate(numbers) if found == number)
    form = held(entries[first])
    leaves = form.arrays
    for at in others:
        is_here = np.equal(place, at)
        leaves = [
            selected(is_here, new, old) for new, old in zip(held(entries[at]).arrays, leaves, strict=True)
        ]
    return form.filled(leaves) if others else entries[first]


def distinct(forms: Iterable[Held]) -> list[Held]:
    """The different forms among these."""
    found: list[Held] = []
    for form in forms:
        if index_of(form, found) is None:
            found.append(form)
    return found


def index_of(one: Held, forms: Sequence[Held]) -> Any:
    """The place of the form that a value has among these forms; None if it has none of them."""
    return next((number for number, form in enumerate(forms) if form.has_form_of(one)), None)


def mapped(numbers: Sequence[int], place: Any) -> Any:
    """``numbers[place]`` for a traced place."""
    if list(numbers) == list(range(len(numbers))):
        return place
    found: Any = numbers[0]
    for at, number in enumerate(numbers[1:], 1):
        found = np.where(np.equal(place, at), number, found)
    return found


def alternatives(one: Held) -> list[tuple[Held, int]]:
    """The forms that a value may have. Each comes with the place of its first leaf among the leaves of the value."""
    if not is_one_of(one.value):
        return [(one, 0)]
    found, at = [], 1
    for part in one.parts:
        found.append((part, at))
        at += len(part.arrays)
    return found


def only_alternative(one: Held, form: Held) -> tuple[Held, int] | None:
    """The alternative of a value that has a form, with the place of its first leaf; None if there is none.

    Raises:
        ConcretizationError: there are several, whose arrays the graph would have to choose between.
    """
    found = [(part, at) for part, at in alternatives(one) if part.has_form_of(form)]
    if len(found) > 1:
        raise ConcretizationError(
            f"a value that is one of several ({one.value!r:.80}), depending on other values, is changed in a branch or "
            "a loop, and a graph cannot choose between their arrays: keep them in one array, np.stack(entries)",
            user_location(),
        )
    return found[0] if found else None


def as_one_of(one: Held, forms: Sequence[Held]) -> Held:
    """A value as a `OneOf` with an entry for each of these forms. Entries that the value cannot be are zeros."""
    own = [part for part, _ in alternatives(one)]
    numbers = [index_of(part, forms) for part in own]
    place = mapped(numbers, place_of(one.value)) if is_one_of(one.value) else np.int64(numbers[0])
    found = [only_alternative(one, form) for form in forms]
    entries = [
        _blank(form) if same is None else same[0].filled(same[0].arrays)
        for form, same in zip(forms, found, strict=True)
    ]
    return held(OneOf(entries, place))


def _blank(form: Held) -> Any:
    """A value of this form that holds zeros."""
    return form.filled([_zero(x) for x in form.arrays])


def _zero(x: Any) -> Any:
    weak = weak_type(x)
    return zeros(leaf_type(x, "an entry")) if weak is None else weak(0)
