"""`nonlocal` and closures: in a branch or a loop on values, inner functions set and read the variable itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from samples.thinning import mostly_on_numpy

X = np.array([0.5, -1.2, 2.0, 0.3])


def added_in_a_branch(v: Any) -> Any:
    total = 0.0

    def add(x: Any) -> None:
        nonlocal total
        total += x

    for x in v:
        if x > 0:
            add(x)
    return total


def set_before_the_call(v: Any) -> Any:
    total = 0.0

    def add(x: Any) -> None:
        nonlocal total
        total = total + x

    if v[0] > 0:
        total = 5.0
        add(v[1])
    return total


def branch_in_the_inner_function(v: Any) -> Any:
    total, largest = 0.0, v[0]

    def add(x: Any, *, twice: bool = False) -> None:
        nonlocal total, largest
        if x > 0:
            total += x * (2 if twice else 1)
        largest = max(largest, x)

    for x in v:
        add(x)
        add(-x, twice=True)
    return total + largest


def read_by_the_inner_function(v: Any) -> Any:
    scale = 1.0

    def scaled(x: Any) -> Any:
        return x * scale

    if v[0] > 0:
        scale = 3.0
        y = scaled(v[1])
    else:
        y = scaled(v[2])
    return y + scaled(1.0)


def counted_in_a_loop(v: Any) -> Any:
    count = 0

    def improved(x: Any) -> Any:
        nonlocal count
        count += 1
        return 0.5 * (x + 2.0 / x)

    x = abs(v[2])
    while True:
        new = improved(x)
        if abs(new - x) < 1e-9:
            return new, count
        x = new


def defined_after_the_branch(v: Any) -> Any:
    if v[0] > 0:
        scale = 3.0
    else:
        scale = 1.0

    def scaled(x: Any) -> Any:
        return x * scale

    weigh = lambda x: x * scale if x > 0 else 0.0  # noqa: E731 (as people write it)
    return scaled(v[1]) + sum(map(weigh, v))


PROGRAMS = [
    added_in_a_branch,
    set_before_the_call,
    branch_in_the_inner_function,
    read_by_the_inner_function,
    counted_in_a_loop,
    defined_after_the_branch,
]


@pytest.mark.sampled("branch_in_the_inner_function-numpy")
@pytest.mark.parametrize(("program", "backend"), mostly_on_numpy(PROGRAMS, 5))
def test_inner_functions_share_variables_in_branches_on_values(
    program: Callable[..., Any], backend: str
) -> None:
    check(program, (X,), (-X,), (X[::-1] * 0.5,), backend=backend)


@pytest.mark.sampled("set_before_the_call")
@pytest.mark.parametrize("program", PROGRAMS)
def test_such_programs_batch(program: Callable[..., Any]) -> None:
    rows = np.stack([X, -X, X * 0.5])
    found, expected = tm.compile(tm.vmap(program))(rows), [program(row) for row in rows]
    np.testing.assert_allclose(np.stack(found, axis=-1) if isinstance(found, tuple) else found, expected)


def test_setting_a_variable_from_outside_happens_in_each_call() -> None:
    count = 0

    def counting(v: Any) -> Any:
        nonlocal count
        if v[0] > 0:
            count += 1
        return v

    compiled = tm.compile(counting, on_recompile="ignore")
    for x in (X, X, -X):
        compiled(x)
    assert count == 2
