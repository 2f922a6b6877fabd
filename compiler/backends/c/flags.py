"""What C texts are compiled with."""

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
"""NumPy's values, NaN and infinity and the sign of zero included. Results that live one after the other share memory,
whatever their types, hence no strict aliasing."""

USUAL_FLAGS: Final = (*FLAGS, "-march=native", "-fopenmp")
"""The same where nobody has asked the compiler what it can do."""

FAST: Final = ("-ffp-contract=fast", "-fassociative-math", "-fno-signed-zeros", "-freciprocal-math")
"""What ``fast_math=True`` adds. Not ``-ffast-math``: with it a library changes the arithmetic of the whole process."""

LONG: Final = 1 << 16
"""Characters of a text from which on the time of the compiler counts for more than that of loops of known length."""

QUICK: Final = ("-O2", "-ftree-vectorize")
"""What is added for a long text: the same vectors, but no loop is written out turn by turn."""
