"""Programs compiled through C: cached, linked, run from threads and processes, with every error named."""

import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.sample import LAYOUTS
from tracemill.compiler.errors import CompilerError, MissingCompilerError
from tracemill.runtime.cache.disk_cache import CacheWarning, default_cache
from tracemill.runtime.machine.measurements import Machine
from tracemill.runtime.machine.threads import set_num_threads
from tracemill.runtime.programs.built import statistics

pytestmark = pytest.mark.usefixtures("c_compiler")

TREE = Path(__file__).resolve().parents[2] / ".root"


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = tm.get_num_threads()
    set_num_threads(4)
    yield
    set_num_threads(before)


def running(x: Any) -> Any:
    """What has a C function, whatever kernels there are."""
    return np.cumsum(np.sin(x), axis=0) * 2


compiled_running = tm.compile(running, backend="c")

X = np.random.default_rng(0).standard_normal((40, 30))
LARGE = np.random.default_rng(0).standard_normal((3000, 200))


def assert_right(f: Any, x: Any = X) -> None:
    np.testing.assert_allclose(f(x), running(x), rtol=1e-12, atol=1e-12)


def fresh() -> tm.CompiledFunction:
    return tm.compile(running, backend="c")


# ---- what it computes --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_may_have_any_memory_layout(layout: str) -> None:
    assert_right(compiled_running, LAYOUTS[layout](X))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1,), (257,)])
def test_arguments_may_have_any_size(shape: tuple[int, ...]) -> None:
    assert_right(fresh(), np.ones(shape))


def test_arguments_that_overlap_are_read_as_they_are() -> None:
    f = tm.compile(lambda x, y: np.cumsum(x, 0) + y, backend="c")
    memory = np.arange(12.0)
    np.testing.assert_array_equal(f(memory[:8], memory[4:]), np.cumsum(memory[:8]) + memory[4:])


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_places_are_written_in_place_if_the_array_is_contiguous(turned: bool) -> None:
    def written(x: Any, places: Any, new: Any) -> Any:
        y = np.sort(x, axis=0)
        y = y.T if turned else y
        y[places] = new
        y[places[:1]] += 1
        return y, y.sum()

    f = tm.compile(written, backend="c")
    arguments = np.random.default_rng(0).standard_normal((30, 30)), np.array([3, -1, 3]), np.ones((3, 30))
    for ours, theirs in zip(f(*arguments), written(*arguments), strict=True):
        np.testing.assert_allclose(ours, theirs)
    assert "np.ascontiguousarray" in f.lower(*arguments).source


@pytest.mark.slow
def test_a_loop_of_c_takes_and_gives_what_one_of_python_does() -> None:
    def summed(x: Any) -> Any:
        return tm.scan(lambda total, row: (np.cumsum(total) / 2 + row, total), x[0], x)

    with_c, without = (tm.compile(summed, backend=name) for name in ("c", "numpy"))
    for ours, theirs in zip(with_c(X), without(X), strict=True):
        np.testing.assert_allclose(ours, theirs)
    lowered = with_c.lower(X)
    assert "_reference(" in lowered.source  # what C is compared with is not C
    assert str(lowered.c_source).count("_run(void **data") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-10)])
def test_a_deep_chain_of_equal_blocks_has_two_functions_one_of_them_backward(
    dtype: type, tolerance: float
) -> None:
    def block(x: Any, w: Any) -> Any:
        return np.tanh(x @ w) - np.sin(x).sum(axis=1, keepdims=True) / 16

    def loss(x: Any, w: Any) -> Any:
        for _ in range(8):
            x = tm.checkpoint(block)(x, w)
        return x.mean()

    with_c, without = (tm.compile(tm.grad(loss), backend=name) for name in ("c", "numpy"))
    x: Any = np.eye(8).astype(dtype)
    w: Any = np.linspace(-1, 1, 64).reshape(8, 8).astype(dtype)
    ours, theirs = with_c(x, w), without(x, w)
    assert ours.dtype == theirs.dtype == dtype
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())
    assert str(with_c.lower(x, w).c_source).count("_run(void **data") == 2


