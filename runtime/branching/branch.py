"""`Branch`: one of the blocks of an ``if``, traced, with the values of its variables and the memory that they have."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...compiler.callers.user_code import line_of_raise, users_line_of
from ...compiler.frontend.recorded_run import ends_all, raises_later
from ...compiler.ir import Location
from ...compiler.op import PRINTS, has_effect
from ...compiler.tracing.exceptions.python_failures import line_of_failure
from ...compiler.tracing.outside.adoption import adopt
from ...compiler.tracing.sharing import TELLS_APART
from ...compiler.tracing.trace import Storage, require_trace
from ...compiler.tracing.traced_array import array_on
from ...compiler.tracing.traced_memory import is_traced
from ..eager.nested_function import NestedFunction, Result
from ..trees import structure
from .outcomes import UNSET, Outcome
from .references import is_expressible, memory_of, references
from .slots import Slot
from .variables import Held, has_memory, held
from .watching import Watch

NO_ARGUMENTS: Final = structure(((), {}))
VALUE: Final = "the returned value"


@dataclass(frozen=True, slots=True)
class References:
    """Which of several arrays a leaf of a variable refers to at the end of a branch."""

    arrays: list[Any]
    """None for those that the code after the branch cannot use."""
    place: int
    """The branch result that holds the index of that array; 0 if there is only one array."""


class Branch:
    """A branch that has been traced, and its flattened results."""

    def __init__(
        self,
        where: str,
        name: str,
        block: Callable[[], Outcome],
        wanted: Sequence[str],
        watch: Watch,
        slots: Iterable[Slot] = (),
    ) -> None:
        self.where, self.wanted = where, wanted
        self.places: dict[str | Slot, int] = {}
        """For each variable, the place of its first leaf among the results."""
        self.slots: dict[Slot, Any] = {}
        self.raised: tuple[BaseException, Location] | None = None
        """The error that the function raises in this branch, and its line."""
        self.raises_before = False
        """Whether it may raise another error before that, depending on values."""
        self.prints_before = False
        """Whether it prints before that, which the program does not."""
        self.trace: Any = None
        self.outcome = Outcome(None, UNSET, {})
        self.held: dict[str | Slot, Held] = {}
        self.before: dict[tuple[str | Slot, int], list[Storage]] = {}
        """The memory from before this branch that a leaf of a variable uses, or may use depending on values."""
        self.own: dict[tuple[str | Slot, int], list[Storage]] = {}
        """The same for new memory of this branch."""
        self.references: dict[tuple[str | Slot, int], References] = {}
        """If arrays are told apart: which of several arrays each leaf refers to."""
        self.contents: dict[int, int] = {}
        """The places of the results that hold the contents of new memory, by its id."""

        def run() -> list[Any]:
            self.trace = require_trace()
            try:
                found = watch.run(
                    lambda: self._flattened(block()), {slot: slot.value for slot in slots}, may_grow=True
                )
                (self.outcome, self.held), self.slots = found
                self.held |= {slot: watch.flattened[slot] for slot in self.slots}
            except (Exception, SystemExit) as error:
                line = line_of_raise(error) or line_of_failure(error)
                if isinstance(error, SystemExit):
                    line = line or users_line_of(error)  # by `sys.exit`
                if line is None:
                    raise
                self.raised = error, line
                self.prints_before = any(has_effect(call, PRINTS) for call in self.trace.calls)
                self.raises_before = raises_later(self.trace, error)
                return []
            except BaseException as error:
                if (line := line_of_raise(error)) is None:  # such as Ctrl+C while tracing
                    raise
                raise ends_all(error, line) from None
            return self._leaves()

        run.__name__ = name
        self.function = NestedFunction(where, run, NO_ARGUMENTS, [], is_block=True)

    def _flattened(self, outcome: Outcome) -> "tuple[Outcome, dict[str | Slot, Held]]":
        """An outcome, and its variables as this branch leaves them: containers still hold what it has put into them."""
        found: dict[str | Slot, Held] = {
            name: held(outcome.names[name]) for name in self.wanted if name in outcome.names
        }
        if outcome.value is not UNSET:
            found[VALUE] = held(outcome.value)
        return outcome, found

    def _leaves(self) -> list[Any]:
        leaves: list[Any] = [self.outcome.kind]
        for name, one in self.held.items():
            self.places[name] = len(leaves)
            leaves += one.arrays
        arrays = [
            ((name, i), x)
            for name, one in self.held.items()
            for i, x in enumerate(one.arrays)
            if has_memory(x)
        ]
        for leaf, x in arrays:
            memory = list(memory_of(x)) if is_traced(x) else []
            self.own[leaf] = [storage for storage in memory if self._is_own(storage)]
            self.before[leaf] = [storage for storage in memory if not self._is_own(storage)]
        if TELLS_APART.get():
            leaves += self._told_apart(arrays, len(leaves))
        return leaves

    def _is_own(self, storage: Storage) -> bool:
        """Whether this branch has made this memory."""
        return storage.trace is self.trace and not storage.is_input

    def _told_apart(self, arrays: "Sequence[tuple[tuple[str | Slot, int], Any]]", count: int) -> list[Any]:
        """Further results after the first ones: the contents of new memory, and which of several arrays a leaf is."""
        more: list[Any] = []
        for leaf, x in arrays:
            found, place = references(x, self.trace)
            if is_traced(place):
                more.append(place)
                place = count + len(more) - 1
            self.references[leaf] = References([self._usable_outside(one) for one in found], place)
            if len(found) == 1 and is_traced(x) and not x._views and self._is_own(x._storage):
                self.contents.setdefault(id(x._storage), self.places[leaf[0]] + leaf[1])
        for storage in (one for own in self.own.values() for one in own):
            if id(storage) not in self.contents:
                more.append(array_on(storage, storage.value.type))
                self.contents[id(storage)] = count + len(more) - 1
        return more

    def _usable_outside(self, x: Any) -> Any:
        """An array of this branch for the code after it; None if that cannot use it."""
        if not is_traced(x) or not self._is_from_here(x._storage):
            return x if not is_traced(x) or is_expressible(x, self.trace) else None
        if not is_expressible(x, self.trace):
            return None
        if x._storage.is_input:
            array = self.trace.array_of_storage(x._storage)
            whole = None if array is None else adopt(array)
            return whole and array_on(whole._storage, x.type, (*whole._views, *x._views))
        storage = x._storage
        is_plain = storage.layout is None or storage.layout.is_row_major
        return x if is_plain and not storage.shared_with else None

    def _is_from_here(self, storage: Storage) -> bool:
        return storage.trace is self.trace

    def object(self, name: "str | Slot") -> Any:
        """The value of a variable, an entry or an attribute, or the returned value."""
        if name == VALUE:
            return self.outcome.value
        return self.outcome.names.get(name) if isinstance(name, str) else self.slots.get(name)

    def makes(self, container: Any) -> bool:
        """Whether a container holds values of this branch, which the code after it cannot use."""
        leaves = held(container).arrays
        return any(is_traced(x) and self._is_from_here(x._storage) for x in leaves)

    def is_alone(self, leaf: "tuple[str | Slot, int]") -> bool:
        """Whether a leaf is new memory, as a whole, that no other leaf has."""
        found = self.references[leaf].arrays
        own = self.own[leaf]
        if len(found) > 1 or not own or not is_traced(found[0]) or found[0]._views:
            return False
        return sum(own[0] in others for others in self.own.values()) == 1

    def results(self, name: "str | Slot") -> list[Result]:
        """The results for the leaves of a variable."""
        first = self.places[name]
        return self.function.results[first : first + len(self.held[name].arrays)]
