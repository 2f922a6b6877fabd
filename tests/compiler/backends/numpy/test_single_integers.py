"""Single integers are combined by Python's operators, with NumPy's results: ufuncs take ten times as long."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm


def looked_up(start: Any, table: Any) -> Any:
    place, total = start, 0.0
    for _ in range(100):
        place = (place * 5 + 3) % 100
        total = total + table[place]
    return total


def test_a_checked_lookup_in_a_loop_calls_no_ufunc() -> None:
    compiled, table = tm.compile(looked_up, backend="numpy", check_bounds=True), np.arange(100.0)
    assert compiled(7, table) == looked_up(7, table)
    statements = compiled.lower(7, table).source.partition("def reference")[0]
    assert "np.maximum(" not in statements
    assert "np.remainder(" not in statements


def test_a_checked_lookup_still_finds_what_is_out_of_bounds() -> None:
    compiled, table = tm.compile(looked_up, backend="numpy", check_bounds=True), np.arange(90.0)
    with pytest.raises(IndexError, match="90"):
        compiled(7, table)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_results_have_numpys_values_and_types(dtype: Any) -> None:
    def combined(x: Any, y: Any) -> Any:
        bounded = np.maximum(x, y), np.minimum(x, y), np.maximum(x, dtype(3)), np.minimum(dtype(3), y)
        return x // y, x % y, x // dtype(7), x % dtype(4), dtype(7) % y, *bounded

    compiled = tm.compile(combined, backend="numpy")
    limits = np.iinfo(dtype)
    numbers = [limits.min, limits.max, 0, 1, 5, *([-1, -5] if limits.min else [])]
    with np.errstate(all="ignore"):
        for x in map(dtype, numbers):
            for y in map(dtype, numbers):
                found, expected = compiled(x, y), combined(x, y)
                assert found == expected
                assert [type(one) for one in found] == [type(one) for one in expected]