def test_what_a_function_works_in_is_free_when_it_returns() -> None:
    def chain(x: Any) -> Any:
        for _ in range(8):
            x = tm.checkpoint(lambda x: np.cumsum(np.sin(np.cumsum(x))))(x)
        return x

    f, x = tm.compile(chain, backend="c"), np.ones(100_000)
    tracemalloc.start()
    try:
        f(x)  # the workspace that it keeps counts, too
        tracemalloc.reset_peak()
        f(x)
        assert tracemalloc.get_traced_memory()[1] < 6 * x.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_source_shows_python_and_c() -> None:
    lowered = fresh().lower(X)
    assert lowered.backend == "c"
    assert "c_cumsum_1(" in lowered.source
    assert lowered.c_source is not None
    assert "static void c_cumsum_1(" in lowered.c_source
    assert str(lowered).endswith(lowered.c_source)
    assert lowered.compile().build.c_source == lowered.c_source


def test_a_kernel_says_what_it_moves_and_how_long_that_takes_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine("a processor", 2, {}, {1: 10e9, 2: 20e9}, 1e-6, {"f32": 2e11, "f64": 1e11})
    monkeypatch.setattr("tracemill.runtime.lowering.lowered_program.measured_machine", lambda: machine)
    lowered = tm.compile(lambda x, y: np.sin(x) * y, backend="c").lower(LARGE, LARGE)
    (kernel,) = lowered.kernels
    assert kernel.source is not None
    assert "static void c_" in kernel.source
    assert kernel.bytes_moved == 3 * LARGE.nbytes
    assert kernel.least_time == pytest.approx(3 * LARGE.nbytes / 20e9)
    assert kernel.operations >= 2 * LARGE.size
    assert re.fullmatch(r"kernel_\w+: moves 14.4 MB, .* operations; 720 µs at 20.0 GB/s", str(kernel))
    assert f"# {kernel}\n" in str(lowered)


def test_a_program_without_c_functions_needs_no_library() -> None:
    f = tm.compile(np.linalg.inv, backend="c")
    assert f.lower(np.eye(2)).c_source is None
    np.testing.assert_array_equal(f(np.eye(2)), np.eye(2))


@pytest.mark.slow
def test_fast_math_is_a_program_of_its_own() -> None:
    assert_right(fresh())
    before = statistics.compiled
    assert_right(tm.compile(running, backend="c", fast_math=True))
    assert statistics.compiled == before + 1


@pytest.mark.slow
@pytest.mark.parametrize("f", [np.exp, np.tanh], ids=["exp", "tanh"])
@pytest.mark.parametrize("fast_math", [False, True], ids=["", "fast_math"])
def test_exponentials_are_right_up_to_the_ends_of_their_range(f: np.ufunc, fast_math: bool) -> None:
    ends = [np.nan, np.inf, -np.inf, 1e30, -1e30, 105, -105, -87.33, 88.722, 88.5, 0.0, -0.0, 1e-40, -1e-40]
    x = np.concatenate([np.array(ends), np.linspace(-104, 89, 20_001)]).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = f(x.astype(np.float64)).astype(np.float32)
    found = tm.compile(f, backend="c", fast_math=fast_math)(x)
    np.testing.assert_allclose(found, expected, rtol=4e-7, atol=1e-44)
    if not fast_math:
        np.testing.assert_array_equal(np.signbit(found[1:]), np.signbit(expected[1:]))


@pytest.mark.slow
@pytest.mark.usefixtures("four_threads")
def test_threads_of_python_may_call_at_once() -> None:
    expected = compiled_running(LARGE)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(compiled_running, [LARGE.copy() for _ in range(20)]))
    assert all(np.array_equal(result, expected) for result in results)


def test_compiled_functions_can_be_pickled() -> None:
    f = pickle.loads(pickle.dumps(tm.compile(np.sin, backend="c", fast_math=True)))
    assert f.lower(X).backend == "c"
    assert f.lower(X)._target.options.fast_math


# ---- the cache ---------------------------------------------------------------------------------------


def test_what_is_cached_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEMILL_CC", raising=False)  # one that is named must be there
    assert_right(fresh())
    before = statistics.compiled, statistics.from_disk
    monkeypatch.setenv("PATH", "")
    assert_right(fresh())
    assert (statistics.compiled, statistics.from_disk) == (before[0], before[1] + 1)
    with pytest.raises(MissingCompilerError):
        tm.compile(lambda x: np.cumsum(x, axis=0) * 3, backend="c")(X)


def test_auto_falls_back_if_the_compiler_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_BACKEND", "auto")
    monkeypatch.delenv("TRACEMILL_CC", raising=False)
    f = tm.compile(running)
    assert f.lower(X).backend == "c"
    monkeypatch.setenv("PATH", "")
    assert_right(f)


