"""Whole programs in plain NumPy mean the same compiled, batched and differentiated; see `report.py`, too."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

import tracemill as tm
from programs.cases.table import PROGRAMS
from programs.checks.batched import examples
from programs.checks.differentiated import smooth_cases
from programs.checks.report import rows_of_page
from programs.checks.table import CHECKS, applies, refused
from programs.checks.time_limit import time_limit
from programs.program import FEATURES, Program

ROOT = Path(__file__).resolve().parents[2]

REACHES_MORE = frozenset(
    """
    brent card_is_valid dither fft_in_place fit_line hopfield ising
    """.split()
)
"""Programs that reach lines of the library that no other quick test reaches."""

LONG = frozenset({"annealing", "label_regions", "q_learning"})
"""Programs that take as long as ten others, and reach no line that they do not: they run with ``--more``."""

pytestmark = pytest.mark.usefixtures("c_compiler", "lightly_optimised")


def checks(wanted: str) -> list[Program]:
    """The programs for which a check means something."""
    return [program for program in PROGRAMS if applies(wanted, program)]


def some_of(programs: Sequence[Program], step: int) -> pytest.MarkDecorator:
    """Every n-th program is slow, and the others are exhaustive."""
    short = [program for program in programs if program.name not in LONG]
    return pytest.mark.parametrize(
        "program",
        [
            pytest.param(
                program,
                id=program.name,
                marks=pytest.mark.slow if program in short[::step] else pytest.mark.exhaustive,
            )
            for program in programs
        ],
    )


def assert_passes(check: str, program: Program) -> None:
    """The program means what it should, or is refused by the error that its entry names."""
    name = refused(check, program)
    with time_limit(200), pytest.raises(getattr(tm.errors, name)) if name else nullcontext():
        CHECKS[check](program)


def mark_of(backend: str, number: int, program: Program) -> list[pytest.MarkDecorator]:
    """Some programs run always, on NumPy; few others are slow, on either backend; ``--more`` runs all."""
    is_long = program.name in LONG
    if backend == "numpy" and program.name in REACHES_MORE:
        return []
    is_slow = not is_long and number % 16 in ((0, 4) if backend == "numpy" else (1,))
    return [pytest.mark.slow if is_slow else pytest.mark.exhaustive]


@pytest.mark.parametrize(
    ("backend", "program"),
    [
        pytest.param(
            backend, program, id=f"{backend}-{program.name}", marks=mark_of(backend, number, program)
        )
        for backend in ("numpy", "c")
        for number, program in enumerate(PROGRAMS)
    ],
)
def test_a_program_compiles_as_it_stands(backend: str, program: Program) -> None:
    assert_passes(backend, program)


@some_of(checks("vmap"), step=12)
def test_a_batched_program_matches_a_loop(program: Program) -> None:
    assert_passes("vmap", program)


@some_of(checks("grad"), step=12)
def test_the_gradient_of_a_program_matches_central_differences(program: Program) -> None:
    assert_passes("grad", program)


@some_of(checks("vmap numpy"), step=24)
def test_a_compiled_batched_program_matches_a_loop(program: Program) -> None:
    assert_passes("vmap numpy", program)


@some_of(checks("grad numpy"), step=24)
def test_the_compiled_gradient_of_a_program_matches_central_differences(program: Program) -> None:
    assert_passes("grad numpy", program)


def test_the_page_of_programs_names_all_of_them() -> None:
    assert (ROOT / "docs" / "programs.md").read_text().partition("\n| ")[2] == rows_of_page()


def test_programs_have_unique_names_and_a_one_line_description() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert [program.name for program in PROGRAMS if not program.doc or "\n" in program.doc] == []


def test_every_feature_is_used_by_a_program_and_no_other_is_named() -> None:
    assert {feature for program in PROGRAMS for feature in program.uses} == FEATURES


def test_each_program_has_cases_for_calls_batches_and_gradients() -> None:
    assert [program.name for program in PROGRAMS if len(program.cases()) < 2] == []
    assert [program.name for program in checks("vmap") if len(examples(program)) < 2] == []
    assert [program.name for program in checks("grad") if not smooth_cases(program)] == []
