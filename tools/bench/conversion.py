"""The cost of converting functions: from the source of a function to the code with hooks, once for each function."""

import importlib.util
import inspect
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

import numpy as np

from ...compiler.frontend.conversion import conversion_of
from .timing import Measurement, no_garbage_collection

COPIES = 40
ABOUT: str = (
    "From the source of a function to its code with hooks, in processor time; each function is converted once"
)


def dense(a: Any, b: Any, x: Any, n: int, tol: float = 1e-8) -> Any:  # noqa: C901 (it is dense)
    """Gaussian elimination in place, then Gauss-Seidel steps: loops, branches, writes and jumps in 30 lines."""
    a, count = a.copy(), 0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if pivot != k:
            a[k, :], a[pivot, :] = a[pivot, :].copy(), a[k, :].copy()
            b[k], b[pivot] = b[pivot], b[k]
            count += 1
        if abs(a[k, k]) < tol:
            raise ValueError(f"singular at {k}")
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    while count < 50 and np.max(np.abs(a @ x - b)) > tol:
        for i in range(n):
            total = b[i]
            for j in range(n):
                if j != i and a[i, j] != 0.0:
                    total -= a[i, j] * x[j]
            x[i] = total / a[i, i] if a[i, i] != 0.0 else 0.0
        count += 1
        if count > 40 and not np.all(np.isfinite(x)):
            return x, -1
    return x, count


def measure(rounds: int) -> Iterator[Measurement]:
    """Milliseconds for the first function of a new file, and for each of the others."""
    firsts, others = [], []
    lines = 0
    with TemporaryDirectory() as folder, no_garbage_collection():
        for number in range(rounds):
            functions, lines = _written(Path(folder) / f"dense_{number}.py")
            firsts.append(_seconds(functions[:1]))
            others.append(_seconds(functions[1:]) / (len(functions) - 1))
    file = f"file of {lines:,} lines, first function"
    yield Measurement("conversion", file, 1e3 * median(firsts), "ms", "the file is new")
    one = f"function of {len(inspect.getsourcelines(dense)[0])} lines"
    yield Measurement(
        "conversion", one, 1e3 * median(others), "ms", f"mean of {COPIES - 1} functions of the file"
    )


def _written(file: Path) -> tuple[list[FunctionType], int]:
    """The functions of a new file, and how many lines it has."""
    text = inspect.getsource(dense)
    copies = [text.replace("def dense(", f"def dense_{number}(") for number in range(COPIES)]
    head = "from typing import Any\n\nimport numpy as np\n\n\n"
    file.write_text(head + "\n\n".join(copies))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"dense_{number}") for number in range(COPIES)], len(
        file.read_text().splitlines()
    )


def _seconds(functions: list[FunctionType]) -> float:
    started = time.process_time()
    for function in functions:
        found = conversion_of(function)
        assert not isinstance(found, str), found
    return time.process_time() - started
