"""On two worker processes that are reached over TCP, results are those of one process."""

import os
import signal
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import tracemill as tm

pytestmark = pytest.mark.slow


def cluster(**environment: str) -> Any:
    return LocalCluster(
        env={"TRACEMILL_BACKEND": "auto", **environment},
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        protocol="tcp",
        dashboard_address=":0",
        memory_limit="1GB",
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cluster() as workers, Client(workers) as client:
            yield client


@pytest.fixture(autouse=True)
def _dasks_own_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rows_made_on_the_fly(count: int, columns: int, chunk: int) -> Any:
    """Rows that each worker draws itself, from the seeds of the rows."""

    def row(seed: Any) -> Any:
        return tm.random.default_rng([5, seed]).normal(size=columns)

    return tm.dask.vmap(row, randomness="same")(da.arange(count, chunks=chunk))


def all_rows(x: Any) -> Any:
    return x.compute(scheduler="sync")


def test_logistic_regression_by_newton_on_rows_made_on_the_fly(client: Any) -> None:
    x, truth = rows_made_on_the_fly(3000, 4, 700), np.array([1.0, -2.0, 0.5, 0.0])
    y = tm.dask.blockwise(lambda x, w: np.where(x @ w > 0.3, 1.0, 0.0), "i", x, "ij", truth, None)

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return np.sum(np.logaddexp(0.0, z) - y * z) + 1e-4 * x.shape[0] * np.sum(w**2)

    def parts(w: Any, x: Any, y: Any) -> Any:
        return tm.grad(loss)(w, x, y), tm.hessian(loss)(w, x, y)

    def fitted(gradient_and_hessian: Any) -> Any:
        w = np.zeros(4)
        for _ in range(6):
            gradient, hessian = gradient_and_hessian(w)
            w = w - np.linalg.solve(hessian, gradient)
        return w

    found = fitted(lambda w: client.compute(tm.dask.reduction(parts, w, x, y), sync=True))
    rows, labels = all_rows(x), all_rows(y)
    expected = fitted(lambda w: parts(w, rows, labels))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.dot(found, truth) / np.linalg.norm(found) / np.linalg.norm(truth) > 0.9


def test_k_means(client: Any) -> None:
    x = rows_made_on_the_fly(900, 2, 200)
    rows = all_rows(x)

    def step(x: Any, centres: Any) -> Any:
        nearest = np.argmin(np.sum((x[:, None] - centres) ** 2, axis=-1), axis=1)
        members = (nearest[:, None] == np.arange(3)).astype(np.float64)
        return members.T @ x, np.sum(members, axis=0)

    found = expected = rows[:3]
    for _ in range(4):
        sums, counts = client.compute(tm.dask.reduction(step, x, centres=found), sync=True)
        found = sums / counts[:, None]
        sums, counts = step(rows, expected)
        expected = sums / counts[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_principal_components(client: Any) -> None:
    x = rows_made_on_the_fly(800, 5, 150) * np.arange(1.0, 6.0)

    def moments(x: Any) -> Any:
        return {"n": x.shape[0], "sum": np.sum(x, axis=0), "squares": x.T @ x}

    def components(all: Any) -> Any:
        mean = all["sum"] / all["n"]
        values, vectors = np.linalg.eigh(all["squares"] / all["n"] - np.outer(mean, mean))
        return values, np.abs(vectors)

    found = client.compute(tm.dask.reduction(moments, x, aggregate=components), sync=True)
    for one, expected in zip(found, components(moments(all_rows(x))), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-9)


def test_a_heat_equation_with_overlapping_blocks(client: Any) -> None:
    u = np.random.default_rng(0).normal(size=(40, 30))

    def step(u: Any) -> Any:
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    split = da.from_array(u, chunks=(20, 15))
    for _ in range(5):
        u, split = step(u), tm.dask.map_overlap(step, split, depth=1, boundary="periodic")
    np.testing.assert_allclose(client.compute(split, sync=True), u, rtol=1e-11)


def test_monte_carlo_with_a_stream_for_each_block(client: Any) -> None:
    def inside(seed: Any) -> Any:
        points = tm.random.default_rng([3, seed[0]]).random((5000, 2))
        return np.sum(np.sum(points**2, axis=1) < 1)

    found = client.compute(tm.dask.reduction(inside, da.arange(12, chunks=1)), sync=True)
    counts = [inside(np.array([seed])) for seed in range(12)]
    assert len(set(counts)) > 6
    assert found == sum(counts)
    assert abs(4 * found / 60_000 - np.pi) < 0.05


def test_an_ensemble_of_a_hundred_members(client: Any) -> None:
    starts = np.random.default_rng(1).normal(size=(100, 3)) + 20

    def lorenz(start: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, y, z = state
            return (
                x + 0.01 * (y - x) * 10,
                y + 0.01 * (x * (28 - z) - y),
                z + 0.01 * (x * y - 8 / 3 * z),
            ), None

        return np.stack(tm.scan(step, (start[0], start[1], start[2]), None, length=50)[0])

    found = client.compute(tm.dask.vmap(lorenz)(da.from_array(starts, chunks=(20, 3))), sync=True)
    np.testing.assert_allclose(found, np.stack([lorenz(start) for start in starts]), rtol=1e-9)


def test_a_block_that_cannot_be_read_at_first_is_read_again(client: Any, tmp_path: Path) -> None:
    def read(number: int) -> Any:
        mark = tmp_path / str(number)
        if not mark.exists():
            mark.touch()
            raise OSError("the disk is busy")
        return np.full((5, 2), float(number))

    blocks = [da.from_delayed(dask.delayed(read)(number), (5, 2), np.float64) for number in range(4)]
    total = tm.dask.reduction(lambda x: np.sum(x, axis=0), da.concatenate(blocks))
    np.testing.assert_array_equal(client.compute(total, sync=True, retries=2), [30, 30])


def test_blocks_are_released_so_that_workers_hold_a_few_at_a_time(client: Any) -> None:
    def peak() -> float:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

    x = da.ones((400, 500_000), chunks=(4, 500_000))  # 1.6 GB in 100 blocks of 16 MB
    before = max(client.run(peak).values())
    total = tm.dask.reduction(lambda x: np.sum(np.sqrt(x)), x + 3.0)
    assert client.compute(total, sync=True) == 2 * 400 * 500_000
    assert max(client.run(peak).values()) - before < 400


def test_a_worker_that_is_killed_costs_only_the_blocks_that_it_held(tmp_path: Path) -> None:
    log = tmp_path / "blocks"

    def make(number: int) -> Any:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {number}\n")
        time.sleep(0.3)
        return np.full((10, 2), float(number))

    def made() -> list[tuple[int, int]]:
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [(int(process), int(number)) for process, number in map(str.split, lines)]

    blocks = [da.from_delayed(dask.delayed(make)(number), (10, 2), np.float64) for number in range(16)]
    total = tm.dask.reduction(lambda x: np.sum(np.sqrt(x), axis=0), da.concatenate(blocks), split_every=100)
    with cluster() as workers, Client(workers) as client:
        future = client.compute(total)
        while len(made()) < 8:
            time.sleep(0.05)
        victim = made()[0][0]
        assert victim in client.run(os.getpid).values()
        os.kill(victim, signal.SIGKILL)
        found = future.result(timeout=120)
    np.testing.assert_allclose(found, np.full(2, 10 * np.sqrt(np.arange(16)).sum()), rtol=1e-12)
    times = Counter(number for _, number in made())
    twice = {number for number, count in times.items() if count > 1}
    assert set(times) == set(range(16))
    assert twice <= {number for process, number in made() if process == victim}


def test_workers_without_a_compiler_compute_with_numpy_and_warn_once(capfd: Any) -> None:
    x = np.arange(12.0)
    with cluster(TRACEMILL_CC="/nowhere/cc") as workers, Client(workers) as client:
        for function in (np.sin, tm.compile(np.exp, backend="c")):
            split = tm.dask.map_blocks(function, da.from_array(x, chunks=1))
            np.testing.assert_allclose(client.compute(split, sync=True), function(x), rtol=1e-14)
    told = capfd.readouterr().err
    assert 1 <= told.count("CompilerWarning: ") <= 2, told
    assert "NumPy computes the blocks of this worker, more slowly" in told


def test_a_machine_compiles_a_program_once(tmp_path: Path) -> None:
    with cluster(TRACEMILL_CACHE_DIR=str(tmp_path / "cache")) as workers, Client(workers) as client:
        x = da.arange(64.0, chunks=4)
        split = tm.dask.map_blocks(lambda x: np.sin(x) ** 3 + x, x)
        np.testing.assert_allclose(
            client.compute(split, sync=True), np.sin(np.arange(64.0)) ** 3 + np.arange(64.0)
        )

        def compiled() -> int:
            from tracemill.runtime.programs.built import statistics

            return statistics.compiled

        counts = client.run(compiled)
    assert sum(counts.values()) == 1
