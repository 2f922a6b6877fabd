"""Outputs may overwrite inputs if every element is read before, in any order of the iterations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.kernel_graphs import softmax
from graphs.loop_interpreter import Run
from support.recording import drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.affine import Variable, of
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.loops import lower
from tracemill.compiler.loops.in_place_safety import overwritable
from tracemill.compiler.loops.interchange import vectorize_long_axis
from tracemill.compiler.loops.nest import Buffer, Let, Load, Local, Loop, Nest, Store


def nest_of(graph: Graph) -> Nest:
    return vectorize_long_axis(lower.lower(graph))


def found(function: Callable[..., Any], *types: str) -> dict[int, list[int]]:
    return {k: list(places) for k, places in overwritable(nest_of(recorded(function, *types))).items()}


def shifted(x: Value) -> Value:
    """The entries one place further, and a zero in front."""
    inside = bind("slice", x, start=(0, 0), stop=(x.shape[0], x.shape[1] - 1), step=(1, 1))
    return bind("pad", inside, fn.constant(0.0, x.dtype), low=(0, 1), high=(0, 0), interior=(0, 0))


def below_the_largest(x: Value, axis: int) -> Value:
    kept = tuple(1 if n == axis else dim for n, dim in enumerate(x.shape))
    return fn.subtract(x, fn.reshape(bind("max", x, axes=(axis,)), kept))


def flipped(x: Value) -> Value:
    return bind("flip", x, axes=(1,))


def transposed(x: Value) -> Value:
    return bind("transpose", x, axes=(1, 0))


def replaced(x: Value, y: Value) -> Value:
    """Every other row of x replaced by one of y."""
    part = bind("slice", y, start=(0, 0), stop=(x.shape[0] // 2, x.shape[1]), step=(1, 1))
    step = (2, 1)
    stop = (2 * (x.shape[0] // 2) - 1, x.shape[1])
    return bind("update_slice", x, part, start=(0, 0), stop=stop, step=step)


A = "f64[6, 6]"

SAFE: dict[str, tuple[Callable[..., Any], list[str], dict[int, list[int]]]] = {
    "both operands": (fn.add, [A, A], {0: [0, 1]}),
    "not what is broadcast": (fn.add, [A, "f64[6]"], {0: [0]}),
    "several results": (lambda x, y: (fn.add(x, y), fn.sin(x)), [A, A], {0: [1], 1: [0, 1]}),
    "rows that are read twice": (lambda x: below_the_largest(x, 1), [A], {0: [0]}),
    "columns that are read before any row": (lambda x: below_the_largest(x, 0), [A], {0: [0]}),
    "three passes over rows": (softmax, [A], {0: [0]}),
    "short rows": (fn.add, ["f64[50, 3]", "f64[50, 3]"], {0: [0, 1]}),
    "what is replaced": (replaced, [A, A], {0: [0]}),
}

UNSAFE: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a neighbour": (lambda x: fn.add(x, shifted(x)), [A]),
    "a row in another order": (flipped, [A]),
    "columns for rows": (transposed, [A]),
    "another row": (lambda x: fn.add(bind("flip", x, axes=(0,)), 1.0), [A]),
    "another type": (lambda x: fn.convert(x, dtype_named("f32")), [A]),
    "another size": (lambda x: bind("sum", x, axes=(1,)), [A]),
    "one row for all": (
        lambda x, y: fn.add(bind("slice", x, start=(2, 0), stop=(3, 6), step=(1, 1)), fn.sum_(y, (0,))),
        [A, A],
    ),
    "any row": (lambda x, i: fn.gather(x, [i], (0,)), [A, "i64[6]"]),
}


@pytest.mark.parametrize("name", SAFE)
def test_an_output_may_overwrite_what_is_read_before(name: str) -> None:
    function, types, expected = SAFE[name]
    assert found(function, *types) == expected


@pytest.mark.parametrize("name", UNSAFE)
def test_what_is_needed_later_is_not_overwritten(name: str) -> None:
    function, types = UNSAFE[name]
    assert 0 not in found(function, *types)


def test_an_extreme_element_is_looked_for_once_more_behind_a_block() -> None:
    """In C, where numbers are searched a second time once it is known that one is the largest so far."""
    nest = nest_of(recorded(lambda x: (bind("argmax", x, axis=0), fn.negative(x)), "i64[70]"))
    assert sum(isinstance(statement, Loop) for statement in nest.body) == 1
    assert overwritable(nest) == {}


OUTER, INNER = Variable("i", 0, 9), Variable("j", 0, 4)
X, OUT = (Buffer(name, dtype_named("f64"), 50) for name in ("x", "out"))


def loops(*body: Any) -> Nest:
    return Nest((X,), (OUT,), (), (Loop(OUTER, (Loop(INNER, body),)),))


def test_the_order_of_statements_counts_in_a_turn() -> None:
    place = of(OUTER) * 5 + of(INNER)
    read, late = Load(X, place), Local("late", X.dtype)
    assert overwritable(loops(Store(OUT, place, read))) == {0: [0]}
    again = Let(late, Load(X, place))
    assert overwritable(loops(again, Store(OUT, place, read))) == {0: [0]}
    assert overwritable(loops(Store(OUT, place, read), again)) == {}


def test_what_is_written_twice_overwrites_nothing() -> None:
    place = of(OUTER) * 4 + of(INNER)
    assert overwritable(loops(Store(OUT, place, Load(X, place)))) == {}


# ---- random kernels ------------------------------------------------------------------------------------

N = 7

STEPS: dict[str, Callable[[Value, Value], Value]] = {
    "added": fn.add,
    "negated": lambda x, y: fn.negative(x),
    "flipped": lambda x, y: flipped(x),
    "transposed": lambda x, y: transposed(x),
    "transposed first": lambda x, y: fn.add(transposed(y), x),
    "shifted": lambda x, y: fn.add(shifted(x), y),
    "below the largest of a row": lambda x, y: below_the_largest(x, 1),
    "below the largest of a column": lambda x, y: below_the_largest(x, 0),
    "a row": lambda x, y: fn.add(x, fn.reshape(fn.sum_(y, (0,)), (1, N))),
    "a column": lambda x, y: fn.add(x, fn.reshape(fn.sum_(y, (1,)), (N, 1))),
    "replaced": replaced,
    "joined": lambda x, y: fn.concatenate([fn.slice_axis(x, 0, 3, 0), fn.slice_axis(y, 3, N, 0)], 0),
    "joined columns": lambda x, y: fn.concatenate([fn.slice_axis(y, 2, N, 1), fn.slice_axis(x, 0, 2, 1)], 1),
    "flat": lambda x, y: fn.reshape(fn.flip(fn.reshape(x, (N * N,)), (0,)), (N, N)),
    "slow": lambda x, y: fn.exp(fn.sin(x)),
}


@st.composite
def kernels(draw: st.DrawFn) -> Graph:
    """One to three results that are made of two inputs by a few steps each."""
    chains = draw(
        st.lists(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4), min_size=1, max_size=3)
    )

    def results(x: Value, y: Value) -> tuple[Value, ...]:
        made: list[Value] = []
        for number, chain in enumerate(chains):
            value, other = (x, y) if number % 2 else (y, x)
            for step in chain:
                value = STEPS[step](value, other)
            made.append(value)
        return tuple(made)

    return recorded(results, f"f64[{N}, {N}]", f"f64[{N}, {N}]")


@pytest.mark.slow
@settings(max_examples=settings().max_examples, deadline=None)
@given(graph=kernels())
def test_results_are_the_same_in_the_memory_of_inputs_in_any_order_of_turns(graph: Graph) -> None:
    nest = nest_of(graph)
    inputs: list[Any] = drawn(graph, "real")
    expected = Run(nest, inputs).outputs
    for output, places in overwritable(nest).items():
        for place in places:
            for backwards in (False, True):
                found = Run(nest, inputs, over={output: place}, backwards=backwards).outputs
                for number, (x, y) in enumerate(zip(found, expected, strict=True)):
                    np.testing.assert_allclose(x, y, 1e-12, 1e-12, err_msg=f"{number}\n{nest}")
