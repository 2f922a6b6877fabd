"""Logistic regression by Newton's method on more rows than fit into memory, on worker processes that Dask schedules.

Each task draws the rows of its block, differentiates their loss twice and returns three small arrays, which are added
in a tree. The same program in one process, with one thread, computes the first blocks for comparison.

    python examples/newton_on_dask.py --rows 100_000_000 --workers 1 2
"""

import argparse
import resource
import sys
import time
from typing import Any

import dask.array
import dask.distributed
import numpy as np

import tracemill as tm

arrays: Any = dask.array  # whose annotations are incomplete
distributed: Any = dask.distributed

COLUMNS = 8
TRUE = np.linspace(-1, 1, COLUMNS)


def parts_of(rows: int) -> Any:
    """The loss, its gradient and its Hessian, of the seed of a block with this many rows and of the weights."""

    def parts(seed: Any, w: Any) -> Any:
        rng = tm.random.default_rng([1, seed[0]])
        x = rng.normal(size=(rows, COLUMNS))
        y = np.where(rng.random(size=rows) < 1 / (1 + np.exp(-(x @ TRUE))), 1.0, 0.0)

        def loss(w: Any) -> Any:
            z = x @ w
            return np.sum(np.logaddexp(0.0, z) - y * z)

        value, gradient = tm.value_and_grad(loss)(w)
        return value, gradient, tm.hessian(loss)(w)

    return parts


def fitted(step: Any, steps: int) -> tuple[Any, float, float]:
    """The weights, the norm of the last gradient, and the median of the seconds of a step. The first one compiles."""
    w, seconds, gradient = np.zeros(COLUMNS), [], np.zeros(COLUMNS)
    for _ in range(steps):
        started = time.perf_counter()
        _, gradient, hessian = step(w)
        w = w - np.linalg.solve(hessian, gradient)
        seconds.append(time.perf_counter() - started)
    return w, float(np.linalg.norm(gradient)), float(np.median(seconds[1:] or seconds))


def megabytes() -> float:
    """The peak of this process's memory."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def alone(parts: Any, blocks: int) -> Any:
    """A step in this process, with one thread."""
    compiled: Any = tm.compile(parts)

    def step(w: Any) -> Any:
        found = [compiled(np.array([seed]), w) for seed in range(blocks)]
        return tuple(sum(one) for one in zip(*found, strict=True))

    return step


def on_workers(parts: Any, blocks: int, client: Any) -> Any:
    """A step in the workers of a cluster."""
    seeds = arrays.arange(blocks, chunks=1)
    return lambda w: client.compute(tm.dask.reduction(parts, seeds, w=w), sync=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--block", type=int, default=100_000, help="rows in a block")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[2], help="how many processes, one run each"
    )
    parser.add_argument(
        "--alone", type=int, default=4, help="blocks that one process computes for comparison"
    )
    given = parser.parse_args()
    blocks = -(-given.rows // given.block)
    parts = parts_of(given.block)

    tm.set_num_threads(1)
    few = min(given.alone, blocks)
    step = alone(parts, few)
    step(np.zeros(COLUMNS))  # compiles
    before = time.process_time()
    expected, _, seconds = fitted(step, given.steps)
    own = (time.process_time() - before) / few / given.steps
    per_block = seconds / few
    print(
        f"one process: {few} blocks of {given.block} rows, {per_block * 1000:.1f} ms per block,"
        f" {own * 1000:.1f} ms of the processor"
    )

    for count in given.workers:
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            found, _, _ = fitted(on_workers(parts, few, client), given.steps)
            print(f"{count} workers: the same blocks agree to {np.max(np.abs(found - expected)):.1e}")
            before, theirs = time.process_time(), sum(client.run(time.process_time).values())
            w, norm, seconds = fitted(on_workers(parts, blocks, client), given.steps)
            here = (time.process_time() - before) / blocks / given.steps
            there = (sum(client.run(time.process_time).values()) - theirs) / blocks / given.steps
            peak = max(client.run(megabytes).values())
        share = per_block * blocks / seconds / count
        print(
            f"{count} workers: {blocks * given.block} rows in {seconds:.2f} s per step, {share:.2f} of linear,"
            f" peak {peak:.0f} MB\n"
            f"  processor per block: {there * 1000:.1f} ms in workers, {here * 1000:.1f} ms in scheduler and client"
        )
        print(f"gradient {norm:.1e}, the weights are found but for {np.max(np.abs(w - TRUE)):.4f}")


if __name__ == "__main__":
    main()
