"""The declarations of a C function: its parameters and its workspace."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...affine import same
from ...dtypes import dtype_named
from ...ir import ArrayType
from ...symbolic_size import SymbolicSize, upper_bound
from .sizes import factor_text, size_parameters
from .types import element_type

STACK: Final = 4096
"""The maximum bytes of a function's workspace on its stack; a larger one is passed to it."""


def parameters(
    inputs: Iterable[ArrayType],
    outputs: Iterable[ArrayType],
    *,
    aliased_inputs: Container[int] = (),
    aliased_outputs: Container[int] = (),
    names: Sequence[str] | None = None,
    sizes: Iterable[str] = (),
) -> list[str]:
    """``const float *restrict x0``, …, ``float *restrict out0``, …; without ``restrict`` for those that may be
    aliased.

    The inputs have these `names` if they are given. Named `sizes` come first: ``const long dim_N``.
    """
    inputs = list(inputs)
    given = names or [f"x{i}" for i in range(len(inputs))]
    return [
        *size_parameters(sizes),
        *(
            f"const {_pointer(type, i in aliased_inputs)}{name}"
            for i, (type, name) in enumerate(zip(inputs, given, strict=True))
        ),
        *(f"{_pointer(type, i in aliased_outputs)}out{i}" for i, type in enumerate(outputs)),
    ]


def _pointer(type: ArrayType, is_aliased: bool) -> str:
    return f"{element_type(type.dtype)} *{'' if is_aliased else 'restrict '}"


def memory_type(nbytes: int) -> ArrayType:
    """The type of the workspace passed to a function: an output after those of its call."""
    return ArrayType(dtype_named("u8"), (nbytes,))


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The bytes called ``work`` in a function: its own if they are few, otherwise passed to it."""

    nbytes: int

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """What is given."""
        return () if self.is_small else (memory_type(self.nbytes),)

    @property
    def is_small(self) -> bool:
        """Whether it is known to be small enough for the stack."""
        return upper_bound(self.nbytes) <= STACK

    @property
    def parameters(self) -> list[str]:
        """The parameter for it."""
        return [] if self.is_small else ["uint8_t *restrict work"]

    @staticmethod
    def at(offset: int, type: str | None = None) -> str:
        """The memory after its first bytes, as an expression."""
        is_first = same(offset, 0)
        place = "work" if is_first else f"work + {factor_text(offset)}"
        if type is None:
            return place
        return f"({type} *){place}" if is_first else f"({type} *)({place})"

    @property
    def declarations(self) -> list[str]:
        """The statement that defines it."""
        if not self.is_small or same(self.nbytes, 0):
            return []
        nbytes = STACK if isinstance(self.nbytes, SymbolicSize) else self.nbytes
        return [f"    _Alignas(64) uint8_t work[{nbytes}];"]
