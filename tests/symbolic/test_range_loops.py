"""Python's loops over ``range(n)`` of a symbolic size, or over that many rows, become one loop if they only compute.

Other loops run iteration by iteration and limit the program to one size; their results are right as well.
"""

import functools
import itertools
import linecache
import math
import re
import threading
import types
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same
from samples.thinning import one_in
from tracemill.compiler.errors import UndecidedDimError

SIZES = (4, 7, 2, 30)
TABLE = np.arange(40.0)
RNG = np.random.default_rng(0)


# ---- loops that compute ------------------------------------------------------------------------------


def weighted(x: Any) -> Any:
    acc = 0.0
    for i in range(x.shape[0]):
        acc = acc + x[i] * i
    return acc


def running(x: Any) -> Any:
    sums = np.zeros_like(x)
    s = 0
    for i in range(len(x)):
        s += x[i]
        sums[i] = s
    return sums


def backwards(x: Any) -> Any:
    value = np.float64(0)
    for i in range(len(x) - 1, -1, -1):
        value = value * 0.5 + x[i]
    return value


def by_two(x: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(1, len(x), 2):
        out[i] = x[i] - x[i - 1] * i
    return out


def second_half(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x) // 2, len(x)):
        acc = acc * 0.5 + x[i] * i
    for j in range(len(x) - 1, len(x) // 2 - 1, -1):
        acc = acc * 0.5 + x[j]
    return acc, j  # pyright: ignore[reportPossiblyUnboundVariable]


class Sized:
    def __init__(self, x: Any) -> None:
        self.count = len(x)


def of_an_attribute(x: Any) -> Any:
    sized, acc = Sized(x), 0.0
    for i in range(1, sized.count):
        acc = acc + x[i]
    return acc


def of_rows(x: Any) -> Any:
    table, acc = np.outer(x, x), np.zeros(2)
    for row in table:
        row += 1
        for entry in row:
            acc = acc * 0.5 + entry
        for factor in (1.0, 2.0):
            acc[0] += factor
    for entry in x[::-1]:
        acc = acc * entry
        x[-1] += entry
    for last in table[1:]:
        acc[1] += last[0]
    return acc, table, last  # pyright: ignore[reportPossiblyUnboundVariable]


def recurrent(x: Any) -> Any:
    w = np.cos(np.arange(9.0)).reshape(3, 3)
    h = np.zeros(3)
    for t in range(x.shape[0]):
        z = w @ h + x[t]
        h = np.tanh(z)
    return h


def rows(x: Any) -> Any:
    out = np.zeros((x.shape[0], 2))
    for i in range(x.shape[0]):
        row = x[i]
        out[i, 0] = row.sum(axis=0) / len(row)
        out[i, -1] = np.max(row) if x.ndim == 2 else row
    return out


def table(x: Any) -> Any:
    n = x.shape[0]
    out = np.zeros((n, n + 1))
    for i in range(n):
        for j in range(1, n + 1):
            out[i, j] = out[i, j - 1] + x[i] * j
    return out


def unrolled_inside(x: Any) -> Any:
    acc = np.zeros(2)
    for i in range(len(x)):
        for j in range(2):
            acc[j] += x[i] * j
    return acc, j  # pyright: ignore[reportPossiblyUnboundVariable]


def products(x: Any) -> Any:
    n = x.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                out[i, j] += x[i] * x[j] / (k + 1)
    return out


def in_place(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] *= 2
    return x.sum()


def through_a_view(x: Any) -> Any:
    y = np.zeros((len(x), 2))
    first = y[:, 0]
    for i in range(len(x)):
        row = y[i]
        row[0] = x[i]
        row += first[i - 1]
    return y, first


def aliased(x: Any) -> Any:
    kept = {"a": x}
    y = kept["a"]
    for i in range(1, len(x)):
        y[i] += y[i - 1]
    return kept["a"].sum()


def stencil(x: Any) -> Any:
    for _ in range(len(x) - 1):
        x = np.where(np.arange(len(x)) % 2 == 0, x, 0.5 * (np.roll(x, 1) + np.roll(x, -1)))
    return x


def chosen(x: Any, is_squared: bool = True, scale: Any = None) -> Any:
    acc = 0.0
    for i in range(len(x)):
        factor = 2.0 if scale is None else scale
        if is_squared and not len(x) < 2:
            acc = acc + factor * x[i] ** 2
        else:
            acc = acc - x[i]
    return acc


def two_states(x: Any) -> Any:
    a, b = np.float64(0.0), np.float64(1.0)
    for i in range(len(x)):
        a, b = b, np.sin(a + b * x[i])
    return a, b


def of_a_table(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        acc += TABLE[3] * x[len(x) - 1 - i] + np.sqrt(i) / (2.0 * i + 1)
    return acc


def last_counter(x: Any) -> Any:
    acc = 0.0
    for i in range(x.shape[0]):
        acc += x[i]
    return acc * i  # pyright: ignore[reportPossiblyUnboundVariable]


def last_of_inside(x: Any) -> Any:
    for i in range(x.shape[0]):
        row = x[i] * 2
    return row  # pyright: ignore[reportPossiblyUnboundVariable]


def seen_through_a_view(x: Any) -> Any:
    y = x.copy()
    first = y[:1]
    for i in range(x.shape[0]):
        y[i] = y[i] + first[0]
    return y


def names_again(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        t = x[i]
        acc = acc + t
    for i in range(len(x)):
        t = acc * i
        acc = t * x[i]
    return acc


def of_integers(x: Any) -> Any:
    counts = np.zeros(len(x), np.int64)
    total = np.int64(0)
    for i in range(len(x)):
        counts[i] = i // 2 + i % 3 - (-i)
        total = total + counts[i] * i
    return counts, total


def narrow(x: Any) -> Any:
    y = x.astype(np.float32)
    acc = np.float32(0)
    for i in range(len(x)):
        acc = acc + y[i] * float(i) + i * 0.5
    return acc


def no_dimensions(x: Any) -> Any:
    total = np.zeros(())
    same = total
    for i in range(len(x)):
        total += x[i]
        same[()] += 1
    return same


def gradient(x: Any) -> Any:
    def loss(x: Any) -> Any:
        acc = 0.0
        y = np.zeros_like(x)
        for i in range(1, len(x)):
            acc = np.sin(acc) + x[i] ** 2
            y[i] = y[i - 1] * x[i] + acc
        return acc + y.sum()

    is_traced = hasattr(x, "_trace")
    return tm.grad(loss if is_traced else tm.compile(loss, dynamic=False))(x)


def mapped(x: Any) -> Any:
    def one(v: Any) -> Any:
        acc, y = 0.0, np.zeros(2)
        for i in range(len(x)):
            acc = acc + x[i] * v
            y[0] += v
        return acc + y[0]

    return tm.vmap(one)(np.arange(3.0))


def else_branch(x: Any) -> Any:
    acc = 0.0
    for i in range(len(x)):
        acc = acc + x[i]
    else:  # noqa: PLW0120
        acc = acc * 2
    return acc


def step(state: Any, x: Any, decay: float = 0.9, *, squashes: bool = False) -> Any:
    """A cell."""
    if squashes:
        return np.tanh(step(state, x))
    for k in range(2):
        state = decay * state + x * k
    return state


def add_to(total: Any, x: Any) -> None:
    total += x


def with_functions(x: Any) -> Any:
    scale = x[0]

    def scaled(v: Any) -> Any:
        return v * scale, v + 1

    a, b, total = 0.0, np.zeros(2), np.zeros(2)
    for i in range(len(x)):
        a = step(a, x[i], squashes=True)
        more, less = scaled(a)
        b = step(b, x=more - less, decay=0.5)
        add_to(total, b)
    return a, b, total


COMPUTING: tuple[Callable[..., Any], ...] = (
    *(
        weighted,
        running,
        backwards,
        by_two,
        second_half,
        of_an_attribute,
        of_rows,
        recurrent,
        rows,
        table,
        unrolled_inside,
        products,
        in_place,
    ),
    *(through_a_view, aliased, stencil, chosen, two_states, of_a_table, last_counter, last_of_inside),
    *(seen_through_a_view, names_again, of_integers, narrow, no_dimensions, gradient, mapped, else_branch),
)


# ---- loops that do more, or of which more is asked ---------------------------------------------------------


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
    y, acc = x, 0
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
    return x * len(f"{a}") + len(f"{b}") + len(f"{c[0]:.0f}") if a > 3 and isinstance(b, np.floating) else x


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


def check(
    function: Callable[..., Any], backend: str, sizes: tuple[int, ...] = SIZES, dynamic: bool = True
) -> int:
    """Compare with NumPy, and tell how many programs it took."""
    compiled = tm.compile(function, dynamic=dynamic, on_recompile="ignore", backend=backend)
    for size in sizes:
        x = RNG.normal(size=(size, 3) if function in (recurrent, rows) else size)
        theirs, ours = x.copy(), x.copy()
        with np.errstate(all="ignore"):
            want, got = function(theirs), compiled(ours)
        assert list(map(type, optree.tree_leaves(got))) == list(map(type, optree.tree_leaves(want)))
        assert_same(want, got, rtol=1e-12 if function is not narrow else 1e-6)
        assert_same(theirs, ours, rtol=1e-12)
    return len(compiled.signatures())


@pytest.mark.sampled("gradient-c", every=6)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", one_in(2, COMPUTING), ids=lambda function: function.__name__)
def test_a_loop_that_computes_is_one_program_for_all_sizes(
    function: Callable[..., Any], backend: str, c_compiler: str
) -> None:
    assert check(function, backend) == 1


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("function", one_in(3, MORE), ids=lambda function: function.__name__)
def test_a_loop_that_does_more_gives_what_python_gives(function: Callable[..., Any]) -> None:
    check(function, "numpy")
    assert check(function, "numpy", (2, 3), dynamic=False) == 2


def test_an_index_that_python_would_know_may_be_out_of_range() -> None:
    def through_a_table(x: Any) -> Any:
        y, places = np.zeros(4), np.arange(len(x))
        for i in range(len(x)):
            y[places[i]] += x[i]
        return y

    def of_numbers(x: Any) -> Any:
        y = np.zeros(4)
        for place in np.arange(len(x)):
            y[place] += x[place]
        return y

    for function in (through_a_table, of_numbers):
        f = tm.compile(function, dynamic=True, on_recompile="ignore")
        for size in (2, 4):
            assert_same(function(np.ones(size)), f(np.ones(size)))
        with pytest.raises(IndexError):
            function(np.ones(5))
        with pytest.raises(IndexError):
            f(np.ones(5))


def test_numbers_of_numpys_keep_their_dtype_in_loops() -> None:
    def f(x: Any) -> Any:
        y, n = x * 1, len(x)
        for i in range(n):
            y = y + x[i] * np.float32(0.5) * np.maximum(n, 1)
        return y

    g = tm.compile(f, dynamic=True)
    for size in (5, 9):
        x = np.ones(size, "f4")
        assert f(x).dtype == np.float64
        assert_same(f(x), g(x))
    assert len(g.signatures()) == 1


def test_a_name_that_is_no_range_of_pythons_is_left_alone() -> None:
    check(range_of_its_own, "numpy")


@pytest.mark.parametrize("function", [weighted, running, recurrent, of_a_table, in_place, table, by_two])
def test_a_loop_can_be_exported_for_all_sizes(function: Callable[..., Any]) -> None:
    shape = "N, 3" if function is recurrent else "N"
    f = tm.export(function, f"x: f64[{shape}]", constraints="N in 1..40").function()
    for size in (1, 5, 33):
        x = RNG.normal(size=(size, 3) if function is recurrent else size)
        assert_same(function(x.copy()), f(x.copy()), rtol=1e-12)


def test_a_loop_may_have_no_turns_where_types_stay() -> None:
    def f(x: Any) -> Any:
        total = x[0] + 2
        for i in range(1, len(x)):
            total = total + x[i]
            x[i] = 0.0
        return total

    g = tm.export(f, "x: f64[N]", constraints="N in 1..40").function()
    assert [g(np.ones(n)) for n in (1, 2, 6)] == [3, 4, 8]
    h = tm.export(weighted, "x: f64[N]").function()
    assert [h(np.ones(n)) for n in (0, 1, 3)] == [0, 0, 3]
    with pytest.raises(UndecidedDimError, match=r"The loop at .* is unrolled, since .*it changes `found`"):
        tm.export(listed, "x: f64[N]", constraints="N >= 1")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (listed, "it changes `found`, a list"),
        (factorial, "it computes numbers that Python knows in each iteration"),
        (rebound_and_written, "writes to `y` and rebinds it"),
        (known_turn_by_turn, "an index may be out of bounds for an axis with size 40"),
        (powers, "it computes Python ints that may exceed 64 bits"),
        (labelled, "it needs Python's own numbers and variables"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_recompilation_says_why_a_loop_is_unrolled(function: Callable[..., Any], reason: str) -> None:
    f = tm.compile(function, dynamic=True, on_recompile="ignore")
    line = function.__code__.co_firstlineno
    for size in (5, 9):
        f(np.ones(size))
    text = f.explain_recompile()
    assert re.search(f"is unrolled, since .*{re.escape(reason)}", text)
    assert any(f"the loop at test_range_loops.py:{line + more} " in text for more in range(12))


@pytest.mark.parametrize("text", ["nowhere is None", "np.nowhere is None", "len(nowhere) > 0", "x[nowhere]"])
def test_a_name_without_a_value_is_an_error_as_in_python(text: str, tmp_path: Path) -> None:
    file = tmp_path / "unbound.py"
    file.write_text(f"def f(x):\n    for i in range(len(x)):\n        y = {text}\n    return x\n")
    module: Any = {"np": np}
    exec(compile(file.read_text(), str(file), "exec"), module)
    with pytest.raises((NameError, AttributeError), match="nowhere"):
        tm.compile(dynamic=True)(module["f"])(np.ones(3))


def test_text_that_has_changed_since_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    text = "def total(x):\n    acc = 0.0\n    for i in range(len(x)):\n        acc = acc + x[i] * 1.0\n    return acc\n"
    file.write_text(text)
    module = types.ModuleType("edited")
    exec(compile(text, str(file), "exec"), vars(module))
    for _ in range(100):  # Python notes in code what it has seen when it runs
        module.total(np.ones(3))
    assert check(module.total, "numpy") == 1
    for old, new in (("+", "-"), ("1.0", "True"), ("1.0", "1"), ("acc = 0.0", "acc = -0.0")):
        file.write_text(text.replace(old, new))
        linecache.checkcache(str(file))
        exec(compile(text, str(file), "exec"), vars(module))
        assert check(module.total, "numpy") > 1


def test_threads_do_not_see_each_others_loops() -> None:
    found: list[bool] = []

    def work() -> None:
        f = tm.compile(running, dynamic=True, on_recompile="ignore")
        for size in (3, 5, 9):
            x = np.arange(float(size))
            found.append(bool((f(x) == running(x)).all()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 12
