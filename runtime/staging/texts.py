"""`raised` and `printed`: error messages and printed lines with values that are known only when the program runs."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError
from ...compiler.told_values import MARK, TELLING, Told
from ...compiler.tracing.trace import current_trace
from ...compiler.users_errors import tell
from ..eager.debug_print import debug_print
from .python_functions import callee

Given = tuple[Sequence[Any], Mapping[str, Any]]

_LINE_OPTIONS: Final = frozenset({"sep", "end", "file", "flush"})


def raised(make: Callable[[], Any]) -> Any:
    """An exception that is about to be raised. The program fills in the values in its message."""
    if current_trace() is None:
        return make()
    told = Told()
    token = TELLING.set(told)
    try:
        error = make()
    finally:
        TELLING.reset(token)
    if told.values and isinstance(error, Exception):
        tell(error, told)
    return error


def printed(function: Any, given: Callable[[], Given]) -> Any:
    """``print(*args, **options)`` as a statement of a traced function. Any other function is called."""
    if function is not print or current_trace() is None:
        args, options = given()
        return callee(function)(*args, **options)
    told = Told()
    token = TELLING.set(told)
    try:
        args, options = given()
    finally:
        TELLING.reset(token)
    if (
        not options.keys() <= _LINE_OPTIONS
        or options.get("end") not in (None, "\n")
        or options.get("file") is not None
    ):
        raise ConcretizationError(
            "print(end=…) and print(file=…) cannot be part of a program, which prints whole lines to sys.stdout: put "
            "the line together in one print(), with sep=",
            user_location(),
        )
    values: list[Any] = []
    fields = [_field(one, told, values) for one in args]
    sep = options.get("sep")
    debug_print(_literal(" " if sep is None else sep).join(fields), *values)
    return None


def _field(one: Any, told: Told, values: list[Any]) -> str:
    """A part of the line as a format. The values that it shows are added to `values`."""
    if not isinstance(one, str):
        values.append(one)
        return f"{{{len(values) - 1}}}"
    text, end = "", 0
    for match in MARK.finditer(one):
        values.append(told.values[int(match[1])])
        text += f"{_literal(one[end : match.start()])}{{{len(values) - 1}{_spec(match)}}}"
        end = match.end()
    return text + _literal(one[end:])


def _spec(match: re.Match[str]) -> str:
    """The format of a value for `str.format`."""
    how, form, field = match[2], match[3], match[4]
    if how == "!":
        return f"!{form}:{field}" if field else f"!{form}"
    if how == "%" and form[-1] in "sr":
        return f"!{form[-1]}"
    if how == "%":
        return f":{form[:-1]}{'.0f' if form[-1] in 'di' else form[-1]}"
    return f":{form}" if form else ""


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
