"""Exported C whose arrays have lengths that values decide: room for the maximum, and the length beside it."""

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from c.exported_c import WARNINGS, Library, loaded, program_of, sanitized
from c.sanitizing import SANITIZERS
from lengths.test_functions_of_computed_lengths import EDITED, POSITIONS, SETS
from lengths.test_lengths_at_run_time import PROGRAMS
from tracemill.compiler.errors import UndecidedDimError
from tracemill.runtime.artifact.c_export import as_c

pytestmark = pytest.mark.usefixtures("c_compiler")

FLAGS = f"CFLAGS=-O1 {' '.join(WARNINGS)}"
ROOM = 40
"""The maximum of lengths that nothing else limits."""


def files_of(function: Callable[..., Any], *specs: str, folder: Path, **options: Any) -> Mapping[str, str]:
    path = tm.export(function, *specs, **options).save(folder / "files", format="c")
    return {file.name: file.read_text(encoding="utf-8") for file in path.iterdir()}


def results_of(library: Library, *arrays: Any) -> list[Any]:
    """What the function returns; the arrays that it overwrites come first, and the lengths last."""
    found = library(*arrays, **dict.fromkeys(library.sizes, ROOM))
    uses = [parameter for parameter in library.parameters if parameter.use != "read"]
    return [x for x, one in zip(found, uses, strict=True) if one.use == "written" and not one.most]


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    name: (function, arguments())
    for name, (function, arguments) in PROGRAMS.items()
    if name != "pushed_together"
}
CASES |= {
    name: (function, many[0])
    for name, (function, many) in {**POSITIONS, **SETS, **EDITED}.items()
    if name not in ("slice_to_delete", "trim_axes")
}
ALWAYS = ("one_axis", "pairs", "loop", "window", "new_arrays", "repeat", "unique_extras", "axes")
"""Those that alone reach some lines."""


@pytest.mark.sampled("pairs", "loop", "new_arrays", "unique_extras", slow=4)
@pytest.mark.parametrize("name", CASES)
def test_c_gives_what_numpy_gives(name: str, tmp_path: Path) -> None:
    function, arguments = CASES[name]
    library = loaded(as_c(program_of(function, *arguments)), tmp_path, FLAGS)
    wanted = optree.tree_leaves(function(*map(np.copy, arguments)), namespace="")
    for ours, theirs in zip(results_of(library, *arguments), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
        assert (ours.dtype, ours.shape) == (np.asarray(theirs).dtype, np.shape(theirs))


def groups(keys: Any, x: Any) -> Any:
    """The groups, their totals, and the largest entries."""
    found, place = np.unique(keys, return_inverse=True)
    return found, np.bincount(place, x), np.sort(x[x > x.mean()])[::-1]


def test_one_function_serves_all_sizes_and_all_lengths(tmp_path: Path) -> None:
    files = files_of(groups, "keys: i64[N]", "x: f64[N]", constraints="N >= 1", folder=tmp_path)
    library = loaded(files, tmp_path, FLAGS)
    rng = np.random.default_rng(0)
    for size in (1, 3, 50):
        keys, x = rng.integers(0, 9, size), rng.normal(size=size)
        for ours, theirs in zip(library(keys, x, N=size)[:3], groups(keys, x), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    done = sanitized(files, (keys, x), tmp_path / "sanitized", SANITIZERS["address"], N=size)
    assert not done.returncode, done.stderr[-4000:]


def medians(x: Any, least: Any) -> Any:
    total = np.zeros(len(x))
    for i in range(len(x)):
        chosen = np.sort(x[i][x[i] > least])
        total[i] = np.sum(chosen[chosen > np.sum(chosen) / 20])
    return total


@pytest.mark.slow
def test_each_turn_of_a_loop_has_lengths_of_its_own(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(5, 20))
    files = files_of(medians, "x: f64[5, 20]", "least: f64[]", folder=tmp_path)
    (found,) = loaded(files, tmp_path, FLAGS)(x, 0.1)
    np.testing.assert_allclose(found, medians(x, 0.1), rtol=1e-13)
    done = sanitized(files, (x, 0.1), tmp_path / "sanitized", SANITIZERS["address"])
    assert not done.returncode, done.stderr[-4000:]


def spread(x: Any, counts: Any, n: Any) -> Any:
    x[0] = 9.0
    return np.repeat(x, counts), np.zeros(n) + x[1]


@pytest.fixture(scope="module")
def spreading(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("spread")
    return loaded(files_of(spread, "x: f64[3]", "counts: i64[3]", "n: i64[]", folder=folder), folder, FLAGS)


def test_the_caller_gives_the_maximum_of_what_nothing_limits(spreading: Library) -> None:
    first, second = spreading.sizes
    x, counts = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 3])
    given, repeated, zeros, *lengths = spreading(x, counts, 4, **{first: 5, second: 4})
    assert [given[0], *repeated, *zeros] == [9.0, 9.0, 9.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0]
    assert sorted(map(int, lengths)) == [4, 5]


def told(library: Library, code: int) -> str:
    return str(library.told("message", ctypes.c_char_p, code).decode())


@pytest.mark.parametrize("room", [(4, 4), (5, 3), (0, 0)])
def test_a_longer_array_has_a_code_and_what_is_overwritten_stays(
    spreading: Library, room: tuple[int, int]
) -> None:
    x, counts = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 3])
    sizes = dict(zip(spreading.sizes, room, strict=True))
    code, (given, *_) = spreading.run(x, counts, 4, **sizes)
    assert told(spreading, code) == "an array is longer than its maximum; what is written is meaningless"
    assert given[0] == 1.0


def test_a_negative_length_is_the_error_of_numpy(spreading: Library) -> None:
    sizes = dict.fromkeys(spreading.sizes, 9)
    code, _ = spreading.run(np.ones(3), np.zeros(3), -1, **sizes)
    assert "ValueError: negative dimensions are not allowed (test_standalone_c_lengths.py:" in told(
        spreading, code
    )


def test_the_header_says_how_long_arrays_can_be(tmp_path: Path) -> None:
    files = files_of(lambda x: (x[x > 0], x[:, None][x < 0]), "x: f64[7]", folder=tmp_path)
    header = files["function.h"]
    assert "#define FUNCTION_RESULT_0_SIZE 7  // at most\n" in header
    assert "double *result_1,  // result[1]: f64[n_2, 1], written" in header
    assert "int64_t *n_2,      // n_2: i64[], written, at most 7" in header


def test_a_length_that_must_be_a_certain_one_is_refused_by_name() -> None:
    def padded(x: Any) -> Any:
        found = np.zeros(len(x))
        positive = x[x > 0]
        found[: len(positive)] = positive
        return found

    with pytest.raises(UndecidedDimError, match="whether n_1 == min"):
        tm.export(padded, "x: f64[7]")


def test_python_ints_give_lengths_and_iterations(tmp_path: Path) -> None:
    def stepped(x: Any, n: int) -> Any:
        y = np.zeros(n)
        total = x
        for i in range(n):
            total = total * 0.5 + i
            y[i] = total.sum()
        return y, total

    artifact = tm.export(stepped, "x: f64[3]", "n: int")
    path = artifact.save(tmp_path / "files", format="c")
    library = loaded({file.name: file.read_text() for file in path.iterdir()}, tmp_path, FLAGS)
    x, function = np.arange(3.0), artifact.function()
    for n in (0, 1, 5):
        wanted = stepped(x, n)
        for found in (library(x, n, **dict.fromkeys(library.sizes, 5))[:2], function(x, n)):
            for ours, theirs in zip(found, wanted, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-14)
