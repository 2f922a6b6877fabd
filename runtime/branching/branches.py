"""An ``if`` whose test is traced: both branches are traced, and a `switch` of the program chooses."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...compiler.builder import bind_all
from ...compiler.callers.user_code import user_location
from ...compiler.ir import Location
from ...compiler.message_values import Draft, drafting
from ...compiler.numpy_surface.ufuncs.value_checks import if_run
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.exceptions.handlers import fall_back, holds_for_handler, raise_if_handled
from ...compiler.tracing.exceptions.recursion import refuse_recursion
from ...compiler.tracing.trace import RAISES_ON_VALUES, require_trace
from ...compiler.tracing.values_in_call import guarded_truth
from ...compiler.users_errors import named
from ...compiler.value_ops import nonzero_mask
from ..control_flow.cond import record_switch
from ..eager.nested_function import NestedFunction
from .branch import NO_ARGUMENTS, VALUE, Branch
from .containers import CONTAINERS, contents_of
from .merging import Merge, Place, filled
from .one_of import is_one_of
from .outcomes import RETURNED, UNSET, Outcome
from .slots import Slot
from .stand_ins import CopiedContainer, note_copies, note_stand_in, sources_of, stand_in_of
from .watching import Watch, reached_by, watching


@dataclass(frozen=True)
class OnlyBranch:
    """The only branch that goes on: the program raises the error of the other one, or a handler has decided."""

    block: Callable[[], Outcome]


Blocks: TypeAlias = "tuple[tuple[str, Callable[[], Outcome]], tuple[str, Callable[[], Outcome]]]"


def choose(
    where: str, test: Any, blocks: Blocks, wanted: Sequence[str], watch: Watch, unset: Container[str] = ()
) -> "Outcome | OnlyBranch":
    """Trace both blocks. The result is the outcome of the second where the test is true, and of the first otherwise.

    A variable that only one block sets is set afterwards, to an arbitrary value if the other block ran. If code may
    read it while it is unset, it is in `unset`, and is UNSET afterwards.
    """
    refuse_recursion()
    branches: list[Branch] = []
    for place in (1, 0):  # a block that raises is usually the second
        branch = _traced(partial(Branch, where, *blocks[place], wanted, watch))
        if branch.raised is not None:
            test = if_run(test if place else np.logical_not(test))
            holds = holds_for_handler(test, branch.raised[0])
            if holds is None and branch.prints_before:
                holds = guarded_truth(
                    require_trace(), as_value(test), "whether an exception is raised after a print"
                )
            if holds is not None:
                return OnlyBranch(blocks[place if holds else 1 - place][1])
            if branch.raises_before:
                nothing = NestedFunction(where, _nothing, NO_ARGUMENTS, [], is_block=True)
                record_switch(where, nonzero_mask, test, [nothing, branch.function], [], [], [])
            else:
                bind_raise(test, *branch.raised)
            return OnlyBranch(blocks[1 - place][1])
        branches.insert(0, branch)
    slots = dict.fromkeys(slot for branch in branches for slot in branch.slots)
    for slot in filter(_is_appended, slots):
        if len({len(branch.slots.get(slot, ())) for branch in branches}) > 1:
            raise watch.refusal(f"`{slot.path.rpartition('[')[0]}`, a list")
    for place, block in enumerate(blocks):
        if len(branches[place].slots) < len(slots):
            branches[place] = Branch(where, *block, wanted, watch, slots)
    merge = Merge(where, branches)
    kind = merge.kind()
    value = merge.variable(VALUE, may_be_missing=True)
    variables = {name: merge.variable(name, may_be_missing=name not in unset) for name in wanted}
    changed = {slot: merge.variable(slot, may_be_missing=False) for slot in slots}
    given = record_switch(
        where, nonzero_mask, test, [branch.function for branch in branches], [], merge.types, merge.picks
    )
    merge.mark_shared(given)
    found = Outcome(
        given[kind] if type(kind) is Place else kind,
        filled(value, given, test),
        {name: filled(one, given, test) for name, one in variables.items() if one is not UNSET},
        {slot: filled(one, given, test) for slot, one in changed.items()},
    )
    _relate(found, branches, test)
    return found


def _traced(branch: Callable[[], Branch]) -> Branch:
    """A branch. If it raises, its texts may lack values that only the program knows: the function itself makes them."""
    found, draft = None, Draft()
    try:
        with drafting(draft):
            found = branch()
    except (Exception, SystemExit):
        if not draft.lacks_values:
            raise
    if not draft.lacks_values:
        assert found is not None
        return found
    if found is None or found.raised is None:
        return branch()
    fall_back()
    return found


def _relate(found: Outcome, branches: Sequence[Branch], test: Any) -> None:
    """Let the containers after an ``if`` stand for those of the branches, if other code can reach one of these.

    Those that a branch has made from its own values are out of reach.
    """
    parts: tuple[Mapping[Any, Any], ...] = {VALUE: found.value}, found.names, found.slots
    values: dict[str | Slot, Any] = {name: one for part in parts for name, one in part.items()}
    places = [
        place for name, one in values.items() for place in _new_containers(one, _objects(name, branches))
    ]
    uses = Counter((number, id(one)) for _, objects in places for number, one in enumerate(objects))
    own: dict[tuple[int, int], Any] = {}
    for one, objects in places:
        are_new = [
            stand_in_of(x) is None and branch.makes(x) for branch, x in zip(branches, objects, strict=True)
        ]
        if is_one_of(one):
            note_copies(one, [x for x, is_new in zip(objects, are_new, strict=True) if not is_new])
            continue
        if all(is_new and uses[n, id(objects[n])] == 1 for n, is_new in enumerate(are_new)):
            continue
        for n, is_new in enumerate(are_new):
            if is_new:
                objects[n] = own.setdefault((n, id(objects[n])), copy(one))
        note_stand_in(one, objects, np.where(test, 1, 0))
    if all(count == 1 for count in uses.values()):  # each branch leaves another one in each place
        group = object()
        for one, _ in places:
            if (note := stand_in_of(one)) is not None:
                note.group = group
    _relate_new(places, branches)


def _relate_new(places: "Sequence[tuple[Any, list[Any]]]", branches: Sequence[Branch]) -> None:
    """Refuse writes to containers after an ``if`` that are, or are in, several places of what a branch has made."""
    found: dict[tuple[int, int], list[Any]] = {}
    inner = set[int]()
    for one, objects in places:
        for n, (branch, x) in enumerate(zip(branches, objects, strict=True)):
            if is_one_of(one) or is_one_of(x):
                continue
            for depth, ((mine, _), (theirs, _)) in enumerate(
                zip(contents_of(one), contents_of(x), strict=False)
            ):
                if branch.makes(theirs) and stand_in_of(theirs) is None:
                    found.setdefault((n, id(theirs)), []).append(mine)
                    inner |= {id(mine)} if depth else set()
    for same in found.values():
        if len({*map(id, same)}) > 1 and any(id(one) in inner for one in same):
            for one in same:
                CopiedContainer(one, [*sources_of(one), *(other for other in same if other is not one)])


def _objects(name: "str | Slot", branches: Sequence[Branch]) -> list[Any]:
    """The values of a variable in both branches; twice that of the only branch that sets it."""
    first, second = (branch if name in branch.held else None for branch in branches)
    return [(one or other or branches[0]).object(name) for one, other in ((first, second), (second, first))]


def _new_containers(found: Any, objects: Sequence[Any]) -> "Iterator[tuple[Any, list[Any]]]":
    """The outermost new containers in a value, with those in its place in each of some objects."""
    if is_one_of(found):
        yield found, list(objects)
    elif isinstance(found, tuple):
        if all(type(one) is type(found) and len(one) == len(found) for one in objects):
            for number, one in enumerate(found):
                yield from _new_containers(one, [entry[number] for entry in objects])
    elif isinstance(found, CONTAINERS) and not any(one is found for one in objects):
        yield found, list(objects)


def branch_on(
    watched: AbstractContextManager[Watch],
    where: str,
    test: Any,
    blocks: Blocks,
    wanted: Sequence[str] = (),
    unset: Container[str] = (),
) -> Outcome:
    """The outcome of one of two blocks, after setting the attributes and entries that it sets."""
    with watched as watch:
        found = choose(where, test, blocks, wanted, watch, unset)
    return found.block() if isinstance(found, OnlyBranch) else found.applied()


def value_of(where: str, test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``body() if test else orelse()``"""
    blocks: Blocks = (
        ("otherwise", lambda: Outcome(RETURNED, orelse(), {})),
        ("then", lambda: Outcome(RETURNED, body(), {})),
    )
    watched = watching(where, reached_by(body) | reached_by(orelse), user_location())
    return branch_on(watched, where, np.reshape(test, ()), blocks).value


def raise_where(condition: Any, error: BaseException, line: "Location | None") -> None:
    """Make the program raise the user's error where a condition is true and Python would run the current code."""
    bind_raise(if_run(condition), error, line)


def bind_raise(condition: Any, error: BaseException, line: "Location | None") -> None:
    """Make the program raise the user's error where a condition is true, unless it was asked not to check."""
    if not RAISES_ON_VALUES.get():
        return
    trace = require_trace()
    if raise_if_handled(condition, error):
        return
    found = named(error)
    if not found.is_whole:
        fall_back()
    before, trace.location = trace.location, line
    try:
        bind_all(
            "raise_if", nonzero_mask(as_value(condition)), *map(as_value, found.values), error=found.text
        )
    finally:
        trace.location = before


def _nothing() -> list[Any]:
    return []


def _is_appended(slot: Slot) -> bool:
    return slot.is_tail
