"""Functions of arrays without entries: NumPy's results and exceptions, whether the length is known or computed."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

NOTHING = np.zeros(0)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "quantile": lambda x: np.quantile(x, 0.5),
    "quantiles": lambda x: np.quantile(x, [0.1, 0.5]),
    "percentile": lambda x: np.percentile(x, 30),
    "quantile of ints": lambda x: np.quantile(x.astype(np.int64), 0.5),
    "lower quantile of ints": lambda x: np.quantile(x.astype(np.int64), 0.5, method="lower"),
    "quantile of columns": lambda x: np.quantile(x.reshape(-1, 1), 0.5, axis=0),
    "weighted quantile": lambda x: np.quantile(x, 0.5, weights=x, method="inverted_cdf"),
    "nanquantile": lambda x: np.nanquantile(x, 0.5),
    "median": np.median,
    "nanmedian": np.nanmedian,
    "max": np.max,
    "nanmax": np.nanmax,
    "nanmin": np.nanmin,
    "ptp": np.ptp,
    "argmax": np.argmax,
    "mean": np.mean,
    "sum": np.sum,
    "partition": lambda x: np.partition(x, 2),
    "take": lambda x: np.take(x, 0),
    "take of no entries": lambda x: np.take(x, np.zeros(0, np.int64)),
    "blackman": lambda x: np.blackman(x.size),
    "kaiser": lambda x: np.kaiser(x.size, 2.0),
    "fft": np.fft.fft,
    "convolve": lambda x: np.convolve(x, x),
    "correlate": lambda x: np.correlate(np.ones(2), x),
    "gradient": np.gradient,
    "pad": lambda x: np.pad(x, 1, mode="edge"),
    "polyfit": lambda x: np.polyfit(x, x, 1),
}


def outcome(function: Callable[[Any], Any], x: Any) -> Any:
    """The result with its dtype, or the class and the text of the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            result = function(x)
        except (ValueError, IndexError, TypeError) as error:
            kind = next(one for one in (IndexError, ValueError, TypeError) if isinstance(error, one))
            return kind, str(error).split("\n")[0]
    return result.dtype, result.tolist()


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_nothing_does_what_numpy_does(name: str, backend: Any) -> None:
    function = FUNCTIONS[name]
    wanted = outcome(function, NOTHING)
    assert repr(outcome(tm.compile(function, backend=backend), NOTHING)) == repr(wanted)
    of_chosen = tm.compile(lambda x: function(x[x > 5]), backend=backend)
    few, more = np.array([1.0, 2.0]), np.array([7.0, 6.0, 9.0, 8.0])
    for _ in range(2):
        assert repr(outcome(of_chosen, few)) == repr(wanted)
    assert outcome(of_chosen, more)[0] == outcome(function, more)[0]


def test_an_empty_selection_can_be_handled() -> None:
    @tm.compile
    def spread(x: Any) -> Any:
        try:
            return np.ptp(x[x > 5])
        except ValueError as error:
            return str(error)

    assert spread(np.array([1.0])) == "zero-size array to reduction operation maximum which has no identity"
    assert spread(np.array([7.0, 9.0])) == 2.0
