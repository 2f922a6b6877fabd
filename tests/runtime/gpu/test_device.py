"""GPUs, their memory, and the order of work on them, on a driver that does work as late as it may."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import MEMORY, StubGpu
from tracemill.runtime.gpu.device import gpu

TESTS = Path(__file__).resolve().parents[2]


def test_a_gpu_is_opened_once_and_says_what_it_is(stub_gpu: StubGpu) -> None:
    stub_gpu.describe(1, capability=(10, 0), driver_version=13010)
    assert gpu(0) is gpu(0)
    assert (gpu(0).target, gpu(1).target) == ("cuda:sm_90", "cuda:sm_100")
    assert gpu(1).driver_version == 13010
    assert (gpu(0).multiprocessors, gpu(0).shared_limit) == (132, 232448)
    assert repr(gpu(1)) == "<cuda:1, cuda:sm_100>"


def test_threads_open_a_gpu_once(stub_gpu: StubGpu) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(gpu(0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_contexts_are_left_as_they_were_found(stub_gpu: StubGpu) -> None:
    gpu(0).copy_in(np.ones(3))
    with gpu(1), gpu(0):
        assert stub_gpu.contexts == 2
    assert stub_gpu.contexts == 0


def test_an_array_survives_the_way_to_the_gpu_and_back(stub_gpu: StubGpu) -> None:
    for size in (0, 1, 7, 1 << 14):
        x = np.random.default_rng(size).normal(size=size)
        memory = gpu().copy_in(x)
        assert memory.nbytes == x.nbytes
        assert np.array_equal(gpu().copy_out(memory.pointer, x.shape, x.dtype), x)


@pytest.mark.parametrize("size", [3, 1 << 16])
def test_an_array_may_change_once_it_is_copied(stub_gpu: StubGpu, size: int) -> None:
    x = np.ones(size)
    memory = gpu().copy_in(x)
    x[:] = 2
    assert np.array_equal(gpu().copy_out(memory.pointer, x.shape, x.dtype), np.ones(size))


def test_small_arrays_are_copied_without_waiting(stub_gpu: StubGpu) -> None:
    device = gpu()
    with stub_gpu.counting("cuStreamSynchronize") as waits:
        kept = device.copy_in(np.ones(100))
        assert waits() == 0
        device.copy_in(np.ones(1 << 16))
        assert waits() == 1
    assert kept.nbytes == 800


def test_memory_is_zeroed_and_copied_in_order(stub_gpu: StubGpu) -> None:
    device = gpu()
    x, y = device.copy_in(np.ones(4)), device.allocate(32)
    device.copy(y.pointer, x.pointer, 32)
    device.zero(x.pointer, 16)
    assert device.copy_out(y.pointer, (4,), np.dtype(float)).tolist() == [1, 1, 1, 1]
    assert device.copy_out(x.pointer, (4,), np.dtype(float)).tolist() == [0, 0, 1, 1]


def test_memory_goes_to_another_gpu_after_what_is_queued_on_both(stub_gpu: StubGpu) -> None:
    x = gpu(0).copy_in(np.arange(5.0))
    y = gpu(1).copy_from(x)
    del x
    assert gpu(1).copy_out(y.pointer, (5,), np.dtype(float)).tolist() == [0, 1, 2, 3, 4]


def test_memory_goes_back_after_the_work_that_uses_it(stub_gpu: StubGpu) -> None:
    device = gpu()
    before = stub_gpu.used()
    x, y = device.copy_in(np.arange(4.0)), device.allocate(32)
    device.copy(y.pointer, x.pointer, 32)
    del x
    assert stub_gpu.used() == before + 64  # it is queued
    assert device.copy_out(y.pointer, (4,), np.dtype(float)).tolist() == [0, 1, 2, 3]
    assert stub_gpu.used() == before + 32
    del y
    stub_gpu.run()
    assert stub_gpu.used() == before
    assert stub_gpu.bad_frees == 0


def test_memory_may_die_in_any_thread(stub_gpu: StubGpu) -> None:
    before = stub_gpu.used()
    memories = [gpu().allocate(100) for _ in range(20)]
    with gpu():  # another thread cannot get this lock meanwhile
        thread = threading.Thread(target=memories.clear)
        thread.start()
        thread.join(timeout=30)
        assert not thread.is_alive()
    stub_gpu.run()
    assert stub_gpu.used() == before


def test_many_threads_allocate_and_copy(stub_gpu: StubGpu) -> None:
    before = stub_gpu.used()
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(20):
            x = np.full(50, number * 100 + turn)
            memory = gpu(number % 2).copy_in(x)
            if not np.array_equal(gpu(number % 2).copy_out(memory.pointer, x.shape, x.dtype), x):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    stub_gpu.run()
    assert stub_gpu.used() == before
    assert stub_gpu.bad_frees == 0


@pytest.mark.slow
def test_arrays_in_cycles_are_collected_before_memory_counts_as_full(stub_gpu: StubGpu) -> None:
    gc.disable()
    try:
        cycle: list[object] = [gpu().allocate(MEMORY - 1000)]
        cycle.append(cycle)
        del cycle
        assert gpu().allocate(MEMORY - 1000).nbytes == MEMORY - 1000
    finally:
        gc.enable()


def test_the_error_for_full_memory_names_the_requested_and_the_free_bytes(stub_gpu: StubGpu) -> None:
    stub_gpu.run()
    gc.collect()  # what earlier tests have left in cycles would be freed once memory is full
    kept = gpu().allocate(100)
    unused, total = gpu().memory()
    with pytest.raises(
        tm.errors.GpuMemoryError,
        match=rf"{unused + 1} bytes do not fit on cuda:0: {unused} of its {total} bytes are free",
    ) as caught:
        gpu().allocate(unused + 1)
    assert isinstance(caught.value, MemoryError)
    assert kept.nbytes == 100
    assert gpu().allocate(unused).nbytes == unused


@pytest.mark.slow
def test_a_process_ends_with_arrays_on_the_gpu(stub_gpu: StubGpu, stub_library: StubGpu) -> None:
    """In modules, in cycles, and in what others hold by DLPack: nothing is freed when the interpreter is gone."""
    program = f"""
import ctypes, sys
sys.path[:0] = [{str(TESTS / ".root")!r}, {str(TESTS)!r}]
from pathlib import Path
from gpu.stub_gpu import (StubGpu)
StubGpu(Path({stub_library.library!r})).reset()
import numpy as np, tracemill as tm
sys.kept = tm.device_put(np.ones(3))
capsule = sys.kept.__dlpack__()
cycle = [tm.device_put(np.ones(4))]
cycle.append(cycle)
tm.compile.kept = cycle
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
