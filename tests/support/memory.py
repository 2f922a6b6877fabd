"""How much memory a call needs."""

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak_of(f: Callable[..., Any], *args: Any) -> int:
    """The bytes that a call allocates at most at one time, after a first one."""
    f(*args)
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
