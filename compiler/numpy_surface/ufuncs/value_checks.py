"""Values that NumPy refuses: by an error at once where they are known, and otherwise when the program runs."""

from collections.abc import Sequence
from typing import Any

from ...builder import bind_all
from ...errors import ArgumentValueError
from ...told_values import Told
from ...tracing.array_values import as_value
from ...tracing.traced_memory import is_traced
from ...users_errors import noted, tell


def refuse_values(
    condition: Any, message: str, error: type[Exception] = ValueError, *, told: Sequence[Any] = ()
) -> None:
    """Raise NumPy's error if the condition holds anywhere; the message shows the numbers `told` in its braces."""
    known = condition.concrete() if is_traced(condition) else condition
    if known is None:
        marks = Told()
        shown = [marks.mark(one, ":") if is_traced(one) else one for one in told]
        raised = error(message.format(*shown) if told else message)
        tell(raised, marks)
        text, values = noted(raised, None)
        bind_all("raise_if", as_value(condition), *map(as_value, values), error=text)
    elif known.any():
        numbers = [one.concrete() if is_traced(one) else one for one in told]
        text = message.format(*numbers) if told else message
        raise ArgumentValueError(text) if error is ValueError else error(text)
