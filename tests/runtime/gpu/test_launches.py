"""Kernels are loaded, launched, recorded and timed."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu, machine_code
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu.graph import capture
from tracemill.runtime.gpu.kernel import LoadedKernel
from tracemill.runtime.gpu_programs.timer import LEAST_SAMPLES, measure


def doubling(stub_gpu: StubGpu, count: int) -> Callable[..., None]:
    def double(programs: int, x: int, out: int) -> None:
        stub_gpu.array(out, (count,), np.float64)[:] = 2 * stub_gpu.array(x, (count,), np.float64)

    return double


def loaded(stub_gpu: StubGpu, count: int = 4, shared_bytes: int = 0, scratch_bytes: int = 0) -> LoadedKernel:
    """A kernel that doubles numbers."""
    stub_gpu.kernels["double"] = doubling(stub_gpu, count)
    code = machine_code(double=2)
    return LoadedKernel(
        gpu(), code, "double", warps=8, shared_bytes=shared_bytes, pointers=2, scratch_bytes=scratch_bytes
    )


def test_a_kernel_runs_in_the_order_of_the_stream(stub_gpu: StubGpu) -> None:
    kernel, device = loaded(stub_gpu), gpu()
    x, out = tm.device_put(np.arange(4.0)), tm.device_put(np.zeros(4))
    with device:
        kernel.launch(device.stream, 3, [x.pointer, out.pointer])
        kernel.launch(device.stream, 3, [out.pointer, x.pointer])
    assert not stub_gpu.launches
    assert x.numpy().tolist() == [0, 4, 8, 12]
    first, second = stub_gpu.launches
    assert (first.name, first.programs, first.threads, first.shared_bytes) == ("double", 3, 256, 0)
    assert (first.stream, first.device, first.scratch) == (device.stream, 0, 0)
    assert first.pointers == (x.pointer, out.pointer)
    assert second.pointers == (out.pointer, x.pointer)


def test_pointers_of_a_prepared_launch_are_changed_in_place(stub_gpu: StubGpu) -> None:
    device = gpu()
    x, y, out = (tm.device_put(np.full(4, float(n))) for n in range(3))
    launch = loaded(stub_gpu).prepare(1, [x.pointer, out.pointer])
    with device:
        launch(device.stream)
        launch.pointers[0] = y.pointer
        launch(device.stream)
    device.synchronize()
    assert [found.pointers[0] for found in stub_gpu.launches] == [x.pointer, y.pointer]
    assert out.numpy().tolist() == [2] * 4


def test_an_empty_grid_is_not_launched(stub_gpu: StubGpu) -> None:
    with gpu():
        loaded(stub_gpu, scratch_bytes=16).launch(gpu().stream, 0, [0, 0])
    gpu().synchronize()
    assert not stub_gpu.launches


def test_more_shared_memory_than_usual_is_asked_for(stub_gpu: StubGpu) -> None:
    x = tm.device_put(np.ones(4))
    with gpu(), stub_gpu.counting("cuFuncSetAttribute") as asked:
        loaded(stub_gpu, shared_bytes=48 << 10).launch(gpu().stream, 1, [x.pointer] * 2)
        assert asked() == 0
        loaded(stub_gpu, shared_bytes=232448).launch(gpu().stream, 1, [x.pointer] * 2)
        assert asked() == 1
    gpu().synchronize()
    assert [found.shared_bytes for found in stub_gpu.launches] == [48 << 10, 232448]


def test_a_kernel_gets_the_memory_that_it_wants_for_each_program(stub_gpu: StubGpu) -> None:
    before = stub_gpu.used()
    kernel = loaded(stub_gpu, scratch_bytes=128)
    launch = kernel.prepare(5, [0, 0])
    assert stub_gpu.used() == before + 640
    stub_gpu.kernels.clear()
    with gpu():
        launch(gpu().stream)
    gpu().synchronize()
    assert stub_gpu.launches[0].scratch
    del launch
    gpu().synchronize()
    assert stub_gpu.used() == before


def test_a_wrong_number_of_pointers_is_refused(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.InternalError, match="double takes 2 pointers, not 3"):
        loaded(stub_gpu).prepare(1, [0, 0, 0])


def test_a_kernel_is_unloaded_after_its_last_launch(stub_gpu: StubGpu) -> None:
    x, out = tm.device_put(np.ones(4)), tm.device_put(np.zeros(4))
    with stub_gpu.counting("cuModuleUnload") as unloaded:
        kernel = loaded(stub_gpu)
        launch = kernel.prepare(1, [x.pointer, out.pointer])
        del kernel
        with gpu():
            launch(gpu().stream)
        assert unloaded() == 0
        del launch
        assert unloaded() == 1
    assert out.numpy().tolist() == [2] * 4


def test_threads_do_not_come_between_launches_that_belong_together(stub_gpu: StubGpu) -> None:
    kernel, device = loaded(stub_gpu), gpu()
    launch = kernel.prepare(1, [0, 0])
    wrong: list[float] = []

    def work(number: int) -> None:
        x, middle, out = (tm.device_put(np.full(4, float(number))) for _ in range(3))
        for _ in range(10):
            with device:
                for source, target in ((x, middle), (middle, out)):
                    launch.pointers[0], launch.pointers[1] = source.pointer, target.pointer
                    launch(device.stream)
            found = out.numpy()
            if found.tolist() != [4.0 * number] * 4:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(stub_gpu.launches) == 120


# ---- graphs --------------------------------------------------------------------------------------------


def test_recorded_launches_run_when_they_are_replayed(stub_gpu: StubGpu) -> None:
    device = gpu()
    x, y = tm.device_put(np.ones(4)), tm.device_put(np.zeros(4))
    kernel = loaded(stub_gpu)
    there, back = kernel.prepare(1, [x.pointer, y.pointer]), kernel.prepare(2, [y.pointer, x.pointer])

    def launches(stream: int) -> None:
        there(stream)
        back(stream)

    graph = capture(device, launches)
    device.synchronize()
    assert not stub_gpu.launches
    with device:
        graph.replay(device.stream)
        graph.replay(device.stream)
    assert x.numpy().tolist() == [16] * 4
    assert [found.programs for found in stub_gpu.launches] == [1, 2, 1, 2]


def test_a_graph_keeps_the_pointers_that_it_was_recorded_with(stub_gpu: StubGpu) -> None:
    device = gpu()
    x, y, out = (tm.device_put(np.full(4, float(n))) for n in range(3))
    launch = loaded(stub_gpu).prepare(1, [x.pointer, out.pointer])
    graph = capture(device, launch)
    launch.pointers[0] = y.pointer
    with device:
        graph.replay(device.stream)
    assert out.numpy().tolist() == [0] * 4


def test_memory_may_be_freed_while_launches_are_recorded(stub_gpu: StubGpu) -> None:
    device, before = gpu(), stub_gpu.used()
    x, out = tm.device_put(np.ones(4)), tm.device_put(np.zeros(4))
    launch = loaded(stub_gpu).prepare(1, [x.pointer, out.pointer])
    given = tm.device_put(np.ones(100))
    given.__dlpack__(stream=2)
    unused: list[object] = [tm.device_put(np.ones(100)), given, loaded(stub_gpu), capture(device, launch)]
    del given

    def launches(stream: int) -> None:
        launch(stream)
        unused.clear()

    graph = capture(device, launches)
    for _ in range(2):
        with device:
            graph.replay(device.stream)
        assert out.numpy().tolist() == [2] * 4
    assert stub_gpu.bad_frees == 0
    assert stub_gpu.used() == before + x.nbytes + out.nbytes


def test_a_function_that_fails_records_nothing(stub_gpu: StubGpu) -> None:
    device = gpu()

    def launches(stream: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        capture(device, launches)
    assert stub_gpu.contexts == 0
    assert tm.device_put(np.ones(2)).numpy().tolist() == [1, 1]


def test_a_graph_is_forgotten_when_it_dies(stub_gpu: StubGpu) -> None:
    with stub_gpu.counting("cuGraphExecDestroy") as forgotten:
        graph = capture(gpu(), lambda stream: None)
        assert forgotten() == 0
        del graph
        assert forgotten() == 1


# ---- time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cold", [False, True])
def test_work_is_measured_on_the_gpu_many_times(stub_gpu: StubGpu, cold: bool) -> None:
    stub_gpu.be_eager()
    x, out = tm.device_put(np.ones(4)), tm.device_put(np.ones(4))
    launch = loaded(stub_gpu).prepare(1, [x.pointer, out.pointer])
    before = stub_gpu.used()
    with stub_gpu.counting("cuMemsetD8Async") as flushes:
        timing = measure(lambda: launch(gpu().stream), gpu(), cold=cold)
        assert (flushes() >= LEAST_SAMPLES) == cold
    assert timing.samples >= LEAST_SAMPLES
    assert 0 < timing.low <= timing.median <= timing.high
    assert timing.spread >= 0
    stub_gpu.run()
    assert stub_gpu.used() == before
