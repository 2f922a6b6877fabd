"""`Labelled`: what a Series and a DataFrame in a function that is traced have in common."""

import operator
from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, Final

import numpy as np

from ..callers.user_code import user_location
from ..errors import ArgumentTypeError, ArgumentValueError, ShapeError, UnsupportedAttributeError
from .classes import as_labelled, is_labelled
from .labels import KnownLabels, Labels, are_same, note_asked
from .operators import COMPARISONS, METHODS, OPERATORS, as_python_number
from .reductions import REDUCTIONS


class Labelled:
    """Arrays, and a form, which holds the labels: hashable, and part of the structure of a pytree.

    Operators and methods do what pandas' do. Where pandas would align two objects because their labels differ, they
    raise an error. Objects do not change.
    """

    __slots__ = ("arrays", "form")
    __hash__ = None  # type: ignore[assignment]  # as the classes of pandas
    __array_priority__ = 10_000.0
    __pandas_priority__ = 10_000

    kind: ClassVar[str]
    """The class of pandas."""

    def __init__(self, arrays: tuple[Any, ...], form: Any) -> None:
        self.arrays = arrays
        self.form = form

    # ---- to override -------------------------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """All elements as one array."""
        raise NotImplementedError

    def combined(
        self, function: Callable[[Any, Any], Any], other: Any, *, is_first: bool = True, by_rows: bool = False
    ) -> Any:
        """``function(self, other)``, element by element, or with the operands in the other order.

        A Series has a value for each column of a DataFrame, or, with `by_rows`, for each row.
        """
        raise NotImplementedError

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """The same labels with a function of the elements."""
        raise NotImplementedError

    def product(self, other: Any, *, is_first: bool) -> Any:
        """``self @ other``, or ``other @ self``."""
        raise NotImplementedError

    def reduced(self, name: str, axis: Any, skipna: bool, ddof: int) -> Any:
        """A reduction of `REDUCTIONS`."""
        raise NotImplementedError

    def accumulated(self, name: str, axis: Any, skipna: bool) -> Any:
        """A function of `CUMULATIVE`, along the rows."""
        raise NotImplementedError

    # ---- as arrays ---------------------------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        return self.values.shape

    @property
    def size(self) -> Any:
        return self.values.size

    @property
    def ndim(self) -> int:
        return int(self.values.ndim)

    def __len__(self) -> int:
        return len(self.arrays[0])

    def to_numpy(self, dtype: Any = None, copy: bool = False) -> Any:
        """All elements as one array."""
        found = self.values if dtype is None else self.values.astype(dtype)
        return found.copy() if copy else found

    def __traced_elements__(self) -> Any:
        """What ``np.asarray`` and functions like it take."""
        return self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if (
            method != "__call__"
            or "out" in kwargs
            or (ufunc.signature is not None and ufunc is not np.matmul)
        ):
            inputs = tuple(map(as_array, inputs))
            kwargs = {name: as_array(x) for name, x in kwargs.items()}
            return getattr(ufunc, method)(*inputs, **kwargs)
        if ufunc is np.matmul:
            one, other = map(as_operand, inputs)
            found = one.product(other, is_first=True) if isinstance(one, Labelled) else NotImplemented
            return other.product(one, is_first=False) if found is NotImplemented else found
        if ufunc.nout > 1:
            return tuple(
                self._ufunc(lambda *x, place=place: ufunc(*x, **kwargs)[place], inputs)
                for place in range(ufunc.nout)
            )
        return self._ufunc(lambda *x: ufunc(*x, **kwargs), inputs)

    def _ufunc(self, function: Any, inputs: tuple[Any, ...]) -> Any:
        if len(inputs) == 1:
            return self.mapped(function)
        one, other = map(as_operand, inputs)
        first = one if isinstance(one, Labelled) else other
        found = first.combined(function, other if first is one else one, is_first=first is one)
        if found is NotImplemented:  # a Series first, and then a DataFrame, which knows the rule
            found = other.combined(function, one, is_first=False)
        return found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy calls the method of that name, if pandas has one; other functions get arrays."""
        name = _METHODS.get(function)
        if name is not None and args and args[0] is self:
            return getattr(self, name)(**self._given(function, name, args, kwargs))
        if function in _OF_POSITIONS and args and args[0] is self and self._skips_nan:
            raise ArgumentTypeError(
                f"np.{function.__name__} of a {self.kind} skips NaN: use np.nan{function.__name__}(x.to_numpy()), or "
                f"np.{function.__name__}(x.to_numpy())",
                user_location(),
            )
        return function(*_as_arrays(args), **{key: _as_arrays(x) for key, x in kwargs.items()})

    @property
    def _skips_nan(self) -> bool:
        return self.ndim == 1 and self.values.dtype.kind in "fc"

    def _given(self, function: Any, name: str, args: Any, kwargs: Any) -> dict[str, Any]:
        """The arguments of a method for those of the function of NumPy, which reduces all without an axis."""
        first, *_ = parameters = signature(function).parameters
        given = signature(function).bind(*args, **kwargs).arguments
        given = {
            _RENAMED.get(key, key): x
            for key, x in given.items()
            if key != first and x is not None and x is not parameters[key].default
        }
        if name in REDUCTIONS:
            given.setdefault("axis", None)
        if name in ("var", "std"):
            given.setdefault("ddof", 0)
        others = given.keys() - {"axis", "ddof", "decimals", "lower", "upper"}
        if others:
            raise ArgumentTypeError(
                f"np.{function.__name__} of a {self.kind} takes no {', '.join(sorted(others))}: use x.to_numpy()",
                user_location(),
            )
        return given

    def __bool__(self) -> bool:
        raise ArgumentValueError(
            f"the truth value of a {self.kind} is ambiguous: use (x != 0).to_numpy().any() or .all()",
            user_location(),
        )

    # ---- element by element ------------------------------------------------------------------------------

    def abs(self) -> Any:
        return self.mapped(np.abs)

    __abs__ = abs

    def __neg__(self) -> Any:
        return self.mapped(operator.neg)

    def __pos__(self) -> Any:
        return self.mapped(operator.pos)

    def __invert__(self) -> Any:
        return self.mapped(operator.invert)

    def round(self, decimals: int = 0) -> Any:
        return self.mapped(lambda x: np.round(x, decimals) if x.dtype.kind != "b" else x)

    __round__ = round

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def clip(self, lower: Any = None, upper: Any = None, *, axis: Any = None) -> Any:
        """The elements between two bounds. A bound that is NaN bounds nothing."""
        found, by_rows = self, axis in (0, "index")
        for bound, is_beyond in ((lower, operator.lt), (upper, operator.gt)):
            is_nan = isinstance(bound, float) and np.isnan(bound)
            if bound is not None and not is_nan:
                found = found.combined(_bounded(is_beyond), as_operand(bound), by_rows=by_rows)
        return found

    def isna(self) -> Any:
        return self.mapped(lambda x: np.isnan(x) if x.dtype.kind in "fc" else np.zeros_like(x, bool))

    def notna(self) -> Any:
        return ~self.isna()

    isnull, notnull = isna, notna

    def fillna(self, value: Any) -> Any:
        return self.combined(
            lambda x, new: np.where(np.isnan(x), new, x).astype(x.dtype) if x.dtype.kind in "fc" else x,
            as_operand(value),
        )

    def astype(self, dtype: Any) -> Any:
        if isinstance(dtype, dict):
            raise ArgumentTypeError(
                f"astype of a {self.kind} takes one dtype in a function that is traced: convert the columns first",
                user_location(),
            )
        return self.mapped(lambda x: x.astype(dtype))

    def copy(self, deep: bool = True) -> Any:
        return self.mapped(lambda x: x.copy() if deep else x)

    def pipe(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    # ---- reductions and products -------------------------------------------------------------------------

    def cumsum(self, axis: Any = 0, skipna: bool = True) -> Any:
        return self.accumulated("cumsum", axis, skipna)

    def cumprod(self, axis: Any = 0, skipna: bool = True) -> Any:
        return self.accumulated("cumprod", axis, skipna)

    def dot(self, other: Any) -> Any:
        return self.__matmul__(other)

    def __matmul__(self, other: Any) -> Any:
        return self.product(as_operand(other), is_first=True)

    def __rmatmul__(self, other: Any) -> Any:
        return self.product(as_operand(other), is_first=False)

    # ---- what cannot be done -----------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        fix = (
            "df = df.assign(name=…) makes a new one"
            if self.kind == "DataFrame"
            else "x = s.to_numpy().copy()"
        )
        raise ArgumentTypeError(
            f"a {self.kind} cannot be written to in a function that is traced: {fix}", user_location()
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedAttributeError(
            f"x.{name} of a {self.kind} cannot be traced: use NumPy's functions on x.to_numpy(), or call it outside "
            "of the function",
            user_location(),
        )


def as_operand(x: Any) -> Any:
    """An operand of an operator: an object of pandas with its labels, a list as an array, anything else unchanged."""
    if is_labelled(x):
        return as_labelled(x)
    return np.asarray(x) if isinstance(x, list | tuple) else x


def as_array(x: Any) -> Any:
    """The elements of a Series or a DataFrame; anything else unchanged."""
    return as_labelled(x).values if is_labelled(x) else x


def _as_arrays(x: Any) -> Any:
    """The same in tuples, lists and dicts."""
    if isinstance(x, list | tuple):
        return type(x)(map(_as_arrays, x))
    return as_array(x)


def common_labels(what: str, one: Labels, other: Labels) -> Labels:
    """The labels of two objects that are combined.

    Raises:
        ArgumentValueError: they differ, or one of them is not known before the program runs.
    """
    if are_same(one, other):
        return one
    if isinstance(one, KnownLabels) and isinstance(other, KnownLabels):
        problem = f"the {what} differ, {one} and {other}, and pandas would align them"
    else:
        note_asked(what)
        problem = (
            f"the {what} of two objects need not be the same, and pandas would align them if they are not"
        )
    raise ArgumentValueError(
        f"{problem}: align them before the call, a, b = a.align(b), and pass both as arguments, or use a.to_numpy()",
        user_location(),
    )


def check_length(kind: str, x: Any, expected: Any) -> None:
    """Refuse an array that meets a Series, or the rows of a DataFrame, and has another length."""
    if np.ndim(x) != 1 or x.shape[0] != expected:
        raise ShapeError(
            f"a {kind} of length {expected} meets an array of shape {np.shape(x)}: pass one of shape ({expected},)",
            user_location(),
        )


def _bounded(is_beyond: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, bound: np.where(is_beyond(x, bound), bound, x)


_METHODS: Final[dict[Any, str]] = {
    **{
        getattr(np, name): name
        for name in (
            "sum",
            "prod",
            "mean",
            "var",
            "std",
            "min",
            "max",
            "any",
            "all",
            "cumsum",
            "cumprod",
            "round",
        )
    },
    np.amin: "min",
    np.amax: "max",
    np.clip: "clip",
}
"""The functions of NumPy that call a method of pandas. Without an axis they reduce all, as it does with None."""
_OF_POSITIONS: Final = (np.argmax, np.argmin)
"""Those whose method skips NaN, and raises an exception if there is nothing else."""
_RENAMED: Final = {"a_min": "lower", "a_max": "upper", "min": "lower", "max": "upper"}


def _install_operators() -> None:
    for name, function in (OPERATORS | COMPARISONS).items():

        def operate(self: Labelled, other: Any, function: Any = function) -> Any:
            return self.combined(function, as_python_number(as_operand(other)))

        def reflected(self: Labelled, other: Any, function: Any = function) -> Any:
            return self.combined(function, as_python_number(as_operand(other)), is_first=False)

        setattr(Labelled, f"__{name}__", operate)
        if name in OPERATORS:
            setattr(Labelled, f"__r{name}__", reflected)
    for name, of in METHODS.items():
        setattr(Labelled, name, _method(name, (OPERATORS | COMPARISONS)[of], is_first=True))
        if of in OPERATORS and name not in ("divide", "multiply", "subtract"):
            setattr(Labelled, f"r{name}", _method(f"r{name}", OPERATORS[of], is_first=False))
    for name in REDUCTIONS:
        setattr(Labelled, name, _reduction(name))


def _method(name: str, function: Callable[[Any, Any], Any], *, is_first: bool) -> Callable[..., Any]:
    def method(
        self: Labelled, other: Any, axis: Any = "columns", *, level: Any = None, fill_value: Any = None
    ) -> Any:
        if level is not None or fill_value is not None:
            raise UnsupportedAttributeError(
                f"level and fill_value of {name} cannot be traced: use x.fillna(…) before it", user_location()
            )
        other = as_python_number(as_operand(other))
        return self.combined(function, other, is_first=is_first, by_rows=axis in (0, "index"))

    return method


def _reduction(name: str) -> Callable[..., Any]:
    """A method with pandas' parameters. All columns are numbers, so that `numeric_only` makes no difference."""

    def reduce(
        self: Labelled, axis: Any = 0, skipna: bool = True, *, numeric_only: bool = False, min_count: int = 0
    ) -> Any:
        if min_count:
            raise UnsupportedAttributeError(
                f"min_count of {name} cannot be traced: use np.where(x.count() >= n, x.{name}(), np.nan)",
                user_location(),
            )
        return self.reduced(name, axis, skipna, 1)

    def spread(
        self: Labelled, axis: Any = 0, skipna: bool = True, ddof: int = 1, *, numeric_only: bool = False
    ) -> Any:
        return self.reduced(name, axis, skipna, ddof)

    def count(self: Labelled, axis: Any = 0, numeric_only: bool = False) -> Any:
        return self.reduced(name, axis, True, 1)

    made: dict[str, Callable[..., Any]] = {"var": spread, "std": spread, "count": count}
    return made.get(name, reduce)


_install_operators()
