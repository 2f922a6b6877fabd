"""Kernels are timed in a few ways where they are first compiled; the fastest is kept in a lock file, and used again."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from tracemill.compiler.backends.triton.choice import RULES, Choice
from tracemill.compiler.backends.triton.planning.program import TritonProgram
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.ir import ArrayType
from tracemill.runtime.gpu_choices.lock_entry import LockEntry
from tracemill.runtime.gpu_choices.lock_file import read_lock
from tracemill.runtime.gpu_programs import tune
from tracemill.runtime.gpu_programs.agreement import agree
from tracemill.runtime.gpu_programs.random_inputs import random_inputs
from tracemill.runtime.gpu_programs.timer import Timing
from tracemill.runtime.machine import package_versions

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)


X = np.random.default_rng(0).normal(size=5000).astype(np.float32)


def wave(x: Any) -> Any:
    return np.sin(x) + x


@dataclass
class Clock:
    """Says how long kernels take, one after another, in milliseconds."""

    times: list[float]
    calls: int = 0

    def __call__(self, call: Callable[[], object], device: object) -> Timing:
        call()
        self.calls += 1
        seconds = self.times[(self.calls - 1) % len(self.times)] / 1e3
        return Timing(seconds, seconds, seconds, 20)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The third choice is the fastest."""
    clock = Clock([2, 3, 1, 4, 5, 6])
    monkeypatch.setattr(tune, "measure", clock)
    return clock


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "tracemill.lock"


def only_entry(lock: Path) -> LockEntry:
    (entry,) = read_lock(lock).values()
    return entry


