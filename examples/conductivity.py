"""An inverse problem with a partial differential equation: where does a plate conduct heat badly?

The plate is heated at one edge after another, and temperatures are seen as they spread. The map of conductivities is
found by Gauss and Newton's method: `tm.jvp` and `tm.vjp` go through all time steps, and no Jacobian is ever stored.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm

DT, STEPS, EVERY = 0.1, 600, 60  # the edges of a cell have length 1
NOISE, SMOOTHNESS = 0.002, 1e-4


def spread(logs: Any, edge: Any) -> Any:
    """Temperatures f64[STEPS / EVERY, n, n], with an edge at 1, for logarithms of conductivities f64[n, n]."""
    resistance = np.exp(-logs)
    down = 2 / (resistance[1:] + resistance[:-1])
    across = 2 / (resistance[:, 1:] + resistance[:, :-1])

    def step(u: Any, _: Any) -> tuple[Any, Any]:
        flow_down, flow_across = down * (u[1:] - u[:-1]), across * (u[:, 1:] - u[:, :-1])
        u = u + DT * edge * (1 - u)
        u[:-1] += DT * flow_down
        u[1:] -= DT * flow_down
        u[:, :-1] += DT * flow_across
        u[:, 1:] -= DT * flow_across
        return u, u

    _, path = tm.scan(step, np.zeros_like(logs), length=STEPS)
    return path[EVERY - 1 :: EVERY]


def edges(n: int) -> Any:
    """Which cells are heated in each of four experiments: f64[4, n, n]."""
    found = np.zeros((4, n, n))
    found[0, 0] = found[1, -1] = found[2, :, 0] = found[3, :, -1] = 1
    return found


def experiments(logs: Any) -> Any:
    """The temperatures of all four."""
    return tm.vmap(spread, in_dims=(None, 0))(logs, edges(len(logs)))


def rough(logs: Any) -> Any:
    """Half of the sum of squares of differences between neighbours."""
    return (np.sum(np.diff(logs, axis=0) ** 2) + np.sum(np.diff(logs, axis=1) ** 2)) / 2


def misfit(logs: Any, seen: Any) -> Any:
    """What is minimised: half of the sum of squares of the errors, and roughness."""
    return np.sum((experiments(logs) - seen) ** 2) / 2 + SMOOTHNESS * rough(logs)


value_and_gradient = tm.compile(tm.value_and_grad(misfit))


@tm.compile
def curvature(logs: Any, direction: Any) -> Any:
    """The Hessian of Gauss and Newton, JᵀJ and that of the roughness, times a direction."""
    _, change = tm.jvp(experiments, (logs,), (direction,))
    _, back = tm.vjp(experiments, logs)
    return back(change)[0] + SMOOTHNESS * tm.grad(rough)(direction)


def solved(logs: Any, gradient: Any, products: int) -> Any:
    """About −H⁻¹ g, by conjugate gradients."""
    step, residual = np.zeros_like(logs), -gradient
    direction = residual
    for _ in range(products):
        bent = curvature(logs, direction)
        length = np.vdot(residual, residual) / np.vdot(direction, bent)
        step = step + length * direction
        following = residual - length * bent
        if np.linalg.norm(following) < 0.05 * np.linalg.norm(gradient):
            break
        direction = following + np.vdot(following, following) / np.vdot(residual, residual) * direction
        residual = following
    return step


def found_map(seen: Any, n: int) -> Any:
    """The logarithms of conductivities that explain what was seen, from a plate that is alike everywhere on."""
    logs = np.zeros((n, n))
    value, gradient = value_and_gradient(logs, seen)
    for number in range(12):
        step, length = solved(logs, gradient, products=40), 1.0
        while (following := value_and_gradient(logs + length * step, seen))[0] > value and length > 1e-3:
            length /= 2
        gained = value - following[0]
        logs, (value, gradient) = logs + length * step, following
        print(f"step {number:2}: misfit {value:.6f}, gradient {np.linalg.norm(gradient):.1e}")
        if gained < 1e-4 * value:
            break
    return logs


def true_map(n: int) -> Any:
    """A disc that conducts badly, and a bar that conducts well."""
    y, x = np.mgrid[:n, :n] / n
    logs = np.zeros((n, n))
    logs[(y - 0.35) ** 2 + (x - 0.35) ** 2 < 0.04] = -1.2
    logs[(y > 0.65) & (y < 0.8) & (x > 0.3) & (x < 0.85)] = 0.7
    return logs


def plot(path: Path, seen: Any, truth: Any, logs: Any) -> None:
    """One of the measurements, the map, and what was found."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(7, 2.4), layout="constrained")
    panels = ((seen[0, 2], "seen: heated above", None), (truth, "conductivity", 1.3), (logs, "found", 1.3))
    for ax, (picture, title, limit) in zip(axes, panels, strict=True):
        limits = {"vmin": -limit, "vmax": limit, "cmap": "RdBu_r"} if limit else {"cmap": "inferno"}
        ax.imshow(picture, **limits)
        ax.set(title=title, xticks=[], yticks=[])
    figure.colorbar(axes[2].images[0], ax=axes[1:], shrink=0.8, label="logarithm")
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=24, help="how many cells along an edge")
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as plate.svg; needs matplotlib")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    truth = true_map(options.size)
    exact = experiments(truth)
    seen = exact + NOISE * rng.normal(size=exact.shape)
    print(f"{seen.size} temperatures are seen, {truth.size} conductivities are sought")

    point, direction = rng.normal(size=(2, *truth.shape)) / 4
    h = 1e-5
    ends = [value_and_gradient(point + sign * h * direction, seen)[0] for sign in (1, -1)]
    slope = np.vdot(value_and_gradient(point, seen)[1], direction)
    print(f"gradient and differences agree to {abs((ends[0] - ends[1]) / (2 * h) / slope - 1):.0e}")

    logs = found_map(seen, options.size)
    error = np.sqrt(np.mean((logs - truth) ** 2) / np.mean(truth**2))
    print(f"the map is found but for {100 * error:.0f} %")
    if options.plot:
        plot(options.plot, seen, truth, logs)


if __name__ == "__main__":
    main()
