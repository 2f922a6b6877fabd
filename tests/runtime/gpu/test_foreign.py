"""Arrays go to and come from other libraries on a GPU without copies, and in the right order."""

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from tracemill.compiler.dtypes import dtype_named, dtype_names
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu.driver import checked, driver
from tracemill.runtime.gpu.foreign import foreign


class Library:
    """Another library: it has a stream of its own, on which it fills and frees what it hands out."""

    def __init__(self, device: int = 0) -> None:
        self.device = gpu(device)
        with self.device:
            self.stream = int(checked(driver().cuStreamCreate(1), "opening a library"))

    def full(self, value: int, nbytes: int) -> "Owned":
        with self.device:
            pointer = int(checked(driver().cuMemAllocAsync(nbytes, self.stream), "allocating"))
            checked(driver().cuMemsetD8Async(pointer, value, nbytes, self.stream), "filling")
        return Owned(self, pointer)


class Owned:
    """Memory of that library. It is released as soon as nothing refers to it."""

    def __init__(self, library: Library, pointer: int) -> None:
        self.library, self.pointer = library, pointer

    def __del__(self) -> None:
        with self.library.device:
            driver().cuMemFreeAsync(self.pointer, self.library.stream)
            driver().cuStreamSynchronize(self.library.stream)


class ByInterface:
    """An array of that library, by ``__cuda_array_interface__``."""

    def __init__(self, owned: Owned, **interface: Any) -> None:
        self.owned = owned
        stream = owned.library.stream
        self.__cuda_array_interface__ = {
            "data": (owned.pointer, False),
            "version": 3,
            "stream": stream,
            **interface,
        }


