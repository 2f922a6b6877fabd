"""Functions with loops over ``range(n)`` or over rows that only compute: each is one loop of the program."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tracemill as tm

TABLE = np.arange(40.0)
RNG = np.random.default_rng(0)


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
