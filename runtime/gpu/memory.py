"""Memory on a GPU, which goes back when nobody refers to it."""

from collections.abc import Collection
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from .device import Device

LEGACY_STREAM = 1
"""The driver's handle of the stream on which other libraries work unless told otherwise."""


class Located(Protocol):
    """Bytes on a GPU: an array, or memory."""

    @property
    def device(self) -> "Device": ...
    @property
    def pointer(self) -> int: ...
    @property
    def nbytes(self) -> int: ...


class HasMemory(Located, Protocol):
    """What arrays stand on: memory of ours or of another library."""

    @property
    def readers(self) -> Collection[int | None]:
        """Streams of others that may use this memory; None is one that is not known."""
        ...

    @property
    def is_read_only(self) -> bool: ...


class Memory:
    """A piece of a GPU's memory.

    It goes back in the order of the stream: once it is not referred to, later work on the stream may get it, but not
    work that is queued already. So it must live until all that uses it is queued, and no longer.
    """

    __slots__ = ("__weakref__", "device", "nbytes", "pointer", "readers")

    is_read_only = False

    def __init__(self, device: "Device", pointer: int, nbytes: int) -> None:
        self.device = device
        self.pointer = pointer
        self.nbytes = nbytes
        self.readers: set[int | None] = set()

    def __del__(self) -> None:
        self.device.free(self.pointer, self.readers)

    def __reduce__(self) -> NoReturn:
        raise TypeError("memory of a GPU cannot be pickled: copy it out first")
