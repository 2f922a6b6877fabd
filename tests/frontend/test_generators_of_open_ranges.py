"""``sum(f(i) for i in range(n) if c(i))`` and the like with a traced `n` are loops: one program for all values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


def filtered(x: Any) -> Any:
    n = int(x[0])
    return sum(i * 0.5 for i in range(n) if i % 2 == 0), sum((i for i in range(n) if i % 2 if i > 1), 100)


def unfiltered(x: Any) -> Any:
    n, w = int(x[0]), x * 2
    return sum(i * 0.5 for i in range(n)), sum(w[1] * i for i in range(1, n, 2)), sum(i**3 for i in range(n))


def nested(x: Any) -> Any:
    n = int(x[0])
    return sum(sum(i * j * 0.5 for j in range(i)) for i in range(n) if i != 2)


def guarded(x: Any) -> Any:
    n = int(x[0])
    return sum(1.0 / (i - 3) for i in range(n) if i != 3)


def counted(x: Any) -> Any:
    n = int(x[0])
    return len([i for i in range(n) if i % 2])


def asked(x: Any) -> Any:
    n = int(x[0])
    return (
        any(i * i > x[1] * 10 for i in range(n)),
        all(i < 7 for i in range(n)),
        any(i > 20 for i in range(n) if i % 2),
        all(i < 20 for i in range(n) if i % 2),
    )


def found(x: Any) -> Any:
    n = int(x[0])
    return next((i for i in range(n) if i * i > x[1]), -1), next((i for i in range(n) if i > 10), None)


STAGED: list[Callable[[Any], Any]] = [filtered, unfiltered, nested, guarded, counted, asked, found]


def given(n: float) -> Any:
    return np.array([n, 5.0])


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", STAGED)
def test_one_program_serves_all_lengths(function: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="error")
    for n in (6.0, 7.0, 25.0):
        assert repr(compiled(given(n))) == repr(function(given(n)))
    for n in (0.0, -3.0):
        assert compiled(given(n)) == function(given(n))
    assert len(compiled.signatures()) == 1


def noted(seen: list[Any], one: Any) -> Any:
    seen.append(one)
    return one


def appended(x: Any) -> Any:
    seen: list[int] = []
    return sum(noted(seen, i) for i in range(int(x[0]))), seen


def of_arrays(x: Any) -> Any:
    return sum(np.array([i, x[1]]) for i in range(int(x[0])) if i != 3)


def least(x: Any) -> Any:
    return min((i - 3) ** 2 * x[1] for i in range(int(x[0])) if i % 2 == 0)


@pytest.mark.parametrize("function", [appended, of_arrays, least])
def test_what_no_loop_can_do_has_a_program_for_each_length(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for n in (6.0, 7.0, 6.0):
        assert repr(compiled(given(n))) == repr(function(given(n)))
    assert len(compiled.signatures()) == 2


def test_no_entries_at_all_raise_pythons_error() -> None:
    for x in (given(0.0), given(-1.0)):
        with pytest.raises(ValueError, match="empty") as expected:
            least(x)
        with pytest.raises(ValueError, match="empty") as error:
            tm.compile(least, on_recompile="ignore")(x)
        assert str(error.value) == str(expected.value)


def test_a_gradient_and_a_batch_go_through_the_loop() -> None:
    def powers(x: Any, n: Any) -> Any:
        return sum((x**i for i in range(int(n[0])) if i > 1), 0.0)

    gradient = tm.compile(tm.grad(powers), on_recompile="error")
    for n in (1.0, 3.0, 5.0):
        expected = sum(i * 2.0 ** (i - 1) for i in range(2, int(n)))
        np.testing.assert_allclose(gradient(2.0, np.array([n])), expected)
    batch = tm.vmap(powers, in_dims=(None, 0))(2.0, np.array([[0.0], [3.0], [5.0]]))
    np.testing.assert_allclose(batch, [0.0, 4.0, 28.0])


def test_other_entries_are_tested_one_by_one_as_before() -> None:
    seen: list[float] = []

    def first_above(row: Any, limit: float) -> bool:
        return any(noted(seen, one) > limit for one in row)

    assert tm.compile(lambda x: first_above([1.0, 2.0, 3.0], 1.5) + x, on_recompile="ignore")(1.0) == 2.0
    assert seen[:2] == [1.0, 2.0]
    assert 3.0 not in seen
