"""Names outside a compiled function may change between calls. The next call notices it, as in Python."""

import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileError

X = np.arange(3.0)
SCALE: Any = 2.0
WEIGHTS = np.ones(3)
SETTINGS = SimpleNamespace(rate=0.5, inner=SimpleNamespace(depth=1))


def scaled(x: Any) -> Any:
    return x * SCALE


def by_settings(settings: Any, x: Any) -> Any:
    return x * settings.rate + settings.inner.depth


def of_globals(x: Any) -> Any:
    return scaled(x) + WEIGHTS


def of_settings(x: Any) -> Any:
    return by_settings(SETTINGS, x)


def of_lambdas(x: Any) -> Any:
    return sum(map(lambda y: y * SCALE, [x, x]))  # noqa: C417


class Layer:
    kind = 1.0

    def __init__(self) -> None:
        self.weights, self.factor = np.ones(3), 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.factor * self.kind + self.weights

    def step(self, x: Any) -> Any:
        return self(x)

    @tm.compile(backend="numpy")
    def compiled(self, x: Any) -> Any:
        return self.step(x)

    @tm.compile(backend="numpy")
    def sized(self, n: int) -> Any:
        return np.full(n, self.factor)


@dataclass(slots=True)
class Slotted:
    factor: float


@pytest.fixture
def restored() -> Any:
    before = dict(globals()), vars(SETTINGS).copy(), Layer.kind
    yield
    globals().update(before[0])
    vars(SETTINGS).update(before[1])
    SETTINGS.inner.depth = 1
    Layer.kind = before[2]


@pytest.mark.sampled(every=6)
@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", [of_globals, of_settings, of_lambdas])
def test_rebound_globals_and_attributes_are_noticed(function: Any, backend: str) -> None:
    compiled: Any = tm.compile(function, backend=backend)
    new: tuple[dict[str, Any], ...] = (
        {}, {"SCALE": 3.0}, {"SCALE": 3}, {"SCALE": True}, {"WEIGHTS": np.full(3, 5.0)}, {"SCALE": np.float32(0.1)},
        {"scaled": lambda x: x - 1}, {"SETTINGS": SimpleNamespace(rate=9.0, inner=SETTINGS.inner)},
    )  # fmt: skip
    for names in new:
        globals().update(names)
        for _ in range(2):
            found, expected = compiled(X), function(X)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    SETTINGS.inner.depth = 4
    np.testing.assert_array_equal(compiled(X), function(X))


@pytest.mark.usefixtures("restored")
def test_changed_attributes_of_the_object_of_a_method_are_noticed() -> None:
    layer = Layer()
    functions = [tm.compile(layer.step), tm.compile(layer), layer.compiled]
    for name, value in (("factor", 3.0), ("weights", np.zeros(3)), ("factor", 1), ("kind", 4.0)):
        setattr(layer, name, value)
        for function in functions:
            np.testing.assert_array_equal(function(X), layer.step(X))
    Layer.kind = 0.0
    del layer.kind
    for function in functions:
        np.testing.assert_array_equal(function(X), layer.step(X))
    for factor in (2.0, 5.0):
        layer.factor = factor
        np.testing.assert_array_equal(layer.sized(4), np.full(4, factor))
        np.testing.assert_array_equal(layer.sized(6), np.full(6, factor))


def test_changed_closure_variables_and_slots_are_noticed() -> None:
    slotted, rate = Slotted(2.0), 1.0

    def inner(x: Any) -> Any:
        return x * rate + slotted.factor

    compiled = tm.compile(inner, backend="numpy")
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), inner(X))
        rate, slotted.factor = rate + 1, slotted.factor * 2


@pytest.mark.usefixtures("restored")
def test_changes_are_noticed_in_a_compiled_function_that_others_call() -> None:
    inner = tm.compile(scaled, backend="numpy")
    outer = tm.compile(lambda x: inner(x) + tm.grad(lambda y: np.sum(scaled(y)))(x), backend="numpy")
    for scale in (2.0, 3.0, 4.0):
        globals()["SCALE"] = scale
        np.testing.assert_array_equal(outer(X), X * scale + scale)


@pytest.mark.usefixtures("restored")
def test_an_explanation_names_what_has_changed() -> None:
    compiled = tm.compile(of_globals, backend="numpy")
    compiled(X)
    globals()["SCALE"] = 7.0
    compiled(X)
    assert "SCALE was 2.0 and is 7.0" in compiled.explain_recompile()
    assert len(compiled.signatures()) == 1


def test_a_function_is_not_compiled_again_for_names_that_it_sets() -> None:
    state = SimpleNamespace(calls=0)

    def counting(x: Any) -> Any:
        state.calls += 1
        return x + 1

    compiled = tm.compile(counting, backend="numpy", on_recompile="error")
    with pytest.warns(tm.errors.SideEffectWarning, match=r"changes `state\.calls`"):
        compiled(X)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), X + 1)


@pytest.mark.usefixtures("restored")
def test_a_deleted_name_is_an_error_as_in_python() -> None:
    compiled = tm.compile(scaled, backend="numpy")
    compiled(X)
    del globals()["SCALE"]
    with pytest.raises(NameError, match="SCALE"):
        compiled(X)


@pytest.mark.usefixtures("restored")
def test_threads_notice_changes() -> None:
    compiled = tm.compile(scaled, backend="numpy")
    results: list[bool] = []

    def call() -> None:
        results.append(bool(np.all(np.isin(compiled(X)[1], [2.0, 3.0]))))

    for scale in (2.0, 3.0) * 4:
        globals()["SCALE"] = scale
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 32


@pytest.mark.usefixtures("restored")
def test_another_signature_is_not_taken_for_a_change() -> None:
    compiled = tm.compile(scaled, backend="numpy", on_recompile="error", dynamic=False)
    compiled(X)
    with pytest.raises(RecompileError):
        compiled(X[:2])
