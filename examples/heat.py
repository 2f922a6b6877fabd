"""Heat in a plate, as NumPy's textbooks write it: a loop over time steps on slices, compiled as it stands.

The Python loop is unrolled while tracing and rolled up again by the compiler, into one loop of C.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm


def heated(u: Any, steps: int) -> Any:
    """The temperatures f64[n, n] some steps later; the edge keeps its own."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def best(function: Callable[..., Any], u: Any, steps: int, repeats: int) -> float:
    """The seconds that the fastest of some calls takes."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(u, steps=steps)
        times.append(time.perf_counter() - start)
    return min(times)


def plot(path: Path, before: Any, after: Any, slope: Any) -> None:
    """The plate, and how much each point of its edge matters."""
    import matplotlib.pyplot as plt

    _, (left, middle, right) = plt.subplots(1, 3, figsize=(7, 2.3), layout="constrained")
    for ax, picture, title in ((left, before, "before"), (middle, after, "after")):
        ax.imshow(picture, cmap="inferno", vmin=0, vmax=1.5)
        ax.set(title=title, xticks=[], yticks=[])
    right.plot(slope)
    right.set(title="gradient by the edge", xlabel="place", yticks=[])
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as heat.svg; needs matplotlib")
    options = parser.parse_args()

    n, steps = options.size, options.steps
    u = np.zeros((n, n))
    u[0] = 1.0
    u[n // 3 : n // 2, n // 3 : n // 2] = 5.0
    compiled = tm.compile(heated, static_argnames=["steps"])
    start = time.perf_counter()
    error = np.max(np.abs(compiled(u, steps=steps) - heated(u, steps)))
    print(f"{steps} steps of {n} x {n} temperatures: compiled and NumPy agree to {error:.0e}")
    print(f"tracing and compiling took {time.perf_counter() - start:.1f} s, with one run of each")
    lowered = compiled.lower(u, steps=steps)
    print(f"{len(lowered.graph.calls)} operations were traced, {len(lowered.after('reroll').calls)} are left")
    ours, numpys = best(compiled, u, steps, options.repeats), best(heated, u, steps, options.repeats)
    print(f"NumPy {1e3 * numpys:.0f} ms, compiled {1e3 * ours:.0f} ms: {numpys / ours:.1f} times as fast")

    def warmth(source: Any) -> Any:
        """How warm the plate gets near its upper edge, by the temperatures of that."""
        plate = np.zeros((n, n))
        plate[0] = source
        return np.mean(heated(plate, steps)[n // 64 : n // 16, n // 4 : 3 * n // 4])

    slope = tm.compile(tm.grad(warmth))(u[0])
    ones = np.full(n, slope.dtype.type(1))
    print(
        f"the gradient by the edge sums to {slope @ ones:.6f}, and warmth is linear in it: {warmth(ones):.6f}"
    )

    if options.plot:
        plot(options.plot, u, compiled(u, steps=steps), slope)


if __name__ == "__main__":
    main()
