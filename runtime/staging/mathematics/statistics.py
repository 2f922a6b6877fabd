"""`statistics` of traced numbers. Python computes with fractions; the sums here also have no rounding errors.

A program that does not use that module does not load it, nor this one.
"""

import operator
import statistics
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.traced_memory import is_traced
from ...branching.python_numbers import as_float, as_python_number
from .real import is_computed, sum_of

_Error: Final = statistics.StatisticsError


def statistics_meaning(function: Any) -> Callable[..., Any] | None:
    """What converted code calls instead of a function of `statistics`; None if that computes with any objects."""
    name = getattr(function, "__name__", "")
    is_known = name in _MEANINGS and getattr(statistics, name, None) is function
    return _of_data(function, _MEANINGS[name]) if is_known else None


def _of_data(own: Callable[..., Any], meaning: Callable[..., Any]) -> Callable[..., Any]:
    def function(data: Any, *given: Any, **more: Any) -> Any:
        entries, *others = [list(x) if _is_data(x) else x for x in (data, *given)]
        entries = [operator.index(x) if isinstance(x, SymbolicSize) else x for x in entries]
        numbers = [one for x in (entries, *others) if isinstance(x, list) for one in x]
        if not any(map(is_computed, (*numbers, *given, *more.values()))):
            return own(entries, *others, **more)
        return meaning(list(map(as_float, entries)), *others, **more)

    return function


def _is_data(x: Any) -> bool:
    return hasattr(x, "__iter__") and not (is_traced(x) and not x.ndim)


def _number(x: Any) -> Any:
    return as_python_number(x, float) if is_traced(x) else float(x)


def _mean(data: list[Any], weights: Any = None) -> Any:
    if not data:
        raise _Error("mean requires at least one data point")
    if weights is None:
        return _number(sum_of(data) / len(data))
    return _number(sum_of([x * w for x, w in zip(data, weights, strict=True)]) / sum_of(list(weights)))


def _squares(data: list[Any], least: int, centre: Any = None) -> Any:
    """The sum of squared distances from the mean."""
    if len(data) < least:
        raise _Error("variance requires at least two data points" if least > 1 else "no data points")
    centre = _mean(data) if centre is None else centre
    return sum_of([(x - centre) ** 2 for x in data])


def _variance(data: list[Any], xbar: Any = None) -> Any:
    return _number(_squares(data, 2, xbar) / (len(data) - 1))


def _pvariance(data: list[Any], mu: Any = None) -> Any:
    return _number(_squares(data, 1, mu) / len(data))


def _stdev(data: list[Any], xbar: Any = None) -> Any:
    return _number(np.sqrt(_variance(data, xbar)))


def _pstdev(data: list[Any], mu: Any = None) -> Any:
    return _number(np.sqrt(_pvariance(data, mu)))


def _sorted(data: list[Any]) -> Any:
    if not data:
        raise _Error("no median for empty data")
    return np.sort(np.stack(data))


def _median(data: list[Any]) -> Any:
    found, middle = _sorted(data), len(data) // 2
    return _number(found[middle] if len(data) % 2 else (found[middle - 1] + found[middle]) / 2)


def _median_low(data: list[Any]) -> Any:
    return _sorted(data)[(len(data) - 1) // 2]


def _median_high(data: list[Any]) -> Any:
    return _sorted(data)[len(data) // 2]


def _geometric_mean(data: list[Any]) -> Any:
    return _number(np.exp(_mean([np.log(x) for x in data])))


def _harmonic_mean(data: list[Any]) -> Any:
    if not data:
        raise _Error("harmonic_mean requires at least one data point")
    values = np.stack(data)
    found = len(data) / sum_of([1 / x for x in data])
    return _number(np.where(np.any(values == 0), 0.0, found))


def _products(x: list[Any], y: list[Any]) -> Any:
    """The sum of products of distances from the means."""
    if len(x) != len(y) or len(x) < 2:
        raise _Error("both inputs must have the same number of at least two data points")
    x_mean, y_mean = _mean(x), _mean(list(map(as_float, y)))
    return sum_of([(one - x_mean) * (other - y_mean) for one, other in zip(x, y, strict=True)])


def _covariance(x: list[Any], y: list[Any]) -> Any:
    return _number(_products(x, y) / (len(x) - 1))


def _correlation(x: list[Any], y: list[Any]) -> Any:
    return _number(_products(x, y) / np.sqrt(_squares(x, 2) * _squares(list(map(as_float, y)), 2)))


def _linear_regression(x: list[Any], y: list[Any], *, proportional: bool = False) -> Any:
    if proportional:
        slope = sum_of([a * b for a, b in zip(x, y, strict=True)]) / sum_of([a * a for a in x])
        return statistics.LinearRegression(slope=_number(slope), intercept=0.0)
    slope = _products(x, y) / _squares(x, 2)
    intercept = _mean(list(map(as_float, y))) - slope * _mean(x)
    return statistics.LinearRegression(slope=_number(slope), intercept=_number(intercept))


def _quantiles(data: list[Any], *, n: int = 4, method: str = "exclusive") -> list[Any]:
    found, count = _sorted(data), len(data)
    if count < 2 or n < 1 or method not in ("exclusive", "inclusive"):
        raise _Error("must have at least two data points, and n must be at least 1")
    is_inclusive = method == "inclusive"
    results: list[Any] = []
    for i in range(1, n):
        m = count - 1 if is_inclusive else count + 1
        j, delta = divmod(i * m, n)
        if not is_inclusive:
            j = min(max(j, 1), count - 1)
            delta = i * m - j * n
            j -= 1
        results.append(_number((found[j] * (n - delta) + found[min(j + 1, count - 1)] * delta) / n))
    return results


_MEANINGS: Final[dict[str, Callable[..., Any]]] = {
    "mean": _mean,
    "fmean": _mean,
    "geometric_mean": _geometric_mean,
    "harmonic_mean": _harmonic_mean,
    "median": _median,
    "median_low": _median_low,
    "median_high": _median_high,
    "quantiles": _quantiles,
    "variance": _variance,
    "pvariance": _pvariance,
    "stdev": _stdev,
    "pstdev": _pstdev,
    "covariance": _covariance,
    "correlation": _correlation,
    "linear_regression": _linear_regression,
}
