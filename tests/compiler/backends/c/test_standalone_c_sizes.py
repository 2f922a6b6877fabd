"""Exported C for arrays of many sizes: one function for all, which checks them before it reads or writes anything."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from c.exported_c import WARNINGS, Library, loaded, made, program_of_graph, sanitized, written_to
from c.sanitizing import SANITIZERS
from c.through_c import assert_close, merged
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS, softmax
from symbolic.test_tracing import traced
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import ExportError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.shapes import Observed, answering
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.runtime.artifact.c_export import as_c

pytestmark = pytest.mark.usefixtures("c_compiler")

FLAGS = f"CFLAGS=-O1 {' '.join(WARNINGS)}"


def block(x: Any, w: Any, history: Any, dim_B: Any, scale: Any) -> Any:
    """A layer, and a bit of everything.

    Of many sizes.
    """
    h = x @ w
    h = 0.5 * h * (1 + np.tanh(0.8 * (h + 0.04 * h**3)))
    centred = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-6)
    e = np.exp(centred - centred.max(-1, keepdims=True))
    last, states = tm.scan(lambda c, row: (np.tanh(c + row), c * scale), np.zeros(h.shape[1]), history)
    dim_B += np.cumsum(h[::2].sum(1))[: len(dim_B)]
    order = np.argsort(x, axis=-1, kind="stable")
    system = np.eye(3) * (4 + np.abs(x[:, :1, None])) + 0.1
    return {
        "softmax": e / e.sum(-1, keepdims=True),
        "last": last,
        "states": states[1::2],
        "sorted": np.take_along_axis(x, order, -1),
        "pairs": (x[:, None, 0] * history[None, :, 0]).sum(1) / len(history),
        "solved": np.linalg.solve(system, np.ones(3)),
    }


SPECS = ("x: f64[B, K]", "w: f64[K, 2*N]", "history: f64[T, 2*N]", "dim_B: f64[H]", "scale: f64[]")
CONSTRAINTS = ("B in 1..64", "N % 4 == 0", "N >= 1", "K >= 1", "2*H <= B", "T >= 1", "T != 13")
SIZES = (
    {"B": 1, "K": 1, "N": 4, "T": 1, "H": 0},
    {"B": 64, "K": 80, "N": 28, "T": 5, "H": 32},
    {"B": 17, "K": 70, "N": 20, "T": 12, "H": 1},
)


def exported(folder: Path) -> Mapping[str, str]:
    artifact = tm.export(block, *SPECS, constraints=CONSTRAINTS)
    path = artifact.save(folder / "block", format="c")
    return {file.name: file.read_text(encoding="utf-8") for file in path.iterdir()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return exported(tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module")
def library(files: Mapping[str, str], c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return loaded(files, tmp_path_factory.mktemp("block"), f"CC={c_compiler}", FLAGS)


def arrays(sizes: Mapping[str, int]) -> list[Any]:
    rng = np.random.default_rng(sizes["B"])
    shapes = ("B, K", "K, 2 * N", "T, 2 * N", "H,")
    return [*(rng.normal(size=eval(f"({shape})", dict(sizes))) for shape in shapes), 0.75]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"B{sizes['B']}")
def test_one_function_computes_what_numpy_does_at_all_sizes(library: Library, sizes: dict[str, int]) -> None:
    changed, *found = library(*arrays(sizes), **sizes)
    x, w, history, given, scale = arrays(sizes)
    expected = tm.compile(block, backend="numpy")(x, w, history, given, scale)
    for actual, value in zip((changed, *found), (given, *optree.tree_leaves(expected)), strict=True):
        assert (actual.dtype, actual.shape) == (value.dtype, value.shape)
        np.testing.assert_allclose(actual, value, 1e-9, 1e-11)


VIOLATED: dict[str, dict[str, int]] = {
    "1 <= B <= 64": {"B": 65},
    "N % 4 == 0": {"N": 6},
    "K >= 0": {"K": -1},
    "B >= 2*H": {"H": 9},
    "T != 13": {"T": 13},
    "N >= 4": {"N": 0},
    "K >= 1": {"K": 0},
    "too large": {"T": 1 << 48},
}


@pytest.mark.sampled("K >= 0", slow=2)
@pytest.mark.parametrize("condition", VIOLATED)
def test_other_sizes_have_a_code_that_says_which_condition_fails(library: Library, condition: str) -> None:
    sizes = SIZES[2] | VIOLATED[condition]
    given = library.at(sizes)
    code = library.told("check_sizes", ctypes.c_int, *given)
    message = library.told("message", ctypes.c_char_p, code).decode()
    if condition == "too large":
        assert code == 4
        assert message == "sizes are so large that no memory holds the arrays"
    else:
        assert code >= 16
        assert message == f"sizes do not satisfy {condition}"
    assert library.told("workspace_size", ctypes.c_size_t, *given) == 0
    assert library.told("history_size", ctypes.c_size_t, *given) == 0
    nothing = [ctypes.c_void_p()] * 7
    assert library.library["block"](*given, *nothing[:4], ctypes.c_double(), *nothing) == code


def test_codes_for_arguments_come_after_those_for_sizes(library: Library) -> None:
    sizes = SIZES[0]
    given, nothing = library.at(sizes), ctypes.c_void_p()
    room = ctypes.create_string_buffer(1 << 16)
    assert library.told("workspace_size", ctypes.c_size_t, *given) < 1 << 16
    assert library.told("dim_B__size", ctypes.c_size_t, *given) == 0

    def called(*, x: Any, empty: Any, workspace: Any) -> int:
        scale = ctypes.c_double()
        code: int = library.library["block"](
            *given, x, room, room, empty, scale, room, room, room, room, room, empty, workspace
        )
        return code

    assert called(x=nothing, empty=nothing, workspace=room) == 1
    assert called(x=room, empty=nothing, workspace=nothing) == 2
    texts = [library.told("message", ctypes.c_char_p, code).decode() for code in (0, 1, 3, 99)]
    assert texts == [
        "it has run",
        "an array with elements is null",
        "a matrix is singular, or not positive definite: results that depend on it are NaN",
        "no code of this function",
    ]


def test_the_header_says_what_the_sizes_are(files: Mapping[str, str], tmp_path: Path) -> None:
    header = files["block.h"]
    for line in (
        "    BLOCK_CONDITION_1 = 16,  // sizes do not satisfy 1 <= B <= 64\n",
        "    int64_t dim_B,           // the size B, 1 <= B <= 64\n",
        "    const double *history,   // history: f64[T, 2*N], read\n",
        "    double *dim_B_,          // dim_B: f64[H], read and overwritten\n",
        "    double *result_states,   // result['states']: f64[T // 2, 2*N], written\n",
    ):
        assert line in header
    assert "WORKSPACE_SIZE" not in header
    assert re.search(r"block_workspace_size\(\s*int64_t dim_B,\s+int64_t dim_K,\s+int64_t dim_N", header)
    assert not re.search(r"Py[A-Z]\w+|[mc]alloc\(|printf|abort\(|exit\(", files["block.c"])
    folder = written_to(files, tmp_path)
    if shutil.which("g++"):
        flags = "-std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ block.h".split()
        subprocess.run(["g++", *flags], cwd=folder, check=True)
    if shutil.which("clang"):
        subprocess.run(["clang", *WARNINGS, "-O1", "-c", "block.c"], cwd=folder, check=True)


def test_the_same_program_gives_the_same_files(files: Mapping[str, str], tmp_path: Path) -> None:
    assert exported(tmp_path) == files


@pytest.mark.slow
def test_nothing_beyond_the_arrays_is_touched(files: Mapping[str, str], tmp_path: Path) -> None:
    for sizes in SIZES[:2]:
        folder = tmp_path / str(sizes["B"])
        folder.mkdir()
        done = sanitized(files, arrays(sizes), folder, SANITIZERS["address"], **sizes)
        assert (done.returncode, done.stderr) == (0, "")


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "scaled.h"

int main(void)
{
    for (int64_t count = 3; count < 6; count++) {
        double *x = malloc(scaled_x_size(count) * sizeof *x), *y = malloc(scaled_result_size(count) * sizeof *y);
        for (size_t i = 0; i < scaled_x_size(count); i++)
            x[i] = (double)i;
        int code = scaled(count, x, 2, y, NULL);
        printf("%s: %g %d\\n", scaled_message(code), code == SCALED_OK ? y[0] : 0, code == SCALED_CONDITION_2);
        free(x), free(y);
    }
}
"""


