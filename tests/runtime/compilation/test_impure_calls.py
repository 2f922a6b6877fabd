"""Python's random numbers and clocks are not frozen into programs."""

import cProfile
import datetime
import logging
import operator
import os
import random
import secrets
import ssl
import statistics
import sys
import threading
import time
import timeit
import uuid
from collections.abc import Callable, Iterator
from functools import cached_property, partial, partialmethod, singledispatch
from itertools import starmap
from pathlib import Path
from random import gauss
from random import random as unit
from time import localtime, perf_counter
from time import time as now
from typing import Any

import numpy as np
import pytest
from numpy import datetime64

import tracemill as tm
from tracemill.compiler.errors import ClockError, RandomStateError
from tracemill.runtime.eager.reached_objects import reached_objects

X = np.ones(3)
DICE = random.Random(3)
SOURCES = {"draw": unit}


class Sampler:
    """Holds a generator, and draws from it in a method that another method calls."""

    def __init__(self) -> None:
        self.dice = random.Random(0)

    def __call__(self, x: Any) -> Any:
        return self.noisy(x)

    def noisy(self, x: Any) -> Any:
        return x + self.dice.uniform(0, 1)

    @property
    def age(self) -> float:
        return time.monotonic()

    def aged(self, x: Any) -> Any:
        return x * self.age


def draw_by_name() -> float:
    return unit()


def with_default(x: Any, draw: Callable[[], float] = unit) -> Any:
    return x * draw()


def with_import_inside(x: Any) -> Any:
    import random as chance

    return x * chance.random()


DRAWS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "module": (lambda x: x * random.random(), r"random\.random"),
    "imported by name": (lambda x: x * unit(), r"random\.random"),
    "every second number of gauss": (lambda x: x + gauss(0, 1), r"random\.gauss"),
    "in place": (lambda x: (random.shuffle([1, 2, 3]), x)[1], r"random\.shuffle"),
    "seeding": (lambda x: (random.seed(1), x)[1], r"random\.seed"),
    "generator": (lambda x: x + DICE.expovariate(1.0), r"random\.expovariate"),
    "generator in an object": (Sampler(), r"random\.uniform"),
    "method": (Sampler().noisy, r"random\.uniform"),
    "helper": (lambda x: x * draw_by_name(), r"random\.random"),
    "table": (lambda x: x * SOURCES["draw"](), r"random\.random"),
    "inner function": (lambda x: np.sum(x) * sum(unit() for _ in range(2)), r"random\.random"),
    "partial": (partial(lambda scale, x: x * scale * unit(), 2.0), r"random\.random"),
    "default": (with_default, r"random\.random"),
    "imported inside": (with_import_inside, r"random\.random"),
    "fresh generator without a seed": (lambda x: x * random.Random().random(), r"random\.random"),
    "system": (lambda x: x * random.SystemRandom().random(), r"random\.random"),
    "secrets": (lambda x: x * secrets.randbelow(9), r"secrets\.randbelow"),
    "uuid": (lambda x: x * (uuid.uuid4().int % 9), r"uuid\.uuid4"),
    "urandom": (lambda x: x * os.urandom(1)[0], r"os\.urandom"),
    "NumPy's without a seed": (
        lambda x: x * np.random.default_rng().normal(),
        r"default_rng\(\) without a seed",
    ),
    "secret token": (lambda x: x * secrets.token_bytes(1)[0], r"secrets\.token_bytes"),
    "ssl": (lambda x: x * ssl.RAND_bytes(1)[0], r"ssl\.RAND_bytes"),
    "bit generator without a seed": (
        lambda x: x * np.random.Generator(np.random.PCG64()).normal(),
        r"PCG64\(\) without a seed",
    ),
    "standard library": (lambda x: x + statistics.NormalDist().samples(1)[0], r"statistics\.samples"),
}


def dated(word: str) -> Any:
    return np.datetime64(word)


