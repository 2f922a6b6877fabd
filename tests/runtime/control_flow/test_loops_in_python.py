"""Loops of uncompiled functions run as loops of Python: each turn appends, prints, and sees numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import CarryMismatchError, TransformTypeError

SEEN: list[Any] = []
X = np.array([2.0, 3.0])


def note(c: Any) -> Any:
    SEEN.append(c)
    print("turn")
    return c * np.float64(1.5)


def _counting(i: Any, c: Any) -> Any:
    return note(c)


def _pair(c: Any, x: Any) -> Any:
    return note(c), c + x


KNOWN: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: tm.fori_loop(0, 3, _counting, 1.0) * x,
    "scan": lambda x: np.sum(tm.scan(_pair, 1.0, np.arange(3.0))[1]) * x,
    "scan of nothing": lambda x: tm.scan(lambda c, _: (note(c), None), 1.0, length=3)[0] * x,
    "map": lambda x: np.sum(tm.map(note, np.array([1.0, 1.5, 2.25]))) * x,
}
LOOPS = KNOWN | {
    "while_loop": lambda x: tm.while_loop(lambda c: c < 3, note, 1.0) * x,
    "while_loop with a limit": lambda x: tm.while_loop(lambda c: c > 0, note, 1.0, max_steps=3) * x,
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda f: f(2.0),
    "grad": lambda f: tm.grad(f)(2.0),
    "grad of grad": lambda f: tm.grad(tm.grad(f))(2.0),
    "jvp": lambda f: tm.jvp(f, (2.0,), (1.0,)),
    "vjp": lambda f: tm.vjp(f, 2.0)[1](1.0),
    "hessian": lambda f: tm.hessian(f)(2.0),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_each_turn_appends_its_number_and_prints(loop: Any, call: Any, capsys: Any) -> None:
    SEEN.clear()
    call(loop)
    assert list(map(float, SEEN)) == [1.0, 1.5, 2.25]
    assert capsys.readouterr().out == "turn\n" * 3


@pytest.mark.parametrize("loop", KNOWN.values(), ids=KNOWN)
def test_each_turn_of_a_loop_of_known_length_appends_in_a_batch(loop: Any, capsys: Any) -> None:
    SEEN.clear()
    found = tm.vmap(loop)(X)
    assert len(SEEN) == 3
    assert capsys.readouterr().out == "turn\n" * 3
    np.testing.assert_allclose(found, [loop(x) for x in X])


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_derivatives_of_loops_that_append_are_those_of_loops_that_do_not(loop: Any) -> None:
    value, slope = tm.value_and_grad(lambda x: loop(x) * x)(2.0)
    np.testing.assert_allclose(value, loop(2.0) * 2)
    np.testing.assert_allclose(slope, loop(1.0) * 4)


def test_a_derivative_goes_through_the_carry_the_slices_and_what_is_stacked() -> None:
    seen = []

    def step(c: Any, x: Any) -> Any:
        seen.append(float(c[0]))
        return c * x, {"y": c + x}

    def f(x: Any, noting: bool) -> Any:
        body = step if noting else (lambda c, x: (c * x, {"y": c + x}))
        last, stacked = tm.scan(body, x[:2], x, reverse=True)
        return np.sum(last) + np.sum(stacked["y"] ** 2)

    x = np.array([2.0, 3.0, 5.0])
    for transform in (tm.grad, tm.hessian):
        np.testing.assert_allclose(
            transform(lambda x: f(x, True))(x), transform(lambda x: f(x, False))(x), rtol=1e-13
        )
    assert seen == [2.0, 10.0, 30.0] * 2


def test_only_the_chosen_branch_of_a_condition_appends_under_a_derivative() -> None:
    seen = []

    def noting(mark: str) -> Callable[[Any], Any]:
        def square(x: Any) -> Any:
            seen.append(mark)
            return x * x

        return square

    assert tm.grad(lambda x: tm.cond(x > 0, noting("positive"), noting("negative"), x))(3.0) == 6
    assert seen == ["positive"]
    assert tm.grad(lambda x: tm.switch(np.array(2), [noting("a"), noting("b"), noting("c")], x))(3.0) == 6
    assert seen == ["positive", "c"]


def test_what_a_turn_writes_to_its_arguments_stays_inside() -> None:
    init, rows = np.ones(2), np.ones((3, 2))
    kept = np.zeros(2)

    def step(c: Any, x: Any) -> Any:
        c += x
        x *= 0
        kept[:] += 1
        return c, c

    last, stacked = tm.scan(step, init, rows)
    np.testing.assert_array_equal(last, [4, 4])
    np.testing.assert_array_equal(stacked, [[2, 2], [3, 3], [4, 4]])
    for array, value in ((init, 1), (rows, 1), (kept, 3)):
        np.testing.assert_array_equal(array, np.full_like(array, value))


def test_a_turn_may_not_return_another_carry_or_another_y() -> None:
    with pytest.raises(CarryMismatchError, match=r"receives init as f64\[2\] and returns f64\[1\]"):
        tm.fori_loop(0, 3, lambda i, c: c[:1] if i == 2 else c, X)
    with pytest.raises(
        TransformTypeError, match=r"a y of shape \(\) in one step, and of shape \(2,\) in another"
    ):
        tm.scan(lambda c, x: (c + 1, X if c == 2 else x), 0, np.ones(3))
    with pytest.raises(TransformTypeError, match=r"returns \* as y in one step, and \(\*,\) in another"):
        tm.scan(lambda c, x: (c + 1, (x,) if c == 2 else x), 0, np.ones(3))


def test_numbers_take_the_dtype_of_the_carry() -> None:
    seen = []

    def step(i: Any, c: Any) -> Any:
        seen.append(type(c))
        return 1 if i == 0 else c / 3

    found = tm.fori_loop(0, 2, step, np.float32(0))
    assert seen == [np.float32, np.float32]
    assert found == np.float32(1) / np.float32(3)
    assert type(found) is np.float32


DTYPES = [np.bool_, np.uint8, np.int64, np.float16, np.float32, np.complex64]
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda c, x: (c + x, c),
    "last": lambda c, x: (x, (c, c * 2)),
    "sines": lambda c, x: (c * x, np.sin(c)),
    "arrays": lambda c, x: (c + x, c * np.ones(2, np.int8)),
}


def _leaves(f: Callable[..., Any], *args: Any) -> Any:
    """The leaves of a result; the class of the error if there is one."""
    try:
        (last, stacked) = f(*args)
    except CarryMismatchError:
        return CarryMismatchError
    return [np.asarray(last), *(stacked if isinstance(stacked, tuple) else (stacked,))]


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_what_is_stacked_has_the_dtype_of_the_compiled_loop(step: Any, dtype: Any) -> None:
    xs = np.array([1, 0, 1], dtype)
    for init in (True, 2, 0.5, 1j, dtype(1)):
        found = _leaves(tm.scan, step, init, xs)
        wanted = _leaves(tm.compile(lambda xs: tm.scan(step, init, xs)), xs)  # noqa: B023
        if wanted is CarryMismatchError:
            assert found is CarryMismatchError
            continue
        assert [x.dtype for x in found] == [x.dtype for x in wanted]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3)


def test_a_number_that_a_step_returns_takes_the_type_of_the_carry() -> None:
    for init in (np.int8(1), np.float32(1), 1.5, 1j, 2):
        for body in (lambda i, c: i, lambda i, c: 7):
            found = tm.fori_loop(0, 3, body, init)
            wanted = tm.compile(lambda: tm.fori_loop(0, 3, body, init))()  # noqa: B023
            assert (found, type(found)) == (wanted, type(wanted))
            assert type(found) is type(init)
