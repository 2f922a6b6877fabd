"""`CFunction`: the C text of one function on arrays, and what its caller has to know; `COptions`: how C is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import ArrayType


@dataclass(frozen=True, slots=True)
class COptions:
    """What changes the C functions of a program: a part of its cache key."""

    fast_math: bool = False
    """Compiled with leave to add in any order, fuse multiplications with additions, and lose the sign of zero. NaN and
    infinity stay, and the text is the same. For Triton: see `compile`."""
    blas: bool = False
    """NumPy's BLAS can be called for products in loops."""
    blas_on_thread: bool = False
    """It can compute a product on the thread that asks for it: our threads share stacks of products."""
    alone: bool = False
    """There is no Python: C computes what NumPy would else, and nobody asks loops to stop."""


@dataclass(frozen=True, slots=True)
class CFunction:
    """A C function that reads arrays and writes arrays, each given as a pointer to its first element.

    ``static void name(const float *restrict x, …, float *restrict out, …, long threads)``. The elements of an array
    lie one after another in row-major order and are aligned; an array without axes is a pointer to one element. An
    array without elements is given, too: its pointer is never read.
    """

    name: str
    """A C identifier, once in a library."""
    text: str
    """The definition, after those of the functions that it alone calls."""
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    """What is written, in memory of its own but for `overwrites` and `in_place`. Behind the outputs of the call there
    may be one of u8: memory that the function works in."""
    needs: frozenset[str]
    """Names of C functions of the folder `functions` that the text calls."""
    work: int
    """Nanoseconds that one thread takes, estimated: short ones stay on one thread and keep the interpreter's lock. With
    what it takes to copy inputs that could be overwritten, see `copying`."""
    overwrites: Mapping[int, int] = field(default_factory=dict[int, int])
    """Outputs that may be written into the memory of an input of their type: which of which. The input is copied there
    first, if it lies elsewhere."""
    in_place: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """Outputs that may be written over an input of their type element by element: each over one of which."""
    sizes: tuple[str, ...] = ()
    """The named sizes, which it takes before the arrays, each as a ``const long``. Its types and its work may be
    expressions of these."""

    @property
    def overwriting(self) -> Mapping[int, Sequence[int]]:
        """For each output that may be written over inputs: which, by either way."""
        return {**self.in_place, **{output: (given,) for output, given in self.overwrites.items()}}


def copying(type: ArrayType) -> int:
    """Nanoseconds that it takes to copy an array, estimated."""
    return type.nbytes // 16
