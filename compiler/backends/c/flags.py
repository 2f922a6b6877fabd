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
