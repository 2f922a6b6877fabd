"""What a choice, a checkpoint or a function with a rule returns shares no memory with arrays from outside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([1.0, 2.0, 3.0])


def _ruled(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return tm.custom_rule(f).jvp(lambda primals, tangents: (f(*primals), tangents[0]))


RETURNING: dict[str, Callable[[Any, Any], Any]] = {
    "cond": lambda a, x: tm.cond(True, lambda: a, lambda: 2 * a),
    "cond on a value": lambda a, x: tm.cond(x[0] > 0, lambda: a, lambda: 2 * a),
    "cond of operands": lambda a, x: tm.cond(x[0] > 0, lambda b: b, lambda b: 2 * b, a),
    "cond of a view": lambda a, x: tm.cond(x[0] > 0, lambda: a[:], lambda: 2 * a),
    "cond of a dict": lambda a, x: tm.cond(True, lambda: {"a": a}, lambda: {"a": 2 * a})["a"],
    "switch": lambda a, x: tm.switch(np.int64(0), [lambda: a, lambda: 2 * a]),
    "scan": lambda a, x: tm.scan(lambda c, entry: (a, entry), a, x)[0],
    "fori_loop": lambda a, x: tm.fori_loop(0, 2, lambda i, c: a, a),
    "fori_loop without steps": lambda a, x: tm.fori_loop(0, 0, lambda i, c: a, a),
    "while_loop": lambda a, x: tm.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, a), (0, a))[1],
    "map": lambda a, x: tm.map(lambda entry: a, x)[0],
    "associative_scan": lambda a, x: tm.associative_scan(lambda b, c: b, a),
    "checkpoint": lambda a, x: tm.checkpoint(lambda entry: a)(x),
    "checkpoint of an argument": lambda a, x: tm.checkpoint(lambda b: b)(a),
    "custom_rule": lambda a, x: _ruled(lambda entry: a)(x),
    "custom_rule of an argument": lambda a, x: _ruled(lambda b: b)(a),
    "custom_rule without rules": lambda a, x: tm.custom_rule(lambda b: b)(a),
    "vmap": lambda a, x: tm.vmap(lambda entry: a, out_dims=None)(x),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda f: f(X),
    "compile": lambda f: tm.compile(f)(X),
    "grad": lambda f: tm.value_and_grad(f)(X)[0],
    "jvp": lambda f: tm.jvp(f, (X,), (X,))[0],
    "vmap": lambda f: tm.vmap(f)(np.stack([X]))[0],
}


@pytest.mark.parametrize("returning", RETURNING.values(), ids=RETURNING)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_write_to_a_result_does_not_change_the_array_that_a_function_returns(
    call: Any, returning: Any
) -> None:
    outside = np.arange(1.0, 4.0)

    def f(x: Any) -> Any:
        result = returning(outside, x)
        result[0] = 100.0
        return result[0] + outside[0] + 0 * x[0]

    assert call(f) == 101.0
    assert outside[0] == 1.0
