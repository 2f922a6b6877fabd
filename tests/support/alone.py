"""Runs exported Python files where only NumPy and Python's own modules can be imported, and says what they do.

``python -I alone.py FOLDER [also]``: each folder of FOLDER holds ``NAME.py`` and ``arrays.npz``, with the arguments
``in0``, … and the results ``out0``, …; `also` is one package more that may be imported.
"""

import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

ALLOWED = {*sys.stdlib_module_names, "numpy", *sys.argv[2:]}


class OnlyNumPy(MetaPathFinder):
    """Refuses all else."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        name = fullname.partition(".")[0]
        if name not in ALLOWED and not name.startswith("_sysconfigdata"):  # which belongs to Python
            raise ImportError(f"{fullname} must not be needed")


sys.meta_path.insert(0, OnlyNumPy())

import numpy as np  # noqa: E402


def loaded(file: Path) -> Any:
    """The module that a file is."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(arrays: Any, kind: str) -> list[Any]:
    """Those of a file, in order; two bytes that NumPy has no name for are bfloat16."""
    found = [arrays[f"{kind}{i}"] for i in range(sum(name.startswith(kind) for name in arrays))]
    if any(x.dtype.kind == "V" for x in found):
        import ml_dtypes

        return [x.view(ml_dtypes.bfloat16) if x.dtype.kind == "V" else x for x in found]
    return found


def differences(results: Sequence[Any], expected: Sequence[Any]) -> list[str]:
    """Differences bit for bit, except for NaN, and for complex numbers, where NumPy's last digit depends on the
    distance in memory between its operands and results."""
    if len(results) != len(expected):
        return [f"{len(results)} results instead of {len(expected)}"]
    found: list[str] = []
    for place, (left, right) in enumerate(zip(map(np.asarray, results), expected, strict=True)):
        if (left.dtype, left.shape) != (right.dtype, right.shape):
            found.append(f"result {place} is {left.dtype}{left.shape} instead of {right.dtype}{right.shape}")
        elif left.tobytes() != right.tobytes():
            x, y = (z.astype(np.complex128 if z.dtype.kind == "c" else np.float64) for z in (left, right))
            rounding = 4 * np.finfo(left.dtype).eps * np.abs(y) if left.dtype.kind == "c" else 0
            is_same = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= rounding)
            if not is_same.all():
                found.append(f"result {place} differs")
    return found


def main(folder: Path) -> None:
    """Print the folders with a function that does not give the stored results."""
    warnings.simplefilter("error")
    for part in sorted(folder.iterdir()):
        (file,) = part.glob("*.py")
        arrays = np.load(part / "arrays.npz")
        function = getattr(loaded(file), file.stem)
        wrong = differences(function(*stored(arrays, "in")), stored(arrays, "out"))
        if wrong:
            print(part.name, *wrong, sep=": ")
    print("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
