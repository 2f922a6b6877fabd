"""Where CuPy is installed, it computes what no kernel does: here on the memory of a GPU that is not there."""

import logging
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.interpreted_gpu import interpreted

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 9, 3)), RNG.normal(size=(2, 9, 2))


class CupyArray(np.ndarray[Any, Any]):
    """An array for which NumPy calls CuPy's functions, which are NumPy's again, and are counted."""

    called: tuple[str, ...] = ()
    stream: int | None = None
    missing = False

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        assert CupyArray.stream is not None
        if CupyArray.missing:
            raise ImportError("libcusolver.so.12 is not found")
        CupyArray.called += (function.__name__,)
        return super().__array_function__(function, types, args, kwargs)


@contextmanager
def stream(pointer: int, device: int) -> Generator[None]:
    assert device == 0
    CupyArray.stream = pointer
    yield
    CupyArray.stream = None


@pytest.fixture
def card(stub_gpu: StubGpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubGpu]:
    def asarray(given: Any) -> Any:
        lent = given.__cuda_array_interface__
        assert lent["stream"] is None, "nothing waits"
        return stub_gpu.array(lent["data"][0], lent["shape"], lent["typestr"]).view(CupyArray)

    cupy, cupyx = ModuleType("cupy"), ModuleType("cupyx")
    cuda = SimpleNamespace(ExternalStream=stream, Device=lambda device: nullcontext())
    vars(cupy).update(asarray=asarray, cuda=cuda, __spec__=ModuleSpec("cupy", None))
    vars(cupyx).update(errstate=lambda linalg: nullcontext())
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupyx", cupyx)
    monkeypatch.setattr(CupyArray, "called", ())
    monkeypatch.setattr(CupyArray, "missing", False)
    with interpreted(stub_gpu):
        yield stub_gpu


def ridge(x: Any, y: Any) -> Any:
    xt = np.swapaxes(x, -1, -2)
    return np.linalg.solve(xt @ x + np.eye(3), np.tanh(xt @ y))


def spectrum(x: Any, y: Any) -> Any:
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    sign, log = np.linalg.slogdet(np.swapaxes(x, -1, -2) @ x)
    return abs(u) * 2, s, sign * log, np.fft.irfft(np.fft.rfft(y, axis=1) * 2, 9, axis=1)


@pytest.mark.parametrize(
    ("function", "called"),
    [(ridge, {"solve"}), (spectrum, {"svd", "slogdet", "rfft", "irfft"})],
)
def test_it_is_called_on_the_stream_of_the_program(
    card: StubGpu, function: Any, called: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    x, y = tm.device_put(X), tm.device_put(Y)
    compiled: Any = tm.compile(function)
    with caplog.at_level(logging.INFO, "tracemill"), card.counting("cuMemcpyDtoHAsync") as copied:
        found = compiled(x, y)
    assert copied() == 0
    assert set(CupyArray.called) == called
    assert f"{function.__name__}: " in caplog.text
    assert "by CuPy" in caplog.text
    expected = function(X, Y)
    for ours, wanted in zip(
        *((out if isinstance(out, tuple) else (out,)) for out in (found, expected)), strict=True
    ):
        np.testing.assert_allclose(ours.numpy(), wanted, atol=1e-12)
    assert "# CuPy if installed, else NumPy; copies" in str(compiled.lower(x, y).plan)


def test_the_host_computes_where_a_library_that_it_calls_is_missing(
    card: StubGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CupyArray, "missing", True)
    found = tm.compile(ridge)(tm.device_put(X), tm.device_put(Y))
    np.testing.assert_allclose(found.numpy(), ridge(X, Y))
    assert CupyArray.called == ()


def test_what_it_has_not_is_computed_on_the_host(card: StubGpu) -> None:
    x = tm.device_put(X[0, :3])
    np.testing.assert_allclose(tm.compile(np.linalg.inv)(x).numpy(), np.linalg.inv(X[0, :3]))
    assert CupyArray.called == ()
