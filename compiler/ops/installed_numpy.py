"""What the installed NumPy does where versions of NumPy differ. NumPy itself is asked."""

import warnings
from typing import Final

import numpy as np


def _where_checks_python_numbers() -> bool:
    try:
        np.where(True, np.uint8(0), -1)
    except OverflowError:
        return True
    return False


def _take_reads_out() -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.take(np.ones(1, np.float32), [0], out=np.zeros(1))
    except TypeError:
        return True
    return False


EIGENVALUES_MAY_BE_REAL: Final = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"
"""Whether `eig` and `eigvals` of a real matrix give real arrays if all eigenvalues are real: before NumPy 2.5."""
TENSORSOLVE_OWNS: Final = bool(np.linalg.tensorsolve(np.ones((1, 1, 1)), np.ones(1)).flags.owndata)
"""Whether the result of `tensorsolve` owns its memory: before NumPy 2.5."""
TAKE_READS_OUT: Final = _take_reads_out()
"""Whether `take` refuses an `out=` whose dtype does not fit that of its result, which it casts; before NumPy 2.5."""
WHERE_CHECKS_PYTHON_NUMBERS: Final = _where_checks_python_numbers()
"""Whether `where` refuses Python integers that do not fit the dtype of its result; before NumPy 2.5 they wrap."""
NEXTAFTER_GIVES_FIRST_OF_EQUAL_F16: Final = not np.signbit(np.nextafter(np.float16(0.0), np.float16(-0.0)))
"""Whether `nextafter` of 0.0 and -0.0 in f16 is the first of them: before NumPy 2.5."""
POWERS_THAT_ARE_ROOTS: Final = frozenset(
    np.dtype(kind)
    for kind in (np.float16, np.float32, np.float64)
    if np.signbit(np.power(np.array([-0.0, 1.0], kind), kind(0.5))[0])
)
"""The dtypes for which `power` is the square root if the exponent is one number, 0.5.

For −inf and −0.0, this differs from the power, which is inf and 0.0.
"""
