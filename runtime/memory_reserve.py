"""Memory that is given up when there is none left, so that an error can be built that says why."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

import numpy as np

_BYTES: Final = 1 << 22
"""A few of the pieces in which Python asks for memory."""
_reserved: Final = [np.empty(_BYTES, np.uint8)]  # never touched, so it takes addresses alone


@contextmanager
def reporting_lack_of_memory() -> Generator[None]:
    """Within the block, there is memory for an error although an allocation has failed."""
    _reserved.clear()
    try:
        yield
    finally:
        with suppress(MemoryError):
            _reserved[:] = [np.empty(_BYTES, np.uint8)]
