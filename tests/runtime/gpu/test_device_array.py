"""Arrays on a GPU: what they are, how they get there and back, and how they look."""

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from tracemill.compiler.dtypes import dtype_named, dtype_names
from tracemill.runtime.gpu.device import gpu


def test_an_array_knows_what_it_is(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.zeros((2, 3), np.float32), device=1)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, len(x)) == ((2, 3), np.float32, 2, 6, 24, 2)
    assert x.device is gpu(1)
    assert str(x.type) == "f32[2, 3]"
    assert x.pointer % 16 == 0


@pytest.mark.parametrize("name", dtype_names())
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (5,), (2, 3, 4)])
def test_every_dtype_and_shape_survives_the_way_there_and_back(
    stub_gpu: StubGpu, name: str, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype_named(name))
    y = tm.device_put(x)
    for found in (y.numpy(), np.asarray(y), copy.deepcopy(y).numpy(), pickle.loads(pickle.dumps(y)).numpy()):
        assert (found.dtype, found.shape) == (x.dtype, x.shape)
        assert found.tobytes() == x.tobytes()


def test_arrays_in_any_order_arrive_in_c_order(stub_gpu: StubGpu) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (x.T, x[:, ::2], x[::-1], np.asfortranarray(x), np.broadcast_to(x[0], (5, 3, 4))):
        assert np.array_equal(tm.device_put(view).numpy(), view)


def test_containers_keep_their_structure(stub_gpu: StubGpu) -> None:
    tree = {"w": [np.ones(2), 3], "b": (True, None, 2.5j)}
    found = tm.device_put(tree)
    assert isinstance(found["w"], list)
    assert found["b"][1] is None
    assert [x.dtype.name for x in (found["w"][1], found["b"][0], found["b"][2])] == [
        "int64",
        "bool",
        "complex128",
    ]


def test_an_array_that_is_there_already_stays(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.ones(3))
    assert tm.device_put(x) is x
    y = tm.device_put(x, device=1)
    assert y.device is gpu(1)
    assert y.numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("leaf", ["text", object()])
def test_what_is_not_an_array_is_refused(stub_gpu: StubGpu, leaf: Any) -> None:
    with pytest.raises((tm.errors.ArgumentTypeError, tm.errors.DTypeError)):
        tm.device_put([leaf])


def test_dtypes_that_programs_do_not_have_are_refused(stub_gpu: StubGpu) -> None:
    for dtype in (np.longdouble, ">f8", ml_dtypes.float8_e4m3fn, "M8[s]"):
        with pytest.raises(tm.errors.DTypeError, match="device_put: dtype"):
            tm.device_put(np.zeros(2, dtype))


def test_numbers_are_pythons(stub_gpu: StubGpu) -> None:
    assert (float(tm.device_put(2.5)), int(tm.device_put(7)), complex(tm.device_put(1j))) == (2.5, 7, 1j)
    assert (tm.device_put(2.5).item(), bool(tm.device_put(False))) == (2.5, False)
    assert isinstance(tm.device_put(np.int8(3)).item(), int)
    with pytest.raises(tm.errors.ArgumentValueError, match=r"item\(\) of f64\[2\]"):
        float(tm.device_put(np.ones(2)))
    with pytest.raises(TypeError, match=r"len\(\) of f64\[\]"):
        len(tm.device_put(2.5))


def test_a_copy_of_its_own_is_needed_on_the_host(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.ones(3))
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert np.array(x, copy=True).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, copy=False)


def test_a_copy_on_the_gpu_is_another_array(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.ones(3))
    y = x.copy()
    gpu().zero(x.pointer, x.nbytes)
    assert y.numpy().tolist() == [1, 1, 1]


def test_small_arrays_show_their_values_and_large_ones_their_type(stub_gpu: StubGpu) -> None:
    bfloat = tm.device_put(np.ones(2, ml_dtypes.bfloat16))
    assert repr(bfloat) == "DeviceArray([1, 1], bf16[2] on cuda:0)"
    assert repr(tm.device_put(np.zeros((2, 0)), device=1)) == "DeviceArray([], f64[2, 0] on cuda:1)"
    with stub_gpu.counting("cuMemcpyDtoHAsync") as copies:
        assert repr(tm.device_put(np.ones((1000, 1000)))) == "DeviceArray(f64[1000, 1000] on cuda:0)"
        assert copies() == 0


def test_memory_itself_cannot_be_copied_by_pickle(stub_gpu: StubGpu) -> None:
    with pytest.raises(TypeError, match="copy it out first"):
        copy.deepcopy(gpu().allocate(8))