CLOCKS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "module": (lambda x: x * time.time(), r"time\.time"),
    "imported by name": (lambda x: x * now(), r"time\.time"),
    "duration": (lambda x: (perf_counter(), x * 2, perf_counter())[1], r"time\.perf_counter"),
    "nanoseconds": (lambda x: x * time.process_time_ns(), r"time\.process_time_ns"),
    "property": (Sampler().aged, r"time\.monotonic"),
    "now": (lambda x: x * datetime.datetime.now().second, r"datetime\.now"),
    "now somewhere": (lambda x: x * datetime.datetime.now(datetime.UTC).second, r"datetime\.now"),
    "today": (lambda x: x * datetime.date.today().day, r"date\.today"),
    "today with the time": (lambda x: x * datetime.datetime.today().second, r"datetime\.today"),
    "local time": (lambda x: x * time.localtime().tm_sec, r"time\.localtime"),
    "local time of None": (lambda x: x * time.localtime(None).tm_sec, r"time\.localtime"),
    "local time by name": (lambda x: x * localtime().tm_sec, r"time\.localtime"),
    "universal time": (lambda x: x * time.gmtime().tm_sec, r"time\.gmtime"),
    "formatted": (lambda x: x * int(time.strftime("%S")), r"time\.strftime"),
    "as text": (lambda x: x * len(time.ctime()), r"time\.ctime"),
    "as text of fields": (lambda x: x * len(time.asctime()), r"time\.asctime"),
    "NumPy's now": (lambda x: x * np.datetime64("now").astype(int), r'np\.datetime64\("now"\)'),
    "NumPy's today": (lambda x: x * np.datetime64("today", "s").astype(int), r'np\.datetime64\("today"\)'),
    "NumPy's word in a variable": (lambda x: x * dated("today").astype(int), r'np\.datetime64\("today"\)'),
    "NumPy's now by name": (lambda x: x * datetime64("now").astype(int), r'np\.datetime64\("now"\)'),
    "uuid with the time": (lambda x: x * (uuid.uuid1().int % 9), r"uuid\.uuid1"),
    "of the process": (lambda x: x * os.times().elapsed, r"os\.times"),
    "timer": (lambda x: x * timeit.default_timer(), r"time\.perf_counter"),
    "measurement": (lambda x: x * timeit.timeit("1", number=1), r"timeit\.timeit"),
}

FIXED_TIMES: dict[str, Callable[[Any], Any]] = {
    "local time": lambda x: x * time.localtime(86400.0).tm_year,
    "universal time": lambda x: x * time.gmtime(86400.0).tm_mday,
    "formatted": lambda x: x * int(time.strftime("%j", time.gmtime(86400.0))),
    "as text": lambda x: x * len(time.ctime(0)),
    "NumPy's": lambda x: x * np.datetime64("2000-01-01").astype(int),
    "uuid of a name": lambda x: x * (uuid.uuid5(uuid.NAMESPACE_DNS, "name").int % 9),
    "date": lambda x: x * datetime.datetime.fromtimestamp(0).year,
}


NUMPYS = np.random.default_rng(0)
HELD: dict[str, Any] = {"generators": [NUMPYS], "method": NUMPYS.normal, "pythons": (random.Random(5),)}
DRAW_BY_PARTIAL = partial(NUMPYS.uniform, 0, 1)


class Owner:
    """Has generators in its class, in containers, and as methods."""

    shared = np.random.default_rng(1)

    def __init__(self) -> None:
        self.held = {"one": np.random.default_rng(2)}
        self.draw = partial(np.random.default_rng(3).normal, 0.0)

    @cached_property
    def drawn(self) -> float:
        return unit()

    def _scaled(self, scale: float) -> float:
        return scale * unit()

    twice = partialmethod(_scaled, 2.0)

    def of_class(self, x: Any) -> Any:
        return x * self.shared.normal()

    def of_container(self, x: Any) -> Any:
        return x * self.held["one"].normal()

    def of_partial(self, x: Any) -> Any:
        return x * self.draw()


class Drawing:
    def __get__(self, owner: Any, kind: Any = None) -> float:
        return unit()


class Described:
    drawn = Drawing()


class Meta(type):
    def __call__(cls, *given: Any) -> Any:
        return unit()


class Made(metaclass=Meta):
    pass


@singledispatch
def by_class(x: Any) -> float:
    return 0.0


@by_class.register
def _(x: int) -> float:
    return unit()


