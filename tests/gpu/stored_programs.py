"""Compiles a program for a GPU that is not here, again and again, while its files are damaged, and prints what happens.

A program of its own: where Triton's interpreter is loaded, nothing can be compiled. Nothing is computed either.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm
from gpu.stub_gpu import StubGpu, fresh
from tracemill.runtime.cache.disk_cache import default_cache
from tracemill.runtime.programs.built import statistics

FAR = np.cos(np.arange(16.0)).reshape(4, 4)


def several(x: Any) -> Any:
    """A kernel, a step, a loop, a step on the host, and arrays that are known, of which one is empty."""
    total, rows = tm.scan(lambda total, row: (total + row, total), x[0], x)
    on_host = np.linalg.det(x + np.cos(np.arange(16.0)).reshape(4, 4)) * np.arange(40.0)
    return np.tanh(x), np.cumsum(x), total, rows, on_host, np.zeros((0, 3))


def called(*, fast_math: bool = False) -> dict[str, Any]:
    """One call of a function that is compiled anew: what has been launched, and where the program was from."""
    stub.launches.clear()
    compiled_before = statistics.compiled
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tm.compile(several, backend="triton", fast_math=fast_math)(FAR)
    return {
        "compiled": statistics.compiled - compiled_before,
        "launches": [[launch.name, launch.programs, launch.threads] for launch in stub.launches],
        "warnings": [warning.category.__name__ for warning in caught],
    }


stub = StubGpu(Path(sys.argv[1]))
with fresh(stub):
    found: dict[str, Any] = {"first": called(), "again": called(), "damaged": {}}
    (entry,) = default_cache().entries()
    for member in {member.suffix: member for member in sorted(entry.folder.iterdir())}.values():
        content = member.read_bytes()
        member.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if content else b"x")
        found["damaged"][member.name] = called()
    found["fast"], found["fast again"] = called(fast_math=True), called(fast_math=True)
print(json.dumps(found))
