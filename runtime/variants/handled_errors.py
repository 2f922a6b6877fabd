"""Errors of a program that a handler in the function may see. If one occurs, Python runs the function itself."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from ...compiler.errors import TracemillError
from ...compiler.free_sizes import bound_sizes
from ...compiler.interpreter import OtherValues
from ...compiler.ir import Graph
from ...compiler.symbolic_size import is_symbolic_shape


def may_be_handled(error: BaseException) -> bool:
    """Whether Python or NumPy would raise this error, too. Handlers do not see errors that only Tracemill raises."""
    if isinstance(error, OtherValues):  # another program is made for this call
        return False
    return not isinstance(error, TracemillError) or isinstance(error, IndexError)


_HUGE: Final = 2**40
"""Arrays of more bytes are hardly ever meant."""


def may_be_too_large(graph: Graph) -> bool:
    """Whether a program finds out lengths when it runs, or makes a huge array."""
    values = [value for call in graph.calls for value in call.outputs]
    return bool(bound_sizes(graph)) or any(
        not is_symbolic_shape(value.shape) and value.type.nbytes > _HUGE for value in values
    )


_TOO_LARGE: Final = ("array is too big", "iterator is too large", "Maximum allowed ")


def is_of_size(error: BaseException) -> bool:
    """Whether NumPy or Python says that an array is too large. The program may say it with other numbers."""
    return isinstance(error, MemoryError | OverflowError) or (
        type(error) is ValueError and str(error).startswith(_TOO_LARGE)
    )


def with_numpys_size_errors(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The entry of a program that may make arrays of any size. If one is too large, the function runs and says so."""

    def sized(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return entry(args, kwargs)
        except (MemoryError, OverflowError, ValueError) as error:
            if not is_of_size(error):
                raise
        return function(*args, **kwargs)

    return sized


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
