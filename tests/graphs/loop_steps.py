"""Loops with steps that share memory in every way: between what they carry, read, overwrite and return."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.ir import Graph, Value

FOUR = "f64[4]"
ONE = {"axis": 0, "reverse": False}


def total(x: Value) -> Value:
    return bind("cumsum", x, **ONE)


def peak(x: Value) -> Value:
    return bind("cummax", x, **ONE)


def place(x: Value, new: Value, at: Value, mode: str = "set") -> Value:
    return fn.scatter(x, new, [at], (0,), mode)


def turned(x: Value) -> Value:
    return fn.reshape(fn.reshape(x, (2, 2)), (4,))


def part(x: Value, new: Value, i: Value) -> Value:
    """`x` with two entries replaced by the first two of another array, from the first place of `i` on."""
    return bind("dynamic_update_slice", x, fn.slice_axis(new, 0, 2, 0), first(i))


def ends(x: Value, new: Value) -> Value:
    """`x` with its second and last entry replaced by the first two of another array."""
    return bind("update_slice", x, fn.slice_axis(new, 0, 2, 0), start=(1,), stop=(4,), step=(2,))


def first(x: Value) -> Value:
    return fn.reshape(fn.slice_axis(x, 0, 1, 0), ())


def inner(a: Value, b: Value, i: Value) -> tuple[Value, ...]:
    """Two carried through a loop that writes to the first."""
    body = recorded(lambda i, a, b: (part(a, b, i), total(b)), "i64[4]", FOUR, FOUR)
    return tuple(bind_all("scan", i, a, b, graph=body, counts=(1, 2), length=3))


def chosen(i: Value, a: Value, b: Value, *branches: Callable[..., tuple[Value, ...]]) -> tuple[Value, ...]:
    graphs = tuple(recorded(branch, FOUR, FOUR, "i64[4]") for branch in branches)
    return tuple(bind_all("switch", first(i), a, b, i, branches=graphs))


# A step from a constant w, two carried a and b, places i and an entry x; to the carried and what is stacked.
STEPS: dict[str, Callable[..., tuple[Value, ...]]] = {
    "exchanges": lambda w, a, b, i, x: (b, a, x),
    "gives the same twice": lambda w, a, b, i, x: (total(a), fn.reshape(total(a), (4,)), a),
    "hands on as it is": lambda w, a, b, i, x: (a, total(b), b),
    "hands on a constant and a slice": lambda w, a, b, i, x: (w, x, w),
    "carries constants on": lambda w, a, b, i, x: (fn.constant(np.array([1, -0.0, np.nan, 4])), x, b),
    "gives one result to all": lambda w, a, b, i, x: (y := total(w), y, y),
    "overwrites what it gives out": lambda w, a, b, i, x: (total(x), peak(b), a),
    "renames what it carries": lambda w, a, b, i, x: (turned(a), turned(b), turned(x)),
    "writes to a place": lambda w, a, b, i, x: (place(a, b, i), total(b), x),
    "writes to a place twice": lambda w, a, b, i, x: (place(place(a, x, i), w, i, "add"), b, peak(x)),
    "writes and gives out the old": lambda w, a, b, i, x: (place(a, x, i), b, a),
    "writes and gives out the new": lambda w, a, b, i, x: (y := place(a, x, i), b, y),
    "writes after a reader": lambda w, a, b, i, x: (place(a, total(a), i), peak(a), b),
    "writes before a reader of another name": lambda w, a, b, i, x: (
        place(a, x, i),
        peak(turned(a)),
        turned(b),
    ),
    "writes to what it renamed": lambda w, a, b, i, x: (place(turned(a), x, i), b, b),
    "writes what it writes to": lambda w, a, b, i, x: (place(a, a, i), place(b, a, i), x),
    "writes across": lambda w, a, b, i, x: (place(b, x, i), place(a, x, i), x),
    "writes to a constant": lambda w, a, b, i, x: (place(w, x, i), place(w, a, i), w),
    "writes to parts": lambda w, a, b, i, x: (part(a, b, i), ends(b, x), x),
    "writes to parts after a reader": lambda w, a, b, i, x: (
        part(ends(a, w), y := total(a), i),
        b,
        y,
    ),
    "writes to parts before a reader": lambda w, a, b, i, x: (part(a, b, i), peak(a), x),
    "writes parts across": lambda w, a, b, i, x: (part(b, x, i), ends(a, x), x),
    "writes a part of what it writes to": lambda w, a, b, i, x: (part(a, a, i), ends(b, turned(b)), x),
    "has a loop that writes": lambda w, a, b, i, x: (*inner(a, b, i), x),
    "has a loop that writes to both": lambda w, a, b, i, x: (*inner(a, turned(a), i), b),
    "has a loop that exchanges": lambda w, a, b, i, x: (*reversed(inner(a, b, i)), x),
    "has a loop that writes to a constant": lambda w, a, b, i, x: (*inner(w, a, i), b),
    "may write": lambda w, a, b, i, x: (
        *chosen(i, a, b, lambda a, b, i: (part(a, b, i), b), lambda a, b, i: (a, ends(b, a))),
        x,
    ),
    "may exchange": lambda w, a, b, i, x: (
        *chosen(i, a, b, lambda a, b, i: (part(a, b, i), b), lambda a, b, i: (b, a)),
        x,
    ),
    "may write and gives out the old": lambda w, a, b, i, x: (
        *chosen(i, a, b, lambda a, b, i: (part(a, b, i), total(a)), lambda a, b, i: (a, b)),
        a,
    ),
    "writes to what it made": lambda w, a, b, i, x: (place(total(a), x, i), place(total(b), a, i), total(x)),
}


def loop(step: Callable[..., tuple[Value, ...]], length: int, **more: Any) -> Graph:
    body = recorded(step, FOUR, FOUR, FOUR, "i64[4]", FOUR)
    rows = (f"i64[{length}, 4]", f"f64[{length}, 4]")
    return recorded(
        lambda *v: bind_all("scan", *v, graph=body, counts=(1, 2), length=length, **more),
        *(FOUR, FOUR, FOUR, *rows),
    )


VARIANTS: dict[str, dict[str, Any]] = {"": {}, " backwards": {"reverse": True}, " unrolled": {"unroll": 2}}
LOOPS = {
    f"{name}, {length} times{variant}": partial(loop, step, length, **more)
    for name, step in STEPS.items()
    for length in (1, 4, 5)
    for variant, more in VARIANTS.items()
}
"""Functions that make the loops: to make all of them would take longer than to collect many tests."""


def arrays_for(graph: Graph) -> list[Any]:
    """Random arrays. Integers are places, some of them beyond four."""
    rng = np.random.default_rng(len(graph.calls))
    return [
        rng.integers(-1, 5, v.shape).astype(v.dtype)
        if v.dtype.kind in "iu"
        else rng.normal(size=v.shape).astype(v.dtype)
        for v in graph.inputs
    ]
