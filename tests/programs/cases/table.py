"""All programs."""

from programs.cases import (
    differential_equations,
    dynamic_programming,
    estimation,
    finance,
    graphs,
    images,
    integers,
    linear_algebra,
    minimisation,
    networks,
    random_draws,
    root_finding,
    selections,
    signals,
    sorting,
    tables,
    training,
)
from programs.program import Program

FIELDS = (
    root_finding,
    minimisation,
    differential_equations,
    linear_algebra,
    sorting,
    selections,
    graphs,
    dynamic_programming,
    integers,
    estimation,
    finance,
    signals,
    images,
    tables,
    random_draws,
    networks,
    training,
)

PROGRAMS: tuple[Program, ...] = tuple(program for field in FIELDS for program in field.PROGRAMS)
