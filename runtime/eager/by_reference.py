"""`ByReference`: containers whose arrays are updated in place, also by a function that gets copies of its arguments."""

from typing import Any


class ByReference:
    """Base of the classes whose objects a differentiated function receives themselves, like closed-over objects."""

    __slots__ = ()


def is_by_reference(x: Any) -> bool:
    """Whether `x` is such a container."""
    return isinstance(x, ByReference)