OWNER = Owner()
HIDDEN: dict[str, Callable[[Any], Any]] = {
    "partial": lambda x: x * partial(random.random)(),
    "partial that is held": lambda x: x * DRAW_BY_PARTIAL(),
    "list in a dict": lambda x: x * HELD["generators"][0].normal(),
    "method in a dict": lambda x: x * HELD["method"](),
    "tuple in a dict": lambda x: x * HELD["pythons"][0].random(),
    "attribute of the class": OWNER.of_class,
    "dict that is an attribute": OWNER.of_container,
    "partial that is an attribute": OWNER.of_partial,
    "cached property": lambda x: x * Owner().drawn,
    "method with arguments": lambda x: x * Owner().twice(),
    "descriptor": lambda x: x * Described().drawn,
    "metaclass": lambda x: x * Made(),
    "function that chooses by class": lambda x: x * by_class(1),
    "iterator that calls": lambda x: x * next(iter(unit, 2.0)),
    "map": lambda x: x * next(starmap(unit, [()])),
    "caller": lambda x: x * operator.call(unit),
    "text": lambda x: x * eval("unit()"),
    "spawned generator": lambda x: x * NUMPYS.spawn(1)[0].normal(),
}
HIDDEN_CLOCKS: dict[str, Callable[[Any], Any]] = {
    "partial": lambda x: x * partial(time.time)(),
    "partial that is held": partial(lambda clock, x: x * clock(), partial(perf_counter)),
    "iterator that calls": lambda x: x * next(iter(time.time, 0)),
    "map": lambda x: x * next(map(time.clock_gettime, [time.CLOCK_MONOTONIC])),
    "caller": lambda x: x * operator.call(now),
    "text": lambda x: x * eval("now()"),
}


