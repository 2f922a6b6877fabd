"""Exported C: files that need no Python, an interface that holds what the header says, values of the C backend."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from c.exported_c import WARNINGS, Library, loaded, made, program_of, written_to
from tracemill.compiler.backends.c.literals import c_elements, c_literal
from tracemill.compiler.backends.c.standalone import constants
from tracemill.compiler.errors import ExportError
from tracemill.runtime.artifact.c_export import as_c

pytestmark = pytest.mark.usefixtures("c_compiler")

RNG = np.random.default_rng(0)


def step(params: dict[str, Any], x: Any, labels: Any, rate: Any, seen: Any, mask: Any, phase: Any) -> Any:
    """One step of training, with a bit of everything.

    The rate is a number. What??/
    """
    table = np.asarray(TABLE)
    hidden = np.tanh(x @ params["w"] + params["b"])
    logits = hidden @ params["v"]
    logits = np.where(mask, logits - np.max(logits, axis=1, keepdims=True), 0.0)
    p = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
    seen += np.sum(p, axis=0)
    total = tm.scan(lambda carry, row: (np.tanh(carry + row), carry[0]), np.zeros(10), p)
    order = np.argsort(logits, axis=1, kind="stable")
    loss = -np.mean(np.log(p[np.arange(len(labels)), labels])) * rate
    params["w"] -= rate * loss * table[:600].reshape(20, 30)
    return {
        "loss": loss,
        "p": p,
        "order": order,
        "total": total,
        "turned": phase * np.exp(1j * p[0]),
        "mask": ~mask,
    }


TABLE = np.arange(2_700.0)[::3]


def network() -> tuple[Any, ...]:
    params = {"w": RNG.normal(size=(20, 30)), "b": np.zeros(30), "v": RNG.normal(size=(30, 10))}
    labels = RNG.integers(0, 10, 50)
    mask = RNG.integers(0, 5, (50, 10)) > 0
    return params, RNG.normal(size=(50, 20)), labels, 0.5, np.zeros(10), mask, np.complex128(1j)


def leaves(args: Any) -> list[Any]:
    """In the order of the C function's parameters."""
    (params, *others) = args
    return [params["b"], params["v"], params["w"], *others]


@pytest.fixture(scope="module")
def files() -> Mapping[str, str]:
    program = program_of(step, *network())
    return as_c(program, step.__doc__)


