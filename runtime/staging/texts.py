"""`raised` and `written`: error messages and printed lines with values that are known only when the program runs."""

import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import is_library, user_location, users_frame
from ...compiler.errors import ConcretizationError
from ...compiler.frontend.outside.read_names import note_read
from ...compiler.message_values import MARK, MESSAGE_VALUES, MessageValues
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.exceptions.numpys_own import numpys_own
from ...compiler.tracing.outside.system_calls import act_error
from ...compiler.tracing.trace import current_trace, require_trace
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.users_errors import attach_values, complete
from ..eager.debug_print import escaped, log_line
from ..eager.line_writers import LEVELS, writer_name
from ..eager.run import is_array
from .operators import percent, text_in_call, with_texts
from .texts_of_sizes import with_programs_number

Given = tuple[Sequence[Any], Mapping[str, Any]]

_LINE_OPTIONS: Final = frozenset({"sep", "end", "file", "flush"})


def raised(make: Callable[[], Any]) -> Any:
    """An exception that is about to be raised. The program fills in the values in its message."""
    trace = current_trace()
    if trace is None or trace.is_evaluating:
        return make()
    message_values = MessageValues()
    token = MESSAGE_VALUES.set(message_values)
    try:
        error = make()
    finally:
        MESSAGE_VALUES.reset(token)
    if not isinstance(error, (Exception, SystemExit)):
        return error
    error.args = tuple(map(with_programs_number, error.args))
    vars(error).update({name: with_programs_number(one) for name, one in vars(error).items()})
    if message_values.values:
        attach_values(error, message_values)
    return error


def caught(error: BaseException) -> BaseException:
    """An exception that the function itself catches, with the text of the values that it shows.

    NumPy's own exception stands for one of Tracemill's.
    """
    if isinstance(error, BaseExceptionGroup):
        parts = list(map(caught, error.exceptions))
        if any(new is not old for new, old in zip(parts, error.exceptions, strict=True)):
            found: BaseException = error.derive(parts)
            return found.with_traceback(error.__traceback__)
    if isinstance(error, Exception):
        complete(error)
    return numpys_own(error)


def written(function: Any, given: Callable[[], Given]) -> None:
    """A call of `print`, of a logger, or of `warnings.warn`, in a traced function."""
    message_values = MessageValues()
    token = MESSAGE_VALUES.set(message_values)
    try:
        args, options = given()
        _refuse_own_surroundings(function)
        _SAYING[writer_name(function)](function, message_values, args, options)
    finally:
        MESSAGE_VALUES.reset(token)


def _refuse_own_surroundings(function: Any) -> None:
    """Refuse a line that Python would not write as a program does later: the function then runs uncompiled.

    Raises:
        SideEffectError: the function has redirected its output, or has other filters for warnings.
    """
    trace = require_trace()
    before = trace.outermost().surroundings
    if before is None:
        return
    name = writer_name(function)
    if name == "exception":
        what: str | None = "logs the exception that it handles"
    else:
        what = before.change_of_warnings() if name == "warn" else before.change_of_prints()
    if what is not None:
        raise act_error(trace, what, user_location())


def _print(
    function: Any, message_values: MessageValues, args: Sequence[Any], options: Mapping[str, Any]
) -> None:
    stream = _stream_of(options.get("file"))
    if not options.keys() <= _LINE_OPTIONS or stream is None:
        raise ConcretizationError(
            "print(file=…) can be part of a program for sys.stdout and sys.stderr only: return what to write, and "
            "write it after the call",
            user_location(),
        )
    sep, end = [_separator(options.get(name), own) for name, own in (("sep", " "), ("end", "\n"))]
    values: list[Any] = []
    fields = [_field(one, message_values, values) for one in args]
    to: dict[str, Any] = {} if (stream, end) == ("stdout", "\n") else {"to": ("stream", stream, end)}
    log_line(escaped(sep).join(fields), tuple(values), {}, **to)


def _stream_of(file: Any) -> str | None:
    """The name of a stream in `sys`; None for other files."""
    if file is None or file is sys.stdout:
        return "stdout"
    return "stderr" if file is sys.stderr else None


def _separator(given: Any, default: str) -> str:
    known: Any = text_in_call(given)
    if not (known is None or isinstance(known, str)):
        raise TypeError(f"sep and end of print must be None or a string, not {type(known).__name__}")
    return default if known is None else known


