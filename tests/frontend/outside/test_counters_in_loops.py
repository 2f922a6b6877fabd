"""Functions that a long loop on values calls may count in places outside: in each iteration, as in Python."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning, SideEffectError

Function = Callable[[Any], Any]
Counting = Callable[[], tuple[Function, Callable[[], int]]]

ROUNDS, STEPS = 16, 2
"""A loop with this many iterations, each of which is a loop, is traced once if possible."""
X = np.array([0.5, 1.5])
COUNT = 0


def in_a_class() -> tuple[Function, Callable[[], int]]:
    class Counter:
        count = 0

    def step(x: Any) -> Any:
        Counter.count += 1
        return x / Counter.count

    return step, lambda: Counter.count


def in_the_class_of_a_callable_object() -> tuple[Function, Callable[[], int]]:
    class Step:
        count = 0

        def __call__(self, x: Any) -> Any:
            type(self).count += 1
            return x / self.count

    return Step(), lambda: Step.count


def in_a_base_of_the_class() -> tuple[Function, Callable[[], int]]:
    class Base:
        count = 0

    class Step(Base):
        def step(self, x: Any) -> Any:
            Base.count += 1
            return x / Base.count

    return Step().step, lambda: Base.count


def by_a_method_of_a_class() -> tuple[Function, Callable[[], int]]:
    class Step:
        count = 0

        @classmethod
        def step(cls, x: Any) -> Any:
            cls.count += 1
            return x / cls.count

    return Step.step, lambda: Step.count


def by_making_objects() -> tuple[Function, Callable[[], int]]:
    class Step:
        made = 0

        def __init__(self, x: Any) -> None:
            Step.made += 1
            self.x = x / Step.made

    return lambda x: Step(x).x, lambda: Step.made


def in_a_module() -> tuple[Function, Callable[[], int]]:
    module = sys.modules[__name__]
    module.COUNT = 0  # type: ignore[attr-defined]

    def step(x: Any) -> Any:
        module.COUNT += 1  # type: ignore[attr-defined]
        return x / module.COUNT

    return step, lambda: COUNT


def in_a_global_variable() -> tuple[Function, Callable[[], int]]:
    sys.modules[__name__].COUNT = 0  # type: ignore[attr-defined]

    def step(x: Any) -> Any:
        global COUNT  # noqa: PLW0603
        COUNT += 1
        return x / COUNT

    return step, lambda: COUNT


def in_an_attribute_of_a_function() -> tuple[Function, Callable[[], int]]:
    def step(x: Any) -> Any:
        step.count += 1  # type: ignore[attr-defined]
        return x / step.count  # type: ignore[attr-defined]

    step.count = 0  # type: ignore[attr-defined]
    return step, lambda: step.count  # type: ignore[attr-defined]


BY_NAME = [
    in_a_class,
    in_the_class_of_a_callable_object,
    in_a_base_of_the_class,
    by_a_method_of_a_class,
    by_making_objects,
    in_a_module,
    in_a_global_variable,
    in_an_attribute_of_a_function,
]


@pytest.mark.sampled("by_making_objects-False", "in_a_module-False", "in_a_global_variable-False")
@pytest.mark.parametrize(
    ("counting", "is_nested"),
    [
        *((counting, False) for counting in BY_NAME),
        *((counting, True) for counting in BY_NAME[:2]),
        *(pytest.param(counting, True, marks=pytest.mark.slow) for counting in BY_NAME[2:]),
    ],
)
def test_a_function_that_a_long_loop_calls_counts_in_each_iteration(
    counting: Counting, is_nested: bool
) -> None:
    def looping(step: Function) -> Function:
        called: Function = (lambda x: step(x) + 0) if is_nested else step

        def function(x: Any) -> Any:
            for i in range(ROUNDS):
                for _ in range(STEPS):
                    x = called(x) + i * x
            return x

        return function

    step, count = counting()
    compiled = tm.compile(looping(step), on_recompile="ignore")
    found = [compiled(X), compiled(X)]
    assert count() == 2 * ROUNDS * STEPS
    step, count = counting()
    function = looping(step)
    for array in found:
        np.testing.assert_allclose(array, function(X), rtol=1e-12)


def in_a_default() -> tuple[Function, str]:
    def step(x: Any, count: list[int] = [0]) -> Any:  # noqa: B006
        count[0] += 1
        return x / count[0]

    return step, r"__defaults__\[0\]\[0\]"


def in_a_default_by_keyword() -> tuple[Function, str]:
    def step(x: Any, *, count: list[int] = [0]) -> Any:  # noqa: B006
        count[0] += 1
        return x / count[0]

    return step, r"__kwdefaults__\['count'\]\[0\]"


def in_an_argument_of_partial() -> tuple[Function, str]:
    def step(count: list[int], x: Any) -> Any:
        count[0] += 1
        return x / count[0]

    return functools.partial(step, [0]), r"args\[0\]\[0\]"


def in_a_list_of_lists_of_lists() -> tuple[Function, str]:
    counts = [[[[[[0]]]]]]

    def step(x: Any) -> Any:
        counts[0][0][0][0][0][0] += 1
        return x / counts[0][0][0][0][0][0]

    return step, r"counts\[0\]\[0\]\[0\]\[0\]\[0\]\[0\]"


@pytest.mark.parametrize(
    "counting",
    [in_a_default, in_a_default_by_keyword, in_an_argument_of_partial, in_a_list_of_lists_of_lists],
)
def test_a_counter_in_a_list_from_outside_is_refused_wherever_a_called_function_keeps_it(
    counting: Callable[[], tuple[Function, str]],
) -> None:
    step, place = counting()

    def function(x: Any) -> Any:
        for i in range(ROUNDS):
            for _ in range(STEPS):
                x = step(x) + i * x
        return x

    with pytest.raises(SideEffectError, match=rf"sets `.*{place}`, of an object from outside"):
        tm.compile(function)(X)


@pytest.mark.parametrize(
    ("counting", "changed"),
    [
        (in_a_class, "`Counter.count`"),
        (in_a_module, "`.*COUNT`"),
        (in_a_global_variable, "`COUNT`"),
        (in_an_attribute_of_a_function, "`step.count`"),
    ],
)
def test_a_function_that_counts_in_a_branch_on_values_runs_uncompiled(
    counting: Counting, changed: str
) -> None:
    step, count = counting()

    def function(x: Any) -> Any:
        return step(x) if x[0] > 0 else x

    compiled = tm.compile(function)
    compiled(X)
    with pytest.warns(RecompileWarning, match=rf"runs uncompiled: .*changes {changed}"):
        compiled(X)
    compiled(-X)
    assert count() == 2


def test_a_class_may_hold_an_array_that_a_long_loop_writes_to() -> None:
    class Sums:
        table = np.zeros(2)

    def add(x: Any) -> None:
        Sums.table += x

    def function(x: Any) -> Any:
        for _ in range(ROUNDS):
            for _ in range(STEPS):
                add(x)
        return Sums.table * 2

    compiled = tm.compile(function)
    np.testing.assert_allclose(compiled(X), 2 * ROUNDS * STEPS * X)
    np.testing.assert_allclose(compiled(X), 4 * ROUNDS * STEPS * X)
    np.testing.assert_allclose(Sums.table, 2 * ROUNDS * STEPS * X)
