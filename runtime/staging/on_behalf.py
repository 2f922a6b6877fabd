"""`call`: a call that the user's code makes, after a hook has looked at it. Sizes take its frame for the user's."""

from collections.abc import Callable
from typing import Any


def call(function: Callable[..., Any], /, *given: Any, **more: Any) -> Any:
    """``function(*given, **more)``"""
    return function(*given, **more)