def test_a_program_in_c_calls_it(c_compiler: str, tmp_path: Path) -> None:
    def scaled(x: Any, factor: Any) -> Any:
        return x[:, 1] * factor

    artifact = tm.export(scaled, "x: f64[A, 2]", "factor: f64[]", constraints=("A in 3..4", "A % 2 == 0"))
    folder = artifact.save(tmp_path / "scaled", format="c")
    (folder / "main.c").write_text(MAIN)
    made(folder, f"CC={c_compiler}", "CFLAGS=-O1")
    command = [c_compiler, *WARNINGS, "main.c", "libscaled.a", "-lm", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "sizes do not satisfy A % 2 == 0: 0 1",
        "it has run: 2 0",
        "sizes do not satisfy 3 <= A <= 4: 0 0",
    ]


def test_what_c_cannot_compute_is_refused_with_the_line(tmp_path: Path) -> None:
    artifact = tm.export(lambda x: np.fft.fft(x), "x: c128[N]", constraints="N >= 1")  # noqa: PLW0108
    with pytest.raises(ExportError, match=r"cannot compute fft\(c128\[N\]\)") as caught:
        artifact.save(tmp_path / "f", format="c")
    assert "np.fft.fft(x)" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_workspace_of_products_does_not_overflow(c_compiler: str, tmp_path: Path) -> None:
    """Sizes that are each allowed, but not their product."""
    artifact = tm.export(lambda x, y: np.sort(x[:, None] * y, axis=0), "f64[A]", "f64[B]")
    folder = artifact.save(tmp_path / "f", format="c")
    (name,) = (file.stem for file in folder.glob("*.c"))
    files = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    outer = loaded(files, tmp_path, f"CC={c_compiler}", FLAGS)
    assert outer.name == name
    for size in (1 << 31, 1 << 32, (1 << 48) - 1, (1 << 63) - 1):
        assert outer.told("check_sizes", ctypes.c_int, *outer.at({"A": size, "B": size})) == 4


