"""Whole programs in plain NumPy mean the same compiled, batched and differentiated; see `report.py`, too."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

import tracemill as tm
from programs.cases.program import FEATURES, Program
from programs.cases.table import PROGRAMS
from programs.checks.batched import examples
from programs.checks.differentiated import smooth_cases
from programs.checks.table import CHECKS, applies, refused
from programs.checks.time_limit import time_limit
from programs.report import rows_of_page

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.usefixtures("c_compiler")


def checks(wanted: str) -> list[Program]:
    """The programs for which a check means something."""
    return [program for program in PROGRAMS if applies(wanted, program)]


def all_of(programs: Sequence[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.name)


def assert_passes(check: str, program: Program) -> None:
    """The program means what it should, or is refused by the error that its entry names."""
    name = refused(check, program)
    with time_limit(200), pytest.raises(getattr(tm.errors, name)) if name else nullcontext():
        CHECKS[check](program)


@pytest.mark.sampled(
    "numpy-brent",
    "numpy-gauss_seidel",
    "numpy-mandelbrot",
    "numpy-plate_at_rest",
    "numpy-jacobi_eigenvalues",
    "numpy-colour_greedily",
    "numpy-coin_change",
    "numpy-seam",
    "numpy-count_queens",
    "numpy-fft_in_place",
    "numpy-median_filter",
    "numpy-mandelbrot",
    "numpy-dither",
    "numpy-ising",
    "numpy-walk_until_out",
    "numpy-hopfield",
    "numpy-fit_line",
    "numpy-fit_line",
    every=8,
)
@all_of(PROGRAMS)
@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_a_program_compiles_as_it_stands(program: Program, backend: str) -> None:
    assert_passes(backend, program)


@pytest.mark.slow
@all_of(checks("vmap"))
def test_a_batched_program_means_the_loop(program: Program) -> None:
    assert_passes("vmap", program)


@pytest.mark.slow
@all_of(checks("grad"))
def test_the_gradient_of_a_program_means_central_differences(program: Program) -> None:
    assert_passes("grad", program)


@pytest.mark.slow
@all_of(checks("vmap numpy")[::3])
def test_a_batched_program_means_the_loop_compiled(program: Program) -> None:
    """The report runs all of them."""
    assert_passes("vmap numpy", program)


@pytest.mark.slow
@all_of(checks("grad numpy")[::3])
def test_the_gradient_of_a_program_means_central_differences_compiled(program: Program) -> None:
    assert_passes("grad numpy", program)


def test_the_page_of_programs_names_all_of_them() -> None:
    assert (ROOT / "docs" / "programs.md").read_text().partition("\n| ")[2] == rows_of_page()


def test_programs_have_names_of_their_own_and_one_line_about_them() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert [program.name for program in PROGRAMS if not program.doc or "\n" in program.doc] == []


def test_every_feature_is_used_by_a_program_and_no_other_is_named() -> None:
    assert {feature for program in PROGRAMS for feature in program.uses} == FEATURES


def test_each_program_has_several_cases_of_which_its_batches_and_gradients_have_some() -> None:
    assert [program.name for program in PROGRAMS if len(program.cases()) < 2] == []
    assert [program.name for program in checks("vmap") if len(examples(program)) < 2] == []
    assert [program.name for program in checks("grad") if not smooth_cases(program)] == []
