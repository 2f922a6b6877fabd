"""Forks, spawned processes and threads at work at the same time, in one cache."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from faults.harness import Place
from faults.inside import RIGHT, called, forked, import_all, outcome, started, workload
from tracemill.runtime.cache.disk_cache import default_cache

pytestmark = pytest.mark.faults


def forks(random: Random, count: int) -> Iterator[str]:
    """The parent compiles and a child calls, the child compiles, or both do, with threads of C at work before."""
    called(0, "c", 300_000)
    for number in range(count):
        function, x = workload(number + 1, 300_000)
        compiled = tm.compile(function, backend=random.choice(("c", "numpy")))
        if number % 2:
            compiled(x)

        expected = function(x)

        def work(compiled: Callable[[Any], Any] = compiled, x: Any = x, expected: Any = expected) -> str:
            first = outcome(lambda: compiled(x), expected)
            return f"{first} and {called(99, 'c', 300_000)}"

        said = forked(work)
        yield f"child: {said}"
        yield f"parent: {outcome(partial(compiled, x), expected)}"


def test_processes_fork(place: Place) -> None:
    assert all(name.partition(": ")[2].replace(f"{RIGHT} and ", "") == RIGHT for name in place.run(forks, 3))


def many_processes(random: Random, count: int) -> Iterator[str]:
    """Processes that compile the same functions at the same moment, while another evicts everything."""
    import_all()
    for number in range(count):
        children = [started(partial(called, number * 2 + half, "c")) for half in (0, 1, 0, 1)]
        default_cache().prune(0)
        for process, reading in children:
            said = b""
            while part := os.read(reading, 65536):
                said += part
            os.close(reading)
            os.waitpid(process, 0)
            yield said.decode()
    assert default_cache().verify() == []


def test_processes_compile_at_once(place: Place) -> None:
    assert set(place.run(many_processes, 2)) == {RIGHT}


def spawned_work(number: int) -> str:
    return called(number, "c")


def spawned(random: Random, count: int) -> Iterator[str]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield from pool.map(spawned_work, [number % 3 for number in range(count)])


def test_processes_are_spawned(place: Place) -> None:
    assert set(place.run(spawned, 4)) == {RIGHT}


def workers_of_a_pool(random: Random, count: int) -> Iterator[str]:
    """Workers that `multiprocessing` forks after threads of C have run, as data loaders do."""
    called(0, "c", 300_000)
    for _ in range(count):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            yield from pool.map(spawned_work, range(4))
        yield called(0, "c", 300_000)


def test_workers_of_a_pool_are_forked(place: Place) -> None:
    assert set(place.run(workers_of_a_pool, 2)) == {RIGHT}


def threads(random: Random, count: int) -> Iterator[str]:
    """Threads that compile and call, some of them the same function, while the cache and the settings change."""
    for number in range(count):
        shared, x = workload(1000 + number, 200_000)
        compiled = tm.compile(shared, backend="c")
        expected = shared(x)
        found: list[str] = []

        def work(
            own: int, compiled: Any = compiled, x: Any = x, expected: Any = expected, found: Any = found
        ) -> None:
            for turn in range(3):
                found.append(outcome(lambda: compiled(x), expected))
                found.append(called(own * 10 + turn, ("c", "numpy")[own % 2]))

        workers = [threading.Thread(target=work, args=(number * 4 + own,)) for own in range(4)]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            default_cache().prune(0)
            tm.set_num_threads(random.choice((1, 2)))
        for worker in workers:
            worker.join()
        assert len(found) == 4 * 3 * 2, "a thread has ended early"
        yield from found


def test_threads_compile_and_call_at_once(place: Place) -> None:
    assert set(place.run(threads, 1)) == {RIGHT}


def hard_ends(random: Random, count: int) -> Iterator[str]:
    """Children end by `os._exit` as soon as they have compiled."""
    import_all()
    for number in range(count):
        yield forked(partial(called, number, "c"))
    np.testing.assert_equal(len(default_cache().entries()), count)


def test_children_end_without_cleaning_up(place: Place) -> None:
    assert set(place.run(hard_ends, 2)) == {RIGHT}


def forks_beside_a_thread(random: Random, count: int) -> Iterator[str]:
    """A process forks while another of its threads compiles. The child inherits the locks without the thread."""
    called(backend="numpy")
    compiled, argument = None, np.empty(0)
    is_over = threading.Event()

    def compile_without_end() -> None:
        nonlocal compiled, argument
        number = 1000
        while not is_over.is_set():
            number += 1
            function, argument = workload(number)
            compiled = tm.compile(function, backend="numpy")
            compiled(argument)

    worker = threading.Thread(target=compile_without_end)
    worker.start()
    try:
        for number in range(count):
            time.sleep(random.uniform(0.0, 0.02))

            def work(number: int = number) -> str:
                if compiled is not None:
                    compiled(argument)
                return called(number + 2, "numpy")

            yield forked(work)
    finally:
        is_over.set()
        worker.join()


def test_a_process_forks_while_a_thread_compiles(place: Place) -> None:
    assert set(place.run(forks_beside_a_thread, 10)) == {RIGHT}
