"""The cost of a call of a compiled function beyond its NumPy statements."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...runtime.compilation.compile import compile
from .timing import Measurement, seconds_in_turn

SIZE = 16
CALLS = 2000
ABOUT: str = f"What a compiled call on f32[{SIZE}] arrays costs beyond the NumPy statements in it"


def one(a: Any) -> Any:
    return a + a


def two(a: Any, b: Any) -> Any:
    return a + b


def four(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a + b) + (c + d)


def five_in_a_dict(tree: dict[str, Any]) -> Any:
    return ((tree["a"] + tree["b"]) + (tree["c"] + tree["d"])) + tree["e"]


def measure(rounds: int) -> Iterator[Measurement]:
    """A row per number of arguments: a compiled call minus the same statements as a plain function."""
    arrays = [np.arange(SIZE, dtype=np.float32) + i for i in range(5)]
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("1 array", one, tuple(arrays[:1])),
        ("2 arrays", two, tuple(arrays[:2])),
        ("4 arrays", four, tuple(arrays[:4])),
        ("dict of 5 arrays", five_in_a_dict, (dict(zip("abcde", arrays, strict=True)),)),
    ]
    for name, function, args in cases:
        pair = (partial(compile(function), *args), partial(function, *args))
        compiled, plain = seconds_in_turn(pair, rounds=rounds, calls=CALLS)
        detail = f"a call takes {1e9 * compiled:.0f} ns, its statements {1e9 * plain:.0f} ns"
        yield Measurement("overhead", name, 1e9 * (compiled - plain), "ns", detail)
