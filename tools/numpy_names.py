"""Which of NumPy's overridable functions can be traced, and why the others cannot."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

from ..compiler.tracing.registry import REFUSED

_ALSO = {"numpy.char", "numpy.polynomial.polynomial", "numpy.strings"}
"""NumPy loads these lazily: they contain text functions, and other names for the same functions."""
_WIDTH = 110


@dataclass(frozen=True, slots=True)
class NumpyName:
    """A NumPy function, or one of its ufuncs."""

    name: str
    kind: str
    """``"function"`` or ``"ufunc"``."""
    refused: str | None
    """Why it cannot be traced; None if it can."""


def numpy_names() -> list[NumpyName]:
    """All of them in this version of NumPy, by name."""
    functions = {
        f"{function.__module__}.{function.__name__}"
        for function in get_overridable_numpy_array_functions()
        if function.__module__ not in _ALSO
    }
    ufuncs = {
        ufunc.__name__ for ufunc in get_overridable_numpy_ufuncs() if not ufunc.__name__.startswith("_")
    }
    found = [NumpyName(name, "function", REFUSED.get(name.rpartition(".")[2])) for name in functions]
    found += [NumpyName(f"numpy.{name}", "ufunc", REFUSED.get(name)) for name in ufuncs]
    return sorted(found, key=lambda each: (each.kind, each.name))


def render_names(names: Sequence[NumpyName]) -> str:
    """How many can be traced, and the others by their reasons."""
    lines = ["-- NumPy's names"]
    for kind in ("function", "ufunc"):
        ours = [each for each in names if each.kind == kind]
        traced = sum(each.refused is None for each in ours)
        lines.append(f"{kind}s  {traced} of {len(ours)} can be traced")
    for reason in dict.fromkeys(each.refused for each in names if each.refused):
        lines.append(f"not, since {reason}:")
        refused_names = ", ".join(
            each.name.removeprefix("numpy.") for each in names if each.refused == reason
        )
        lines += wrap(refused_names, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"
