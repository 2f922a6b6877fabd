"""Mathematical functions of the sums of rows are computed for several rows at once."""

import re
from typing import Any

import numpy as np
import pytest

import tracemill as tm


def likelihood(x: Any, w: Any, signs: Any) -> Any:
    """Needs a number of each row beside its sum."""
    return np.log1p(np.exp(-signs * np.sum(x * w, axis=1)))


def two_sums(x: Any, w: Any, signs: Any) -> Any:
    return np.exp(-np.sum(x * x, axis=1)) * np.tanh(np.max(x * w, axis=1)) + signs


def stored_twice(x: Any, w: Any, signs: Any) -> Any:
    total = np.sum(x * w, axis=1)
    return total, np.sin(total), signs * np.exp(total / 10)


def of_positions(x: Any, w: Any, signs: Any) -> Any:
    return np.exp(-np.argmax(x * w, axis=1) / signs)


def scaled_rows(x: Any, w: Any, signs: Any) -> Any:
    """Reads each row again."""
    return np.exp(np.sum(x * w, axis=1, keepdims=True) / 10) * x


def slope(x: Any, w: Any, signs: Any) -> Any:
    """Sums over rows, then over columns."""
    return (signs / (1 + np.exp(signs * (x[:, :3] @ w[:3])))) @ x[:, :3]


FUNCTIONS = (likelihood, two_sums, stored_twice, of_positions, scaled_rows, slope)


def arrays(rows: int, dtype: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, 19)), rng.normal(size=19)
    return x.astype(dtype), w.astype(dtype), rng.choice([-1.0, 1.0], rows).astype(dtype)


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_are_numpys_for_any_number_of_rows(function: Any, dtype: str) -> None:
    compiled = tm.compile(function, backend="c", dynamic=False)
    for rows in (1, 16, 63, 64, 65, 200, 5000):
        given = arrays(rows, dtype)
        found, wanted = compiled(*given), function(*given)
        for one, other in zip(np.atleast_2d(found), np.atleast_2d(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4 if dtype == "f4" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_program_for_any_number_of_rows(function: Any) -> None:
    compiled = tm.compile(function, backend="c", dynamic=True)
    for rows in (200, 3, 64, 129):
        given = arrays(rows, "f8")
        for one, other in zip(np.atleast_2d(compiled(*given)), np.atleast_2d(function(*given)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)


def loops(function: Any, *given: Any) -> list[str]:
    """What loops store for later ones."""
    lowered = tm.compile(function, backend="c").lower(*given)
    return [name for kernel in lowered.kernels for name in re.findall(r"\w+_of_rows\[\d+\];", kernel.source)]


def test_only_what_the_second_loop_needs_is_stored() -> None:
    assert loops(likelihood, *arrays(500, "f8")) == ["negative_1_of_rows[64];", "sum_1_of_rows[64];"]
    assert len(loops(stored_twice, *arrays(500, "f8"))) == 1
    assert len(loops(slope, *arrays(500, "f8"))) == 1


def test_few_rows_and_long_rows_that_are_read_again_are_not_split() -> None:
    x, w, signs = arrays(500, "f8")
    assert not loops(lambda x, w: np.sqrt(np.sum(x * w, axis=1)) + 1, x, w)
    assert not loops(likelihood, x[:10], w, signs[:10])
    assert loops(scaled_rows, x, w, signs) == ["sum_1_of_rows[64];", "exp_1_of_rows[64];"]
    assert loops(scaled_rows, np.ones((500, 300)), np.ones(300), signs) == [
        "sum_1_of_rows[16];",
        "exp_1_of_rows[16];",
    ]
    assert not loops(scaled_rows, np.ones((500, 1000)), np.ones(1000), signs)


def test_special_values_of_one_row_stay_there() -> None:
    x, w, signs = arrays(100, "f8")
    x[3, 4], x[70, 1], x[99, 0] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        found, wanted = tm.compile(likelihood, backend="c")(x, w, signs), likelihood(x, w, signs)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert not np.isfinite(found[[3, 70, 99]]).all()
