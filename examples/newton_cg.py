"""Newton's method with conjugate gradients: a soap film, by second derivatives that are never stored as a matrix.

`tm.hvp` multiplies the Hessian by a vector at the cost of about two gradients, so that each of Newton's equations is
solved by conjugate gradients (J. Nocedal, S. Wright, Numerical Optimization, 2006, algorithm 7.1).
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm


def area(heights: Any, frame: Any) -> Any:
    """Of a film over the unit square: heights f64[n, n] inside, and a frame f64[n + 2, n + 2] around them."""
    z = frame.copy()
    z[1:-1, 1:-1] = heights
    cell = 1 / (len(frame) - 1)
    along = (z[1:, :-1] - z[:-1, :-1]) / cell
    across = (z[:-1, 1:] - z[:-1, :-1]) / cell
    return np.sum(np.sqrt(1 + along**2 + across**2)) * cell**2


value_and_gradient = tm.compile(tm.value_and_grad(area))


@tm.compile
def curvature(x: Any, frame: Any, direction: Any) -> Any:
    """The Hessian at x times a direction."""
    return tm.hvp(lambda x: area(x, frame), (x,), (direction,))


def newton_step(x: Any, frame: Any, gradient: Any) -> tuple[Any, int]:
    """About −H⁻¹ g, by conjugate gradients; and their number."""
    size = float(np.linalg.norm(gradient))
    tolerance = size * min(0.1, size)
    step, residual = np.zeros_like(x), gradient.copy()
    direction = -residual
    for count in range(1, x.size + 1):
        bent = curvature(x, frame, direction)
        length = np.vdot(residual, residual) / np.vdot(direction, bent)
        step += length * direction
        following = residual + length * bent
        if np.linalg.norm(following) < tolerance:
            return step, count
        direction = np.vdot(following, following) / np.vdot(residual, residual) * direction - following
        residual = following
    return step, x.size


def film(frame: Any) -> tuple[Any, int]:
    """The heights of least area in a frame; and how many products with Hessians that took."""
    x, products = np.zeros((len(frame) - 2, len(frame) - 2)), 0
    for number in range(100):
        value, gradient = value_and_gradient(x, frame)
        size = np.linalg.norm(gradient)
        print(f"step {number:2}: area {value:.12f}, gradient {size:7.1e}, {products:4} products")
        if size < 1e-12:
            break
        step, count = newton_step(x, frame, gradient)
        products += count
        length = 1.0
        while area(x + length * step, frame) > value + 1e-4 * length * np.vdot(gradient, step) + 1e-14:
            length /= 2
        x = x + length * step
    return x, products


def plot(path: Path, film: Any) -> None:
    """The film in its frame."""
    import matplotlib.pyplot as plt

    place = np.linspace(0, 1, len(film))
    axes: Any = plt.figure(figsize=(5, 3.4), layout="constrained").add_subplot(projection="3d")
    axes.plot_surface(place, place[:, None], film, cmap="viridis", linewidth=0)
    axes.set_axis_off()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=40, help="how many heights along an edge")
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as film.svg; needs matplotlib")
    options = parser.parse_args()
    size = options.size

    # Scherk's surface (1834) is a film between four walls: log(cos x) − log(cos y)
    place = np.linspace(-1, 1, size + 2)
    scherk = np.log(np.cos(place))[:, None] - np.log(np.cos(place))
    exact = scherk / 2  # of a square with edges of length 1 instead of 2
    frame = exact.copy()
    frame[1:-1, 1:-1] = 0

    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, size, size))
    h = 1e-6
    slopes = [value_and_gradient(x + sign * h * v, frame)[1] for sign in (1, -1)]
    expected = (slopes[0] - slopes[1]) / (2 * h)
    error = np.linalg.norm(curvature(x, frame, v) - expected) / np.linalg.norm(expected)
    print(f"product with the Hessian and differences of gradients agree to {error:.0e}")

    x, products = film(frame)
    error = np.max(np.abs(x - exact[1:-1, 1:-1]))
    print(
        f"the film is Scherk's surface but for {error:.0e}, which the grid is to blame for: {products} products of"
    )
    print(f"{size**2} numbers, where the Hessian has {size**4} entries")
    if options.plot:
        frame[1:-1, 1:-1] = x
        plot(options.plot, frame)


if __name__ == "__main__":
    main()
