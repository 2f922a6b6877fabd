"""Which programs pass which checks today: ``python tests/programs/checks/report.py [--traceback] [names or fields]``.

Prints a row for each program: ``ok``, ``FAIL`` or ``-`` for each check, then the first line of each error.
"""

import argparse
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `programs` is a package there

from programs.cases.table import PROGRAMS
from programs.checks.table import CHECKS, applies
from programs.checks.time_limit import time_limit
from programs.program import Program

SECONDS = 60.0  # for one program on one check
WIDTH = 150  # of an error


def first_line(error: Exception) -> str:
    """The class, the notes and the beginning of the message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, AssertionError):
        lines = [", ".join(lines)]  # NumPy's says how large the difference is in its third line
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}{notes}: {lines[0][:WIDTH] if lines else ''}"


def run(check: str, program: Program, with_traceback: bool) -> str | None:
    """The first line of the error, "" if there is none, or None if the check does not apply."""
    if not applies(check, program):
        return None
    try:
        with time_limit(SECONDS):
            CHECKS[check](program)
    except Exception as error:  # whatever goes wrong is reported
        if with_traceback:
            traceback.print_exc()
        return first_line(error)
    return ""


def row(program: Program, errors: dict[str, str | None]) -> str:
    """The marks of a program, and each error once, with the checks that it stopped."""
    marks = ["-" if error is None else "FAIL" if error else "ok" for error in errors.values()]
    by_error: dict[str, list[str]] = {}
    for check, error in errors.items():
        if error:
            by_error.setdefault(error, []).append(check)
    cells = "".join(f"{mark:11}" for mark in marks)
    return f"{program.name:30}{cells}" + "; ".join(f"{', '.join(c)}: {e}" for e, c in by_error.items())


def rows_of_page() -> str:
    """The table of the page of the documentation that names all programs: ``--page``."""
    rows = ["program | what it does | uses | |", "|---|---|---|---|"]
    for program in PROGRAMS:
        error = program.refused or (program.refused_batched and f"{program.refused_batched} under `vmap`")
        rows.append(f"| `{program.name}` | {program.doc} | {', '.join(program.uses)} | {error} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Print the table; 1 if any check fails."""
    parser = argparse.ArgumentParser(description="Which programs pass which checks.")
    parser.add_argument("names", nargs="*", help="programs, or the files that they are in; default: all")
    parser.add_argument("--checks", nargs="+", default=list(CHECKS), choices=CHECKS, help="default: all")
    parser.add_argument("--traceback", action="store_true", help="print where each error comes from")
    parser.add_argument("--page", action="store_true", help="print the table of the documentation instead")
    options = parser.parse_args()
    if options.page:
        print("|", rows_of_page(), end="")
        return 0
    warnings.simplefilter("error")

    def is_wanted(program: Program) -> bool:
        field = program.function.__module__.rpartition(".")[2]
        return not options.names or program.name in options.names or field in options.names

    passed: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    print(f"{'':30}" + "".join(f"{check:11}" for check in options.checks))
    for program in filter(is_wanted, PROGRAMS):
        errors = {check: run(check, program, options.traceback) for check in options.checks}
        tried.update(check for check, error in errors.items() if error is not None)
        passed.update(check for check, error in errors.items() if error == "")
        print(row(program, errors), flush=True)
    print(f"{'passed':30}" + "".join(f"{f'{passed[check]}/{tried[check]}':11}" for check in options.checks))
    return int(passed != tried)


if __name__ == "__main__":
    sys.exit(main())
