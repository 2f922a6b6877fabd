"""Arrays of other libraries as arguments: used in place, and results are arrays of the same library."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.interpreted_gpu import interpreted

X = np.arange(6.0).reshape(2, 3)


class Tensor:
    """An array of a library that shares the memory of a `DeviceArray`."""

    def __init__(self, ours: tm.DeviceArray) -> None:
        self.ours = ours

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.ours.__dlpack_device__()

    def __dlpack__(self, *, stream: int) -> Any:
        return self.ours.__dlpack__(stream=stream)


class Interfaced:
    """The same, without DLPack, as Numba's are."""

    def __init__(self, ours: tm.DeviceArray) -> None:
        self.ours = ours

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.ours.__cuda_array_interface__


def of_library(name: str, kind: type[Any]) -> type[Any]:
    """The class as that library would define it."""
    return type(kind.__name__, (kind,), {"__module__": name})


TORCH = of_library("torch", Tensor)
CUPY = of_library("cupy._core.core", Tensor)
JAX = of_library("jaxlib._jax", Tensor)
NUMBA = of_library("numba.cuda.cudadrv", Interfaced)


@pytest.fixture
def card(stub_gpu: StubGpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubGpu]:
    for name, kind in {"torch": TORCH, "cupy": CUPY, "jax.dlpack": JAX}.items():
        library = ModuleType(name)
        vars(library).update(from_dlpack=kind, Tensor=kind)  # Triton's interpreter looks at torch.Tensor
        monkeypatch.setitem(sys.modules, name, library)
    with interpreted(stub_gpu):
        yield stub_gpu


@pytest.mark.parametrize("kind", [TORCH, CUPY, JAX], ids=["torch", "cupy", "jax"])
def test_results_are_arrays_of_the_library_whose_arrays_are_given(card: StubGpu, kind: type[Any]) -> None:
    def f(p: Any, *, scale: float) -> Any:
        return {"w": p["w"] * scale, "more": [p["w"].sum(), 3, None, p["b"]]}

    compiled = tm.compile(f)
    w, b = kind(tm.device_put(X)), np.ones(2, np.float16)
    for scale in (2.0, 3.0):
        found = compiled({"w": w, "b": b}, scale=scale)
        total, three, nothing, same = found["more"]
        assert [type(x) for x in (found["w"], total, same)] == [kind] * 3
        assert (three, nothing) == (3, None)
        np.testing.assert_array_equal(found["w"].ours.numpy(), scale * X)
        np.testing.assert_array_equal(total.ours.numpy(), X.sum())
        np.testing.assert_array_equal(same.ours.numpy(), b)
    assert len(compiled.signatures()) == 1


def test_a_library_that_takes_no_dlpack_gets_ours(card: StubGpu) -> None:
    found = tm.compile(np.sin)(NUMBA(tm.device_put(X)))
    assert type(found) is tm.DeviceArray
    np.testing.assert_allclose(found.numpy(), np.sin(X))


def test_the_first_library_has_the_results(card: StubGpu) -> None:
    x = tm.device_put(X)
    add = tm.compile(lambda *xs: sum(xs))
    assert type(add(NUMBA(x), CUPY(x), TORCH(x))) is CUPY
    assert type(add(x, X, TORCH(x))) is TORCH
    assert type(add(x, X, 2.0)) is tm.DeviceArray
    assert type(tm.compile(np.add, backend="triton")(X, 1)) is np.ndarray


def test_an_array_of_a_library_is_updated_where_it_lies(card: StubGpu) -> None:
    def scale(x: Any, factor: Any) -> None:
        x *= factor

    x = tm.device_put(X)
    assert tm.compile(scale)(TORCH(x), TORCH(tm.device_put(np.float64(2)))) is None
    np.testing.assert_array_equal(x.numpy(), 2 * X)
    with pytest.raises(tm.errors.ArgumentValueError, match="memory in common with factor"):
        tm.compile(scale)(TORCH(x), CUPY(x))


def test_what_begins_between_multiples_of_16_is_computed_with_and_updated_where_it_lies(
    card: StubGpu,
) -> None:
    def scale(x: Any, factor: Any) -> Any:
        x *= factor
        return x.sum()

    x = tm.device_put(np.arange(8.0))
    tail, rest = (NUMBA(tm.DeviceArray(x.memory, (length,), x.dtype, 8)) for length in (3, 7))
    assert tail.ours.__cuda_array_interface__["data"][0] % 16
    assert tm.compile(scale)(tail, 2.0).item() == 12
    assert x.numpy().tolist() == [0, 2, 4, 6, 4, 5, 6, 7]
    with pytest.raises(tm.errors.ArgumentValueError, match="memory in common with factor"):
        tm.compile(scale)(rest, NUMBA(tm.DeviceArray(x.memory, (1,), x.dtype, 32)))


def test_static_arguments_and_strings_are_no_arrays(card: StubGpu) -> None:
    def power(x: Any, n: int, mode: str = "up") -> Any:
        return x**n if mode == "up" else x

    compiled = tm.compile(power, static_argnums=1)
    np.testing.assert_array_equal(compiled(TORCH(tm.device_put(X)), 3).ours.numpy(), X**3)
    np.testing.assert_array_equal(compiled(TORCH(tm.device_put(X)), 3, mode="as it is").ours.numpy(), X)
    with pytest.raises(tm.errors.StaticArgumentError, match=r"args\[1\] is DeviceArray"):
        compiled(X, tm.device_put(X))


def test_lower_takes_such_arrays(card: StubGpu) -> None:
    lowered = tm.compile(np.sin).lower(TORCH(tm.device_put(X)))
    assert lowered.backend == "triton"
    assert str(lowered.signature) == "args[0]: f64[2, 3] on cuda:0"


def test_backends_of_the_host_refuse_such_arrays(card: StubGpu) -> None:
    with pytest.raises(tm.errors.BackendError, match="computes on the host"):
        tm.compile(np.sin, backend="numpy")(TORCH(tm.device_put(X)))