class Tensor(ctypes.Structure):
    """DLPack's ``DLManagedTensor``."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


python = ctypes.pythonapi
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def consumed(capsule: object) -> Tensor:
    """What a consumer of DLPack does with a capsule: it takes over the structure in it."""
    address = python.PyCapsule_GetPointer(capsule, b"dltensor")
    python.PyCapsule_SetName(capsule, b"used_dltensor")
    return Tensor.from_address(address)


class ByDlpack:
    """An array of that library, by DLPack."""

    def __init__(
        self,
        owned: Owned,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        dtype: tuple[int, int, int, int] = (2, 64, 1, 0),
        offset: int = 0,
        kind: int = 2,
    ) -> None:
        self.owned: Owned | None = owned
        self.kind = kind
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        self.deleted = 0
        self.asked: list[int] = []
        self.tensor = Tensor(
            owned.pointer,
            (kind, owned.library.device.ordinal),
            len(shape),
            dtype,
            self.shape,
            self.strides,
            offset,
            None,
            Tensor._fields_[-1][1](self.delete),
        )

    def delete(self, address: int) -> None:
        assert address == ctypes.addressof(self.tensor)
        self.deleted += 1
        self.owned = None

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.tensor.device[1]

    def __dlpack__(self, *, stream: int) -> object:
        self.asked.append(stream)
        assert self.owned is not None
        self.owned.library.device.wait_for(self.owned.library.stream)
        return python.PyCapsule_New(ctypes.addressof(self.tensor), b"dltensor", None)


# ---- theirs, for us ------------------------------------------------------------------------------------


def test_an_array_by_interface_is_used_in_place_after_the_work_of_its_stream(stub_gpu: StubGpu) -> None:
    owned = Library().full(1, 32)
    x = foreign(ByInterface(owned, shape=(4, 2), typestr="<i4"))
    assert x is not None
    assert x.pointer == owned.pointer
    assert np.array_equal(x.numpy(), np.full((4, 2), 0x01010101, np.int32))


def test_an_array_by_dlpack_is_used_in_place_after_the_work_of_its_stream(stub_gpu: StubGpu) -> None:
    owned = Library().full(2, 48)
    given = ByDlpack(owned, (2, 2), (2, 1), (0, 32, 1, 0), offset=32)
    x = foreign(given)
    assert x is not None
    assert (x.pointer, x.dtype.name) == (owned.pointer + 32, "int32")
    assert given.asked == [gpu().stream]
    assert np.array_equal(x.numpy(), np.full((2, 2), 0x02020202))


def test_a_foreign_array_on_another_gpu_is_there(stub_gpu: StubGpu) -> None:
    owned = Library(device=1).full(1, 16)
    for given in (ByInterface(owned, shape=(2,), typestr="<f8"), ByDlpack(owned, (2,))):
        x = foreign(given)
        assert x is not None
        assert x.device is gpu(1)
        assert tm.device_put(given, device=0).numpy().tobytes() == b"\1" * 16


@pytest.mark.parametrize("way", ["interface", "dlpack"])
def test_the_owner_has_its_memory_back_once_our_work_is_done(stub_gpu: StubGpu, way: str) -> None:
    before = stub_gpu.used()
    owned = Library().full(1, 32)
    given = [ByInterface(owned, shape=(4,), typestr="<f8") if way == "interface" else ByDlpack(owned, (4,))]
    del owned
    x = foreign(given[0])
    assert x is not None
    y = x.copy()
    capsules = [one for one in given if isinstance(one, ByDlpack)]
    given.clear()
    del x
    assert stub_gpu.used() == before + 64  # our copy is queued
    assert y.numpy().tobytes() == b"\1" * 32
    del y
    stub_gpu.run()
    assert all(one.deleted == 1 for one in capsules)
    assert stub_gpu.used() == before
    assert stub_gpu.bad_frees == 0


@pytest.mark.parametrize("offset", [4, 8, 12])
def test_an_array_may_begin_between_multiples_of_16(stub_gpu: StubGpu, offset: int) -> None:
    owned = Library().full(3, 64)
    x = foreign(ByInterface(owned, shape=(2,), typestr="<f4", data=(owned.pointer + offset, False)))
    assert x is not None
    assert x.pointer == owned.pointer + offset
    assert x.numpy().tobytes() == b"\3" * 8


def test_a_library_sees_on_all_its_streams_what_is_written_to_its_memory(stub_gpu: StubGpu) -> None:
    library = Library()
    for given in (
        ByDlpack(library.full(0, 32), (4,)),
        ByInterface(library.full(0, 32), shape=(4,), typestr="<f8"),
    ):
        x = foreign(given)
        assert x is not None
        x.overwrite(tm.device_put(np.full(4, 7.0)))
        assert copied_by(library, x.pointer, 32).view(np.float64).tolist() == [7] * 4


@pytest.mark.parametrize("stream", [1, "own"])
def test_who_has_our_memory_sees_what_is_written_to_it(stub_gpu: StubGpu, stream: int | str) -> None:
    library = Library()
    on = library.stream if stream == "own" else 1
    x = tm.device_put(np.zeros(4))
    tensor = consumed(x.__dlpack__(stream=on))
    x.overwrite(tm.device_put(np.full(4, 7.0)))
    found = np.zeros(4)
    with library.device:
        checked(driver().cuMemcpyDtoHAsync(found.ctypes.data, x.pointer, 32, on), "reading")
        checked(driver().cuStreamSynchronize(on), "reading")
    assert found.tolist() == [7] * 4
    tensor.deleter(ctypes.addressof(tensor))


def test_nobody_writes_to_memory_that_is_read_only(stub_gpu: StubGpu) -> None:
    owned = Library().full(3, 32)
    of_jax = type("Array", (ByDlpack,), {"__module__": "jaxlib._jax"})
    for given in (
        ByInterface(owned, shape=(4,), typestr="<f8", data=(owned.pointer, True)),
        of_jax(owned, (4,)),
    ):
        x = foreign(given)
        assert x is not None
        with pytest.raises(
            tm.errors.ArgumentValueError, match=r"f64\[4\] on cuda:0.* read-only: pass a copy"
        ):
            x.overwrite(np.ones(4))
        assert x.numpy().tobytes() == b"\3" * 32


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), (4, 8)), ((4,), (16,)), ((2, 2), (32, 8)), ((2, 2), (0, 8)), ((3,), (-8,))],
)
def test_arrays_that_are_not_contiguous_are_refused(
    stub_gpu: StubGpu, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    owned = Library().full(0, 256)
    elements = tuple(stride // 8 for stride in strides)
    for given in (
        ByInterface(owned, shape=shape, strides=strides, typestr="<f8"),
        ByDlpack(owned, shape, elements),
    ):
        with pytest.raises(
            tm.errors.ForeignArrayError, match=r"strides \(.*\) bytes is not contiguous.*torch"
        ):
            foreign(given)


@pytest.mark.parametrize(
    ("shape", "strides"), [((2, 1, 3), (24, 999, 8)), ((0, 3), (1, 1)), ((1, 1), (-8, 0)), ((), ())]
)
def test_strides_that_do_not_matter_are_not_looked_at(
    stub_gpu: StubGpu, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    x = foreign(ByInterface(Library().full(0, 256), shape=shape, strides=strides, typestr="<f8"))
    assert x is not None
    assert x.numpy().shape == shape


def test_an_empty_array_may_point_nowhere(stub_gpu: StubGpu) -> None:
    x = foreign(ByInterface(Library().full(0, 8), shape=(0, 2), typestr="<f4", data=(0, False)))
    assert x is not None
    assert x.numpy().shape == (0, 2)


def test_dtypes_that_there_are_not_are_refused(stub_gpu: StubGpu) -> None:
    owned = Library().full(0, 64)
    with pytest.raises(tm.errors.ForeignArrayError, match="DLPack's type 10 with 8 bits and 1 lanes"):
        foreign(ByDlpack(owned, (2,), dtype=(10, 8, 1, 0)))
    with pytest.raises(tm.errors.ForeignArrayError, match="type 2 with 8 bits"):
        foreign(ByDlpack(owned, (2,), dtype=(2, 8, 1, 0)))
    with pytest.raises(tm.errors.ForeignArrayError, match="2 lanes"):
        foreign(ByDlpack(owned, (2,), dtype=(2, 32, 2, 0)))
    with pytest.raises(tm.errors.ForeignArrayError, match="dtype >f8"):
        foreign(ByInterface(owned, shape=(2,), typestr=">f8"))


def test_a_masked_array_is_refused(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.ForeignArrayError, match="mask"):
        foreign(ByInterface(Library().full(0, 8), shape=(1,), typestr="<f8", mask=object()))


def test_a_pointer_that_is_on_no_gpu_is_refused(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.ForeignArrayError, match="points to 0x10, which is not memory of a GPU"):
        foreign(ByInterface(Library().full(0, 8), shape=(1,), typestr="<f8", data=(16, False)))


def test_why_a_library_does_not_give_its_array_is_told(stub_gpu: StubGpu) -> None:
    class Refusing:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, *, stream: int) -> object:
            raise BufferError("it requires a gradient")

    class Nowhere(Refusing):
        def __dlpack_device__(self) -> tuple[int, int]:
            raise BufferError("it lies on several GPUs")

    with pytest.raises(
        tm.errors.ForeignArrayError, match=r"Refusing does not give .*: it requires a gradient"
    ):
        foreign(Refusing())
    with pytest.raises(
        tm.errors.ForeignArrayError, match=r"Nowhere does not give .*: it lies on several GPUs"
    ):
        foreign(Nowhere())


def test_arrays_on_the_host_are_not_foreign(stub_gpu: StubGpu) -> None:
    host = ByDlpack(Library().full(0, 8), (1,), kind=1)
    for x in (1, 2.5, np.ones(3), np.float32(1), "text", None, [1.0], host):
        assert foreign(x) is None


# ---- ours, for them ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", dtype_names())
def test_dlpack_describes_an_array(stub_gpu: StubGpu, name: str) -> None:
    x = tm.device_put(np.ones((2, 3, 4), dtype_named(name)), device=1)
    assert x.__dlpack_device__() == (2, 1)
    tensor = consumed(x.__dlpack__())
    codes = {"i": 0, "u": 1, "f": 2, "b": 6 if name == "bool" else 4, "c": 5}
    assert (tensor.data, tuple(tensor.device), tensor.ndim, tensor.offset) == (x.pointer, (2, 1), 3, 0)
    assert tuple(tensor.shape[:3]) == (2, 3, 4)
    assert tuple(tensor.strides[:3]) == (12, 4, 1)
    assert tuple(tensor.dtype) == (codes[name[0]], 8 * x.dtype.itemsize, 1, 0)
    tensor.deleter(ctypes.addressof(tensor))


def test_a_consumer_keeps_memory_until_it_deletes_what_it_got(stub_gpu: StubGpu) -> None:
    before = stub_gpu.used()
    x = tm.device_put(np.ones(8))
    pointer = x.pointer
    tensor = consumed(x.__dlpack__(stream=1))
    del x
    stub_gpu.run()
    assert stub_gpu.used() == before + 64
    assert stub_gpu.array(pointer, (8,), np.float64).tolist() == [1] * 8
    tensor.deleter(ctypes.addressof(tensor))
    stub_gpu.run()
    assert stub_gpu.used() == before


def test_a_capsule_that_nobody_takes_keeps_nothing(stub_gpu: StubGpu) -> None:
    before = stub_gpu.used()
    x = tm.device_put(np.ones(8))
    capsule = x.__dlpack__()
    del x
    stub_gpu.run()
    assert stub_gpu.used() == before + 64
    del capsule
    stub_gpu.run()
    assert stub_gpu.used() == before


def test_ours_come_back_by_dlpack_as_they_were(stub_gpu: StubGpu) -> None:
    class Wrapped:
        def __init__(self, x: tm.DeviceArray) -> None:
            self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__

    for name in dtype_names():
        x = tm.device_put(np.ones((3, 2), dtype_named(name)))
        y = foreign(Wrapped(x))
        assert y is not None
        assert (y.pointer, y.dtype, y.shape) == (x.pointer, x.dtype, x.shape)
        del x
        assert np.array_equal(y.numpy(), np.ones((3, 2), dtype_named(name)))


def copied_by(library: Library, pointer: int, nbytes: int) -> np.ndarray[Any, Any]:
    """What another library reads on its own stream."""
    found = np.zeros(nbytes, np.uint8)
    with library.device:
        checked(driver().cuMemcpyDtoHAsync(found.ctypes.data, pointer, nbytes, library.stream), "reading")
        checked(driver().cuStreamSynchronize(library.stream), "reading")
    return found


def test_the_stream_of_a_consumer_waits_for_ours(stub_gpu: StubGpu) -> None:
    library = Library()
    x = tm.device_put(np.ones(4))
    gpu().zero(x.pointer, x.nbytes)  # is queued
    tensor = consumed(x.__dlpack__(stream=library.stream))
    assert not copied_by(library, tensor.data, 32).any()
    tensor.deleter(ctypes.addressof(tensor))


def test_a_consumer_that_cares_for_the_order_itself_waits_for_nothing(stub_gpu: StubGpu) -> None:
    library = Library()
    x = tm.device_put(np.ones(4))
    tensor = consumed(x.__dlpack__(stream=-1))
    assert (copied_by(library, tensor.data, 32) == 0xCD).all()
    tensor.deleter(ctypes.addressof(tensor))


@pytest.mark.parametrize("way", ["dlpack", "interface"])
def test_memory_waits_for_what_a_consumer_has_queued_before_it_goes_back(stub_gpu: StubGpu, way: str) -> None:
    library = Library()
    x = tm.device_put(np.full(4, 7.0))
    stream = library.stream
    tensor = consumed(x.__dlpack__(stream=stream)) if way == "dlpack" else None
    if tensor is None:
        assert x.__cuda_array_interface__["stream"] == gpu().stream
        gpu().let_wait(stream)
    found = np.zeros(4)
    with gpu():
        checked(driver().cuMemcpyDtoHAsync(found.ctypes.data, x.pointer, 32, stream), "reading")
    if tensor is not None:
        tensor.deleter(ctypes.addressof(tensor))
    del x
    stub_gpu.run()
    assert found.tolist() == [7, 7, 7, 7]


def test_the_interface_describes_an_array(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.ones((2, 3), np.complex64))
    interface = x.__cuda_array_interface__
    assert interface["data"] == (x.pointer, False)
    assert interface["shape"] == (2, 3)
    assert interface["strides"] is None
    assert np.dtype(interface["typestr"]) == np.complex64
    assert interface["version"] == 3


def test_numpy_gets_a_copy_on_the_host_by_dlpack(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.arange(3.0))
    y = np.from_dlpack(x, device="cpu")
    assert y.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="the host cannot have it without a copy"):
        np.from_dlpack(x, device="cpu", copy=False)


def test_a_copy_that_is_asked_for_is_one(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.ones(4))
    tensor = consumed(x.__dlpack__(copy=True, dl_device=(2, 0)))
    assert tensor.data != x.pointer
    gpu().zero(x.pointer, x.nbytes)
    stub_gpu.run()
    assert stub_gpu.array(tensor.data, (4,), np.float64).tolist() == [1] * 4
    tensor.deleter(ctypes.addressof(tensor))


def test_another_gpu_does_not_get_an_array_without_device_put(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.WrongDeviceError, match="not on DLPack's device"):
        tm.device_put(np.ones(4)).__dlpack__(dl_device=(2, 1))


def test_numbers_of_two_bytes_with_eight_bits_of_exponent_are_dlpacks(stub_gpu: StubGpu) -> None:
    x = foreign(ByDlpack(Library().full(0, 8), (4,), dtype=(4, 16, 1, 0)))
    assert x is not None
    assert x.dtype == ml_dtypes.bfloat16
