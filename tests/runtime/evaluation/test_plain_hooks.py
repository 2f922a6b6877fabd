"""Hooks pass on what Python alone computes, also where a traced number is among it."""

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

SEEN: list[Any] = []


class Counter:
    total = 0
    shown: Any = None

    def __init__(self) -> None:
        self.total = 0
        self.own = 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"missing {name}"

    @property
    def twice(self) -> Any:
        return self.total * 2

    @twice.setter
    def twice(self, value: Any) -> None:
        self.total = value / 2


class Noting:
    def __setattr__(self, name: str, value: Any) -> None:
        SEEN.append(name)
        object.__setattr__(self, name, value)


def containers(x: Any) -> Any:
    counts: dict[Any, Any] = {}
    for i in range(20):
        counts[i % 3] = counts.get(i % 3, 0) + i
    counts["x"] = counts.setdefault("x", 0) + x
    entries = [0] * 4
    for i in range(8):
        entries[i % 4] += i
        entries[-1] -= 1
    entries[1] = x
    entries.insert(1, 5)
    last, some = entries.pop(), {1, 2}
    some.add(7)
    some.discard(1)
    line = deque([1, 2], maxlen=3)
    line.append(entries.pop(2))
    line.appendleft(x)
    SEEN.extend(
        [len(counts), len(entries), last, sorted(some), counts.pop("nothing", None), len(line), entries[-1]]
    )
    return counts["x"] * line[-1] + line[0]


def texts(x: Any) -> Any:
    found = 0
    for word in "a,bb c,d".split():
        if word.startswith("a") or "d" in word:
            found += len(word.replace(",", "").upper().strip("C"))
    a, b, form = "a", "b", "%s of %d"
    text = form % ("two", 3) + "!" * 2 + (a + b if a < b else "")
    SEEN.extend([found, text, text[2], text[-3:], "{} {}".format(1, "b"), ",".join(["a", "b"])])
    return x * found


def numbers(x: Any) -> Any:
    n: Any = 7
    flag, z = True, 2 + 1j
    n //= 2
    n **= 2
    n <<= 1
    found: list[Any] = [
        n % 5,
        -n,
        n / 4,
        n & 6,
        n | 1,
        n ^ 3,
        z * n,
        flag + n,
        min(n, 4),
        max(2.5, n),
        abs(-n),
        round(2.6),
    ]
    found += [
        int("12"),
        float(n),
        str(n),
        bool(n),
        divmod(n, 4),
        n == 18.0,
        n is None,
        n in (18, 2),
        hex(n),
        chr(65),
    ]
    SEEN.extend(found)
    assert min(x, 4.0) is not None
    return max(x, 1.0) * n + abs(x) + len([x]) + float(n) * x


def objects(x: Any) -> Any:
    counter = Counter()
    for _ in range(5):
        counter.total += 2
    counter.twice = counter.twice + 4
    counter.shown = x
    noting: Any = Noting()
    noting.a = 1
    noting.a += 1
    Counter.total += 1
    SEEN.extend([counter.total, counter.twice, counter.other, counter.own, noting.a, Counter.total])
    Counter.total = 0
    return counter.shown * counter.total


def failing(x: Any) -> Any:
    a: Any = "a"
    one: Any = 1
    table: Any = {}
    pair: Any = (1, 2)
    empty: Any = []
    actions: list[Callable[[], Any]] = [
        lambda: table["a"],
        lambda: [one][one + 2],
        lambda: a + 1,
        lambda: one < a,
        lambda: one % 0,
        lambda: operator.setitem(pair, 0, 1),
        lambda: empty.pop(one),
        lambda: len(one),
        lambda: range(a),
        lambda: int("b"),
        lambda: table.get([one]),
        lambda: min(one, a),
    ]
    for action in actions:
        try:
            action()
        except (KeyError, IndexError, TypeError, ZeroDivisionError, ValueError, AttributeError) as error:
            SEEN.append((type(error), str(error)))
    return x


def plainly(x: Any) -> Any:
    """The value of a number, be it traced or not."""
    return float(x) if isinstance(x, np.ndarray | float) else x


@pytest.mark.parametrize("function", [containers, texts, numbers, objects, failing])
def test_what_python_computes_alone_is_pythons(function: Any) -> None:
    SEEN.clear()
    value = function(3.0)
    expected = [plainly(one) for one in SEEN]
    transforms: list[Callable[[], Any]] = [
        lambda: tm.value_and_grad(function)(3.0),
        lambda: tm.jvp(function, (3.0,), (1.0,)),
    ]
    for transform in transforms:
        SEEN.clear()
        found, slope = transform()
        assert [plainly(one) for one in SEEN] == expected
        assert found == value
        step = 1e-6
        differences = (function(3.0 + step) - function(3.0 - step)) / (2 * step)
        assert slope == pytest.approx(differences, rel=1e-6)
    SEEN.clear()


def test_methods_of_containers_take_traced_keys_and_places() -> None:
    def f(x: Any) -> Any:
        table = {2.0: 10.0, 3.0: 20.0}
        entries = [1.0, 2.0, 3.0]
        entries.insert(int(x), x)
        return table.get(x, 0.0) * x + entries[2] + entries.pop(int(x) - 2) + table[x] * (x in table)

    assert tm.value_and_grad(f)(2.0) == (f(2.0), 11.0)
