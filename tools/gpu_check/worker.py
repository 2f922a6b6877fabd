"""The process of one contestant on the GPU: reads requests as lines of JSON, and answers each with a line."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...compiler.errors import GpuError, TracemillError
from ...runtime.compilation.compile import compile
from ...runtime.gpu.device import gpu
from ...runtime.gpu.device_array import DeviceArray
from ...runtime.gpu.device_put import device_put
from ...runtime.gpu_programs.timer import Timing, measure
from .card import card_of, ceilings_of
from .examples import EXAMPLES
from .peers import PEERS, Peer, Program
from .row import Array, Arrays, Row, as_tuple
from .rows import ROWS

OURS: Final = "tracemill"
LOST: Final = "is_lost"
"""Set in an answer if the process can no longer use the GPU."""

_TOLERANCES: Final = {"bf16": 3e-2, "f32": 1e-4, "f64": 1e-9}
"""Relative to a corner's largest element, by the dtype of the row's floating-point arguments: sums may be computed in
any order."""


class Tracemill:
    """``tm.compile`` on the first GPU."""

    def program(self, row: Row, arrays: Arrays) -> Program:
        given = [device_put(array) for array in arrays]
        compiled = compile(row.plain(), backend="triton")
        return lambda: compiled(*given)

    def corners(self, result: Any, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        results: tuple[DeviceArray, ...] = as_tuple(result)
        return [
            x.numpy()[tuple(map(slice, shape))].astype(np.float64)
            for x, shape in zip(results, shapes, strict=True)
        ]

    def timing(self, program: Program) -> Timing:
        return measure(program, gpu())


class Worker:
    """Handles the parent's requests.

    Args:
        contestant: a name among `PEERS`, or ours.
        folder: where what rows should give is kept, for the next contestant.
    """

    def __init__(self, contestant: str, folder: Path) -> None:
        self._contestant = contestant
        self._folder = folder
        self._peer: Peer | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call the method that the request names; an error becomes an answer, too."""
        actions: dict[str, Callable[..., dict[str, Any]]] = {
            "card": self.card,
            "ceilings": self.ceilings,
            "example": self.example,
            "row": self.row,
        }
        action = actions[request.pop("action")]
        try:
            return action(**request)
        except Exception as error:
            text = error.message if isinstance(error, TracemillError) else str(error).strip()
            first = (text.splitlines() or [""])[0]
            return {"problem": f"{type(error).__name__}: {first}", LOST: is_lost()}

    def card(self) -> dict[str, Any]:
        return asdict(card_of(gpu()))

    def ceilings(self, small: bool) -> dict[str, Any]:
        return asdict(ceilings_of(gpu(), small=small))

    def example(self, name: str) -> dict[str, Any]:
        (example,) = (example for example in EXAMPLES if example.name == name)
        with np.errstate(all="ignore"):
            difference = example.difference()
        return {"problem": difference} if difference else {}

    def row(self, name: str, small: bool) -> dict[str, Any]:
        """Compute a row, compare corners of the results with exact ones, and time it."""
        self._peer = self._peer or (Tracemill() if self._contestant == OURS else PEERS[self._contestant]())
        row = ROWS[name]
        arrays = row.arrays(row.small if small else row.size)
        program = self._peer.program(row, arrays)
        expected = self._expected(row, arrays)
        found = self._peer.corners(program(), [array.shape for array in expected])
        if problem := difference(row, found, expected):
            return {"problem": problem}
        timing = self._peer.timing(program)
        return {"seconds": [timing.low, timing.median, timing.high], "samples": timing.samples}

    def _expected(self, row: Row, arrays: Arrays) -> list[Array]:
        """Computed by the first contestant, and kept for the others."""
        file = self._folder / f"{row.name}.npz"
        if not file.exists():
            with np.errstate(all="ignore"):
                np.savez(file, *row.expected(arrays))
        with np.load(file) as kept:
            return [kept[f"arr_{number}"] for number in range(len(kept.files))]


def difference(row: Row, found: Sequence[Array], expected: Sequence[Array]) -> str:
    """How corners of results differ by more than rounding; empty if they do not."""
    tolerance = max(_TOLERANCES.get(input.dtype, 0.0) for input in row.inputs(row.small))
    for number, (ours, exact) in enumerate(zip(found, expected, strict=True)):
        if ours.shape != exact.shape:
            return f"result {number} starts with {ours.shape} instead of {exact.shape}"
        scale, apart = np.max(np.abs(exact)), np.max(np.abs(ours - exact))
        if not apart <= tolerance * scale:
            return f"result {number} differs by {apart:.1e}, where the largest is {scale:.1e}"
    return ""


def is_lost() -> bool:
    """Whether this process can no longer use the GPU because a kernel has failed, whichever library launched it."""
    try:
        gpu().synchronize()
    except GpuError:
        return True
    except TracemillError:  # there is none
        return False
    return False


def main(contestant: str, folder: str) -> None:
    """Answer until the requests end. The output of libraries goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(contestant, Path(folder))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)