def test_the_page_shows_the_header(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "export-c.md").read_text(encoding="utf-8")
    shown = page.partition("```c\n// softmax.h\n")[2].partition("```")[0]
    folder = tm.export(softmax, "x: f32[B, N]", constraints=("B in 1..64", "N in 1..")).save(
        tmp_path / "s", format="c"
    )
    header = (folder / "softmax.h").read_text(encoding="utf-8")
    assert shown
    assert shown in header


# ---- all kinds of programs ---------------------------------------------------------------------------

REFUSED = ("eig", "fft", "qr", "singular", "eigenvalues")
PART = 70
EVERYWHERE = [
    name
    for name, program in PROGRAMS.items()
    if program.guards == "True" and not any(word in name for word in REFUSED)
]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.exhaustive if first else pytest.mark.slow)
        for first in range(0, len(EVERYWHERE), PART)
    ],
)
def test_programs_mean_the_same_as_exported_c(first: int, c_compiler: str, tmp_path: Path) -> None:
    names = EVERYWHERE[first : first + PART]
    with answering(Observed(OBSERVED)):
        programs = [traced(PROGRAMS[name], PROGRAMS[name].types()) for name in names]
        whole = merged([program.graph for program in programs])
        files = as_c(program_of_graph(whole))
    library = loaded(files, tmp_path, f"CC={c_compiler}", "CFLAGS=-O0")
    for sizes in (OBSERVED, *OTHERS):
        given: list[Sequence[Array]] = [
            [*PROGRAMS[name].arrays(sizes), *map(np.asarray, program.captured)]
            for name, program in zip(names, programs, strict=True)
        ]
        outputs = iter(library(*chain.from_iterable(given), **sizes))
        for name, program, inputs in zip(names, programs, given, strict=True):
            with np.errstate(all="ignore"):
                expected = evaluate(fix_sizes(program.graph, sizes), *inputs)
            for value in expected:
                assert_close(next(outputs), value, f"{name} at {sizes}", 200)
