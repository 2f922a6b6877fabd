"""What a function reads from outside is looked at again in each call: entries of containers, attributes, elements."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracemill as tm


@dataclass
class Layer:
    weights: Any

    @property
    def first(self) -> Any:
        return self.weights[0]

    def __getitem__(self, place: int) -> Any:
        return self.weights[place]

    def held(self) -> Any:
        return self.weights


def total(values: Any, x: Any) -> Any:
    result = 0.0 * x
    for value in values:
        result = result + x * value
    return result


def first_of(first: Any, *_: Any) -> Any:
    return first


Case = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]
"""What holds an array or a number, and what a function reads of that."""

ELEMENTS: dict[str, Case] = {
    "loop": (lambda a: a, total),
    "list": (lambda a: a, lambda held, x: x * sum(list(held))),
    "unpacked": (lambda a: a, lambda held, x: x * first_of(*held)),
    "a list of objects": (lambda a: [Layer(a)], lambda held, x: total(held[0].weights, x)),
    "a dict of objects": (lambda a: {"a": Layer(a)}, lambda held, x: x * np.sum(held["a"].weights)),
    "an object in an object": (
        lambda a: Layer([Layer(a)]),
        lambda held, x: total(held.weights[0].weights, x),
    ),
    "getattr": (Layer, lambda held, x: total(getattr(held, "weights"), x)),  # noqa: B009
    "vars": (Layer, lambda held, x: total(vars(held)["weights"], x)),
    "a property": (Layer, lambda held, x: x * held.first),
    "a special method": (Layer, lambda held, x: x * held[0]),
    "a method": (lambda a: [Layer(a)], lambda held, x: total(held[0].held(), x)),
    "a partial function": (lambda a: partial(total, a), lambda held, x: held(x)),
    "a closure": (lambda a: [lambda: a], lambda held, x: total(held[0](), x)),
    "a test": (lambda a: [Layer(a)], lambda held, x: x if held[0].weights[0] > 1.5 else -x),
    "an index": (lambda a: [Layer(a)], lambda held, x: x * range(9)[int(held[0].weights[0])]),
    "an array of objects": (lambda a: np.array([None, a], object), lambda held, x: total(held[1], x)),
}


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("name", ELEMENTS)
def test_a_write_to_an_array_that_python_reads_shows_in_the_next_call(name: str, convert: bool) -> None:
    hold, read = ELEMENTS[name]
    array = np.array([1.0, 2.0, 3.0])
    held = hold(array)

    def function(x: Any) -> Any:
        return read(held, x)

    compiled = tm.compile(function, convert=convert)
    for _ in range(3):
        assert compiled(np.float64(2.0)) == function(np.float64(2.0))
        array += 1


PLACES: dict[str, Case] = {
    "a list": (lambda layer: [layer], lambda held, x: x * np.sum(held[0].weights)),
    "a dict": (lambda layer: {"a": layer}, lambda held, x: x * np.sum(held["a"].weights)),
    "an object": (Layer, lambda held, x: x * np.sum(held.weights.weights)),
    "a property": (lambda layer: layer, lambda held, x: x * np.sum(held.first)),
    "a method": (lambda layer: [layer], lambda held, x: x * np.sum(held[0].held())),
}


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("name", PLACES)
def test_an_attribute_that_is_set_shows_in_the_next_call(name: str, convert: bool) -> None:
    hold, read = PLACES[name]
    layer = Layer(np.array([1.0, 2.0]))
    held = hold(layer)

    def function(x: Any) -> Any:
        return read(held, x)

    compiled = tm.compile(function, convert=convert)
    for number in range(3):
        assert compiled(np.float64(2.0)) == function(np.float64(2.0))
        layer.weights = np.array([number, 5.0])


CONTAINERS: dict[str, tuple[Any, Callable[[Any], None], Callable[[Any, Any], Any]]] = {
    "an entry of a list": ([1.0, 2.0], lambda c: c.__setitem__(0, c[0] + 1), lambda c, x: x * c[0]),
    "an entry of a dict": ({"a": 1.0}, lambda c: c.update(a=c["a"] + 1), lambda c, x: x * c["a"]),
    "the length of a list": ([1.0], lambda c: c.append(2.0), lambda c, x: x * sum(c)),
    "the length of a set": ({0}, lambda c: c.add(len(c)), lambda c, x: x * len(c)),
    "the ends of a deque": (deque([1.0]), lambda c: c.appendleft(c[0] + 1), lambda c, x: x * c[0]),
    "a key": ({}, lambda c: c.update(a=1), lambda c, x: x if "a" in c else -x),
    "an inner list": ({"a": [1.0]}, lambda c: c["a"].append(3.0), lambda c, x: x * max(c["a"])),
}


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("name", CONTAINERS)
def test_a_change_of_a_container_shows_in_the_next_call(name: str, convert: bool) -> None:
    container, change, read = CONTAINERS[name]
    held = container.copy() if name != "an inner list" else {"a": [1.0]}

    def function(x: Any) -> Any:
        return read(held, x)

    compiled = tm.compile(function, convert=convert)
    for _ in range(3):
        assert compiled(np.float64(2.0)) == function(np.float64(2.0))
        change(held)


def test_attributes_that_the_function_does_not_mention_cause_no_new_trace() -> None:
    layer = Layer(np.ones(2))
    layer.history = [np.zeros(2)]  # type: ignore[attr-defined]
    layers, traces = [layer], list[str]()

    def function(x: Any) -> Any:
        traces.append("traced")
        return x * layers[0].weights

    compiled = tm.compile(function, on_recompile="ignore")
    for _ in range(3):
        compiled(np.ones(2))
        layer.history[0] += 1  # type: ignore[attr-defined]
        layer.history.append(1)  # type: ignore[attr-defined]
    assert len(traces) == 1


def test_a_list_to_which_functions_only_append_causes_no_new_trace() -> None:
    log: list[str] = []
    traces: list[str] = []

    def function(x: Any, noted: bool) -> Any:
        traces.append("traced")
        if noted:
            log.append("called")
        return 2 * x

    compiled = tm.compile(function, on_recompile="ignore")
    for _ in range(3):
        compiled(np.ones(2), False)
        log.append("from outside")
    assert len(traces) == 1
