"""Traced Python numbers, and the choice between two numbers."""

import operator
from typing import Any, Final

import numpy as np

from ...compiler.arguments.leaves import strongest_type, weak_type
from ...compiler.dtypes import FLOAT64
from ...compiler.numpy_surface.ufuncs.python_exceptions import refuse_no_integer, refuse_unsigned
from ...compiler.symbolic_size import is_one
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_array import array_on, wrap
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.tracing.values_in_call import is_followed
from ...compiler.value_ops import convert, make_complex

PYTHON_KINDS: Final[dict[str, "type[Any]"]] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
"""Python's type of numbers for each kind of dtype."""


def is_unknown(x: Any) -> bool:
    """Whether it is a traced number whose value is not known while tracing."""
    return is_traced(x) and is_one(x.size) and not x._trace.can_be_known(x.value)


def is_open(test: Any) -> bool:
    """Whether the program decides a test. If it follows the current call, it is made for the answer there."""
    return is_unknown(test) and not is_followed(test._trace, test.value)


def is_unknown_place(x: Any) -> bool:
    """Whether the program finds the entry or the key that a traced number says."""
    return is_unknown(x) and not is_followed(x._trace, x.value)


def is_differentiable(x: Any) -> bool:
    """Whether it is a traced number that has a derivative, even if its value is known while tracing."""
    if not (is_traced(x) and is_one(x.size)) or x.dtype.kind not in "fc":
        return False
    return is_unknown(x) or bool(x._trace.depends_on_arguments(x.value))


def is_unknown_integer(x: Any) -> bool:
    """Whether it is a traced integer whose value is not known while tracing."""
    return is_unknown_place(x) and x.dtype.kind in "iu"


def as_place(x: Any) -> Any:
    """A Python bool that chooses an entry as an int; any other index unchanged."""
    return as_python_number(x, int) if is_traced(x) and x.weak is bool else x


def number_of_argument(x: Any) -> "int | None":
    """The value of an integer that number arguments decide; None if arrays decide it. The program is traced again for
    this value."""
    if not is_unknown_integer(x) or not x._trace.numbers_used_by(x.value):
        return None
    return operator.index(x)


def as_python_number(x: Any, kind: "type[Any]") -> Any:
    """A number, which may be traced, as a Python number of this type. An int of NaN, for example, is Python's error."""
    if kind is int and is_traced(x) and x.dtype.kind == "f":
        refuse_no_integer(np.reshape(x, ()))
    if kind is int and is_traced(x) and x.dtype == np.uint64:
        refuse_unsigned(np.reshape(x, ()))
    found: Any = np.reshape(x, ()).astype(np.dtype(kind))
    if not is_traced(found):
        return kind(found)
    return array_on(found._storage, found.type, found._views, is_scalar=True, weak=kind)


def as_float(x: Any) -> Any:
    """A real traced number as a Python float; anything else unchanged."""
    return as_python_number(x, float) if is_traced(x) and is_one(x.size) and x.dtype.kind != "c" else x


def complex_of(re: Any, im: Any) -> Any:
    """``complex(re, im)`` of real numbers. In ``re + im * 1j``, an infinity would make the other part NaN."""
    parts = [as_value(as_float(x), FLOAT64) for x in (re, im)]
    return as_python_number(wrap(make_complex(*[convert(one, FLOAT64) for one in parts])), complex)


def selected(test: Any, x: Any, y: Any) -> Any:
    """``x if test else y`` for numbers."""
    found = np.where(test, x, y)[()]
    weak = [weak_type(x), weak_type(y)]
    if None in weak:
        return found
    return as_python_number(found, strongest_type(weak))
