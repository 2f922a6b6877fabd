"""`Dim`: a named size, or an expression of sizes, which computes like an int; and `Comparison`s of them."""

import operator
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from keyword import iskeyword
from math import ceil, floor, isfinite, log2
from numbers import Integral
from types import CodeType, FrameType
from typing import Any, ClassVar, Literal, Protocol, SupportsIndex, TypeAlias, TypeGuard
from weakref import WeakValueDictionary

import numpy as np

from ..callers.user_code import asked_by_traced_code
from ..dtypes import dtype_names
from ..errors import DimSpecError
from ..locks import reentrant_lock
from ..message_values import MESSAGE_VALUES, MISSING, is_drafted
from ..nesting import shown
from ..symbolic_size import SymbolicFact, SymbolicSize
from . import division
from .bounds import own_lower_bound
from .spelling import spelled, spelled_comparison, spelled_facts
from .terms import (
    Monomial,
    Size,
    Terms,
    add,
    atom,
    constant_of,
    constant_part,
    content,
    evaluated,
    multiply,
    nesting,
    number,
    scale,
    sizes_in,
)

LONGEST_NAME = 64
RESERVED = {*dtype_names(), "callable", "inf", "max", "min", "nan"}
"""Words with a meaning in expressions, or in the text of graphs."""
LARGEST_SIZE = 2**48 - 1
CACHED = 1 << 14
MOST_POWER = 8
MOST_BITS = 64

Relation = Literal["==", "!=", ">="]
Sign = Literal["==", "!=", "<", "<=", ">", ">="]
IsForUser = Callable[[CodeType], bool]
"""Distinguishes the user's code from Tracemill's."""


class Answers(Protocol):
    """What Python gets when it needs a plain bool or int."""

    is_for_user: IsForUser

    def answer(self, comparison: "Comparison") -> bool: ...

    def decide(self, comparison: "Comparison") -> bool | None: ...

    def assume(self, comparison: "Comparison") -> bool: ...

    def whole(self, dim: "Dim", because: str = "") -> int: ...

    def typical(self, dim: "Dim") -> int: ...

    def is_shown(self, dim: "Dim") -> bool: ...

    def is_left_to_program(self, comparison: "Comparison") -> bool: ...

    def adding(self, *facts: "Comparison | bool") -> "Answers": ...


ANSWERS: ContextVar[Answers | None] = ContextVar("ANSWERS", default=None)
"""Answers in this context; if it is None, only what is known about the sizes by themselves does."""


@contextmanager
def answering(answers: Answers) -> Generator[None]:
    """Within the block, and only in this context, `answers` decides comparisons."""
    token = ANSWERS.set(answers)
    try:
        yield
    finally:
        ANSWERS.reset(token)


_interned: WeakValueDictionary[Terms, "Dim"] = WeakValueDictionary()
_lock = reentrant_lock()


