"""`matched`: the subject of a ``match`` statement that Python runs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ....compiler.callers.user_code import is_defined_by_user, user_location
from ....compiler.errors import ConcretizationError
from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.trace import current_trace
from ....compiler.tracing.traced_memory import is_traced

_DEEPEST: Final = 4


def matched(subject: Any) -> Any:
    """The subject of patterns of which one is ``int()`` or another class of numbers.

    Raises:
        ConcretizationError: it holds a traced number, which Python does not see to be of such a class.
    """
    if current_trace() is not None and _holds_number(subject):
        raise ConcretizationError(
            "this `match` asks for the class of a number that is known only when the program runs, inside of a pattern "
            "for a sequence, a mapping or an object, or beside one: ask in the guard, as in "
            "`case [a, b] if isinstance(a, int):`",
            user_location(),
        )
    return subject


def _holds_number(x: Any, depth: int = 0) -> bool:
    if is_traced(x) or isinstance(x, SymbolicSize):
        return True
    if depth == _DEEPEST:
        return False
    parts: Iterable[Any] = ()
    if isinstance(x, Mapping):
        parts = x.values()
    elif isinstance(x, (list, tuple)):
        parts = x
    elif is_defined_by_user(type(x)):
        parts = getattr(x, "__dict__", {}).values()
    return any(_holds_number(one, depth + 1) for one in parts)
