"""Calls in loops write to what is carried: in what order they can, and where they cannot."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.in_place_updates import in_place, kept_places
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.graph import graph_function
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.ir import Call, Graph, Value, called
from tracemill.passes.optimizations.fuse import fuse, fusion_report

EIGHT = "f64[8]"


def put(x: Value, i: Value, *values: Value) -> Value:
    new = fn.concatenate([fn.reshape(value, (1,)) for value in values], 0)
    return bind("dynamic_update_slice", x, new, i)


def at(x: Value, i: Value) -> Value:
    return fn.reshape(bind("dynamic_slice", x, i, sizes=(1,)), ())


BODIES: dict[str, tuple[Any, list[str]]] = {
    "alone": (lambda a, b, i: (put(a, i, at(b, i)), b), ["dynamic_update_slice"]),
    "twice": (
        lambda a, b, i: (put(put(a, i, at(a, i)), i, at(b, i)), b),
        ["dynamic_update_slice", "dynamic_update_slice"],
    ),
    "before it is read": (lambda a, b, i: (put(a, i, at(b, i)), fn.sin(a)), ["dynamic_update_slice"]),
    "read with what it becomes": (lambda a, b, i: (y := put(a, i, at(b, i)), fn.add(a, y)), []),
    "given out as it was": (lambda a, b, i: (put(a, i, at(b, i)), a), []),
    "given out twice": (lambda a, b, i: (y := put(a, i, at(b, i)), y), []),
    "half of it": (lambda a, b, i: (put(a, i, *[at(b, i)] * 4), b), ["dynamic_update_slice"]),
    "most of it": (lambda a, b, i: (put(a, i, *[at(b, i)] * 5), b), []),
    "exchanged": (lambda a, b, i: (put(b, i, at(b, i)), put(a, i, at(a, i))), []),
    "each read by the other": (
        lambda a, b, i: (put(a, i, fn.sum_(b, (0,))), put(b, i, fn.sum_(a, (0,)))),
        ["dynamic_update_slice", "dynamic_update_slice"],
    ),
    "scattered": (lambda a, b, i: (fn.scatter(a, at(b, i), [i], (0,), "add"), b), ["scatter"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_what_overwrites_what_is_carried(name: str) -> None:
    body, expected = BODIES[name]
    graph = recorded(body, EIGHT, EIGHT, "i64[]")
    ordered, overwritten = in_place(graph, {0: 0, 1: 1})
    assert [call.op for call in overwritten.values()] == expected
    assert sorted(map(id, ordered.calls)) == sorted(map(id, graph.calls))
    place = {call: number for number, call in enumerate(ordered.calls)}
    for value, call in overwritten.items():
        readers = [place[other] for other in ordered.calls if value in other.inputs]
        assert max(readers) == place[call], "what is overwritten is read by nothing later"
    if all(call in place for call in graph.calls):
        made = {value: number for number, call in enumerate(ordered.calls) for value in call.outputs}
        assert all(made.get(v, -1) < place[call] for call in ordered.calls for v in call.inputs)


def test_what_is_printed_stays_in_its_order() -> None:
    def body(a: Value, i: Value) -> Value:
        new = put(a, i, at(a, i))
        bind_all("debug_print", new, text="new {0}")
        bind_all("debug_print", a, text="old {0}")
        return new

    graph = recorded(body, EIGHT, "i64[]")
    assert in_place(graph, {0: 0}) == (graph, {})


def loop(body: Graph, length: int = 50) -> Graph:
    numbers = f"i64[{length}]"
    return recorded(
        lambda *v: tuple(bind_all("scan", *v, graph=body, counts=(0, 2), length=length)),
        *(EIGHT, EIGHT, numbers),
    )


def body_of(graph: Graph) -> tuple[Call, Graph]:
    (call,) = (call for call in graph.calls if call.op == "scan")
    (body,) = called((call,))
    return call, body


def function_of(call: Call, name: str) -> CFunction | None:
    return print_function(call, name, COptions(), in_loop=True)


@pytest.mark.parametrize("name", BODIES)
def test_in_c_it_is_written_in_place(name: str) -> None:
    step, expected = BODIES[name]
    call, body = body_of(fuse(loop(recorded(step, EIGHT, EIGHT, "i64[]"))))
    function = graph_function(body, "step", function_of, kept_places(call)["graph"])
    assert function
    own = {"alone", "twice", "before it is read", "half of it", "each read by the other", "scattered"}
    by_kernel = {"most of it"}  # which computes every entry where it was
    assert (0 in function.in_place) is (name in own | by_kernel)
    assert bool(expected) is (name in own)


def test_a_part_is_in_no_kernel_where_it_is_written_in_place() -> None:
    body = recorded(lambda a, b, i: (put(a, i, fn.sin(at(a, i))), fn.add(a, b)), EIGHT, EIGHT, "i64[]")
    graph = loop(body)
    _, fused = body_of(fuse(graph))
    assert [call.op for call in fused.calls] == ["kernel", "kernel", "dynamic_update_slice"]
    (nested,) = fusion_report(graph).nested
    assert len(nested.kernels) == 2


def fill(x: Any) -> Any:
    for i in range(1, 40):
        x[i] = x[i - 1] * 0.5 + np.sin(x[i])
    return x


def table(x: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        def entry(j: Any, x: Any) -> Any:
            x[i, j] = x[i, j - 1] * 0.5 + x[i - 1, j]
            return x

        return tm.fori_loop(1, 8, entry, x)

    return tm.fori_loop(1, 5, row, x.reshape(5, 8)).ravel()


def positives(x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        x, count = state

        def keep(x: Any, count: Any) -> Any:
            x[count] = x[i]
            return x, count + 1

        return tm.cond(x[i] > 0, keep, lambda x, count: (x, count), x, count)

    return tm.fori_loop(0, 40, step, (x, 0))[0]


def bubbled(x: Any) -> Any:
    def step(state: Any) -> Any:
        x, i = state
        low, high = np.minimum(x[i], x[i + 1]), np.maximum(x[i], x[i + 1])
        x[i] = low
        x[i + 1] = high
        return x, i + 1

    return tm.while_loop(lambda state: state[1] < 39, step, (x, 0))[0]


@pytest.mark.parametrize("function", [fill, table, positives, bubbled])
def test_loops_that_write_to_what_they_carry_copy_nothing_in_any_step(function: Any, c_compiler: str) -> None:
    x = np.random.default_rng(0).normal(size=40)
    compiled = tm.compile(lambda x: function(x.copy()), backend="c")
    np.testing.assert_allclose(compiled(x), tm.compile(lambda x: function(x.copy()))(x), rtol=1e-14)
    source = compiled.lower(x).c_source
    assert source
    lines = [line.strip() for line in source.splitlines()]
    copies = [
        number for number, line in enumerate(lines) if line.startswith("memcpy") and line.endswith(" 320);")
    ]
    assert copies
    assert all(lines[number - 1].startswith("if (out") for number in copies), "only where it lies elsewhere"


@pytest.mark.slow
@pytest.mark.parametrize("function", [fill, table])
def test_derivatives_of_such_loops_are_those_of_numpy(function: Any, c_compiler: str) -> None:
    x = np.random.default_rng(0).normal(size=40)
    slope = tm.grad(lambda x: np.sum(np.cos(function(x.copy()))))
    np.testing.assert_allclose(
        tm.compile(slope, backend="c")(x), tm.compile(slope, backend="numpy")(x), rtol=1e-12
    )
