"""`CFunction`: the C text of one function on arrays, and what its caller must know; `COptions`: how C is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import ArrayType


@dataclass(frozen=True, slots=True)
class COptions:
    """Affects the C functions of a program: a part of its cache key."""

    fast_math: bool = False
    """Allows the compiler to add in any order, fuse multiplications with additions, and lose the sign of zero. NaN
    and infinity stay, and the text is the same. For Triton: see `compile`."""
    alone: bool = False
    """There is no Python: C computes everything, and loops cannot be interrupted."""


@dataclass(frozen=True, slots=True)
class CFunction:
    """A C function that reads and writes arrays, each passed as a pointer to its first element.

    ``static void name(const float *restrict x, …, float *restrict out, …, long threads)``. Arrays are contiguous in
    row-major order and aligned; an array without axes is a pointer to one element. An empty array is passed, too, but
    its pointer is never read.
    """

    name: str
    """A C identifier, once in a library."""
    text: str
    """The definition, after those of functions that only it calls."""
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    """The written arrays. Each has its own memory, except for `overwrites` and `in_place`. After the outputs of the
    call there may be one of u8: the workspace."""
    needs: frozenset[str]
    """Names of C functions of the folder `functions` that the text calls."""
    work: int
    """Estimated nanoseconds on one thread: short functions stay on one thread and keep the GIL. For copies of inputs
    that could be overwritten, see `copying`."""
    overwrites: Mapping[int, int] = field(default_factory=dict[int, int])
    """Outputs that may use the memory of an input of their type: which uses which. If the memories differ, the input
    is copied there first."""
    in_place: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """Outputs that may overwrite an input of their type element by element: each one of these inputs."""
    sizes: tuple[str, ...] = ()
    """The named sizes, which come before the arrays, each as a ``const long``. Its types and its work may be
    expressions of these."""

    @property
    def overwriting(self) -> Mapping[int, Sequence[int]]:
        """For each output that may overwrite inputs: which ones, in either way."""
        return {**self.in_place, **{output: (given,) for output, given in self.overwrites.items()}}


def copying(type: ArrayType) -> int:
    """The estimated nanoseconds of copying an array."""
    return type.nbytes // 16
