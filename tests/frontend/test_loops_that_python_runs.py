"""Values may end a loop that Python runs, over a list or a generator; `else`, `:=`, and variables set on some paths."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check

ROW = np.array([1.0, -2.0, 3.0, 20.0, 4.0])


def first_above(names: list[str], x: Any, limit: Any) -> Any:
    for name in names:
        if x[int(name)] > limit:
            return x[int(name)] * 2
    return -limit


def test_a_loop_over_a_list_returns() -> None:
    def function(x: Any, limit: Any) -> Any:
        return first_above(["0", "2", "3"], x, limit)

    check(function, (ROW, 0.0), (ROW, 2.0), (ROW, 10.0), (ROW, 99.0))


def test_a_loop_over_a_list_breaks_and_continues() -> None:
    def function(x: Any) -> Any:
        total, steps = 0.0, 0
        for k in [0, 1, 2, 3, 4]:
            if x[k] < 0:
                continue
            steps += 1
            if x[k] > 10:
                break
            total += x[k]
        return total, steps

    check(function, (ROW,), (-ROW,), (abs(ROW) / 100,), (ROW * 100,))


def test_a_loop_over_a_list_that_only_continues_runs_to_its_end() -> None:
    def function(x: Any) -> Any:
        total = 0.0
        for k in [0, 1, 2, 3, 4]:
            if x[k] < 0:
                continue
            total += x[k]
        return total

    check(function, (ROW,), (-ROW,))


def test_else_runs_unless_a_value_breaks_the_loop() -> None:
    def function(x: Any, limit: Any) -> Any:
        for i in range(len(x)):
            if x[i] > limit:
                at = i
                break
        else:
            at = -1
        return at

    check(function, (ROW, 0.5), (ROW, 4.0), (ROW, 99.0), dynamic=False)


def test_else_of_while_runs_unless_a_value_breaks_the_loop() -> None:
    def function(x: Any, limit: Any) -> Any:
        steps = 0
        while x > 1:
            x = x / 2
            steps += 1
            if x > limit:
                break
        else:
            steps = -steps
        return x, steps

    check(function, (20.0, 8.0), (20.0, 99.0), (0.5, 0.0))


def test_a_loop_in_a_loop_returns_from_both() -> None:
    def function(x: Any, limit: Any) -> Any:
        for part in ["low", "high"]:
            for k in (0, 1):
                at = k if part == "low" else k + 2
                if x[at] > limit:
                    return x[at]
                if x[at] < -limit:
                    break
            limit = limit - 1
        return limit

    check(function, (ROW, 0.0), (ROW, 2.0), (ROW, 2.5), (ROW, 5.0), (ROW, 50.0))


def test_a_later_loop_continues_with_the_variables_of_the_first() -> None:
    def function(x: Any) -> Any:
        done = False
        best = x[0]
        for k in [1, 2, 3]:
            if x[k] > 10:
                done = True
                break
            best = max(best, x[k])
        for k in [1, 2]:
            if done:
                best = best + x[k]
        return best, done

    check(function, (ROW,), (ROW / 10,), (-ROW,))


def test_a_test_may_bind_a_name() -> None:
    def function(x: Any) -> Any:
        steps = 0
        while (rest := x - steps) > 1:
            steps += 1
        return rest, steps

    check(function, (4.5,), (0.0,), (1.0,))


def test_a_variable_is_set_on_every_path_that_reads_it() -> None:
    def function(x: Any) -> Any:
        if x > 0:
            root = np.sqrt(x)
            kind = 1
        else:
            kind = 0
        return root if kind == 1 else x  # pyright: ignore[reportPossiblyUnboundVariable]

    def second(x: Any) -> Any:
        while True:
            half = x / 2
            if half < 1:
                break
            x = half
        return half

    check(second, (20.0,), (0.5,))
    check(function, (4.0,), (-4.0,))
    with pytest.raises(NameError, match="root"):  # whether it is set is a matter of values
        tm.vmap(function)(np.array([4.0, -4.0]))


def test_these_loops_batch_and_differentiate() -> None:
    def function(x: Any) -> Any:
        for power in [1, 2, 3]:
            x = x * power
            if x > 5:
                break
        return x

    rows = np.array([0.1, 1.0, 3.0, 7.0])
    np.testing.assert_allclose(tm.vmap(function)(rows), [function(x) for x in rows])
    np.testing.assert_allclose([tm.grad(function)(x) for x in rows], [6.0, 6.0, 2.0, 1.0])


def fills_a_table(x: Any) -> Any:
    table = np.zeros(len(x))
    for i in range(len(x)):
        table[i] = i
    return x + table, table[: int(table[3])]


@pytest.mark.sampled("250-c")
@pytest.mark.parametrize(
    ("size", "backend"),
    [(250, "numpy"), (300, "numpy"), (250, "c"), (300, "c")],
)
def test_a_long_loop_fills_a_table_with_numbers(size: int, backend: str, c_toolchain: object) -> None:
    x = np.ones(size)
    for found, expected in zip(tm.compile(fills_a_table, backend=backend)(x), fills_a_table(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_very_long_loop_that_fills_a_table_is_traced_once() -> None:
    assert len(tm.compile(fills_a_table).lower(np.ones(3000)).optimised.calls) < 50


def doubled(x: Any) -> Any:
    n = 1
    for _ in range(40):
        for _ in range(3):
            n = n + n
        x = x + 1.0
    return n, x


def summed(x: Any) -> Any:
    n = 1
    for _ in range(70):
        total = 0
        for _ in range(100):
            total += n
        n = total
        x = x + 1.0
    return n, x


def fibonacci(x: Any) -> Any:
    a, b = 0, 1
    for _ in range(300):
        a, b = b, a + b
        x = x + 1.0
    return a, x


def fibonacci_in_a_loop(x: Any) -> Any:
    a, b = 0, 1
    for _ in range(50):
        for _ in range(20):
            a, b = b, a + b
        x = x + 1.0
    return b, x


@pytest.mark.parametrize("function", [doubled, summed, fibonacci, fibonacci_in_a_loop])
def test_sums_of_pythons_ints_that_grow_like_products_keep_all_digits(function: Callable[[Any], Any]) -> None:
    assert tm.compile(function)(1.0) == function(1.0)


def inversions(x: Any) -> Any:
    count = 0
    for i in range(len(x)):
        for j in range(i):
            if x[i] < x[j]:
                count += 1
    return count


def bounded(x: Any) -> Any:
    """Numbers that swap, are halved or are the greatest of others do not grow."""
    low, high, most, one, other = 0, 60, 0, 1, 2
    for i in range(len(x)):
        middle = (low + high) // 2
        if x[i] < 0:
            low = middle + 1
        else:
            high = middle
        for _ in range(i):
            most = max(most, low)
            if x[i] < 0.5:
                one, other = other, one
    return low, high, most, one, other


@pytest.mark.parametrize("function", [inversions, bounded])
def test_loops_that_count_are_not_unrolled(function: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).normal(size=60)
    compiled = tm.compile(function)
    assert compiled(x) == function(x)
    assert len(compiled.lower(x).graph.calls) < 20