class Dim(SymbolicSize):
    """A named size of arrays, between `min` and `max`, both included, and a multiple of `multiple_of`.

    It computes like an int, with ``+ - * // %``, `Dim.minimum` and `Dim.maximum`. Expressions are simplified: equal
    ones are the same object, and a constant expression is an int. A comparison is a constraint. If Python needs its
    truth value, it is decided for all sizes, or raises.

    >>> import math, tracemill as tm
    >>> B, K = tm.Dim("B", min=1, max=4096, multiple_of=16), tm.Dim("K")
    >>> 1 + K + K, (4 * B) // 2, B % 8, math.prod((B, 3, K)) // 4
    (2*K + 1, 2*B, 0, 3*(B // 4)*K)
    >>> B > 0, bool(B > 0)
    (B >= 16, True)

    Raises:
        DimSpecError: the name is not an identifier, or the limits hold for no size.
        UndecidedDimError: Python needs the truth of a comparison that holds for some sizes only, or an int.
    """

    __slots__ = ("__weakref__", "terms")

    terms: Terms
    answers: ClassVar[Answers]
    """Answers if no others are set."""

    def __new__(cls, name: str, *, min: int = 0, max: int | None = None, multiple_of: int = 1) -> "Dim":
        return named_size(name, min, max, multiple_of)

    @staticmethod
    def minimum(*sizes: "Extent") -> "Extent":
        """The smallest of several; Python's ``min`` would need to know which: ``Dim.minimum(N, 5)``."""
        return _extreme("min", sizes)

    @staticmethod
    def maximum(*sizes: "Extent") -> "Extent":
        """The largest of several; Python's ``max`` would need to know which: ``Dim.maximum(N, 5)``."""
        return _extreme("max", sizes)

    @staticmethod
    def quotient(left: "Extent", right: "Extent") -> "Extent":
        """``left // right``, without checking whether `right` is 0."""
        return quotient(left, right)

    @staticmethod
    def remainder(left: "Extent", right: "Extent") -> "Extent":
        """``left % right``, without checking whether `right` is 0."""
        return remainder(left, right)

    @property
    def sizes(self) -> "tuple[Dim, ...]":
        """The named sizes from which it is computed, in the order of their names."""
        found = sorted(set(sizes_in(self.terms)), key=lambda size: size.text)
        return tuple(of_size(size) for size in found)

    @property
    def size(self) -> Size | None:
        """The named size that it is, or None for an expression."""
        (monomial, count), *others = self.terms
        found = monomial[0] if len(monomial) == 1 and not others else None
        return found if isinstance(found, Size) and count == found.multiple_of else None

    def at(self, sizes: Mapping[str, int]) -> int:
        return evaluated(self.terms, sizes)

    def where(self, size: SymbolicSize, value: "Extent") -> "Extent":
        named = size.size if isinstance(size, Dim) else None
        assert named is not None
        given = value.terms if isinstance(value, Dim) else number(value // named.multiple_of)
        return of_terms(division.replaced(self.terms, {named: given}))

    @property
    def is_shown(self) -> bool:
        return (ANSWERS.get() or Dim.answers).is_shown(self)

    def called(self, name: str) -> "Dim":
        return Dim(name)

    @property
    def typical(self) -> int:
        return (ANSWERS.get() or Dim.answers).typical(self)

    def spelled(self, names: Mapping[str, str]) -> str:
        return spelled(self.terms, names)

    @property
    def may_overflow(self) -> bool:
        """Products of different sizes usually count the elements of an array. A third power of one size does not."""
        return any(abs(count) >= 2**31 or _most_often(monomial) > 2 for monomial, count in self.terms)

    @property
    def nesting(self) -> int:
        return nesting(self.terms)

    @property
    def bounds(self) -> tuple[float, float]:
        return own_lower_bound(self.terms), -own_lower_bound(scale(self.terms, -1))

    @property
    def limits(self) -> dict[str, list[str]]:
        return {size.text: spelled_facts(size) for size in sizes_in(self.terms)}

    # ---- arithmetic --------------------------------------------------------------------------------

    def __add__(self, other: object) -> Any:
        return _computed(_sum, self, other)

    def __radd__(self, other: object) -> Any:
        return _computed(_sum, self, other)

    def __sub__(self, other: object) -> Any:
        return _computed(_difference, self, other)

    def __rsub__(self, other: object) -> Any:
        return _computed(_difference, self, other, swapped=True)

    def __mul__(self, other: object) -> Any:
        return _computed(_product, self, other)

    def __rmul__(self, other: object) -> Any:
        return _computed(_product, self, other)

    def __floordiv__(self, other: object) -> Any:
        return _computed(quotient, self, other, divides=True)

    def __rfloordiv__(self, other: object) -> Any:
        return _computed(quotient, self, other, divides=True, swapped=True)

    def __mod__(self, other: object) -> Any:
        return _computed(remainder, self, other, divides=True)

    def __rmod__(self, other: object) -> Any:
        return _computed(remainder, self, other, divides=True, swapped=True)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __pow__(self, power: object, modulus: object = None) -> Any:
        if modulus is not None:
            return self**power % modulus
        if isinstance(power, Dim) or (type(power) is int and power > MOST_POWER):
            self.as_number()  # an error outside traced functions
            return operator.index(self) ** operator.index(power)
        if isinstance(power, int) and power < 0:
            return (self * 1.0) ** power  # a float, as for an int
        if not isinstance(power, int):
            return _with_number(operator.pow, self, power)
        result: Dim | int = 1
        for _ in range(power):
            result = result * self
        return result

    def __rpow__(self, base: object) -> Any:
        power = _with_number(operator.pow, self, base, swapped=True)
        if type(base) is int and abs(base) > 1 and not (self >= 0 and self <= int(62.9 / log2(abs(base)))):
            return base ** operator.index(self)  # a value that does not fit into 64 bits, or a fraction
        return power

    def __truediv__(self, other: object) -> Any:
        return _with_number(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _with_number(operator.truediv, self, other, swapped=True)

    def __lshift__(self, bits: object) -> Any:
        return self * 2**bits if _is_shift(bits) else _of_bits(operator.lshift, self, bits)

    def __rlshift__(self, number: object) -> Any:
        return _of_bits(operator.lshift, number, self)

    def __rshift__(self, bits: object) -> Any:
        return self // 2**bits if _is_shift(bits) else _of_bits(operator.rshift, self, bits)

    def __rrshift__(self, number: object) -> Any:
        return _of_bits(operator.rshift, number, self)

    def __and__(self, mask: object) -> Any:
        if type(mask) is int and mask >= 0 and not mask & (mask + 1):
            return self % (mask + 1)
        if type(mask) is int and mask < 0 and not -mask & (-mask - 1):
            return self - self % -mask
        return _of_bits(operator.and_, self, mask)

    __rand__ = __and__

    def __or__(self, mask: object) -> Any:
        if type(mask) is int and mask > 0 and not mask & (mask - 1):
            return self + mask * (1 - self // mask % 2)
        return _of_bits(operator.or_, self, mask)

    __ror__ = __or__

    def __xor__(self, mask: object) -> Any:
        if type(mask) is int and mask > 0 and not mask & (mask - 1):
            return self + mask * (1 - self // mask % 2 * 2)
        return _of_bits(operator.xor, self, mask)

    __rxor__ = __xor__

    def __invert__(self) -> "Dim":
        return -self - 1  # type: ignore[no-any-return]

    def bit_length(self) -> int:
        """As for an int; the program is then for all sizes of that length."""
        size, bits = abs(self), 0
        while size >= 2**bits:
            bits += 1
        return bits

    def bit_count(self) -> int:
        """As for an int; the program is then for this value."""
        return operator.index(self).bit_count()

    def to_bytes(self, *args: Any, **kwargs: Any) -> bytes:
        """As for an int; the program is then for this value."""
        return operator.index(self).to_bytes(*args, **kwargs)

    def __neg__(self) -> "Dim":
        return self * -1  # type: ignore[no-any-return]

    def __pos__(self) -> "Dim":
        return self

    def __abs__(self) -> "Dim":
        return self if self >= 0 else -self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __round__(self, ndigits: int | None = None) -> Any:
        return self if ndigits is None or ndigits >= 0 else round(operator.index(self), ndigits)

    # ---- what an int has as a number among others ----------------------------------------------------

    @property
    def real(self) -> "Dim":
        return self

    @property
    def imag(self) -> int:
        return 0

    @property
    def numerator(self) -> "Dim":
        return self

    @property
    def denominator(self) -> int:
        return 1

    def conjugate(self) -> "Dim":
        return self

    def as_integer_ratio(self) -> "tuple[Dim, int]":
        return self, 1

    if sys.version_info >= (3, 12):

        def is_integer(self) -> bool:
            return True

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """An int for user code that asks ``isinstance(n, int)``, and a dim for Tracemill's own code."""
        return int if _is_traced(sys._getframe(1).f_code) else Dim

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy functions of sizes: a size if ints give one, otherwise the same as for numbers in a program.

        In traced user code, the results are NumPy scalars, whose dtype affects what they are combined with, even if
        ints would give ints. They become sizes again where a length is needed.
        """
        compute = _UFUNCS.get(ufunc.__name__)
        if compute is not None and method == "__call__" and not kwargs:
            kinds = (Dim, int, float) if compute in _COMPARISONS else (Dim, int)
            scalars, code = [_as_pythons(x) for x in inputs], sys._getframe(1).f_code
            if all(isinstance(x, kinds) for x in scalars) and (
                compute in _COMPARISONS or not _is_traced(code)
            ):
                return _as_users(compute(*scalars), code)
        numbers = [x.as_number() if isinstance(x, Dim) else x for x in inputs]
        return getattr(ufunc, method)(*numbers, **kwargs)

    # ---- comparisons -------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        return True if self is other else _compared_with("==", self, other)

    def __ne__(self, other: object) -> Any:
        return False if self is other else _compared_with("!=", self, other)

    def __lt__(self, other: object) -> Any:
        return _compared_with("<", self, other)

    def __le__(self, other: object) -> Any:
        return _compared_with("<=", self, other)

    def __gt__(self, other: object) -> Any:
        return _compared_with(">", self, other)

    def __ge__(self, other: object) -> Any:
        return _compared_with(">=", self, other)

    def __hash__(self) -> int:
        """By identity, for Tracemill's own code: a hash lookup compares with ``==``, which would need an answer.

        In user code, ``n in {2, 4}`` must find what the number would find: the program is then for that size.
        """
        if _is_traced(sys._getframe(1).f_code):
            return hash(self.whole())
        return object.__hash__(self)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        return self.whole()

    def whole(self, because: str = "") -> int:
        return (ANSWERS.get() or Dim.answers).whole(self, because)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    # ---- text, copies ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._text("!r", "", sys._getframe(1))

    def __str__(self) -> str:
        return self._text("!s", "", sys._getframe(1))

    def __format__(self, spec: str) -> str:
        return self._text(f":{spec}", spec, sys._getframe(1))

    def _text(self, form: str, spec: str, asker: FrameType) -> str:
        """The expression for Tracemill's own code. For user code it is that of the number, as the text may be used as
        a name; in a message, it is a mark that the program fills in."""
        if not asked_by_traced_code(asker):
            return format(spelled(self.terms), spec)
        message_values = MESSAGE_VALUES.get()
        if message_values is not None:
            return message_values.mark(self.as_number(), form)
        if is_drafted():
            return MISSING
        return format(self.whole(), spec)

    def __reduce__(self) -> "tuple[Callable[[Terms], Extent], tuple[Terms]]":
        return of_terms, (self.terms,)


Integral.register(Dim)  # so that `np.isscalar(n)` is true, as for ints
Extent: TypeAlias = Dim | int


class Comparison(SymbolicFact):
    """``terms == 0``, ``!= 0`` or ``>= 0`` in a canonical form; true or false where Python needs it.

    >>> import tracemill as tm
    >>> N, M = tm.Dim("N"), tm.Dim("M")
    >>> N == 3 * M, 2 * N < 9, N + 1 > M
    (N == 3*M, N <= 4, M <= N)
    """

    __slots__ = ("_hash", "relation", "terms")

    def __init__(self, terms: Terms, relation: Relation) -> None:
        self.terms = terms
        self.relation: Relation = relation
        self._hash = hash((terms, relation))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Comparison) and self.relation == other.relation and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return (ANSWERS.get() or Dim.answers).answer(self)

    def __repr__(self) -> str:
        return spelled_comparison(self.terms, self.relation)

    @property
    def is_known(self) -> bool:
        return (ANSWERS.get() or Dim.answers).decide(self) is True

    def as_traced(self) -> Any:
        """What the program finds, as a traced bool."""
        size: Any = of_terms(self.terms)
        return {"==": operator.eq, "!=": operator.ne, ">=": operator.ge}[self.relation](size.as_number(), 0)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds for these values of the named sizes. `KeyError` names a missing one."""
        value = evaluated(self.terms, sizes)
        return {"==": value == 0, "!=": value != 0, ">=": value >= 0}[self.relation]

    def assume(self) -> bool:
        return (ANSWERS.get() or Dim.answers).assume(self)

    def assumed(self, *others: Any) -> AbstractContextManager[None]:
        return answering((ANSWERS.get() or Dim.answers).adding(self, *others))

    @property
    def negated(self) -> "Comparison":
        """What holds where this does not."""
        if self.relation == ">=":
            return Comparison(add(number(-1), self.terms, -1), ">=")
        return Comparison(self.terms, "!=" if self.relation == "==" else "==")


# ---- construction ------------------------------------------------------------------------------------


def named_size(name: Any, min: int = 0, max: int | None = None, multiple_of: int = 1) -> Dim:
    """`Dim`, with its checks."""
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or len(name) > LONGEST_NAME:
        raise DimSpecError(f"the name of a dim must be a short identifier such as 'B', not {shown(name, 80)}")
    if iskeyword(name) or name in RESERVED:
        raise DimSpecError(f"the name of a dim cannot be {name!r}, which is reserved in expressions of dims")
    limits = {"min": min, "max": LARGEST_SIZE if max is None else max, "multiple_of": multiple_of}
    for what, limit in limits.items():
        if type(limit) is not int or not 0 <= limit <= LARGEST_SIZE:
            raise DimSpecError(f"dim {name}: {what} is an int from 0 to 2**48 − 1, not {shown(limit)}")
    if multiple_of < 1:
        raise DimSpecError(f"dim {name}: multiple_of is 1 or more, not {multiple_of}")
    if -(-min // multiple_of) > limits["max"] // multiple_of:
        multiple = f" that is a multiple of {multiple_of}" if multiple_of > 1 else ""
        raise DimSpecError(f"dim {name}: there is no size from {min} to {limits['max']}{multiple}")
    return of_size(Size(name, min, max, multiple_of))


def of_size(size: Size) -> Dim:
    """The dim that is this size."""
    found = of_terms(scale(atom(size), size.multiple_of))
    assert isinstance(found, Dim)
    return found


def of_terms(terms: Terms) -> Extent:
    """The dim with this canonical form, always the same object; an int for a number."""
    constant = constant_of(terms)
    if constant is not None:
        return constant
    with _lock:
        found = _interned.get(terms)
        if found is None:
            made = object.__new__(Dim)
            made.terms = terms
            found = _interned.setdefault(terms, made)
    return found


def terms_of(extent: Extent) -> Terms:
    """The canonical form of a dim or an int."""
    return extent.terms if isinstance(extent, Dim) else number(extent)


# ---- arithmetic and comparisons, remembered ------------------------------------------------------------

Binary: TypeAlias = Callable[[Extent, Extent], Extent]


def _as_pythons(x: Any) -> Any:
    """A NumPy number as a Python number. If NumPy compares its own, it passes them as arrays."""
    return x.item() if isinstance(x, np.generic) or (type(x) is np.ndarray and not x.shape) else x


def _operand(other: object) -> Extent | None:
    """A dim or an int; None for anything else, including arrays and floats."""
    if type(other) is int or type(other) is Dim:
        return other
    return int(other) if isinstance(other, (int, np.integer)) else None


def _computed(
    binary: Binary, dim: Dim, given: object, *, divides: bool = False, swapped: bool = False
) -> Any:
    other = _operand(given)
    if other is None or (isinstance(given, np.integer) and _is_traced(sys._getframe(2).f_code)):
        return _with_number(_PYTHONS[binary], dim, given, swapped=swapped)
    left, right = (other, dim) if swapped else (dim, other)
    if divides and right == 0:
        raise ZeroDivisionError(f"{left} is divided by {right}, which is 0")
    return binary(left, right)


def _is_traced(code: CodeType) -> bool:
    """Whether the caller is user code, in a traced function."""
    answers = ANSWERS.get()
    return answers is not None and answers.is_for_user(code)


def _is_shift(bits: object) -> TypeGuard[int]:
    """Whether shifting by them is multiplication or division by a number of reasonable size."""
    return type(bits) is int and 0 <= bits < MOST_BITS


def _of_bits(compute: Callable[[int, int], int], left: object, right: object) -> Any:
    """Operations that depend on the bits of numbers; the program is then for these values."""
    if isinstance(left, SupportsIndex) and isinstance(right, SupportsIndex):
        return compute(operator.index(left), operator.index(right))
    return NotImplemented


def _with_number(
    compute: Callable[[Any, Any], Any], dim: Dim, other: object, *, swapped: bool = False
) -> Any:
    """Arithmetic with non-ints, or with non-integer results: with numbers in a program."""
    if isinstance(other, Dim):
        other = other.as_number()
    elif not isinstance(other, (int, float, complex, np.generic)):
        return NotImplemented
    return compute(other, dim.as_number()) if swapped else compute(dim.as_number(), other)


@lru_cache(CACHED)
def _sum(left: Extent, right: Extent) -> Extent:
    return of_terms(add(terms_of(left), terms_of(right)))


@lru_cache(CACHED)
def _difference(left: Extent, right: Extent) -> Extent:
    return of_terms(add(terms_of(left), terms_of(right), -1))


@lru_cache(CACHED)
def _product(left: Extent, right: Extent) -> Extent:
    return of_terms(multiply(terms_of(left), terms_of(right)))


@lru_cache(CACHED)
def quotient(left: Extent, right: Extent) -> Extent:
    """``left // right``, without checking whether `right` is 0."""
    return of_terms(division.floor_divide(terms_of(left), terms_of(right)))


@lru_cache(CACHED)
def remainder(left: Extent, right: Extent) -> Extent:
    """``left % right``, without checking whether `right` is 0."""
    return of_terms(division.remainder(terms_of(left), terms_of(right)))


_PYTHONS: Mapping[Binary, Callable[[Any, Any], Any]] = {
    _sum: operator.add,
    _difference: operator.sub,
    _product: operator.mul,
    quotient: operator.floordiv,
    remainder: operator.mod,
}

_COMPARISONS = frozenset({operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge})

_UFUNCS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": abs,
    "maximum": Dim.maximum,
    "minimum": Dim.minimum,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def _most_often(monomial: Monomial) -> int:
    """The number of times that the most frequent size occurs in a product."""
    counts = Counter(size for found in monomial for size in set(sizes_in(atom(found))))
    return max(counts.values(), default=0)


def _extreme(op: Literal["min", "max"], sizes: Iterable[Extent]) -> Extent:
    found = [_operand(size) for size in sizes]
    known = [size for size in found if size is not None]
    if not known or len(known) < len(found):
        raise TypeError(f"{op}imum takes dims and ints")
    return of_terms(division.extreme(op, map(terms_of, known)))


def _compared_with(sign: Sign, dim: Dim, given: object) -> Any:
    if isinstance(given, (float, np.floating)) and isfinite(given):
        return _as_users(_compared_with_float(sign, dim, float(given)), sys._getframe(2).f_code)
    other = _operand(given)
    return NotImplemented if other is None else _as_users(compared(sign, dim, other), sys._getframe(2).f_code)


def _as_users(found: Any, code: CodeType) -> Any:
    """The truth value of a comparison as a bool, for traced user code, which may add it or look it up."""
    if not isinstance(found, Comparison) or not _is_traced(code):
        return found
    return found.as_traced() if (ANSWERS.get() or Dim.answers).is_left_to_program(found) else bool(found)


def _compared_with_float(sign: Sign, dim: Dim, given: float) -> bool | Comparison:
    """By the nearest integer on the relevant side."""
    if sign in ("==", "!=") and not given.is_integer():
        return sign == "!="
    return compared(sign, dim, floor(given) if sign in (">", "<=") else ceil(given))


@lru_cache(CACHED)
def compared(sign: Sign, left: Extent, right: Extent) -> bool | Comparison:
    """A comparison in its canonical form; a bool if it holds for all sizes whatever their limits, or for none."""
    if sign in ("<", "<="):
        left, right = right, left
    difference = add(terms_of(left), terms_of(right), -1)
    if sign in ("<", ">"):
        difference = add(difference, number(-1))
    return comparison_of(difference, sign if sign in ("==", "!=") else ">=")


def comparison_of(terms: Terms, relation: Relation) -> bool | Comparison:
    """``terms relation 0`` with coefficients that have no common divisor."""
    constant = constant_of(terms)
    if constant is not None:
        return {"==": constant == 0, "!=": constant != 0, ">=": constant >= 0}[relation]
    common = content(terms)
    if relation == ">=" and (divided := division.bounded_quotient(terms)) is not None:
        return comparison_of(divided, relation)
    if relation != ">=":
        if constant_part(terms) % common:
            return relation == "!="
        common = common if terms[0][1] > 0 else -common
    parts = ((monomial, count // common) for monomial, count in terms)
    divided_by_all = tuple((monomial, count) for monomial, count in parts if count)
    if relation == ">=" and common > 1:
        return comparison_of(divided_by_all, relation)
    return Comparison(divided_by_all, relation)
