"""`BlockProgram`: a traced function as data, and how a worker runs it on blocks."""

import io
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...compiler.errors import BlockError, CompilerError, CompilerWarning, MissingCompilerError
from ...compiler.ir import Shape
from ...compiler.tracing.array_values import PYTHON_NUMBERS
from ..artifact.loaded_function import LoadedFunction
from ..artifact.loading import read_artifact
from ..environment import usual_backend
from ..machine.toolchain import toolchain
from .one_compiler import alone_on_this_machine

_MOST_LOADED: Final = 256
"""Programs that a process keeps ready to run; those that were not used for the longest time go first."""


@dataclass(frozen=True, slots=True)
class BlockProgram:
    """A function of arrays, with a program for each combination of shapes that its blocks have.

    It is pickled as it is: names, numbers and the bytes of bundles. `load` explains what reading a bundle checks; none
    of it is executed.
    """

    name: str
    bundles: Mapping[tuple[Shape, ...], bytes]
    """By the shapes of the arguments."""
    backend: str
    """That of `compile`; where there is no C compiler, ``"c"`` is NumPy."""
    digest: str
    """Of all bundles."""


def run_blocks(program: BlockProgram, *blocks: Any) -> tuple[Any, ...]:
    """All results of a program, as arrays."""
    arrays = [block if type(block) in PYTHON_NUMBERS else _array(block) for block in blocks]
    try:
        return _results(program, arrays)
    except Exception as error:
        shapes = ", ".join(map(str, map(np.shape, arrays)))
        error.add_note(f"in {program.name}, for a block with arguments of the shapes {shapes}")
        raise


def _results(program: BlockProgram, arrays: list[Any]) -> tuple[Any, ...]:
    loaded = _PROGRAMS.get(program, tuple(map(np.shape, arrays)))
    if loaded.has_run:
        return tuple(map(np.asarray, loaded.function(*arrays)))
    with alone_on_this_machine(program.digest):
        results = tuple(map(np.asarray, loaded.function(*arrays)))
    loaded.has_run = True
    return results


def _array(block: Any) -> np.ndarray[Any, Any]:
    """A block as an array. Where blocks could be joined along an axis, but there is only one, it is in a list."""
    while isinstance(block, list):
        (block,) = block
    if isinstance(block, np.ma.MaskedArray):
        raise BlockError(
            "a block is a masked array, though Dask was told a plain one: fill it, x.filled(...)"
        )
    return np.asarray(block)


def run_block(program: BlockProgram, *blocks: Any) -> Any:
    """The only result of a program."""
    return array_of(run_blocks(program, *blocks), 0)


def array_of(results: tuple[Any, ...], number: int) -> Any:
    """One of several results. Without axes it is a scalar, as Dask's own results are."""
    found = results[number]
    return found if found.ndim else found[()]


@dataclass(slots=True)
class _Loaded:
    """A program that this process has read."""

    function: LoadedFunction
    has_run: bool = False
    """Whether it is compiled."""


class _LoadedPrograms:
    """The programs that this process has loaded, so that a task costs a look-up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._functions: OrderedDict[tuple[str, tuple[Shape, ...]], _Loaded] = OrderedDict()
        self._has_warned = False

    def get(self, program: BlockProgram, shapes: tuple[Shape, ...]) -> _Loaded:
        """The function for these shapes."""
        key = program.digest, shapes
        with self._lock:
            loaded = self._functions.get(key)
            if loaded is None:
                bundle = io.BytesIO(program.bundles[shapes])
                loaded = _Loaded(read_artifact(bundle, program.name).function(backend=self._backend(program)))
                self._functions[key] = loaded
            self._functions.move_to_end(key)
            while len(self._functions) > _MOST_LOADED:
                self._functions.popitem(last=False)
        return loaded

    def _backend(self, program: BlockProgram) -> str:
        """The program's backend, or NumPy, with one warning, if C was wanted and there is no compiler."""
        wanted = usual_backend() if program.backend == "auto" else program.backend
        if wanted not in ("auto", "c"):
            return program.backend
        try:
            toolchain()
        except (MissingCompilerError, CompilerError) as error:
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(
                    f"{program.name}: NumPy computes the blocks of this worker, more slowly: {error.message}",
                    CompilerWarning,
                    stacklevel=2,
                )
            return "numpy"
        return program.backend


_PROGRAMS: Final = _LoadedPrograms()