@pytest.mark.slow
def test_a_damaged_library_is_made_anew() -> None:
    assert_right(fresh())
    (path,) = default_cache().folder.glob("*/program.so")
    damaged = path.read_bytes()[:-1] + b"!"
    path.unlink()  # a library that is loaded must not be written to
    path.write_bytes(damaged)
    with pytest.warns(CacheWarning, match="does not match its sha256"):
        assert_right(fresh())
    assert default_cache().verify() == []
    assert_right(fresh())


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["0", "1"])
def test_without_a_usable_cache_programs_run_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, switch: str
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", switch)
    (tmp_path / "cache").write_text("no folder")
    if switch == "1":
        with pytest.warns(CacheWarning, match="is not a folder"):
            assert_right(fresh())
    else:
        assert_right(fresh())


def test_an_entry_that_is_evicted_before_it_is_loaded_is_still_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert_right(fresh())
    cache = default_cache()
    load = cache.load

    def load_and_lose(key: str) -> Any:
        entry = load(key)
        cache.clear()
        return entry

    monkeypatch.setattr(cache, "load", load_and_lose)
    assert_right(fresh())


def test_a_program_that_calls_python_is_linked_but_not_cached() -> None:
    f = tm.compile(lambda x: tm.pure_callback(np.sin, x, np.cumsum(x, axis=0)), backend="c")
    np.testing.assert_allclose(f(X), np.sin(np.cumsum(X, axis=0)))
    assert not list(default_cache().folder.glob("*/program.so"))


