"""Options of functions that are not arrays: numbers, whole numbers and flags, which an error calls by their name."""

import operator
from collections.abc import Collection
from typing import Any, TypeGuard, cast

import numpy as np

from ..callers.user_code import user_location
from ..errors import ArgumentTypeError, ArgumentValueError, ConcretizationError
from ..nesting import shown
from ..symbolic_size import SymbolicSize


def number(name: str, given: Any) -> float:
    """A real number that is known, also while tracing."""
    if isinstance(given, (str, bytes)):
        raise _wrong(name, "a number", given)
    try:
        return float(given)
    except ConcretizationError as error:
        raise _unknown(name, error.numbers) from None
    except (TypeError, ValueError, OverflowError):
        raise _wrong(name, "a number", given) from None


def integer(name: str, given: Any, wanted: str = "an integer") -> int:
    """An integer that is known, also while tracing."""
    try:
        found = operator.index(given)
    except ConcretizationError as error:
        raise _unknown(name, error.numbers) from None
    except TypeError:
        raise _wrong(name, wanted, given) from None
    if not -(2**63) <= found < 2**63:
        raise ArgumentValueError(f"{name} must fit into 64 bits, but is {shown(found)}", user_location())
    return found


def c_long(given: Any) -> Any:
    """An axis or an offset as it is; NumPy's error for an int that C code does not take."""
    if isinstance(given, int) and not -(2**63) <= given < 2**63:
        raise OverflowError("Python int too large to convert to C long")
    return given


def size(name: str, given: Any, wanted: str = "an integer") -> int:
    """A length or a count: an integer as `integer` has it, or a symbolic size."""
    return cast("int", given) if isinstance(given, SymbolicSize) else integer(name, given, wanted)


def flag(name: str, given: Any) -> bool:
    """True or False, or 1 or 0."""
    if not isinstance(given, (bool, np.bool_)) and not (isinstance(given, int) and given in (0, 1)):
        raise _wrong(name, "True or False", given)
    return bool(given)


def is_int(given: Any, least: int | None = None) -> TypeGuard[int]:
    """Whether this is an int of Python or NumPy, and no bool; from `least` on, if that is given."""
    found = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    return found and (least is None or bool(given >= least))


def is_choice(given: Any, choices: Collection[str]) -> bool:
    """Whether a name is one of the choices. Anything else, hashable or not, is not."""
    return isinstance(given, str) and given in choices


def _unknown(name: str, numbers: frozenset[int]) -> ConcretizationError:
    error = ConcretizationError(
        f"{name} must be known while tracing, but is computed from what is traced: give it a Python number, or make "
        "the argument that it comes from static",
        user_location(),
    )
    error.numbers = numbers
    return error


def _wrong(name: str, wanted: str, given: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{name} must be {wanted}, not {type(given).__name__}: {shown(given)}", user_location()
    )
