"""What to write instead of a line that needs a size as a number, or compares two sizes."""

import re
from typing import Final

_INSTEAD: Final = (
    (r"\brange\(|\bfor\b", "loop with tm.fori_loop(0, n, …) or tm.scan instead of Python's for"),
    (
        r"(?<!\.)\b(sqrt|log|log2|log10)\(",
        "write np.sqrt(n), math.sqrt(n) or n ** 0.5: a name imported from math is Python's",
    ),
    (
        r"\bint\((np|math)\.(ceil|floor)\(",
        "write math.ceil(n / 2) or -(-n // 2) instead of int(np.ceil(n / 2))",
    ),
    (
        r"\bmath\.\w+\(",
        "write a function of NumPy's instead of one of math: np.exp(n) instead of math.exp(n)",
    ),
    (r"\bfloat\w*\(", "write n * 1.0 instead of float(n)"),
    (r"\bint\(", "write n instead of int(n), and n // 2 instead of int(n / 2)"),
)


def instead_of(line: str) -> str:
    """What to do about a line of the user's, by what it contains.

    >>> instead_of("h = x[: int(n / 2)]")
    'write n instead of int(n), and n // 2 instead of int(n / 2)'
    """
    found = [advice for pattern, advice in _INSTEAD if re.search(pattern, line)]
    return found[0] if found else "compute with x.shape itself, without int() or range() of it"


def without_asking(line: str) -> str:
    """What to do about a line of the user's that compares sizes."""
    if re.search(r"(?<!\.)\b(min|max)\(", line):
        return "write np.minimum(n, 8) instead of min(n, 8), and np.maximum instead of max"
    return "avoid this, or accept it"
