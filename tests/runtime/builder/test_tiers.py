"""``compile(tier=True)``: NumPy computes until a thread has compiled the program to C."""

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import CompilerError, CompilerWarning
from tracemill.runtime.builder.host_strategy import HostStrategy
from tracemill.runtime.builder.tiers import THREAD
from tracemill.runtime.machine import toolchain as module
from tracemill.runtime.programs.built import statistics

pytestmark = pytest.mark.usefixtures("c_toolchain")
X = np.linspace(0.0, 3.0, 5000)


def softplus_sum(x: Any) -> Any:
    return np.sum(np.log1p(np.exp(x)) * np.tanh(x)), x * 2.0


def join() -> int:
    """Wait for the threads in the background; how many there were."""
    running = [one for one in threading.enumerate() if one.name == THREAD]
    for one in running:
        one.join()
    return len(running)


class Gate:
    """Holds the C compiler until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_open = threading.Event()
        compiled = HostStrategy._compiled

        def when_open(strategy: HostStrategy, text: str) -> bytes:
            assert self.is_open.wait(60)
            return compiled(strategy, text)

        monkeypatch.setattr(HostStrategy, "_compiled", when_open)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))


def assert_bits(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_numpy_computes_until_c_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    fast = tm.compile(softplus_sum, backend="c", tier=True)
    by_numpy = tm.compile(softplus_sum, backend="numpy")(X)
    for _ in range(3):
        assert_bits(fast(X), by_numpy)
    gate.is_open.set()
    assert join() == 1
    by_c = tm.compile(softplus_sum, backend="c")(X)
    assert_bits(fast(X), by_c)
    np.testing.assert_allclose(by_c[0], by_numpy[0], rtol=1e-14)


def test_programs_on_disk_are_in_c_from_the_first_call_on() -> None:
    by_c = tm.compile(softplus_sum, backend="c")(X)
    compiled = statistics.compiled
    assert_bits(tm.compile(softplus_sum, backend="c", tier=True)(X), by_c)
    assert join() == 0
    assert statistics.compiled == compiled


def test_what_is_compiled_in_the_background_is_on_disk_afterwards() -> None:
    tm.compile(softplus_sum, backend="c", tier=True)(X)
    join()
    compiled = statistics.compiled
    tm.compile(softplus_sum, backend="c")(X)
    assert statistics.compiled == compiled


def test_a_compiler_that_fails_leaves_numpy_with_a_warning_if_no_backend_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(strategy: HostStrategy, text: str) -> bytes:
        raise CompilerError("out of licences")

    monkeypatch.setattr(HostStrategy, "_compiled", fails)
    monkeypatch.setattr(module, "_complained", set())
    monkeypatch.setenv("TRACEMILL_BACKEND", "auto")
    fast = tm.compile(softplus_sum, tier=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = fast(X)
        join()
    assert [one.category for one in caught] == [CompilerWarning]
    assert "out of licences" in str(caught[0].message)
    assert_bits(fast(X), first)


@pytest.mark.parametrize(
    "error", [CompilerError("out of licences"), OSError("disk full"), ValueError("a fault")]
)
def test_where_c_is_asked_for_the_next_call_raises_its_error(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)

    def fails(strategy: HostStrategy, text: str) -> bytes:
        assert gate.is_open.wait(60)
        raise error

    monkeypatch.setattr(HostStrategy, "_compiled", fails)
    fast = tm.compile(softplus_sum, backend="c", tier=True)
    fast(X)
    gate.is_open.set()
    join()
    for _ in range(2):
        with pytest.raises(type(error), match=str(error).split("\n")[0]):
            fast(X)


def test_writes_checks_and_derivatives_are_the_same_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)

    @tm.compile(backend="c", tier=True)
    def step(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("negative")
        x *= 0.5
        return tm.grad(lambda y: np.sum(y**3))(x)

    for is_late in (False, True):
        if is_late:
            gate.is_open.set()
            join()
        x = np.array([1.0, 2.0])
        np.testing.assert_allclose(step(x), 3 * np.array([0.5, 1.0]) ** 2)
        np.testing.assert_array_equal(x, [0.5, 1.0])
        with pytest.raises(ValueError, match="negative"):
            step(-x)


def test_calls_from_many_threads_while_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    fast = tm.compile(softplus_sum, backend="c", tier=True)
    expected = softplus_sum(X)
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(200):
            found = fast(X)
            if not np.allclose(found[0], expected[0], rtol=1e-13):
                wrong.append(found)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for one in callers:
        one.start()
    gate.is_open.set()
    for one in callers:
        one.join()
    assert not wrong
    assert join() <= 1


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_other_backends_have_one_tier(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "auto":
        monkeypatch.setenv("TRACEMILL_BACKEND", "numpy")
    tm.compile(softplus_sum, backend=backend, tier=True)(X)
    assert join() == 0


def test_it_is_true_or_false() -> None:
    with pytest.raises(tm.TracemillError, match="tier must be True or False"):
        tm.compile(softplus_sum, tier="C")  # type: ignore[call-overload]
