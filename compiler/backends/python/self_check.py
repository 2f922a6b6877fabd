"""The part of a generated module that checks and times it when it is run as a program."""

from collections.abc import Sequence
from typing import Final

from ...ir import Graph
from .function import plain
from .literals import dtype_text
from .module import Module, shape_text
from .named_sizes import example_types
from .text import wrapped

MEANING: Final = "The NumPy definition of every operation, one by one."
"""The docstring of the function to compare with."""

DRAW = '''\
def drawn(rng, shape, dtype):
    """Random numbers between -1 and 1; 0 and 1 as integers, which are valid indices, too."""
    if dtype.kind in "biu":
        return rng.integers(0, 2, shape).astype(dtype)
    numbers = np.asarray(rng.uniform(-1, 1, shape))
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.uniform(-1, 1, shape)
    return numbers.astype(dtype)
'''

DIFFERENCE = '''\
def difference(got, expected):
    """The largest difference, relative to the largest number; NaN equals NaN."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    got, expected = got.astype(wide), expected.astype(wide)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    scale = max(1.0, np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    return np.max(np.where(same, 0.0, np.abs(got - expected)), initial=0.0) / scale
'''

TOLERANCE = '''\
def tolerance(dtype):
    """What rounding in another order may cost; integers must agree."""
    if dtype.kind in "biu":
        return 0.0
    return {1: 0.2, 2: 0.02, 4: 1e-4, 8: 1e-9}[dtype.itemsize // (2 if dtype.kind == "c" else 1)]
'''

CHECK = '''\
def check():
    """Compare with `reference` on random inputs and measure the time of a call; the exit status."""
    rng = np.random.default_rng(0)
    inputs = [drawn(rng, shape, np.dtype(dtype)) for shape, dtype in INPUTS]
    try:
        with np.errstate(all="ignore"):
            expected = [np.asarray(array) for array in reference(*inputs)]
            got = [np.asarray(array) for array in {name}(*inputs)]
            differences = [difference(a, b) for a, b in zip(got, expected)]
    except np.linalg.LinAlgError as error:
        print(f"not checked: of random inputs, NumPy says: {{error}}")
        return 0
    for number, array in enumerate(expected):
        if not differences[number] <= tolerance(array.dtype):
            print(f"wrong: output {{number}} differs by {{differences[number]:.1e}}")
            return 1
    count, seconds = 1, 0.0
    while seconds < 0.1:
        count *= 2
        start = time.perf_counter()
        for _ in range(count):
            {name}(*inputs)
        seconds = time.perf_counter() - start
    worst = max(differences, default=0.0)
    print(f"ok: max difference {{worst:.1e}}, {{1e6 * seconds / count:.2f}} µs per call")
    return 0
'''


def reference_function(graph: Graph, module: Module, parameters: Sequence[str]) -> list[str]:
    """The function to compare with, which writes every call as its op's definition."""
    function = plain(graph, module, parameters)
    function.write()
    return function.text("reference", (), MEANING, function.reading(function.used_sizes))


def self_check(graph: Graph, name: str, module: Module, before: Sequence[str] = ()) -> list[list[str]]:
    """Functions that compare `name` with ``reference``, and the main program; `before` are its first statements."""
    inputs = [f"({shape_text(type.shape)}, {dtype_text(type.dtype)})" for type in example_types(graph)]
    for value in graph.inputs:
        module.note_dtype(value.dtype)
    return [
        wrapped("INPUTS = [", inputs, "]", indent=0),
        *(text.splitlines() for text in (DRAW, DIFFERENCE, TOLERANCE, CHECK.format(name=name))),
        ['if __name__ == "__main__":', *before, "    sys.exit(check())"],
    ]


def self_check_names() -> Sequence[str]:
    """The names of these functions."""
    return ("INPUTS", "reference", "drawn", "difference", "tolerance", "check")
