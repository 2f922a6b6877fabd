"""The programs are right as Python runs them: what they give agrees with an answer found by other means."""

from importlib import import_module

import pytest

from programs.cases.table import PROGRAMS
from programs.checks.outcomes import outcome
from programs.program import Program


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_gives_the_known_answer(program: Program) -> None:
    field = program.function.__module__.rpartition(".")[2]
    answer = getattr(import_module(f"programs.answers.{field}"), program.name)
    for arguments in program.cases():
        answer(outcome(program.function, arguments), *arguments)
