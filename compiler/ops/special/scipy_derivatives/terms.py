"""`Term`: a value in a formula, so that long formulas of derivatives read as they are printed in the literature."""

from typing import Any, TypeAlias

import numpy as np

from ....builder import bind_all
from ....dtypes import FLOAT64, DType
from ....ir import Value
from ....value_ops import constant, convert
from ....value_ops import elementwise as call

Number: TypeAlias = "Term | complex"


def ufunc_named(name: str) -> Any:
    """The ufunc of `scipy.special`; None if it has none of that name. Private ones are those behind its functions."""
    from scipy import special

    found = getattr(special._ufuncs, name, None)
    return found if isinstance(found, np.ufunc) else None


class Term:
    """A value with Python's operators. An integer beside a floating-point number takes its dtype."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def in_dtype(self, dtype: DType) -> Value:
        return convert(self.value, dtype)

    def __add__(self, other: Number) -> "Term":
        return _joined("add", self, other)

    def __radd__(self, other: Number) -> "Term":
        return _joined("add", other, self)

    def __sub__(self, other: Number) -> "Term":
        return _joined("subtract", self, other)

    def __rsub__(self, other: Number) -> "Term":
        return _joined("subtract", other, self)

    def __mul__(self, other: Number) -> "Term":
        return _joined("multiply", self, other)

    def __rmul__(self, other: Number) -> "Term":
        return _joined("multiply", other, self)

    def __truediv__(self, other: Number) -> "Term":
        return _joined("divide", self._floating(), other)

    def __rtruediv__(self, other: Number) -> "Term":
        return _joined("divide", other, self._floating())

    def __pow__(self, other: Number) -> "Term":
        return _joined("power", self._floating(), other)

    def __neg__(self) -> "Term":
        return Term(call("negative", self.value))

    def __lt__(self, other: Number) -> "Term":
        return _joined("less", self, other)

    def __le__(self, other: Number) -> "Term":
        return _joined("less_equal", self, other)

    def __gt__(self, other: Number) -> "Term":
        return _joined("greater", self, other)

    def is_equal(self, other: Number) -> "Term":
        return _joined("equal", self, other)

    def _floating(self) -> "Term":
        return self if self.value.dtype.kind in "fc" else Term(convert(self.value, FLOAT64))


def _as_values(*operands: Number) -> list[Value]:
    """The operands in the dtype to which NumPy promotes them, where Python numbers are weak; integers are f64 beside
    f32 only if that is their loop."""
    terms = [x for x in operands if isinstance(x, Term)]
    dtypes = [x.value.dtype for x in terms]
    floating = [dtype for dtype in dtypes if dtype.kind in "fc"] or dtypes
    weak = [x for x in operands if not isinstance(x, Term)]
    dtype = np.result_type(*floating, *weak)
    return [convert(x.value, dtype) if isinstance(x, Term) else constant(x, dtype) for x in operands]


def _joined(op: str, x: Number, y: Number) -> Term:
    return Term(call(op, *_as_values(x, y)))


def apply(op: str, *operands: Number) -> Term:
    """Any elementwise op of numbers in one dtype."""
    return Term(call(op, *_as_values(*operands)))


def exp(x: Term) -> Term:
    return apply("exp", x)


def log(x: Term) -> Term:
    return apply("log", x)


def sqrt(x: Term) -> Term:
    return apply("sqrt", x)


def sin(x: Term) -> Term:
    return apply("sin", x)


def cos(x: Term) -> Term:
    return apply("cos", x)


def where(condition: Term, x: Number, y: Number) -> Term:
    values = _as_values(x, y)
    return Term(call("where", condition.value, *values))


def special(name: str, *operands: Number) -> Term:
    """A ufunc of `scipy.special` with one result."""
    return special_results(name, *operands)[0]


def special_results(name: str, *operands: Number) -> tuple[Term, ...]:
    """All results of a ufunc of `scipy.special`. Numbers take the dtype that SciPy gives them beside the others."""
    ufunc = ufunc_named(name)
    given = tuple(x.value.dtype if isinstance(x, Term) else type(x) for x in operands)
    dtypes = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))
    values = [
        convert(x.value, dtype) if isinstance(x, Term) else constant(x, dtype)
        for x, dtype in zip(operands, dtypes, strict=False)
    ]
    return tuple(map(Term, bind_all("scipy_special", *values, name=name)))
