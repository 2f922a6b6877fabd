"""A debugger stops at the user's line in functions that run with hooks."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tm.grad(f)(2.0),
    "jvp": lambda f: tm.jvp(f, (2.0,), (1.0,)),
    "hessian": lambda f: tm.hessian(f)(2.0),
    "vmap": lambda f: tm.vmap(f)(np.ones(2)),
    "vmap of grad": lambda f: tm.vmap(tm.grad(f))(np.ones(2)),
    "compile": lambda f: tm.compile(f)(2.0),
}


def stops(x: Any) -> Any:
    y = x * 2
    breakpoint()
    return y


def stops_by_another_name(x: Any) -> Any:
    stop = breakpoint
    y = x * 2
    stop()
    return y


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("function", [stops, stops_by_another_name])
def test_a_breakpoint_stops_at_the_users_line(
    function: Any, transform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def hook() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        assert frame.f_locals["y"] is not None

    monkeypatch.setattr(sys, "breakpointhook", hook)
    transform(function)
    code = function.__code__
    before = 2 if function is stops else 3
    assert seen == [(code.co_filename, code.co_firstlineno + before, function.__name__)]
