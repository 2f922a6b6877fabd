"""The forms that one of several values may have, and values of one form as one of several."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...compiler.frontend.conversion import OPERATORS, OperatorsNeededError
from ...compiler.frontend.traced_program import leaf_type, weak_type
from ..eager.run import zeros
from .one_of import OneOf, entries_of, is_one_of, place_of
from .variables import Held, held


def require_operators() -> None:
    """Have the function traced with hooks for operators: Python's own would take what stands for a value for that."""
    if not OPERATORS.get():
        raise OperatorsNeededError


def one_of(entries: Sequence[Any], place: Any) -> Any:
    """One of several values, of which some may be such themselves; each form of value is there once.

    Raises:
        OperatorsNeededError: operators have no hooks.
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
    if len(forms) < len(flat) and not any(form.arrays for form in forms):
        numbers = [index_of(held(one), forms) for one in flat]
        firsts = [numbers.index(number) for number in range(len(forms))]
        return OneOf([flat[first] for first in firsts], mapped(numbers, at))
    return OneOf(flat, at)


def distinct(forms: Iterable[Held]) -> list[Held]:
    """The forms of values, each once."""
    found: list[Held] = []
    for form in forms:
        if index_of(form, found) is None:
            found.append(form)
    return found


def index_of(one: Held, forms: Sequence[Held]) -> Any:
    """Which of some forms a value has; None if none."""
    return next((number for number, form in enumerate(forms) if form.has_form_of(one)), None)


def mapped(numbers: Sequence[int], place: Any) -> Any:
    """The number that stands at a traced place."""
    if list(numbers) == list(range(len(numbers))):
        return place
    found: Any = numbers[0]
    for at, number in enumerate(numbers[1:], 1):
        found = np.where(np.equal(place, at), number, found)
    return found


def alternatives(one: Held) -> list[tuple[Held, int]]:
    """The forms that a value may have, each with the number of its first leaf among those of the value."""
    if not is_one_of(one.value):
        return [(one, 0)]
    found, at = [], 1
    for part in one.parts:
        found.append((part, at))
        at += len(part.arrays)
    return found


def as_one_of(one: Held, forms: Sequence[Held]) -> Held:
    """A value as one of some forms, among which is each that it may have; entries of other forms are zero."""
    own = [part for part, _ in alternatives(one)]
    numbers = [index_of(part, forms) for part in own]
    place = mapped(numbers, place_of(one.value)) if is_one_of(one.value) else np.int64(numbers[0])
    entries = [
        own[numbers.index(number)].filled(own[numbers.index(number)].arrays)
        if number in numbers
        else _blank(form)
        for number, form in enumerate(forms)
    ]
    return held(OneOf(entries, place))


def _blank(form: Held) -> Any:
    """A value of a form, with zeros."""
    return form.filled([_zero(x) for x in form.arrays])


def _zero(x: Any) -> Any:
    weak = weak_type(x)
    return zeros(leaf_type(x, "an entry")) if weak is None else weak(0)
