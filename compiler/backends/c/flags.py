"""Compiler flags for C texts."""

from typing import Final

FLAGS: Final = (
    "-O3",
    "-std=gnu11",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fPIC",
    "-shared",
)
"""They keep NumPy's values, including NaN, infinity and the sign of zero. Results with disjoint lifetimes share
memory, whatever their types, hence no strict aliasing."""

USUAL_FLAGS: Final = (*FLAGS, "-march=native", "-fopenmp-simd")
"""The same if the compiler's features are not known."""

FAST: Final = (
    "-ffp-contract=fast",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-freciprocal-math",
    "-DTM_REORDERED_SUMS",
)
"""Added by ``fast_math=True``. The last one tells functions that need their order of sums. Not ``-ffast-math``, because
such a library changes the arithmetic of the whole process."""

LONG: Final = 1 << 16
"""From this many characters on, compile time matters more than the run time of loops of known length."""

QUICK: Final = ("-O2", "-ftree-vectorize", "--param=max-inline-insns-single=200")
"""Added for a long text: the same vectors, with mathematical functions inline, but no unrolled loops."""
