"""How wide the bins of a histogram are whose number NumPy chooses: ``bins="auto"`` and the like."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...errors import ArgumentValueError, ConcretizationError


def number_of_bins(x: Any, name: str, low: Any, high: Any) -> Any:
    """How many bins there are between two edges for the entries of a vector, as a number of the program.

    The estimators are those of `numpy.histogram_bin_edges`.
    """
    if name == "stone":
        raise ConcretizationError(
            "bins='stone' compares histograms of many numbers of bins, which depend on values: choose another "
            "estimator, such as bins='auto', or give a number"
        )
    if name not in _WIDTHS:
        raise ArgumentValueError(f"{name!r} is not a valid estimator for `bins`")
    width = _WIDTHS[name](x)
    if x.dtype.kind in "iu":
        width = np.where(width < 1, np.where(width == 0, width, 1.0), width)
    is_wide = width != 0
    found = np.ceil(np.subtract(high, low, dtype=float) / np.where(is_wide, width, 1.0))
    return np.where(is_wide, found, 1.0).astype(np.int64)


def _range(x: Any) -> Any:
    return x.max().astype(float) - x.min().astype(float) if x.dtype.kind in "iu" else x.max() - x.min()


def _sturges(x: Any) -> Any:
    return _range(x) / (np.log2(x.size) + 1.0)


def _root(x: Any) -> Any:
    return _range(x) / np.sqrt(x.size)


def _freedman_diaconis(x: Any) -> Any:
    upper, lower = np.percentile(x, [75, 25])
    return 2.0 * (upper - lower) * np.power(x.size, -1.0 / 3.0)


def _auto(x: Any) -> Any:
    return np.minimum(np.maximum(_freedman_diaconis(x), _root(x) / 2), _sturges(x))


def _doane(x: Any) -> Any:
    if x.size <= 2:
        return 0.0 * _range(x)
    spread = np.sqrt(6.0 * (x.size - 2) / ((x.size + 1.0) * (x.size + 3)))
    sigma = np.std(x)
    is_spread = sigma > 0.0
    skewness = np.mean(((x - np.mean(x)) / np.where(is_spread, sigma, 1.0)) ** 3)
    width = _range(x) / (1.0 + np.log2(x.size) + np.log2(1.0 + np.absolute(skewness) / spread))
    return np.where(is_spread, width, 0.0)


_WIDTHS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": lambda x: _range(x) / (2.0 * np.power(x.size, 1.0 / 3)),
    "scott": lambda x: np.power(24.0 * np.pi**0.5 / x.size, 1.0 / 3.0) * np.std(x),
    "sqrt": _root,
    "sturges": _sturges,
}
