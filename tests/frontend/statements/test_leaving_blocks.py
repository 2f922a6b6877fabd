"""`return`, `break` and `continue` that depend on values leave `with` and `try` blocks."""

import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from samples.thinning import mostly_on_numpy
from tracemill.compiler.frontend.conversion import converted

X = np.array([0.5, -1.2, 2.0, 0.3])


def out_of_with(v: Any) -> Any:
    with np.errstate(all="ignore"):
        if v[0] > 0:
            return np.log(v[0])
        y = v[0] * 2
    return y + 1


def out_of_try(v: Any) -> Any:
    x = v[0]
    try:
        if x > 0:
            return x * 2
        return -x
    finally:
        x = 3


def in_a_loop(v: Any) -> Any:
    total = 0.0
    for x in v:
        try:
            if x < 0:
                continue
            if x > 1.5:
                total += 100.0
                break
            total += math.sqrt(abs(x))
        except KeyError:
            pass
        else:
            total += 1
        finally:
            total += 0.25
    else:
        total += 7
    return total


def nested(v: Any) -> Any:
    for x in v:
        with np.errstate(all="ignore"):
            for y in v:
                with np.errstate(all="ignore"):
                    if x * y > 0.9:
                        return x + y
                if y > 1:
                    break
            else:
                if x > 5:
                    return 3.0
    return -1.0


def forever(v: Any) -> Any:
    i = 0
    t = 0.0
    while True:
        try:
            t += v[i]
            if t > 2 or i >= 3:
                break
        finally:
            i += 1
    return t


PROGRAMS = [out_of_with, out_of_try, in_a_loop, nested, forever]


@pytest.mark.sampled("in_a_loop-numpy", "nested-numpy")
@pytest.mark.parametrize(("program", "backend"), mostly_on_numpy(PROGRAMS, 5))
def test_a_jump_on_values_leaves_a_block(program: Callable[..., Any], backend: str) -> None:
    check(program, (X,), (-X,), (X[::-1] * 3,), (X * 0.1,), backend=backend)


@pytest.mark.sampled("forever")
@pytest.mark.parametrize("program", PROGRAMS)
def test_such_programs_batch_and_differentiate(program: Callable[..., Any]) -> None:
    rows = np.stack([X, -X, X[::-1] * 3])
    np.testing.assert_allclose(tm.compile(tm.vmap(program))(rows), [program(x) for x in rows])
    for x in rows:
        np.testing.assert_allclose(tm.compile(tm.grad(program))(x), tm.grad(program)(x), rtol=1e-12)


def test_converted_blocks_behave_like_the_original() -> None:
    log: list[str] = []

    @contextmanager
    def noting(name: str) -> Any:
        log.append(f"enter {name}")
        try:
            yield
        finally:
            log.append(f"leave {name}")

    def left(how: str) -> Any:
        for turn in range(3):
            with noting("outer"):
                try:
                    if how == "return":
                        return log.append("value")
                    if how == "raise":
                        raise KeyError(how)
                    if how == "break":
                        break
                    if how == "continue" and turn < 2:
                        continue
                except KeyError:
                    log.append("caught")
                    if turn:
                        return turn
                else:
                    log.append("else")
                finally:
                    log.append("finally")
        return "end"

    for how in ("return", "raise", "break", "continue", "none"):
        log.clear()
        expected = left(how)
        theirs = log.copy()
        log.clear()
        assert converted(left)(how) == expected
        assert log == theirs
