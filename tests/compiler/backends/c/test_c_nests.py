"""Nests of loops over numbers and elements in C: one function each, with the values that Python computes."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.c.nests.bounds import (
    LinearForm,
    Variable,
    is_exact,
    lies_between,
    lower_bound,
    union,
    upper_bound,
    variable_between,
)
from tracemill.compiler.backends.c.nests.bounds import product as product_of
from tracemill.compiler.backends.c.nests.numbers import known_result, known_truth
from tracemill.tools.bench.loops.elements import lu
from tracemill.tools.bench.loops.numbers import collatz

pytestmark = pytest.mark.usefixtures("c_toolchain")
R = np.random.default_rng(0)


def relaxed(d: Any) -> Any:
    d = d.copy()
    n = d.shape[0]
    via = np.zeros((n, n), np.int64)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
                    via[i, j] = k
    return d, via


def substituted(lower: Any, b: Any) -> Any:
    x = b.copy()
    n = x.shape[0]
    for i in range(n):
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] = x[i] / lower[i, i]
    return x


def greatest_common(x: Any, y: Any) -> Any:
    while y != 0:
        x, y = y, x % y
    return x


def fibonacci(n: Any, modulus: Any) -> Any:
    a, b = 0, 1
    while n > 0:
        a, b = b, (a + b) % modulus
        n -= 1
    return a, b, n


def sorted_by_insertion(x: Any) -> Any:
    x = x.copy()
    for i in range(1, x.shape[0]):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            j -= 1
    return x


def counted(labels: Any, counts: Any) -> Any:
    counts = counts.copy()
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            counts[labels[i]] += 1
        else:
            counts[-1] -= 1
    return counts


def divided(x: Any) -> Any:
    quotients, rests = 0, 0
    for i in range(x.shape[0]):
        if x[i] != 3:
            quotients = quotients * 7 % 1009 + x[i] // 8
            rests = rests * 7 % 1009 + x[i] % 8
    return quotients, rests


def last_place(x: Any, limit: Any) -> Any:
    i = 0
    while i < limit:
        x = x * 0.5
        i += 1
    return x, i


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "lu": (lu, (R.normal(size=(40, 40)) + 40 * np.eye(40),)),
    "shortest paths": (relaxed, (R.uniform(1, 9, (20, 20)),)),
    "substitution": (substituted, (np.tril(R.normal(size=(40, 40))) + 9 * np.eye(40), R.normal(size=40))),
    "collatz": (collatz, (np.arange(1, 100),)),
    "greatest common divisor": (greatest_common, (np.int64(462), np.int64(1071))),
    "fibonacci": (fibonacci, (np.int64(50), np.int64(1000))),
    "insertion sort": (sorted_by_insertion, (R.normal(size=50),)),
    "histogram": (counted, (R.integers(-2, 5, 60), np.zeros(5, np.int64))),
    "division by powers of two": (divided, (R.integers(-(2**62), 2**62, 50),)),
    "no step at all": (last_place, (np.float64(3.0), np.int64(-4))),
    "a few steps": (last_place, (np.float64(3.0), np.int64(4))),
}


def compiled(function: Callable[..., Any]) -> Any:
    """For C. The benchmark's programs belong to a library: its functions are converted only if it is named."""
    return tm.compile(function, backend="c", convert="tracemill.tools.bench.loops")


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_loops_computes_what_python_does(name: str) -> None:
    function, arguments = PROGRAMS[name]
    found, expected = compiled(function)(*arguments), function(*arguments)
    for ours, theirs in zip(parts(found), parts(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["lu", "shortest paths", "substitution", "collatz"])
def test_a_nest_is_one_function(name: str) -> None:
    function, arguments = PROGRAMS[name]
    text = compiled(function).lower(*arguments).c_source or ""
    assert len([line for line in text.splitlines() if line.startswith("TM_NEST static void")]) == 1
    assert not any("_step" in line for line in text.splitlines() if "static void" in line)


def test_the_work_of_short_loops_of_unknown_length_is_counted_while_they_run() -> None:
    """Otherwise the loop around them reads the clock every few steps."""

    def gaps(x: Any) -> Any:
        total = 0
        for i in range(x.shape[0]):
            n = x[i]
            while n % 5 != 0:
                n = n + 3
                total += 1
        return total

    x = np.arange(2_000_000)
    program = tm.compile(gaps, backend="c")
    assert program(x) == 2 * len(x)
    text = program.lower(x).c_source or ""
    assert re.search(r"spent \+= \(\d+ - left\) \* \d+;", text)
    assert "if (spent >= 10000) {" in text
    lu_text = compiled(lu).lower(np.eye(4)).c_source or ""
    assert "spent +=" not in lu_text  # no loop reads it


@pytest.mark.parametrize(
    ("number", "made"), [(0.0, "np.zeros((3000,), np.float64)"), (2.0, "np.full((3000,), ")]
)
def test_an_array_of_one_number_is_made_where_a_loop_writes(number: float, made: str) -> None:
    def running(x: Any) -> tuple[Any, Any]:
        sums, again = np.full(x.shape[0], number), np.full(x.shape[0], number)
        for i in range(1, x.shape[0]):
            sums[i] = sums[i - 1] + x[i]
            again[i - 1] += sums[i]
        return sums, again

    x = R.normal(size=3000)
    program = tm.compile(running, backend="c")
    for _ in range(2):
        np.testing.assert_array_equal(program(x), running(x))
    assert (program.lower(x).source or "").count(made) == 2


@pytest.mark.parametrize("name", ["lu", "shortest paths", "substitution"])
def test_an_index_with_known_bounds_is_not_checked(name: str) -> None:
    function, arguments = PROGRAMS[name]
    text = compiled(function).lower(*arguments).c_source or ""
    assert "TM_NEST" in text
    assert "gather_at" not in text
    assert "(uint64_t)" not in text


def test_an_index_out_of_bounds_does_in_c_what_it_does_in_numpy() -> None:
    def shifted(x: Any, by: Any) -> Any:
        y = np.zeros_like(x) + x[0] * 0
        for i in range(x.shape[0]):
            if x[i] > -100:
                y[i + by] = x[i - by]
        return y

    x = R.normal(size=6)
    for by in map(np.int64, (-20, -6, -3, 0, 3, 5, 20)):
        ours, theirs = (tm.compile(shifted, backend=backend)(x, by) for backend in ("c", "numpy"))
        np.testing.assert_array_equal(ours, theirs)


def test_what_a_step_reads_after_a_write_is_what_was_there_before_it() -> None:
    def step(state: Any, i: Any) -> Any:
        new = state.copy()
        new[i] = state[i] + state[0]
        return new, new[i] - state[i]

    def function(x: Any) -> Any:
        return tm.scan(step, x, np.arange(1, 5))

    x = np.arange(1.0, 7.0)
    for ours, theirs in zip(
        tm.compile(function, backend="c")(x), tm.compile(function, backend="numpy")(x), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("reverse", "unroll"), [(False, 4), (True, 1)])
def test_rows_and_stacks_of_a_scan_are_those_of_its_steps(reverse: bool, unroll: int) -> None:
    def step(carry: Any, row: Any) -> Any:
        index, factor, pair = row
        return (carry[0] + 1, carry[1] * factor + pair[index]), (carry[0], carry[1].imag > 0)

    def function(start: Any, *rows: Any) -> Any:
        return tm.scan(step, start, rows, reverse=reverse, unroll=unroll)

    start = (np.int64(3), np.complex128(1 + 2j))
    rows = R.integers(-2, 2, 9), R.normal(size=9), R.normal(size=(9, 2)) + 1j
    found, expected = (tm.compile(function, backend=b)(start, *rows) for b in ("c", "numpy"))
    for ours, theirs in zip(found[0] + found[1], expected[0] + expected[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_number_that_is_carried_in_half_the_precision_is_rounded_in_each_step() -> None:
    def step(total: Any, x: Any) -> Any:
        more = (total.astype("f8") + 0.1 * x).astype("f4")
        return more, more.astype("f8") * 3

    def function(x: Any) -> Any:
        return tm.scan(step, np.zeros((), "f4"), x)

    x = R.normal(size=50)
    ours, theirs = (tm.compile(function, backend=b)(x) for b in ("c", "numpy"))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 7])
def test_a_choice_between_branches_that_write_takes_the_one_that_is_named(index: int) -> None:
    def cleared(x: Any, i: Any) -> Any:
        x[i] = 0.0
        return x, 2.0

    def doubled(x: Any, i: Any) -> Any:
        x[i] *= 2.0
        return x, x[i]

    def left(x: Any, i: Any) -> Any:
        return x, 1.0

    def function(x: Any, index: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            y, total = carry
            y, more = tm.switch(index + i, [cleared, doubled, left], y, i)
            return (y, total + more), None

        return tm.scan(step, (x, np.float64(0)), np.arange(4))[0]

    x = R.normal(size=4)
    ours, theirs = (tm.compile(function, backend=b)(x, np.int64(index)) for b in ("c", "numpy"))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- bounds --------------------------------------------------------------------------------------------


def test_the_bound_of_an_inner_counter_cancels_the_outer_one() -> None:
    outer = variable_between(0, 9)
    inner = Variable()
    inner.add_low(LinearForm(0))
    inner.add_high(LinearForm(8) - outer)
    place = outer + LinearForm(1, {inner: 1})
    assert (lower_bound(place), upper_bound(place)) == (1, 9)
    assert lies_between(place, 0, 9)
    assert not lies_between(place, 0, 8)


def test_a_bound_that_may_overflow_is_none() -> None:
    large = variable_between(0, 2**62)
    assert not is_exact(large.times(3))
    inner = Variable()
    inner.add_high(large.times(3))
    assert upper_bound(LinearForm(0, {inner: 1})) is None


def test_an_integer_that_may_wrap_around_has_no_bounds() -> None:
    large = variable_between(0, 2**62)
    for op in ("minimum", "maximum"):
        assert upper_bound(known_result(op, [large.times(4), LinearForm(5)])) is None
    assert union(large.times(4), LinearForm(0)) is None
    assert product_of(large, large) is None
    assert known_truth("less", [large.times(4), LinearForm(0)]) is None


def test_what_is_known_of_results_holds_for_every_operand() -> None:
    ops: dict[str, Callable[[int, int], int]] = {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "minimum": min,
        "maximum": max,
    }
    tests: dict[str, Callable[[int, int], bool]] = {
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
    }
    ranges = [(-3, -1), (-2, 2), (0, 0), (1, 4)]
    for (a, b), (c, d) in product(ranges, ranges):
        x, y = variable_between(a, b), variable_between(c, d)
        pairs = list(product(range(a, b + 1), range(c, d + 1)))
        for op, function in ops.items():
            known = known_result(op, [x, y])
            results = [function(*pair) for pair in pairs]
            assert (lower_bound(known), upper_bound(known)) == (min(results), max(results)), op
        for op, test in tests.items():
            truth = known_truth(op, [x, y])
            truths = {test(*pair) for pair in pairs}
            assert truth is (truths.pop() if len(truths) == 1 else None), op
        for divisor in (1, 3):
            rest, quotient = (
                known_result(op, [x, LinearForm(divisor)]) for op in ("remainder", "floor_divide")
            )
            for one in range(a, b + 1):
                assert lies_between(rest, 0, divisor - 1)
                assert (lower_bound(quotient) or 0) <= one // divisor <= (upper_bound(quotient) or 0)
        joined = union(x, y)
        assert (lower_bound(joined), upper_bound(joined)) == (min(a, c), max(b, d))
    assert product_of(None, LinearForm(1)) is None
    assert union(None, LinearForm(1)) is None


def sorted_by_gaps(a: Any) -> Any:
    """Each inner loop begins at another constant, and its test reads in front of the array where it ends."""
    a = a.copy()
    for i in range(1, 6):
        value = a[i]
        j = i
        while j >= 1 and a[j - 1] > value:
            a[j] = a[j - 1]
            j -= 1
        a[j] = value
    return a


def test_loops_that_begin_at_other_constants_have_functions_of_their_own() -> None:
    for a in (R.normal(size=6), np.arange(6.0)[::-1].copy(), np.arange(6.0)):
        np.testing.assert_array_equal(tm.compile(sorted_by_gaps, backend="c")(a), np.sort(a))


def test_what_a_test_says_of_a_counter_does_not_hold_in_the_test() -> None:
    source = tm.compile(sorted_by_gaps, backend="c").lower(R.normal(size=6)).c_source
    assert source is not None
    start = source.index("TM_NEST static void")
    test = source[start : source.index("break;", start)]
    assert " < 0" in test or " < INT64_C(0)" in test, (
        test
    )  # the place before the first is moved into the axis


def products_of_pairs(x: Any) -> Any:
    """The first branch that is written gets one number twice, and those after it two numbers."""
    total = 0.0
    for one in (x[0], x[1], x[2]):
        for other in (x[0], x[1], x[2]):
            total += one * other if one > other else 0.5
    return total


def test_a_choice_that_gets_one_number_twice_has_a_function_of_its_own() -> None:
    x = np.array([3.0, 1.0, 2.0])
    assert tm.compile(products_of_pairs, backend="c")(x) == products_of_pairs(x)
