"""Draws what the examples find, for the documentation: ``python docs/pictures/draw.py``, or some of them by name."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
EXAMPLES: Final = FOLDER.parents[1] / "examples"
ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "conductivity": (),
    "eight_schools": ("--draws", "500"),
    "fitted_orbits": (),
    "gaussian_process": ("--size", "60"),
    "heat": ("--size", "96", "--steps", "400", "--repeats", "1"),
    "newton_cg": ("--size", "20"),
    "private_gradients": (),
    "read_digits": (),
    "tiny_transformer": (),
}
"""Examples that draw, and with which arguments."""


def draw(name: str) -> None:
    """Write the picture of an example beside this file."""
    settings = {"MATPLOTLIBRC": str(FOLDER / "matplotlibrc"), "MPLBACKEND": "agg", "SOURCE_DATE_EPOCH": "0"}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *ARGUMENTS[name]]
    command += ["--plot", str(FOLDER / f"{name}.svg")]
    subprocess.run(command, env={**os.environ, **settings}, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ARGUMENTS))
    for name in parser.parse_args().names or ARGUMENTS:
        print(name)
        draw(name)


if __name__ == "__main__":
    main()