def looped(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tm.scan(lambda carry, _: (f(carry), ()), x, None, length=2)


def summed(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(f(x))


def exported(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tm.export(f, "x: f64[3]")


@pytest.mark.parametrize("name", DRAWS)
def test_python_random_numbers_are_refused_while_compiling_with_the_line(name: str) -> None:
    f, what = DRAWS[name]
    with pytest.raises(
        RandomStateError, match=rf"{what} was called while tracing(.|\n)*at test_impure_calls"
    ):
        tm.compile(f)(X)


@pytest.mark.parametrize("name", HIDDEN)
def test_draws_behind_other_objects_are_refused(name: str) -> None:
    with pytest.raises(RandomStateError, match=r"while (being traced|tracing)"):
        tm.compile(HIDDEN[name])(X)


@pytest.mark.parametrize("name", HIDDEN_CLOCKS)
def test_clocks_behind_other_objects_are_refused(name: str) -> None:
    with pytest.raises(ClockError, match="was called while tracing"):
        tm.compile(HIDDEN_CLOCKS[name])(X)


@pytest.mark.parametrize("name", CLOCKS)
def test_clocks_are_refused_while_compiling_with_the_line(name: str) -> None:
    f, what = CLOCKS[name]
    with pytest.raises(ClockError, match=rf"{what} was called while tracing(.|\n)*at test_impure_calls"):
        tm.compile(f)(X)


@pytest.mark.parametrize("name", FIXED_TIMES)
def test_a_time_that_is_given_is_formatted_as_ever(name: str) -> None:
    f = FIXED_TIMES[name]
    np.testing.assert_array_equal(tm.compile(f)(X), f(X))


@pytest.fixture
def no_trace_function() -> Iterator[None]:
    """None of a debugger's or of what measures coverage, which goes on afterwards."""
    outer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(outer)


@pytest.mark.usefixtures("no_trace_function")
def test_numpys_clock_in_a_branch_that_is_not_taken_is_not_refused() -> None:
    def f(x: Any, day: str) -> Any:
        if day == "now":
            date = np.datetime64("now", "D")
        else:
            date = np.datetime64(day)
        return x * date.astype(int)

    np.testing.assert_array_equal(tm.compile(f)(X, "1970-01-03"), X * 2)
    assert sys.gettrace() is None
    with pytest.raises(ClockError, match=r'np\.datetime64\("now"\) was called'):
        tm.compile(f)(X, "now")
    assert sys.gettrace() is None


@pytest.mark.usefixtures("no_trace_function")
def test_a_trace_function_of_the_users_goes_on_while_tracing() -> None:
    seen: set[str] = set()

    def traced(frame: Any, event: str, arg: Any) -> None:
        seen.add(frame.f_code.co_name)

    def f(x: Any) -> Any:
        return x * np.datetime64("2000-01-01" if x.ndim else "now").astype(int)

    sys.settrace(traced)
    try:
        tm.compile(f)(X)
        assert sys.gettrace() is traced
    finally:
        sys.settrace(None)
    assert "f" in seen


@pytest.mark.parametrize(
    "transform",
    [
        exported,
        lambda f: tm.compile(tm.vmap(f)),
        lambda f: tm.compile(tm.grad(summed(f))),
        lambda f: tm.compile(looped(f)),
        lambda f: tm.compile(tm.compile(f)),
    ],
)
def test_what_is_traced_once_and_runs_later_neither_draws_nor_reads_clocks(transform: Any) -> None:
    with pytest.raises(RandomStateError, match=r"random\.random was called while tracing"):
        transform(lambda x: x * unit())(X)
    with pytest.raises(ClockError, match=r"time\.time was called while tracing"):
        transform(lambda x: x * now())(X)


def test_a_loop_in_an_uncompiled_derivative_draws_in_each_step() -> None:
    drawn: list[float] = []

    def step(i: int, total: Any) -> Any:
        drawn.append(random.random())
        return total + X * drawn[-1]

    slope = tm.grad(lambda x: np.sum(tm.fori_loop(0, 3, lambda i, carry: step(i, carry) * x, x)))
    assert slope(X).shape == X.shape
    assert len(set(drawn)) == 3


def test_a_batch_does_not_share_a_random_number_and_may_read_the_clock() -> None:
    with pytest.raises(RandomStateError, match=r"random\.random was called while tracing"):
        tm.vmap(lambda x: x * unit())(X)
    np.testing.assert_array_less(X, tm.vmap(lambda x: x * now())(X))


def test_functions_that_run_at_each_call_may_draw_and_read_clocks() -> None:
    noisy = tm.grad(lambda x: np.multiply(x, unit()))
    assert noisy(1.0) != noisy(1.0)
    timed = tm.grad(lambda x: np.multiply(x, time.perf_counter_ns()))
    assert timed(1.0) < timed(1.0)


def in_a_branch(x: Any) -> Any:
    if np.sum(x) > 0:
        x = x * now()
    return x


def in_a_loop(x: Any) -> Any:
    while np.sum(x) < 9:
        x = x + abs(now())
    return x


def in_a_branch_of_a_loop(x: Any) -> Any:
    while np.sum(x) < 9:
        x = x + 1
        if x[0] > 2:
            x = x * now()
    return x


@pytest.mark.sampled(every=5, slow=2)
@pytest.mark.parametrize("function", [in_a_branch, in_a_loop, in_a_branch_of_a_loop])
@pytest.mark.parametrize(
    "transform",
    [
        tm.compile,
        lambda f: lambda x: tm.vmap(f)(np.stack([x, x])),
        lambda f: tm.compile(tm.grad(summed(f))),
        lambda f: tm.compile(looped(f)),
    ],
)
def test_a_block_that_depends_on_values_reads_no_clock(function: Any, transform: Any) -> None:
    with pytest.raises(ClockError, match=r"time\.time was called while tracing"):
        transform(function)(X)


class Looked:
    """Notes each look at its attributes."""

    looks = 0

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        self.looks += 1
        return {}


def test_what_a_function_reaches_is_looked_at_as_often_with_many_branches_as_with_few() -> None:
    looked = Looked()

    def with_branches(x: Any, count: int, reaching: Callable[[], Looked] = lambda: looked) -> Any:
        for i in range(count):
            if x[i] > 0:
                x[i] = x[i] * 2
        return (x, reaching)[0]

    found: list[int] = []
    for count in (1, 6):
        looked.looks = 0
        np.testing.assert_array_equal(tm.compile(with_branches)(np.ones(8), count)[:count], np.full(count, 2))
        found.append(looked.looks)
    assert found[0] == found[1] > 0


def test_a_generator_that_the_function_seeds_itself_draws_the_same_each_time() -> None:
    def f(x: Any) -> Any:
        dice = random.Random(7)
        dice.shuffle([1, 2, 3])
        return x + dice.random() + dice.gauss(0, 1) + dice.gauss(0, 1)

    np.testing.assert_array_equal(tm.compile(f)(X), f(X))


def test_a_branch_that_is_not_taken_is_not_refused() -> None:
    def f(x: Any, is_noisy: bool) -> Any:
        return x * random.random() * time.time() if is_noisy else x * 2

    np.testing.assert_array_equal(tm.compile(f)(X, False), X * 2)


def test_logging_inside_a_compiled_function_is_fine(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        logging.getLogger(__name__).warning("traced at %s", x.shape)
        return x * time.time() if x.ndim > 1 else x * 2

    np.testing.assert_array_equal(tm.compile(f)(X), X * 2)
    assert caplog.messages == ["traced at (3,)"]


def test_the_processor_time_of_the_process_is_refused() -> None:
    resource = pytest.importorskip("resource", reason="Windows does not have it")

    with pytest.raises(ClockError, match=r"resource\.getrusage was called"):
        tm.compile(lambda x: x * resource.getrusage(resource.RUSAGE_SELF).ru_utime)(X)


def test_the_profile_function_of_the_thread_is_what_it_was_after_a_trace_and_after_an_error() -> None:
    assert sys.getprofile() is None
    for f, error in ((lambda x: x * unit(), RandomStateError), (lambda x: x[unit() :], Exception)):
        with pytest.raises(error):
            tm.compile(f)(X)
        assert sys.getprofile() is None


def test_a_profile_function_of_the_users_goes_on_while_tracing() -> None:
    seen: set[str] = set()

    def profile(frame: Any, event: str, called: Any) -> None:
        seen.add(frame.f_code.co_name)

    def f(x: Any) -> Any:
        return x * unit()

    sys.setprofile(profile)
    try:
        with pytest.raises(RandomStateError, match="random"):
            tm.compile(f)(X)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert "f" in seen


def test_cprofile_goes_on_while_tracing() -> None:
    def f(x: Any) -> Any:
        return x * time.time() if x.ndim > 1 else x * 2

    profile = cProfile.Profile()
    profile.enable()
    try:
        tm.compile(f)(X)
        list(map(str.upper, "after"))
    finally:
        profile.disable()
    assert "method 'upper'" in {str(entry.code).strip("<>").split(" of")[0] for entry in profile.getstats()}


def test_other_threads_draw_and_read_clocks_while_one_traces() -> None:
    traces, has_drawn = threading.Event(), threading.Event()
    drawn: list[float] = []

    def other() -> None:
        traces.wait(30)
        drawn.extend((random.random(), time.time(), DICE.random()))
        has_drawn.set()

    def f(x: Any) -> Any:
        traces.set()
        assert has_drawn.wait(30)
        return x * unit() * now() if x.ndim > 1 else x * 2

    thread = threading.Thread(target=other)
    thread.start()
    result = tm.compile(f)(X)
    thread.join()
    np.testing.assert_array_equal(result, X * 2)
    assert len(drawn) == 3


READS_OF_THE_PROCESS: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x * float(os.environ["FACTOR"]),
    "get": lambda x: x * float(os.environ.get("FACTOR", "1")),
    "getenv": lambda x: x * float(os.getenv("FACTOR", "1")),
}


@pytest.mark.parametrize("name", READS_OF_THE_PROCESS)
@pytest.mark.parametrize("wrap", [tm.compile, lambda f: tm.compile(tm.vmap(f))])
def test_an_environment_variable_is_read_anew_when_it_has_changed(
    name: str, wrap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTOR", "3")
    scaled = wrap(READS_OF_THE_PROCESS[name])
    np.testing.assert_array_equal(scaled(X), X * 3)
    monkeypatch.setenv("FACTOR", "7")
    np.testing.assert_array_equal(scaled(X), X * 7)
    if name != "item":
        monkeypatch.delenv("FACTOR")
        np.testing.assert_array_equal(scaled(X), X)


def test_a_working_directory_is_read_anew_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = tm.compile(lambda x: x * len(os.getcwd()))
    counted(X)
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(counted(X), X * len(os.getcwd()))


def test_the_search_for_generators_does_not_enter_pytest_behind_an_assertion() -> None:
    def asserted(x: Any) -> Any:
        assert x.shape == (3,)
        return x

    assert "@pytest_ar" in asserted.__code__.co_names, "pytest has not rewritten this assertion"
    assert len(list(reached_objects([asserted]))) < 100
