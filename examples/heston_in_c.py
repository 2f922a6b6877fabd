"""Prices of options and their derivatives, written with NumPy, exported as C, and called by a program in C.

The Heston model (S. L. Heston, 1993), by the integral of A. Lewis (2001) with the characteristic function as in
H. Albrecher et al. (2007), on the nodes of Gauss and Legendre. Interest rates are zero, and the spot is 1.
"""

import argparse
import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm

NAMES = "variance now", "speed of return", "variance at last", "volatility of variance", "correlation"
USUAL = np.array([0.04, 1.5, 0.06, 0.4, -0.7])
STRIKES = np.linspace(0.8, 1.2, 9)
YEARS = 0.5

CUT = 150.0  # where the integral ends
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
U, DU = CUT / 2 * (NODES + 1), CUT / 2 * WEIGHTS


def prices(parameters: Any, strikes: Any) -> Any:
    """Of calls, f64[n], for parameters f64[5] and strikes f64[n]."""
    now, speed, last, sigma, rho = parameters
    u = U - 0.5j
    b = speed - 1j * rho * sigma * u
    d = np.sqrt(b**2 + sigma**2 * (1j * u + u**2))
    g, e = (b - d) / (b + d), np.exp(-d * YEARS)
    drift = speed * last / sigma**2 * ((b - d) * YEARS - 2 * np.log((1 - g * e) / (1 - g)))
    characteristic = np.exp(drift + now * (b - d) / sigma**2 * (1 - e) / (1 - g * e))
    waves = np.exp(-1j * U * np.log(strikes)[:, None])
    integral = (waves * characteristic).real @ (DU / (U**2 + 0.25))
    return 1 - np.sqrt(strikes) / np.pi * integral


def prices_and_slopes(parameters: Any, strikes: Any) -> Any:
    """The prices, f64[n], and their derivatives by the parameters, f64[n, 5]."""
    return prices(parameters, strikes), tm.jacfwd(prices)(parameters, strikes)


def black_scholes(variance: float, strike: float) -> float:
    """The price if the variance never changes."""
    deviation = math.sqrt(variance * YEARS)
    d = -math.log(strike) / deviation + deviation / 2
    return (math.erfc(-d / math.sqrt(2)) - strike * math.erfc((deviation - d) / math.sqrt(2))) / 2


def run_in_c(folder: Path) -> tuple[Any, Any]:
    """What a program in C finds that calls the exported function."""
    artifact = tm.export(prices_and_slopes, f"parameters: f64[{len(USUAL)}]", f"strikes: f64[{len(STRIKES)}]")
    artifact.save(folder, format="c")
    main = Path(__file__).with_suffix(".c")
    library = f"lib{artifact.interface.name}.a"
    subprocess.run(["make", "-s", library], cwd=folder, check=True)
    subprocess.run(["cc", "-I.", str(main), library, "-lm", "-o", "main"], cwd=folder, check=True)
    given = [repr(float(x)) for x in (*USUAL, *STRIKES)]
    done = subprocess.run(["./main", *given], cwd=folder, check=True, capture_output=True, text=True)
    table = np.array([line.split() for line in done.stdout.splitlines()], float)
    return table[:, 0], table[:, 1:]


def differences(step: float) -> Any:
    """The derivatives, by central differences."""
    columns = [
        (prices(USUAL + step * row, STRIKES) - prices(USUAL - step * row, STRIKES)) / (2 * step)
        for row in np.eye(len(USUAL))
    ]
    return np.stack(columns, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep the C files here")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        in_c, slopes = run_in_c(folder or Path(temporary))

    at_the_money = len(STRIKES) // 2
    print(f"A call at the money for {YEARS} years costs {in_c[at_the_money]:.6f}. It changes with")
    for name, slope in zip(NAMES, slopes[at_the_money], strict=True):
        print(f"  {name:24}{slope:+.6f}")
    print(f"prices:  C and NumPy agree to {np.max(np.abs(in_c - prices(USUAL, STRIKES))):.0e}")
    print(f"slopes:  C and finite differences agree to {np.max(np.abs(slopes - differences(1e-5))):.0e}")
    calm = prices(np.array([0.04, 1.0, 0.04, 1e-3, 0.0]), STRIKES)
    error = max(abs(black_scholes(0.04, k) - price) for k, price in zip(STRIKES, calm, strict=True))
    print(f"limit:   Black and Scholes, where the variance hardly varies, agree to {error:.0e}")


if __name__ == "__main__":
    main()
