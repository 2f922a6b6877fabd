"""`call`: makes the user's call after a hook has handled it. Symbolic sizes treat its frame as the user's."""

from collections.abc import Callable
from typing import Any


def call(function: Callable[..., Any], /, *given: Any, **more: Any) -> Any:
    """``function(*given, **more)``"""
    return function(*given, **more)
