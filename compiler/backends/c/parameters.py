"""What a C function declares: its parameters, and the memory that it works in."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...dtypes import dtype_named
from ...ir import ArrayType
from .types import element_type

STACK: Final = 4096
"""Bytes that a function may have on its stack for what it works with; for more it is given memory."""


def parameters(
    inputs: Iterable[ArrayType],
    outputs: Iterable[ArrayType],
    *,
    aliased_inputs: Container[int] = (),
    aliased_outputs: Container[int] = (),
    names: Sequence[str] | None = None,
) -> list[str]:
    """``const float *restrict x0``, …, ``float *restrict out0``, …; without ``restrict`` where they may be aliased.

    The inputs have these `names` if there are some.
    """
    inputs = list(inputs)
    given = names or [f"x{i}" for i in range(len(inputs))]
    return [
        *(
            f"const {_pointer(type, i in aliased_inputs)}{name}"
            for i, (type, name) in enumerate(zip(inputs, given, strict=True))
        ),
        *(f"{_pointer(type, i in aliased_outputs)}out{i}" for i, type in enumerate(outputs)),
    ]


def _pointer(type: ArrayType, is_aliased: bool) -> str:
    return f"{element_type(type.dtype)} *{'' if is_aliased else 'restrict '}"


def memory_type(nbytes: int) -> ArrayType:
    """The type of memory that a function is given to work in: an output behind those of its call."""
    return ArrayType(dtype_named("u8"), (nbytes,))


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The bytes called ``work`` in a function: its own if they are few, else given to it."""

    nbytes: int

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """What is given."""
        return (memory_type(self.nbytes),) if self.nbytes > STACK else ()

    @property
    def parameters(self) -> list[str]:
        """The parameter for it."""
        return ["uint8_t *restrict work"] if self.nbytes > STACK else []

    @staticmethod
    def at(offset: int, type: str | None = None) -> str:
        """The memory behind its first bytes, as an expression."""
        place = f"work + {offset}" if offset else "work"
        if type is None:
            return place
        return f"({type} *)({place})" if offset else f"({type} *){place}"

    @property
    def declarations(self) -> list[str]:
        """The statement that makes it."""
        return [f"    _Alignas(64) uint8_t work[{self.nbytes}];"] if 0 < self.nbytes <= STACK else []
