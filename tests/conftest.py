"""What all tests share: the option that rewrites what golden files and pages expect, a cache, a C compiler."""

import atexit
import gc
import inspect
import os
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from c import compiling
from faults.table import in_words, write_table
from gpu.stub_gpu import StubGpu, compiled, fresh
from samples.thinning import sampled
from support.kept_files import keeping
from tracemill.compiler.backends.c.flags import LONG, QUICK
from tracemill.runtime.machine import compiler_features, compiler_process, measurements
from tracemill.runtime.machine import toolchain as toolchain_module
from tracemill.runtime.machine.toolchain import Toolchain, toolchain, working_toolchain


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is found into golden files and the pages at the root, instead of comparing",
    )
    parser.addoption(
        "--more",
        type=int,
        default=1,
        metavar="N",
        help="multiplies the number of random trials; from 2 on, also runs the exhaustive tests",
    )
    parser.addoption(
        "--faults-table",
        action="store_true",
        help="write what came of each fault of the campaign into docs/reliability.md",
    )


class FaultsTable:
    """Collects what came of each fault, also from the processes of pytest-xdist."""

    def __init__(self) -> None:
        self.found: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, outcomes in report.user_properties:
            if report.when == "call" and report.passed and name == "fault":
                fault = in_words(report.nodeid.rpartition("::")[2])
                assert isinstance(outcomes, dict)
                self.found.setdefault(fault, Counter()).update(outcomes)

    def pytest_sessionfinish(self) -> None:
        write_table(self.found)


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried on few examples, and on more where the slow tests run, too: on 35 in both runs together."""
    if config.getoption("--faults-table") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FaultsTable())
    more = int(config.getoption("--more") or 1)
    for name, examples in (("quick", 15), ("thorough", 20)):  # a busy machine is slow, which is not a fault
        settings.register_profile(
            name,
            max_examples=examples * more,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile("quick" if runs_fast_tests_alone(config) else "thorough")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Every second process of pytest-xdist goes through folders from the other end.

    Each process compiles the test files that no other has compiled yet. In a new checkout, two that start at different
    ends find half of them done.
    """
    report = yield
    worker = getattr(collector.config, "workerinput", {}).get("workerid", "gw0")
    if isinstance(collector, pytest.Directory) and int(worker.removeprefix("gw")) % 2 == 1:
        report.result.reverse()
    return report


def runs_fast_tests_alone(config: pytest.Config) -> bool:
    return str(config.option.markexpr).startswith("not slow")