@pytest.mark.slow
def test_cached_programs_run_on_their_own(tmp_path: Path) -> None:
    assert_right(fresh())
    (path,) = default_cache().folder.glob("*/program.py")
    done = subprocess.run([sys.executable, "-I", path], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("ok: max difference"), done.stderr
    assert default_cache().verify() == []


# ---- several processes -------------------------------------------------------------------------------

PROGRAM = """
import numpy as np, tracemill as tm
from tracemill.runtime.programs.built import statistics
x = np.random.default_rng(0).standard_normal((40, 30))
f = tm.compile(lambda x: np.cumsum(np.sin(x), axis=0) * 2, backend="c")
np.testing.assert_allclose(f(x), np.cumsum(np.sin(x), axis=0) * 2, rtol=1e-12, atol=1e-12)
print(statistics.compiled, statistics.from_disk)
"""


def start(program: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": str(TREE), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_processes_may_compile_the_same_at_once() -> None:
    processes = [start(PROGRAM, TRACEMILL_CC="") for _ in range(2)]
    assert all(process.communicate(timeout=120)[0] in ("1 0\n", "0 1\n") for process in processes)
    assert default_cache().verify() == []
    assert start(PROGRAM, PATH="", TRACEMILL_CC="").communicate(timeout=120)[0] == "0 1\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_computes_what_its_parent_does_and_does_not_hang() -> None:
    program = """
import os, sys, warnings, numpy as np, tracemill as tm
warnings.simplefilter("ignore")
tm.set_num_threads(4)
f = tm.compile(lambda x: np.cumsum(x, axis=1), backend="c")
x = np.random.default_rng(0).standard_normal((500, 2000))
expected = f(x)
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(f(x), expected) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), np.array_equal(f(x), expected))
"""
    assert start(program).communicate(timeout=120)[0] == "0 True\n"


# ---- without a compiler ------------------------------------------------------------------------------


def test_auto_is_c_where_a_compiler_works_and_numpy_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_BACKEND", "auto")
    assert tm.compile(running).lower(X).backend == "c"
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("TRACEMILL_CACHE", "0")  # where a compiler that is gone would be remembered
    monkeypatch.delenv("TRACEMILL_CC", raising=False)
    assert tm.compile(running).lower(X).backend == "numpy"
    assert_right(tm.compile(running))


@pytest.mark.parametrize("named", ["false", "no-such-compiler -O1", "gcc 'with half a quotation"])
def test_auto_says_once_that_the_compiler_that_is_named_does_not_work(
    monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("TRACEMILL_BACKEND", "auto")
    monkeypatch.setenv("TRACEMILL_CC", named)
    with pytest.warns(tm.errors.CompilerWarning, match="NumPy does without C: .*"):
        assert tm.compile(running).lower(X).backend == "numpy"
    assert_right(tm.compile(running))


def test_the_environment_says_what_auto_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_BACKEND", "c")
    assert tm.compile(running).lower(X).backend == "c"
    assert tm.compile(running, backend="numpy").lower(X).backend == "numpy"
    monkeypatch.setenv("TRACEMILL_BACKEND", "fortran")
    with pytest.raises(tm.errors.BackendError, match="TRACEMILL_BACKEND 'fortran' is unknown"):
        tm.compile(running).lower(X)


def test_without_a_compiler_c_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CC", "/nowhere/cc")
    with pytest.raises(MissingCompilerError, match="TRACEMILL_CC=/nowhere/cc does not name a program"):
        fresh()(X)


def test_a_compiler_that_fails_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CC", "false")
    with pytest.raises(CompilerError, match="exit status 1"):
        fresh()(X)


@pytest.mark.parametrize("fast_math", [None, "yes", 2])
def test_fast_math_is_a_flag(fast_math: Any) -> None:
    with pytest.raises(tm.errors.ArgumentTypeError, match="fast_math must be True or False"):
        tm.compile(running, fast_math=fast_math)


# ---- what a call costs -------------------------------------------------------------------------------


def source_of(f: tm.CompiledFunction, *args: Any) -> str:
    return f.lower(*args).source


def test_a_program_of_one_kernel_allocates_only_its_outputs() -> None:
    @tm.compile(backend="c")
    def f(x: Any, y: Any) -> Any:
        return np.sin(x) * y, x + y

    text = source_of(f, X, X)
    body = text.partition("def f(x, y):")[2].partition("\n\n\n")[0]
    assert body.count("np.empty(") == 2
    assert "workspace" not in text
    assert "contextvars" not in text


def test_a_program_that_only_c_computes_needs_memory_for_its_numbers_and_no_context() -> None:
    @tm.compile(backend="c")
    def f(x: Any) -> Any:
        return np.sum(np.exp(x))

    text = source_of(f, X)
    assert "workspace" in text
    assert "contextvars" not in text
    assert f(X) == pytest.approx(np.sum(np.exp(X)))


def test_what_numpy_computes_beside_c_warns_of_nothing() -> None:
    @tm.compile(backend="c")
    def f(x: Any) -> Any:
        return np.exp(x) * 2, np.linalg.inv(x), np.exp(x.astype(np.float16))

    assert "contextvars" in source_of(f, 1e3 * np.eye(2))
    f(1e3 * np.eye(2))


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_program_on_disk_needs_no_printing_and_no_compiler(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gradient = tm.grad(lambda x: np.sum(np.sin(x) ** 2))
    expected = tm.compile(gradient, backend=backend)(X)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a warm start does this anew")

    monkeypatch.setattr("tracemill.runtime.programs.print_program.print_program", refuse)
    monkeypatch.setattr("tracemill.runtime.programs.optimize.PASSES", (refuse,))
    monkeypatch.setattr("tracemill.runtime.machine.toolchain.compiled", refuse)
    np.testing.assert_array_equal(tm.compile(gradient, backend=backend)(X), expected)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_elements_of_short_rows_are_chosen_each_by_its_own_condition(dtype: Any) -> None:
    rng = np.random.default_rng(0)

    def operands(columns: int) -> tuple[Any, Any, Any]:
        x, y = (rng.integers(-9, 9, (5000, columns)).astype(dtype) for _ in range(2))
        return rng.random((5000, columns)) > 0.5, x, y

    def squares(condition: Any, x: Any, y: Any) -> Any:
        chosen = np.where(condition, x, y)
        return chosen * np.sum(chosen * chosen, axis=1, keepdims=True)

    def squares_of_all(rows: Any) -> list[Any]:
        return [squares(*row) for row in rows]

    rows = [operands(columns) for columns in (2, 3, 4)]
    for result, row in zip(tm.compile(squares_of_all, backend="c")(rows), rows, strict=True):
        np.testing.assert_array_equal(result, squares(*row))


def _zeroed(a: Any, i: Any) -> None:
    a[i, i] = 0.0


def _scaled(a: Any, i: Any) -> None:
    a[i, i] *= 2.0


def _through_a_view(a: Any, i: Any) -> None:
    np.einsum("ii->i", a)[:] *= 3.0


@pytest.mark.sampled("_through_a_view")
@pytest.mark.parametrize("written", [_zeroed, _scaled, _through_a_view])
def test_gradients_of_what_is_written_at_places_in_every_row(written: Any) -> None:
    def total(x: Any) -> Any:
        table = np.outer(x, x)
        written(table, np.arange(4))
        return np.sum(table)

    x = np.arange(4.0)
    np.testing.assert_allclose(tm.compile(tm.grad(total), backend="c")(x), tm.grad(total)(x))
