"""A compiled program means what Python does."""

import tracemill as tm
from programs.checks.outcomes import assert_same_outcome, named, outcome
from programs.program import Program


def check_compiled(program: Program, backend: str) -> None:
    """Every case through one compiled function; the first once more at the end, when the others have been seen."""
    compiled = tm.compile(program.function, backend=backend, on_recompile="ignore")
    cases = program.cases()
    for number, arguments in [*enumerate(cases), (0, cases[0])]:
        with named(f"case {number}"):
            expected = outcome(program.function, arguments)
            assert_same_outcome(outcome(compiled, arguments), expected, program.rtol)