def _log(
    function: Any, message_values: MessageValues, args: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """A record of a logger with the user's line. Where the logger is not enabled, the program has none.

    Whether it is enabled is compared before each call.
    """
    logger = getattr(function, "__self__", None) or logging.getLogger()
    if not isinstance(getattr(function, "__self__", None), logging.Logger) and not logger.handlers:
        logging.basicConfig()  # as the functions of `logging` do
    name = function.__name__
    level, *rest = args if name == "log" else (LEVELS.get(name, logging.ERROR), *args)
    if not rest or is_traced(level) or (options.keys() - {"stacklevel"} and any(options.values())):
        raise ConcretizationError(
            f"{name}() of a logger cannot be part of a program with {', '.join(options) or 'these arguments'}: pass a "
            "level, a message and its values",
            user_location(),
        )
    registered = logging.getLogger(None if logger is logging.root else logger.name)
    if registered is not logger:
        raise ConcretizationError(
            f"the logger {logger.name!r} cannot be part of a program, which finds it by its name: make it with "
            "logging.getLogger()",
            user_location(),
        )
    if not note_read("whether what is logged is seen by", _is_enabled, logger, level):
        return
    message, *given = rest
    values: list[Any] = []
    text = _field(percent(str(message), _as_given(given)) if given else message, message_values, values)
    file, line, function_name, _ = _line_of(options.get("stacklevel", 1))
    target = "" if logger is logging.root else logger.name
    log_line(text, tuple(values), {}, to=("log", target, int(level), file, line, function_name))


def _is_enabled(logger: logging.Logger, level: int) -> bool:
    """As `isEnabledFor`, which stores the answer in the logger."""
    return not logger.disabled and level >= max(logger.manager.disable + 1, logger.getEffectiveLevel())


def _as_given(given: Sequence[Any]) -> Any:
    """The values of a message, as `logging` takes them: a dict alone has names."""
    return given[0] if len(given) == 1 and isinstance(given[0], Mapping) else tuple(given)


def _warn(
    function: Any, message_values: MessageValues, args: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """A warning with the user's line, at each call."""
    names = ("message", "category", "stacklevel", "source")
    found = dict(zip(names, args, strict=False)) | dict(options)
    message, category = found.pop("message", ""), found.pop("category", None)
    if isinstance(message, Warning):
        category, message = type(message), str(message)
    category = UserWarning if category is None else category
    file, line, _, module = _line_of(found.pop("stacklevel", 1))
    if any(one is not None and one != () for one in found.values()):
        raise ConcretizationError(
            f"warnings.warn({', '.join(found)}=…) cannot be part of a program: pass a message, a category and a "
            "stacklevel",
            user_location(),
        )
    values: list[Any] = []
    text = _field(message, message_values, values)
    kind = f"{category.__module__}.{category.__qualname__}"
    log_line(text, tuple(values), {}, to=("warn", kind, file, line, module))


def _line_of(stacklevel: int) -> tuple[str, int, str, str]:
    """The file, the line, the function and the module of the user's frame that is this many levels out."""
    frame = users_frame()
    for _ in range(stacklevel - 1):
        outer = None if frame is None else frame.f_back
        while outer is not None and is_library(outer.f_code.co_filename):
            outer = outer.f_back
        frame = frame if outer is None else outer
    if frame is None:
        return "sys", 1, "", "sys"
    code = frame.f_code
    return code.co_filename, frame.f_lineno, code.co_name, str(frame.f_globals.get("__name__", "sys"))


_SAYING: Final[Mapping[str, Callable[[Any, MessageValues, Sequence[Any], Mapping[str, Any]], None]]] = {
    "exception": _log,
    "log": _log,
    "print": _print,
    "warn": _warn,
}


def _field(one: Any, message_values: MessageValues, values: list[Any]) -> str:
    """A part of the line as a format. The values that it shows are added to `values`."""
    if is_array(one) or isinstance(one, (np.ndarray, np.generic, SymbolicSize)):
        values.append(with_programs_number(one))
        return f"{{{len(values) - 1}}}"
    one = text_in_call(one)
    shown, text, end = one if isinstance(one, str) else str(with_texts(one)), "", 0
    for match in MARK.finditer(shown):
        values.append(message_values.values[int(match[1])])
        text += f"{escaped(shown[end : match.start()])}{{{len(values) - 1}{_spec(match)}}}"
        end = match.end()
    return text + escaped(shown[end:])


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