def test_the_fastest_choice_is_kept_and_used(card: StubGpu, clock: Clock, lock: Path) -> None:
    found = tm.compile(wave, backend="triton", autotune=lock)(X)
    np.testing.assert_allclose(found, wave(X), 1e-5)
    entry = only_entry(lock)
    assert (entry.target, entry.choice) == ("sm_90", Choice(elements=128))
    assert [x.milliseconds for x in entry.measured][:3] == [2, 3, 1]
    assert entry.measured[0].choice == RULES
    assert card.launches[-1].programs == -(-5000 // 128)
    assert "sin" in entry.graph
    assert set(entry.versions) == {"cuda", "tracemill", "triton"}


def test_a_checkout_that_is_not_installed_is_tuned_too(
    card: StubGpu, clock: Clock, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(package_versions, "version", version)
    tm.compile(wave, backend="triton", autotune=lock)(X)
    assert only_entry(lock).versions["tracemill"] == package_versions.NOT_INSTALLED


def test_what_is_in_the_lock_file_is_not_timed(card: StubGpu, clock: Clock, lock: Path) -> None:
    tm.compile(wave, backend="triton", autotune=lock)(X)
    before, text = clock.calls, lock.read_text()
    tm.compile(lambda y: np.sin(y) + y, backend="triton", autotune=lock)(X)
    assert (clock.calls, lock.read_text()) == (before, text)
    assert card.launches[-1].programs == -(-5000 // 128)


def test_fast_kernels_are_timed_on_their_own(card: StubGpu, clock: Clock, lock: Path) -> None:
    w = np.random.default_rng(1).normal(size=(64, 64)).astype(np.float32)
    for fast_math in (False, True, True):
        f = tm.compile(lambda x: np.tanh(x @ x), backend="triton", fast_math=fast_math, autotune=lock)
        np.testing.assert_allclose(f(w), np.tanh(w @ w), 1e-3, 1e-3)
        assert ("tf32x3" in f.lower(w).source) is fast_math
    exact, fast = sorted(read_lock(lock).values(), key=lambda entry: entry.fast_math)
    assert (exact.fast_math, fast.fast_math) == (False, True)
    assert (exact.graph, exact.key == fast.key) == (fast.graph, False)
    assert clock.calls == len(exact.measured) + len(fast.measured)


def test_each_kernel_of_a_program_is_timed_once(card: StubGpu, clock: Clock, lock: Path) -> None:
    def twice(w: Any, x: Any) -> Any:
        return tm.scan(lambda carry, _: (np.tanh(carry @ w), None), x, length=2)[0] @ w

    w = np.random.default_rng(1).normal(size=(64, 64)).astype(np.float32)
    found = tm.compile(twice, backend="triton", autotune=lock)(w, w)
    np.testing.assert_allclose(found, twice(w, w), 1e-3, 1e-3)
    graphs = [entry.graph for entry in read_lock(lock).values()]
    assert len(graphs) == len(set(graphs)) == 2
    assert clock.calls == sum(len(entry.measured) for entry in read_lock(lock).values())


def test_the_rules_stay_where_nothing_is_clearly_faster(
    card: StubGpu, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "measure", Clock([2, 1.99, 1.98]))
    tm.compile(wave, backend="triton", autotune=lock)(X)
    assert only_entry(lock).choice == RULES


@pytest.mark.slow
def test_the_file_is_that_of_the_environment_or_of_the_working_directory(
    card: StubGpu, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACEMILL_LOCK", raising=False)
    tm.compile(wave, backend="triton", autotune=True)(X)
    monkeypatch.setenv("TRACEMILL_LOCK", "other.lock")
    tm.compile(wave, backend="triton", autotune=True)(X)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.lock", "tracemill.lock"]


def test_without_autotune_no_file_is_read_or_written(
    card: StubGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tracemill.lock").write_text("damaged")
    np.testing.assert_allclose(tm.compile(wave, backend="triton")(X), wave(X), 1e-5)


# ---- what is refused -----------------------------------------------------------------------------------


def test_a_choice_whose_results_differ_is_refused(
    card: StubGpu, clock: Clock, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = vars(tune)["build_programs"]

    def with_a_fault(programs: Sequence[TritonProgram], target: Any) -> Any:
        built = build(programs, target)
        for kernel in built[2].values():
            card.kernels[kernel.name] = lambda programs, *pointers: None  # what was there stays
        return built

    monkeypatch.setattr(tune, "build_programs", with_a_fault)
    tm.compile(wave, backend="triton", autotune=lock)(X)
    entry = only_entry(lock)
    assert entry.measured[2].refused == "its results are not those of the rules"
    assert entry.choice != entry.measured[2].choice


def test_a_choice_that_triton_does_not_compile_is_refused_but_not_the_rules(
    card: StubGpu, clock: Clock, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, refused = vars(tune)["build_programs"], 1

    def refusing(programs: Sequence[TritonProgram], target: Any) -> list[Any]:
        built: list[Mapping[str, Any] | tm.errors.KernelError] = [*build(programs, target)]
        built[refused] = tm.errors.KernelError("Triton does not compile kernel: no")
        return built

    monkeypatch.setattr(tune, "build_programs", refusing)
    tm.compile(wave, backend="triton", autotune=lock)(X)
    assert only_entry(lock).measured[1].refused == "Triton does not compile kernel: no"
    lock.unlink()
    refused = 0
    with pytest.raises(tm.errors.KernelError, match="no"):
        tm.compile(wave, backend="triton", autotune=lock)(X)
    assert not lock.exists()


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_backends_of_the_host_have_nothing_to_measure(backend: str) -> None:
    with pytest.raises(tm.errors.BackendError, match="autotune measures kernels on a GPU"):
        tm.compile(wave, backend=backend, autotune=True)


def test_arguments_on_the_host_have_nothing_to_measure_where_they_choose_the_backend() -> None:
    with pytest.raises(tm.errors.BackendError, match=r"or put arguments onto the GPU with tm\.device_put"):
        tm.compile(wave, autotune=True)(X)


def test_arguments_on_the_gpu_choose_the_backend(card: StubGpu, clock: Clock, lock: Path) -> None:
    tm.compile(wave, autotune=lock)(tm.device_put(X))
    assert clock.calls == 6


def test_other_values_of_the_option_are_refused() -> None:
    with pytest.raises(tm.errors.TransformTypeError, match="autotune must be True, False or the path"):
        tm.compile(wave, autotune=3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


# ---- programs that are printed, or on disk -------------------------------------------------------------


def test_what_is_chosen_is_printed_without_a_gpu(
    card: StubGpu, clock: Clock, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tm.compile(wave, backend="triton", autotune=lock)
    compiled(X)

    def none(ordinal: int) -> None:
        raise tm.errors.NoGpuError("there is none")

    monkeypatch.setattr("tracemill.runtime.gpu_choices.known_choices.gpu", none)
    assert "tl.arange(0, 128)" in compiled.lower(X).source
    assert "tl.arange(0, 128)" not in tm.compile(wave, backend="triton").lower(X).source


@pytest.mark.slow
def test_programs_on_disk_are_those_of_the_choices(
    card: StubGpu, clock: Clock, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACEMILL_CACHE")
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))

    def is_from_disk() -> bool:
        return bool(tm.compile(wave, backend="triton", autotune=lock).lower(X).compile().build.from_disk)

    assert not is_from_disk()
    assert is_from_disk()
    lock.write_text(lock.read_text().replace("choice = { elements = 128 }", "choice = { warps = 8 }"))
    assert not is_from_disk()
    lock.unlink()
    assert not is_from_disk()
    assert clock.calls == 12
    assert json.dumps(only_entry(lock).choice.fields) == '{"elements": 128}'


# ---- data and comparison -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bool", "u8", "i8", "i64", "f16", "bf16", "f32", "f64", "c64"])
def test_arrays_are_random_and_of_their_dtype(name: str) -> None:
    dtype = dtype_named(name)
    (drawn,) = random_inputs([ArrayType(dtype, (40, 50))])
    assert (drawn.dtype, drawn.shape) == (dtype, (40, 50))
    assert np.mean(drawn == 0) < 0.6
    assert len(np.unique(drawn.astype(np.complex128))) > (1 if name == "bool" else 30)
    np.testing.assert_array_equal(drawn, random_inputs([ArrayType(dtype, (40, 50))])[0])


def test_whole_numbers_are_places_and_positive_ones_are_positive() -> None:
    types = [ArrayType(dtype_named("i32"), (5000,)), ArrayType(dtype_named("f32"), (3000,))]
    places, numbers = random_inputs(types, positive=True)
    assert 0 <= places.min() < 100
    assert 4900 < places.max() < 5000
    assert 0 < numbers.min() < numbers.max() < 2


def test_long_arrays_repeat_what_is_drawn_but_not_row_by_row() -> None:
    (drawn,) = random_inputs([ArrayType(dtype_named("f32"), (8, 1 << 19))])
    assert len(np.unique(drawn[:, 0])) == 8


@pytest.mark.parametrize(
    ("found", "expected", "is_same"),
    [
        ([1.0, np.nan, np.inf], [1.0 + 1e-6, np.nan, np.inf], True),
        ([1.0, 2.0], [1.0, 2.001], False),
        ([np.nan, 2.0], [1.0, 2.0], False),
        ([-np.inf], [np.inf], False),
        ([1e-9, 1.0], [-1e-9, 1.0], True),
    ],
)
def test_results_agree_but_for_rounding(found: list[float], expected: list[float], is_same: bool) -> None:
    assert agree(np.array(found, np.float32), np.array(expected, np.float32)) is is_same


def test_whole_numbers_agree_if_they_are_equal() -> None:
    assert agree(np.arange(3), np.arange(3))
    assert not agree(np.arange(3), np.arange(3)[::-1])