def left_out(config: pytest.Config) -> frozenset[str]:
    """The marks of what does not run, and so is not collected, unless the command line names single tests."""
    if any("::" in argument for argument in config.args):
        return frozenset()
    fast = {"slow", "exhaustive", "faults"} if runs_fast_tests_alone(config) else set()
    return frozenset(fast | ({"exhaustive"} if config.getoption("--more") == 1 else set()))


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, obj: object
) -> list[pytest.Item | pytest.Collector] | None:
    """A test that does not run is not collected, so that its parameters are not made."""
    marks = {mark.name for mark in getattr(obj, "pytestmark", ())} if inspect.isfunction(obj) else set()
    return None if left_out(collector.config).isdisjoint(marks) else []


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None]:
    """The cases of a test that is marked ``sampled`` are slow or exhaustive, but for those that it asks for.

    Cases that do not run become no items: that would take as long for them as for the others.
    """
    yield
    cases = metafunc._calls
    mark = metafunc.definition.get_closest_marker("sampled")
    if mark is not None:
        names = sampled([case.id for case in cases], mark.args, **mark.kwargs)
        for case, name in zip(cases, names, strict=True):
            if name:
                case.marks.append(getattr(pytest.mark, name).mark)
    without = left_out(metafunc.config)
    running = [case for case in cases if without.isdisjoint(mark.name for mark in case.marks)]
    metafunc._calls = running or cases[:1]  # with none, pytest would make a test without parameters


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """While tests are collected there is no garbage. What is left goes as it always does when Python ends."""
    atexit.register(gc.unfreeze)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests come first, so that none is left for one process while the others have nothing to do. Then come files
    in the order of their names, whichever way they were collected.

    Property tests carry this mark: with the slow tests they run again, on more examples. Exhaustive tests are slow
    ones that only run with ``--more``.
    """
    exhaustive = [item for item in items if item.get_closest_marker("exhaustive")]
    if exhaustive and config.getoption("--more") == 1:
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=exhaustive)
    for item in exhaustive:
        item.add_marker("slow")
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("properties")
    items.sort(key=lambda item: (item.get_closest_marker("long") is None, item.nodeid.partition("::")[0]))


@pytest.fixture(scope="module", autouse=True)
def heap_of_this_file() -> None:
    """Spare the garbage collector what is there, millions of objects, and let it look less often at what is new."""
    if gc.get_count()[1]:  # something to look through
        gc.collect()
        gc.freeze()
    gc.set_threshold(100_000)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether to write what is found, instead of comparing with it."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def is_fast_run(request: pytest.FixtureRequest) -> bool:
    """Whether the fast tests run alone, with a part of what they go through if slow ones run, too."""
    return runs_fast_tests_alone(request.config)


@pytest.fixture(scope="session")
def more(request: pytest.FixtureRequest) -> int:
    """How many times the usual number of random trials to run."""
    return int(request.config.getoption("--more") or 1)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """What all tests run in. It is not a fixture, because pytest would look it up again for each test."""
    with (
        tempfile.TemporaryDirectory(prefix="tracemill-tests-") as cache,
        pytest.MonkeyPatch.context() as patch,
    ):
        # Tests leave the user's disk cache alone; `auto` is NumPy, unless the environment says otherwise.
        patch.setenv("TRACEMILL_BACKEND", os.environ.get("TRACEMILL_BACKEND", "numpy"))
        patch.setenv("TRACEMILL_CACHE_DIR", cache)
        # The machine is measured by small arrays: a test with a disk cache of its own measures again, and no test
        # looks at how fast it is.
        patch.setattr(measurements, "SECONDS", 0.0)
        patch.setattr(measurements, "_COPIED", 2**20)
        patch.setattr(measurements, "_ROWS", 64)
        for module in (toolchain_module, compiler_features):
            patch.setattr(module, "compiled", keeping(compiler_process.compiled))
        # The fast tests compile C with `-O0`, in half of the time; the slow ones have what users have.
        if runs_fast_tests_alone(session.config):
            compile_at(patch, "-O0")
            patch.setattr(compiling, "HIGHEST", 1)  # sums on vectors are more accurate
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A process of pytest-xdist sends one report of a test that passes: of its call, and without keywords.

    It would also send that the test starts, that its fixtures are there, that they are gone, and that the test ends,
    all of which takes longer than most tests do.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.passed:
            report.keywords = {}
        if report.when == "call" or not report.passed or report.duration > 1:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.fixture(scope="session")
def c_toolchain() -> Toolchain:
    """The C compiler that the environment asks for; tests that need one are skipped where there is none.

    ``TRACEMILL_CC=clang pytest tests/compiler/backends`` runs them with another.
    """
    if not os.environ.get("TRACEMILL_CC") and working_toolchain() is None:
        pytest.skip("no C compiler works: install gcc or clang, or set TRACEMILL_CC to one")
    return toolchain()


@pytest.fixture(scope="module")
def lightly_optimised(is_fast_run: bool) -> Iterator[None]:
    """C for tests of values alone, which is compiled with ``-O1`` where the tests are slow."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_fast_run:
            compile_at(patch, "-O1")
        yield


@pytest.fixture(scope="module")
def fully_optimised() -> Iterator[None]:
    """C for tests of what compilers make of it, which is compiled as for users where the tests are fast, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain_module, "LONG", LONG)
        patch.setattr(toolchain_module, "QUICK", QUICK)
        yield


def compile_at(patch: pytest.MonkeyPatch, level: str) -> None:
    """Compile C texts of any length with this level of optimisation. The cache keeps them apart."""
    patch.setattr(toolchain_module, "LONG", 0)
    patch.setattr(toolchain_module, "QUICK", (level,))


@pytest.fixture(scope="session")
def c_compiler(c_toolchain: Toolchain) -> str:
    """The path of that compiler."""
    return c_toolchain.command[0]


@pytest.fixture(scope="session")
def stub_library(c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> StubGpu:
    """A driver of GPUs that are not there, loaded for all that follows in this process."""
    pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed; it is for Linux")
    return StubGpu(compiled(c_compiler, tmp_path_factory.mktemp("driver")))


@pytest.fixture
def stub_gpu(stub_library: StubGpu) -> Iterator[StubGpu]:
    """That driver, with nothing opened yet: see `stub_gpu.py`."""
    with fresh(stub_library) as stub:
        yield stub
