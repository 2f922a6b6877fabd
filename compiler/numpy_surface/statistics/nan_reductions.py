"""Reductions and cumulative sums that ignore NaN."""

from typing import Any

import numpy as np

from ...dtypes import is_complex, is_inexact
from ...errors import DTypeError
from ...ir import Value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import convert
from ..ufuncs.reductions import (
    NO_VALUE,
    finished_reduction,
    keeps_axes,
    out_dtype,
    refuse_nothing,
    root_of_squares,
    some_axes,
)
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values
from .averages import one_ddof, quotient


def _without_nan(a: Any, fill: complex) -> Any:
    """The array with NaN replaced by `fill`; the array itself if its dtype has no NaN."""
    x: Any = as_array(a)
    if not is_inexact(x.dtype):
        return x
    return np.where(np.isnan(x), np.asarray(fill, x.dtype), x)


def _as_the_plain_one(name: str, fill: complex) -> None:
    """The function without ``nan`` in its name, applied to the array with NaN replaced by its identity."""
    plain = getattr(np, name)

    @implements(getattr(np, f"nan{name}"))
    def reduction(a: Any, *args: Any, **kwargs: Any) -> Any:
        return plain(_without_nan(a, fill), *args, **kwargs)


for _name, _fill in (("sum", 0), ("prod", 1), ("cumsum", 0), ("cumprod", 1)):
    _as_the_plain_one(_name, _fill)


def _extremum(name: str, ufunc: Any, fill: float) -> None:
    plain = getattr(np, name)

    @implements(getattr(np, f"nan{name}"))
    def reduction(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        """NaN only where all entries are NaN."""
        x: Any = as_array(a)
        if initial is NO_VALUE:
            refuse_nothing(x.value, some_axes(axis, x.ndim), ufunc)
        worst = complex(fill, fill) if is_complex(x.dtype) else fill
        result: Any = plain(
            _without_nan(x, worst), axis=axis, keepdims=keeps_axes(keepdims), initial=initial, where=where
        )
        if is_inexact(x.dtype) and initial is NO_VALUE:
            nothing = np.all(np.isnan(x), axis=axis, keepdims=keeps_axes(keepdims))
            result = np.where(nothing, np.asarray(np.nan, x.dtype), result)
        return finished_reduction(result.value, out)


_extremum("max", np.fmax, -np.inf)
_extremum("min", np.fmin, np.inf)


def _index(name: str, fill: float) -> None:
    plain = getattr(np, name)

    @implements(getattr(np, f"nan{name}"))
    def reduction(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """NumPy refuses lines that are all NaN."""
        x: Any = as_array(a)
        if is_inexact(x.dtype) and x.size:
            refuse_values(np.all(np.isnan(x), axis=axis), "All-NaN slice encountered")
        worst = complex(fill, fill) if is_complex(x.dtype) else fill
        return plain(_without_nan(x, worst), axis=axis, out=out, keepdims=keeps_axes(keepdims))


_index("argmax", -np.inf)
_index("argmin", np.inf)


# ---- means -------------------------------------------------------------------------------------------


def _present(x: Any, where: Any) -> Any:
    mask = ~np.isnan(x)
    return mask if where is True or where is NO_VALUE else mask & where


def _quotient(total: Value, count: Value, out: Any = None) -> Value:
    """A mean, which is NaN for no entries; as in NumPy, that is not a floating-point error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return quotient(total, count, out)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    x: Any = as_array(a)
    keep = keeps_axes(keepdims)
    if not is_inexact(x.dtype):
        return np.mean(x, axis=axis, dtype=dtype, out=out, keepdims=keep, where=where)
    _refuse_inexact_in_exact(dtype, out)
    count: Any = np.sum(_present(x, where), axis=axis, dtype=np.intp, keepdims=keep)
    total: Any = np.sum(_without_nan(x, 0), axis=axis, dtype=dtype, keepdims=keep, where=where)
    averages = _quotient(total.value, count.value, out)
    return finished_reduction(convert(averages, total.dtype if out is None else out_dtype(out)), out)


def _refuse_inexact_in_exact(dtype: Any, out: Any) -> None:
    for name, chosen in (("dtype", dtype), ("out", None if out is None else out_dtype(out))):
        if chosen is not None and not is_inexact(np.dtype(chosen)):
            raise DTypeError(
                f"{name}= must be floating or complex where the array is, not {np.dtype(chosen)}"
            )


def _variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
    root: bool = False,
) -> TracedArray:
    ddof = one_ddof(ddof, correction)
    x: Any = as_array(a)
    keep = keeps_axes(keepdims)
    if not is_inexact(x.dtype):
        plain: Any = np.std if root else np.var
        kwargs = {} if mean is NO_VALUE else {"mean": mean}
        return plain(x, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keep, where=where, **kwargs)  # type: ignore[no-any-return]
    _refuse_inexact_in_exact(dtype, out)
    present = _present(x, where)
    count: Any = np.sum(present, axis=axis, dtype=np.intp, keepdims=True)
    filled = _without_nan(x, 0)
    if mean is NO_VALUE:
        centre: Any = np.sum(filled, axis=axis, dtype=dtype, keepdims=True, where=where)
        centre = wrap(convert(_quotient(centre.value, count.value), centre.dtype))
    else:
        centre = as_array(mean)
    apart: Any = np.where(present, (filled - centre).astype(x.dtype), 0)
    squares = (apart * np.conj(apart)).real if is_complex(x.dtype) else apart * apart
    total: Any = np.sum(squares, axis=axis, dtype=dtype, keepdims=keep, where=where)
    freedom: Any = np.reshape(count, total.shape) - ddof
    divisor: Any = np.where(freedom > 0, freedom, 0)
    variances = _quotient(total.value, divisor.value, out)
    result: Any = wrap(convert(variances, total.dtype if out is None else out_dtype(out)))
    result = np.where(freedom > 0, result, np.asarray(np.nan, result.dtype))
    return finished_reduction(root_of_squares(result.value) if root else result.value, out)


implements(np.nanvar)(_variance)


@implements(np.nanstd)
def nanstd(*args: Any, **kwargs: Any) -> TracedArray:
    return _variance(*args, root=True, **kwargs)
