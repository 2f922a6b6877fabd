"""Errors of a program that a handler in the function may see. If one occurs, Python runs the function itself."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...compiler.errors import TracemillError
from ...compiler.interpreter import OtherValues


def may_be_handled(error: BaseException) -> bool:
    """Whether Python or NumPy would raise this error, too. Handlers do not see errors that only Tracemill raises."""
    if isinstance(error, OtherValues):  # another program is made for this call
        return False
    return not isinstance(error, TracemillError) or isinstance(error, IndexError)


def with_changes_before_error(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The entry of a program after whose error the function runs, for what it changes before its own."""

    def changing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return entry(args, kwargs)
        except OtherValues:
            raise
        except (Exception, SystemExit):
            with suppress(Exception, SystemExit):
                function(*args, **kwargs)
            raise

    return changing


def with_handlers(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The entry of a program with handlers. If the program raises, the function runs from its beginning."""

    def handled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return entry(args, kwargs)
        except (Exception, SystemExit) as error:
            if not may_be_handled(error):
                raise
        return function(*args, **kwargs)

    return handled
