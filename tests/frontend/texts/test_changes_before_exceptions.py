"""What a function changes outside happens once in a call, also if the function runs after its program has raised."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

RIGHT = np.array([1.0, 2.0, 3.0])
WRONG = np.array([-1.0, 2.0, -3.0])


def _outcomes(wrap: Callable[[Any], Any], made: Callable[[], tuple[Any, Any]]) -> Any:
    """What calls give that raise and that do not, and what is outside after each of them."""
    function, outside = made()
    called, found = wrap(function), list[Any]()
    for x in (WRONG, RIGHT, WRONG, WRONG, RIGHT):
        try:
            found.append(called(x.copy()).tolist())
        except ValueError as error:
            found.append(str(error))
        found.append(repr(outside))
    return found


def counter() -> tuple[Any, Any]:
    state = {"calls": 0}

    def function(x: Any) -> Any:
        state["calls"] += 1
        if (x < 0).any():
            raise ValueError(f"call {state['calls']}: {x[x < 0]}")
        return x + state["calls"]

    return function, state


def counter_in_handler() -> tuple[Any, Any]:
    state = {"calls": 0}

    def function(x: Any) -> Any:
        state["calls"] += 1
        try:
            if (x < 0).any():
                raise ValueError(f"{x[x < 0]}")
        except ValueError as error:
            raise ValueError(f"call {state['calls']}") from error
        return x * state["calls"]

    return function, state


def counter_and_write() -> tuple[Any, Any]:
    state = {"calls": 0}

    def function(x: Any) -> Any:
        state["calls"] += 1
        x[0] *= 2
        if (x < 0).any():
            raise ValueError("negative")
        return x + state["calls"]

    return function, state


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("made", [counter, counter_in_handler, counter_and_write])
def test_a_counter_counts_calls_that_raise_once(made: Callable[[], tuple[Any, Any]], dynamic: bool) -> None:
    compiled = _outcomes(lambda function: tm.compile(function, dynamic=dynamic, on_recompile="ignore"), made)
    assert compiled == _outcomes(lambda function: function, made)


def test_a_list_that_no_result_depends_on_gets_one_entry_from_a_first_call_that_raises() -> None:
    log: list[str] = []

    @tm.compile(on_recompile="ignore")
    def function(x: Any) -> Any:
        log.append("called")
        if (x < 0).any():
            raise ValueError(f"negative: {x[x < 0]}")
        return x

    with pytest.raises(ValueError, match=r"negative: \[-1. -3.\]"):
        function(WRONG)
    assert log == ["called"]


def test_an_exception_lacks_what_only_the_function_could_tell_if_that_would_take_the_next_item() -> None:
    numbers = iter(range(10))

    @tm.compile(on_recompile="ignore")
    def function(x: Any) -> Any:
        number = next(numbers)
        if (x < 0).any():
            raise ValueError(f"{number}: {x[x < 0]}")
        return x + number

    with pytest.raises(ValueError, match="0: …"):
        function(WRONG)
    np.testing.assert_array_equal(function(RIGHT), RIGHT + 1)
