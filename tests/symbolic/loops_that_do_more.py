"""Loops that Python must run: they do more than compute."""

import functools
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from symbolic.loops_that_compute import TABLE, step, with_functions


def listed(x: Any) -> Any:
    found = []
    for i in range(x.shape[0]):
        found.append(x[i] * 2)  # noqa: PERF401
    return np.stack(found)


def broken_off(x: Any) -> Any:
    acc = 0.0
    for i in range(x.shape[0]):
        acc += x[i]
        if i > 1:
            break
    return acc


def counted(x: Any) -> Any:
    count = 0
    for _ in range(x.shape[0]):
        count += 1
        x = x * 1.5
    return x / count, [2.0, 3.0][count % 2], len(f"{count}")


def factorial(x: Any) -> Any:
    product = 1
    for i in range(1, len(x) + 1):
        product *= i
    return x.sum() / product


def powers(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        acc = acc + x[i] * 10**i / (1 << i)
    return acc


def labelled(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        acc = acc + x[i] * len(str(i))
    return acc


def random_numbers(x: Any) -> Any:
    normal, acc = np.random.default_rng(0).normal, 0.0
    for i in range(len(x)):
        acc = acc + x[i] * normal()
    return acc


COUNT = [0]
TOTALS = {"n": 0.0}
BUFFER = np.zeros(3)


def globals_written(x: Any) -> Any:
    COUNT[0], TOTALS["n"] = 0, 0.0
    for i in range(len(x)):
        COUNT[0] += 1
        TOTALS["n"] = TOTALS["n"] + x[i]
    return TOTALS["n"] * COUNT[0]


class Counter:
    __array_ufunc__ = None

    def __init__(self) -> None:
        self.count = 0

    @property
    def next(self) -> int:
        self.count += 1
        return self.count

    def __getitem__(self, index: object) -> int:
        return self.next

    def __radd__(self, other: Any) -> Any:
        return other + self.next

    def sum(self, x: Any) -> Any:
        return x + self.next


def objects(x: Any) -> Any:
    a, b, c, d, acc = Counter(), Counter(), Counter(), Counter(), 0.0
    for i in range(len(x)):
        acc = acc + x[i] * a.next
    for i in range(len(x)):
        acc = acc + x[i] * b[0]
    for i in range(len(x)):
        acc = acc + c.sum(x[i])
    for i in range(len(x)):
        acc = x[i] + acc + d
    return acc


def iterators(x: Any) -> Any:
    numbers, pop, acc = iter([1.0, 2.0, 3.0]), list(range(60)).pop, 0.0
    for i in range(len(x)):
        for number in numbers:
            acc = acc + number * x[i]
    for i in range(len(x)):
        acc = acc + x[i] * pop()
    return acc


def calls_back(x: Any) -> Any:
    count = [0]

    def numbered(v: Any) -> Any:
        count[0] += 1
        return v * count[0]

    vectorized, over_ones, acc = np.vectorize(numbered), np.ones(2), 0.0
    for i in range(len(x)):
        acc = acc + vectorized(2.0) * x[i]
    for i in range(len(x)):
        acc = acc + np.apply_along_axis(numbered, 0, over_ones).sum() * x[i]
    for i in range(len(x)):
        acc = acc + numbered(x[i])
    return acc


def of_pairs(x: Any) -> Any:
    acc = 0.0
    for pair in enumerate(range(len(x)), 2):
        acc += pair[0] * x[pair[1]]
    for i in itertools.islice(range(len(x)), 1, None):
        acc += x[i]
    for i in [2 * j for j in range(len(x))]:
        acc += i * x[0]
    for i in reversed(range(len(x))):
        acc = acc * 2 + x[i]
    return acc


def becomes_another(x: Any) -> Any:
    now = np.zeros_like(x)
    for _ in range(len(x)):
        now = x
    now[0] = 99.0
    return x.sum()


def swapped(x: Any) -> Any:
    a, b = x, np.ones_like(x)
    for _ in range(len(x)):
        a, b = b, a
    a[0] = 99.0
    return b


def other_rows(x: Any) -> Any:
    table, last, acc = np.outer(x, x), x, 0.0
    for row in table:
        last = row
    for i, entry in enumerate(x):
        acc = acc + i * entry
    for entry in iter(x):
        acc = acc + entry
    for entry in x:
        acc = acc + entry
        break
    last[0] = 99.0
    return table, acc


def last_row(x: Any) -> Any:
    columns = x.reshape(-1, 1)
    last = columns[0]
    for i in range(len(x)):
        last = columns[i]
    last *= 2
    return columns


def no_turns(x: Any) -> Any:
    y, acc = x, x[0]
    for i in range(4, len(x)):
        y = y + 1
        acc = acc + x[i]
    y[0] = 99.0
    return y, acc


def rebound_and_written(x: Any) -> Any:
    y = x
    for _ in range(len(x)):
        y[0] += 1
        y = y * 1.5
    return y, x


def two_of_one(x: Any) -> Any:
    a = b = np.zeros(3)
    for i in range(len(x)):
        a = b = np.ones(3) * x[i]
    a[0] = 5.0
    return b


def first_is_alias(x: Any) -> Any:
    acc = None
    for _ in range(len(x) - 1):
        acc = x if acc is None else acc + x
    acc[0] = 99.0  # type: ignore[index] # pyright: ignore[reportOptionalSubscript]
    return x


def state_in_a_tuple(x: Any) -> Any:
    state = (0.0, np.zeros(2))
    kept = state[1]
    for i in range(len(x)):
        total, v = state
        v[0] += x[i]
        state = (total + x[i], v)
    return kept, state[0]


def questions(x: Any) -> Any:
    acc, weights = 0.0, {0: 1.0, 2: 3.0}
    for i in range(len(x)):
        if i in weights:
            acc = acc + x[i] * 2
    for i in range(len(x)):
        if f"{i}" == "1":
            acc = acc + x[i]
    for i in range(len(x)):
        acc = acc + x[i] * len(str(i))
    for i in range(len(x)):
        if type(i) is int:
            acc = acc + x[i]
    return acc


def slices(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        acc = acc + x[i : i + 3].sum() + x[:i].sum()
    return acc


def depends_on_the_turn(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            acc = acc + x[j] * i
    return acc


def through_math(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        acc = acc + math.sqrt(i) * x[i] + round(x[i], 2)
    return acc


def of_lists(x: Any) -> Any:
    pair, acc = [1.0, 2.0], 0.0
    for i in range(len(x)):
        pair[0], pair[1] = pair[1], pair[0] + x[i]
    for i in range(len(x)):
        acc = acc + np.array([i, i + 1, 2 * i]).mean() * x[i] + len([0] * (i + 1))
    return acc, pair


def small_integers(x: Any) -> Any:
    y, acc = np.arange(len(x)).astype(np.uint8), np.uint8(200)
    for i in range(len(x)):
        acc = acc + y[i] * i
    return acc


def closed_over(x: Any) -> Any:
    acc = 0.0

    def product() -> Any:
        return acc * 2

    for i in range(len(x)):
        acc = acc + x[i]
    return product()


last: Any = None


def of_the_module(x: Any) -> Any:
    global last
    acc = 0.0
    for last in range(len(x)):  # noqa: B007
        acc = acc + x[0]
    return acc * last


def looked_at(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        unread = x[i]  # pyright: ignore[reportUnusedVariable]
        acc = acc + x[i]
    return acc + locals()["unread"]


def generated(x: Any) -> Any:
    def sums() -> Any:
        acc = 0.0
        for i in range(len(x)):
            acc = acc + x[i]
        yield acc

    return list(sums())


def objects_alias(x: Any) -> Any:
    y = x.copy()
    held = SimpleNamespace(y=y)
    for i in range(len(x)):
        y[i] = held.y[i - 1] + x[i]
    return y


def known_turn_by_turn(x: Any) -> Any:
    a, b, c = np.float64(0), np.float64(0), np.zeros(3)
    for i in range(len(x)):
        a = a + i
    for i in range(len(x)):
        for j in range(len(x)):
            b = b + TABLE[i] * j
    for i in range(len(x)):
        c[0] += i
    return x * c[0] if a > 3 and isinstance(b, np.floating) else x


def known_without_turns(x: Any) -> Any:
    total = np.float64(0)
    for i in range(4, len(x)):
        total = total + x[i]
    return x * len(f"{total:.3f}") if len(x) < 5 else total


def growing(x: Any) -> Any:
    y = x[:1]
    for i in range(len(x)):
        y = np.concatenate([y, y * i])[:3]
    return y


def range_of_its_own(x: Any) -> Any:
    def range(n: Any) -> Any:
        return [0, n - 1]

    acc = 0.0
    for i in range(len(x)):
        acc = acc + x[i]
    return acc


class Counting:
    """An object in an array, which NumPy calls."""

    def __init__(self) -> None:
        self.count = 0

    def __mul__(self, other: Any) -> Any:
        self.count += 1
        return self.count * other


HELD = np.array([Counting()], dtype=object)


def objects_in_arrays(x: Any) -> Any:
    HELD[0].count, acc = 0, 0.0
    for i in range(len(x)):
        acc = acc + x[i] * (HELD * 2)[0]
    for i in range(len(x)):
        acc = acc + x[i] * np.multiply(HELD, i).size
    return acc * HELD[0].count


def told(x: Any) -> Any:
    COUNT[0] += 1
    return x * COUNT[0]


@functools.wraps(step)
def wrapping(state: Any, x: Any) -> Any:
    return state + x


def of_all(*xs: Any) -> Any:
    return xs[0] + xs[1]


def recursive(x: Any, depth: int = 0) -> Any:
    return x if depth == 20 else recursive(x, depth + 1)


def first_of(x: Any, xs: Any) -> Any:
    return xs[0] + x


def summed(x: Any) -> Any:
    total = np.float64(0)
    for i in range(len(x)):
        total = total + x[i]
    return total


def same(x: Any) -> Any:
    return x


def with_functions_that_do_more(x: Any) -> Any:
    COUNT[0], acc = 0, np.float64(0)
    made: Any = lambda x: x * 3  # noqa: E731
    for i in range(len(x)):
        acc = acc + told(x[i])
    for i in range(len(x)):
        acc = wrapping(acc, x[i])
    for i in range(len(x)):
        acc = of_all(acc, x[i])
    for i in range(len(x)):
        acc = acc + recursive(x[i])
    for i in range(len(x)):
        acc = acc + first_of(x[i], [x[i], acc])
    for i in range(len(x)):
        acc = acc + summed(x) * x[i]
    for i in range(len(x)):
        acc = acc + made(x[i])
    return acc


def returns_what_it_got(x: Any) -> Any:
    y, z = np.zeros(2), np.ones(2)
    for _ in range(len(x)):
        y = same(z)
    z += x[0]
    return y, z


def held(x: Any) -> Callable[[], Any]:
    def get() -> Any:
        return x

    return get


def first_is_alias_of_a_function(x: Any) -> Any:
    get = held(x * 2)
    y: Any = None
    for _ in range(len(x) - 1):
        y = get() if y is None else y + 1
    y[0] = 99.0
    return y.sum(), get().sum()


def first_has_two_names(x: Any) -> Any:
    y: Any = None
    z: Any = None
    for _ in range(len(x) - 1):
        y = x * 2 if y is None else y * 2
        z = y if z is None else z
    y[0] = 99.0
    return y.sum(), z


def written_by_position(x: Any) -> Any:
    acc: Any = 0.0
    spread, total = np.zeros(()), np.zeros(())
    for i in range(len(x)):
        a = np.std(x, None, None, spread)
        acc = acc + a * i
    for i in range(len(x)):
        b = np.sum(x, None, None, total)
        acc = acc + b * i
    return acc, spread, total


_Private__scale = 3.0
__scale = 5.0


class Private:
    def sum(self, x: Any) -> Any:
        acc = 0.0
        for i in range(len(x)):
            acc = acc + x[i] * __scale  # pyright: ignore[reportUndefinedVariable]
        return acc


def private(x: Any) -> Any:
    return Private().sum(x)


def pairs_of_numbers(x: Any) -> Any:
    held: dict[int, Any] = {}
    for held[0] in range(len(x)):
        x = x * held[0]
    return x


MORE: tuple[Callable[..., Any], ...] = (
    *(listed, broken_off, counted, factorial, powers, random_numbers, globals_written, objects, iterators),
    *(
        calls_back,
        of_pairs,
        becomes_another,
        swapped,
        other_rows,
        last_row,
        no_turns,
        rebound_and_written,
        two_of_one,
    ),
    *(first_is_alias, state_in_a_tuple, questions, slices, depends_on_the_turn, through_math, of_lists),
    *(small_integers, closed_over, of_the_module, looked_at, generated, objects_alias, growing),
    *(objects_in_arrays, written_by_position, private, pairs_of_numbers),
    *(first_is_alias_of_a_function, first_has_two_names),
    *(
        with_functions,
        known_turn_by_turn,
        known_without_turns,
        with_functions_that_do_more,
        returns_what_it_got,
    ),
)
