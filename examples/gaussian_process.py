"""A Gaussian process learns its own scales: the marginal likelihood by Cholesky, and its gradient through that.

C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm

NAMES = "length", "height", "noise"
TRUE_NOISE = 0.15


def covariance(logs: Any, x: Any, y: Any) -> Any:
    """How alike the function is at x, f64[n], and y, f64[m], for logarithms of length, height and noise: f64[n, m]."""
    length, height, _ = np.exp(logs)
    return height**2 * np.exp(-(((x[:, None] - y) / length) ** 2) / 2)


def factor(logs: Any, x: Any) -> Any:
    """The Cholesky factor of the covariance of what is seen."""
    return np.linalg.cholesky(covariance(logs, x, x) + np.exp(2 * logs[2]) * np.eye(len(x)))


def surprise(logs: Any, x: Any, seen: Any) -> Any:
    """Minus the logarithm of the likelihood of what is seen."""
    L = factor(logs, x)
    whitened = tm.linalg.solve_triangular(L, seen, lower=True)
    return whitened @ whitened / 2 + np.sum(np.log(np.diag(L))) + len(x) / 2 * np.log(2 * np.pi)


def predicted(logs: Any, x: Any, seen: Any, at: Any) -> tuple[Any, Any]:
    """Mean and deviation of the function where it was not seen."""
    L = factor(logs, x)
    across = tm.linalg.solve_triangular(L, covariance(logs, x, at), lower=True)
    mean = across.T @ tm.linalg.solve_triangular(L, seen, lower=True)
    return mean, np.sqrt(np.exp(2 * logs[1]) - np.sum(across**2, axis=0))


value_and_gradient = tm.compile(tm.value_and_grad(surprise))
bends = tm.compile(tm.hessian(surprise))


def learned(logs: Any, x: Any, seen: Any) -> Any:
    """The most likely scales: by gradients first, then by Newton's method."""
    value, gradient = value_and_gradient(logs, x, seen)
    for number in range(60):
        H = np.linalg.eigh(bends(logs, x, seen))
        axes = H.eigenvectors
        step = -axes @ ((axes.T @ gradient) / np.maximum(np.abs(H.eigenvalues), 1e-3))
        step *= min(1, 1 / np.max(np.abs(step)))
        while (found := value_and_gradient(logs + step, x, seen))[0] > value and np.max(np.abs(step)) > 1e-12:
            step /= 2
        logs, (value, gradient) = logs + step, found
        print(f"step {number:2}: surprise {value:.6f}, gradient {np.max(np.abs(gradient)):.1e}")
        if np.max(np.abs(gradient)) < 1e-7:
            break
    return logs


def plot(path: Path, x: Any, seen: Any, at: Any, mean: Any, deviation: Any) -> None:
    """The observations, and the posterior of the function."""
    import matplotlib.pyplot as plt

    plt.figure(figsize=(5, 3), layout="constrained")
    plt.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3, label="95 %")
    plt.plot(at, mean, label="mean")
    plt.plot(x, seen, ".", label="seen")
    plt.legend()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, help="how many values are seen")
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as process.svg; needs matplotlib")
    options = parser.parse_args()

    def truth(x: Any) -> Any:
        return np.sin(3 * x) + 0.5 * np.cos(7 * x)

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 4, options.size))
    seen = truth(x) + TRUE_NOISE * rng.normal(size=options.size)
    logs = np.zeros(3)

    h = 1e-5
    _, gradient = value_and_gradient(logs, x, seen)
    by_differences = [
        (surprise(logs + h * e, x, seen) - surprise(logs - h * e, x, seen)) / (2 * h) for e in np.eye(3)
    ]
    error = np.max(np.abs(gradient - by_differences)) / np.max(np.abs(gradient))
    print(f"gradient and differences agree to {error:.0e}")

    logs = learned(logs, x, seen)
    for name, value in zip(NAMES, np.exp(logs), strict=True):
        print(f"  {name:7}{value:.4f}" + (f", in truth {TRUE_NOISE}" if name == "noise" else ""))
    at = np.linspace(0, 4, 400)
    mean, deviation = tm.compile(predicted)(logs, x, seen, at)
    error = np.sqrt(np.mean((mean - truth(at)) ** 2))
    print(
        f"the function is known but for {error:.3f}, and was thought to be but for {np.mean(deviation):.3f}"
    )
    print(f"{100 * np.mean(np.abs(mean - truth(at)) < 2 * deviation):.0f} % of it lie within two deviations")
    if options.plot:
        plot(options.plot, x, seen, at, mean, deviation)


if __name__ == "__main__":
    main()