@pytest.fixture(scope="module")
def library(files: Mapping[str, str], c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return loaded(files, tmp_path_factory.mktemp("step"), f"CC={c_compiler}", "CFLAGS=-O1")


def results(given: Any) -> dict[str, Any]:
    """The results of `step`, which overwrites what it is given, in the order of their names."""
    return dict(sorted(step(*given).items()))


# ---- values ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_library_computes_what_the_function_does(library: Library) -> None:
    args = network()
    written = library(*leaves(args))
    expected = results(args)  # which overwrites args[0]["w"] and args[4]
    changed, found = written[:2], written[2:]
    flat = [
        expected["loss"],
        expected["mask"],
        expected["order"],
        expected["p"],
        *expected["total"],
        expected["turned"],
    ]
    assert len(found) == len(flat)
    for actual, value in zip((*changed, *found), (args[0]["w"], args[4], *flat), strict=True):
        assert (actual.dtype, actual.shape) == (np.asarray(value).dtype, np.shape(value))
        np.testing.assert_allclose(actual, value, 1e-12, 1e-12)


def scaled(x: Any, factor: Any) -> Any:
    return np.tanh(x) * factor


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "scaled.h"

int main(void)
{
    static float x[SCALED_X_SIZE], result[SCALED_RESULT_SIZE];
    for (int i = 0; i < SCALED_X_SIZE; i++)
        x[i] = (float)i / SCALED_X_DIM1;
    void *workspace = malloc(SCALED_WORKSPACE_SIZE);
    if (scaled(0, 3, result, workspace) != SCALED_NULL_ARGUMENT || scaled(x, 3, result, workspace) != SCALED_OK)
        return 1;
    for (int i = 0; i < SCALED_RESULT_SIZE; i++)
        printf("%a\\n", result[i]);
    free(workspace);
    return 0;
}
"""


def test_a_program_in_c_calls_it(c_compiler: str, tmp_path: Path) -> None:
    x = (np.arange(6, dtype=np.float32) / np.float32(3)).reshape(2, 3)
    folder = written_to(as_c(program_of(scaled, x, 3.0)), tmp_path)
    (folder / "main.c").write_text(MAIN)
    made(folder, f"CC={c_compiler}", "ARCH=")
    command = [c_compiler, *WARNINGS, "main.c", "libscaled.a", "-lm", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True)
    found = [float.fromhex(line) for line in done.stdout.split()]
    np.testing.assert_allclose(np.reshape(found, (2, 3)), scaled(x, np.float32(3)), 1e-6)


# ---- the text ----------------------------------------------------------------------------------------


def test_the_same_program_gives_the_same_files(files: Mapping[str, str]) -> None:
    assert as_c(program_of(step, *network()), step.__doc__) == files
    assert list(files) == ["Makefile", "step.c", "step.h", "step_constants.c"]


def test_compilers_have_nothing_to_say(files: Mapping[str, str], tmp_path: Path) -> None:
    folder = written_to(files, tmp_path)
    for compiler in ("gcc", "clang"):
        for more in ([], ["-fopenmp-simd"]):
            if shutil.which(compiler):
                command = [compiler, *WARNINGS, *more, "-O1", "-c", "step.c", "step_constants.c"]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
                assert not done.returncode, done.stderr


def test_cpp_reads_the_header(files: Mapping[str, str], tmp_path: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("there is no C++ compiler: install g++")
    folder = written_to(files, tmp_path)
    command = [
        "g++",
        "-std=c++11",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        "-x",
        "c++",
        "step.h",
    ]
    subprocess.run(command, cwd=folder, check=True)


def test_the_header_says_what_the_user_does(files: Mapping[str, str]) -> None:
    header, text = files["step.h"], files["step.c"]
    assert header.startswith(
        "// One step of training, with a bit of everything.\n//\n// The rate is a number. What? ?/\n"
    )
    assert (
        "    double *params_w,                // args[0]['w']: f64[20, 30], read and overwritten\n" in header
    )
    assert "#define STEP_PARAMS_W_DIM1 30\n" in header
    assert re.search(r"// test_standalone_c.py:\d+  hidden = np.tanh\(x @ params", text)


def test_there_is_no_python_and_no_allocation(files: Mapping[str, str]) -> None:
    text = "".join(files.values()).replace("malloc(STEP_WORKSPACE_SIZE)", "")
    assert not re.search(r"Py[A-Z]\w+|tm_stops|[mc]alloc|/work/|/tmp/", text)


def test_large_constants_are_in_a_file_of_their_own(files: Mapping[str, str]) -> None:
    assert "extern const double step_constant_1[600];\n" in files["step.c"]
    assert (
        "const double step_constant_1[600] = {  // f64[600]\n    0.0, 3.0, 6.0," in files["step_constants.c"]
    )


def test_names_that_mean_something_in_c_are_changed() -> None:
    program = program_of(lambda double, work: double + work, *np.ones((2, 4)))
    header = as_c(program, name="exp")["exp_.h"]
    for name in ("double_", "work_", "result"):
        assert re.search(rf"double \*{name}\b", header)


@pytest.mark.parametrize("name", ["write", "abort", "sleep"])
def test_no_function_takes_the_place_of_one_that_programs_are_linked_with(name: str) -> None:
    program = program_of(lambda time: time + 1.0, np.ones(4))
    files = as_c(program, name=name)
    assert f"{name}_.c" in files
    assert f"int {name}_(\n    const double *time," in files[f"{name}_.h"]


# ---- what it cannot do -------------------------------------------------------------------------------


def test_what_lapack_does_is_refused_with_the_line() -> None:
    def whitened(x: Any) -> Any:
        return np.linalg.eigh(x).eigenvectors @ x

    with pytest.raises(
        ExportError, match=r"C cannot compute eigh\(f64\[3, 3\]\): it needs LAPACK; export as a bundle"
    ) as caught:
        as_c(program_of(whitened, np.eye(3)))
    assert "np.linalg.eigh(x)" in str(caught.value)


def test_what_calls_python_is_refused_within_a_loop_too() -> None:
    def printed(x: Any) -> Any:
        def body(carry: Any, row: Any) -> Any:
            tm.debug_print("{}", row)
            return carry + row, None

        return tm.scan(body, 0.0, x)[0]

    with pytest.raises(ExportError, match=r"it prints, and there is no Python"):
        as_c(program_of(printed, np.ones(3)))


def test_constants_that_no_compiler_reads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "MOST_ENTRIES", 500)
    with pytest.raises(ExportError, match=r"constants of 600 entries, and a C text holds 500"):
        as_c(program_of(step, *network()))


# ---- products, convolutions, numbers of two bytes ----------------------------------------------------


def several(x: Any, y: Any, z: Any, signal: Any, kernel: Any, half: Any) -> Any:
    wide = tm.nn.conv(signal, kernel, padding=1)
    return x @ y, np.einsum("bij,bkj->bik", z, z), (x + 1j * x) @ (y - 2j * y), wide, np.tanh(half) @ half.T


def test_large_products_and_convolutions_need_no_library(c_compiler: str, tmp_path: Path) -> None:
    shapes = ((75, 300), (300, 50), (2, 40, 70), (2, 3, 9, 8), (4, 3, 3, 3))
    args: list[Any] = [RNG.normal(size=shape) for shape in shapes]
    args.append(RNG.normal(size=(5, 7)).astype(np.float16))
    library = loaded(as_c(program_of(several, *args)), tmp_path, f"CC={c_compiler}", "CFLAGS=-O1")
    for actual, value in zip(library(*args), tm.compile(several)(*args), strict=True):
        assert actual.dtype == value.dtype
        tolerance = 2e-3 if value.dtype == np.float16 else 1e-11
        np.testing.assert_allclose(actual, value, tolerance, tolerance)


PRODUCTS = (
    ("ij,jk->ik", (75, 300), (300, 50)),
    ("ij,kj->ik", (75, 300), (50, 300)),
    ("ji,jk->ik", (300, 150), (300, 33)),
    ("ji,kj->ik", (300, 75), (50, 300)),
    ("bij,bjk->bik", (2, 19, 70), (2, 70, 40)),
    ("ibj,kbj->bik", (19, 2, 70), (40, 2, 70)),
    ("ijl,jlk->ik", (19, 5, 70), (5, 70, 40)),
    ("i,ji->j", (700,), (90, 700)),
)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_matrices_in_any_order_are_right(dtype: type, c_compiler: str, tmp_path: Path) -> None:
    def products(*arrays: Any) -> Any:
        return tuple(np.einsum(how, arrays[2 * n], arrays[2 * n + 1]) for n, (how, *_) in enumerate(PRODUCTS))

    args: list[Any] = [RNG.normal(size=shape).astype(dtype) for _, *shapes in PRODUCTS for shape in shapes]
    library = loaded(as_c(program_of(products, *args)), tmp_path, f"CC={c_compiler}", "CFLAGS=-O1")
    for actual, value in zip(library(*args), products(*args), strict=True):
        assert actual.dtype == dtype
        np.testing.assert_allclose(actual, value, 1e-4 if dtype is np.float32 else 1e-11, 1e-4)


HOSTILE = "No end \\\n*/ #error\n#error\n??/\n\u202e backwards \0 and \r#error \\  \n"


def test_no_text_of_the_user_leaves_its_comment(tmp_path: Path) -> None:
    program = program_of(scaled, np.zeros((2, 3)), 3.0)
    files = as_c(program, HOSTILE, paths=[f"x['{HOSTILE}']", "factor"])
    folder = written_to(files, tmp_path)
    subprocess.run(["cc", *WARNINGS, "-c", "scaled.c"], cwd=folder, check=True)
    code = [line for line in files["scaled.h"].splitlines() if not line.lstrip().startswith("//")]
    assert not [line for line in code if "error" in line.partition("//")[0]]


def test_the_library_shows_nothing_but_the_interface(library: Library, files: Mapping[str, str]) -> None:
    names = [f"{library.name}_workspace_size", library.name, f"{library.name}_constant_1", "compute"]
    assert [hasattr(library.library, name) for name in names] == [True, True, False, False]


# ---- systems of equations ----------------------------------------------------------------------------


def solved(a: Any, b: Any) -> Any:
    square = a @ np.swapaxes(a, -1, -2)
    root = np.linalg.cholesky(square)
    return np.linalg.solve(a, b), np.linalg.inv(a), root, np.linalg.det(root), np.linalg.slogdet(a)


@pytest.fixture(scope="module")
def systems(c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Library:
    program = program_of(solved, np.zeros((2, 40, 40)), np.zeros((2, 40, 3)))
    return loaded(as_c(program), tmp_path_factory.mktemp("systems"), f"CC={c_compiler}", "CFLAGS=-O1")


@pytest.mark.slow
def test_systems_of_equations_are_solved_without_lapack(systems: Library) -> None:
    a, b = RNG.normal(size=(2, 40, 40)) / 6, RNG.normal(size=(2, 40, 3))
    *others, (sign, logarithm) = solved(a, b)
    for actual, value in zip(systems(a, b), (*others, sign, logarithm), strict=True):
        np.testing.assert_allclose(actual, value, 1e-9, 1e-9)


def test_a_singular_matrix_has_a_code_and_gives_nan(systems: Library) -> None:
    a, b = np.stack([np.zeros((40, 40)), np.eye(40)]), RNG.normal(size=(2, 40, 3))
    code, (x, inverse, root, *_) = systems.run(a, b)
    assert code == 3
    for array in (x, inverse, root):
        assert np.isnan(array[0]).all()
    np.testing.assert_array_equal(x[1], b[1])
    assert systems.run(a[[1, 1]], b)[0] == 0


# ---- the page ----------------------------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[4] / "docs" / "export-c.md"


def test_the_page_shows_what_happens(c_compiler: str, tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code, header, main, shown = (
        re.search(pattern, text, re.DOTALL).group(1)  # type: ignore[union-attr]
        for pattern in (
            r"```python\n(.*?)```",
            r"```c\n// smooth.h\n(.*?)```",
            r"```c\n// main.c\n(.*?)```",
            r"```\n\$ cc .*?\n\$ ./main\n(.*?)```",
        )
    )
    names: dict[str, Any] = {}
    exec(compile(code, "smoothing.py", "exec"), names)
    smooth, x = names["smooth"], np.zeros((3, 2))
    files = as_c(
        program_of(smooth, x, np.zeros(3), np.float64(0), np.zeros(1, np.int64)),
        smooth.__doc__,
        paths=["x", "weights", "strength", "count"],
    )
    assert re.sub(" +", " ", header) in re.sub(" +", " ", files["smooth.h"])
    folder = written_to({**files, "main.c": main}, tmp_path)
    made(folder, f"CC={c_compiler}")
    command = [c_compiler, *WARNINGS, "main.c", "libsmooth.a", "-lm", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == shown


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_constants_are_written_as_each_alone(dtype: type) -> None:
    bits = RNG.integers(0, 1 << 63, 5_000, dtype=np.uint64)
    numbers: Any = bits.view(dtype)
    numbers = np.concatenate(
        [numbers[np.isfinite(numbers)], np.array([0.0, -0.0, 1.0, 1e22, 5e-324, -1e16], dtype)]
    )
    assert list(c_elements(numbers)) == [c_literal(np.asarray(number)) for number in numbers]
