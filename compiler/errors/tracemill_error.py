"""The base class of all errors, which knows the line of the user's program."""

from typing import Any


def text_of(error: BaseException) -> str:
    """What an error says, as part of another message: without the code that ends the message of Tracemill's errors."""
    return error.text if isinstance(error, TracemillError) else str(error)


class TracemillError(Exception):
    """The base class of all errors that Tracemill raises.

    >>> import numpy as np, tracemill as tm
    >>> try:
    ...     tm.grad(np.sin)(np.zeros(2))
    ... except tm.TracemillError as error:
    ...     print(error.code)
    E0302

    Fix: catch this class to catch all of them. ``error.location`` is the line of your program, if it is known. A
    traceback shows the frames of your program; ``TRACEMILL_DEBUG=1`` shows those of Tracemill, too.
    """

    code = "E0000"

    def __init__(self, message: str, location: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        """The line of the user's program, once it is known."""

    def __str__(self) -> str:
        return f"{self.text}\n    [{self.code}: tracemill explain {self.code}]"

    @property
    def text(self) -> str:
        """The message and the line of the user's program, as part of another message."""
        return self.message if self.location is None else f"{self.message}\n    at {self.location}"

    def locate(self, location: Any) -> None:
        """Say where in the user's program this happened, if that is not known yet."""
        self.location = self.location or location
