"""An ordinary differential equation fitted to what was seen of it: derivatives through thousands of steps of `tm.scan`.

Hares and lynxes (A. J. Lotka, 1925; V. Volterra, 1926): how fast they multiply and die is found from noisy counts.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm

TRUE = np.array([1.1, 0.4, 0.4, 0.1])
START = np.array([10.0, 5.0])
YEARS, PER_YEAR = 20, 200
NAMES = "births of prey", "hunting", "deaths of predators", "births by hunting"


def change(counts: Any, rates: Any) -> Any:
    """How fast the counts of prey and predators, f64[2], change."""
    prey, predators = counts
    births, hunting, deaths, gain = rates
    return np.array([prey * (births - hunting * predators), predators * (gain * prey - deaths)])


def path(rates: Any) -> Any:
    """The counts after each step, f64[YEARS * PER_YEAR, 2], by the method of Runge and Kutta."""
    h = 1 / PER_YEAR

    def step(counts: Any, _: Any) -> tuple[Any, Any]:
        k1 = change(counts, rates)
        k2 = change(counts + h / 2 * k1, rates)
        k3 = change(counts + h / 2 * k2, rates)
        k4 = change(counts + h * k3, rates)
        counts = counts + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return counts, counts

    return tm.scan(step, START, None, length=YEARS * PER_YEAR)[1]


@tm.compile
def orbit(rates: Any) -> Any:
    """The counts at the end of each year, f64[YEARS, 2]."""
    return path(rates)[PER_YEAR - 1 :: PER_YEAR]


def residuals(logarithms: Any, seen: Any) -> Any:
    """How far the logarithms of the counts are off, for logarithms of the rates."""
    return (np.log(orbit(np.exp(logarithms))) - np.log(seen)).ravel()


@tm.compile
def misfit(logarithms: Any, seen: Any) -> Any:
    """Half of the sum of squares of the residuals."""
    return np.sum(residuals(logarithms, seen) ** 2) / 2


residuals_and_slopes = tm.compile(lambda x, seen: (residuals(x, seen), tm.jacfwd(residuals)(x, seen)))
gradient = tm.compile(tm.grad(misfit))


def fitted(x: Any, seen: Any) -> Any:
    """The least misfit, from x on, by the method of K. Levenberg (1944) and D. Marquardt (1963)."""
    damping = 1e-2
    r, slopes = residuals_and_slopes(x, seen)
    for number in range(100):
        print(f"step {number:2}: misfit {r @ r / 2:.6f}")
        H = slopes.T @ slopes
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)), -slopes.T @ r)
        found, following = residuals_and_slopes(x + step, seen)
        if found @ found < r @ r:
            x, r, slopes, damping = x + step, found, following, damping / 10
        else:
            damping *= 10
        if np.linalg.norm(step) < 1e-9:
            break
    return x


def plot(file: Path, seen: Any, rates: Any) -> None:
    """What was seen, and what was found."""
    import matplotlib.pyplot as plt

    plt.figure(figsize=(5, 3), layout="constrained")
    years, found = np.arange(1, YEARS + 1), path(rates)
    times = np.arange(1, len(found) + 1) / PER_YEAR
    for column, (name, color) in enumerate((("prey", "tab:green"), ("predators", "tab:red"))):
        plt.plot(years, seen[:, column], "o", color=color, label=f"{name}, seen")
        plt.plot(times, found[:, column], color=color, label=f"{name}, fitted")
    plt.xlabel("years")
    plt.legend()
    plt.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise", type=float, default=0.05, help="of the counts, relative")
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as orbits.svg; needs matplotlib")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    seen = orbit(TRUE) * np.exp(options.noise * rng.normal(size=(YEARS, 2)))
    guess = np.log(TRUE) + rng.uniform(-0.1, 0.1, size=4)

    r, slopes = residuals_and_slopes(guess, seen)
    backward = gradient(guess, seen)
    error = np.max(np.abs(backward - slopes.T @ r)) / np.max(np.abs(backward))
    print(f"{YEARS * PER_YEAR} steps: forward and reverse mode agree to {error:.0e}", end=", ")
    h = 1e-6
    by_differences = [
        (misfit(guess + h * e, seen) - misfit(guess - h * e, seen)) / (2 * h) for e in np.eye(4)
    ]
    error = np.max(np.abs(backward - by_differences)) / np.max(np.abs(backward))
    print(f"with differences to {error:.0e}")
    start = time.perf_counter()
    gradient(guess, seen)
    print(f"a gradient takes {1e3 * (time.perf_counter() - start):.1f} ms")

    rates = np.exp(fitted(guess, seen))
    for name, found, true in zip(NAMES, rates, TRUE, strict=True):
        print(f"  {name:20}{found:.4f}, in truth {true}")
    print(f"the rates are found but for {100 * np.max(np.abs(rates / TRUE - 1)):.1f} %")
    if options.plot:
        plot(options.plot, seen, rates)


if __name__ == "__main__":
    main()
