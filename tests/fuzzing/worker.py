"""Reads inputs under limits and reports the outcomes: ``python -m fuzzing.worker FIRST HUNDREDS [READER …]``.

Each number is printed before its input is read, so that the last one is known if this process does not survive it.
"""

import json
import resource
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from time import process_time
from typing import Any

from .confinement import ForbiddenError, TooSlowError, confine, ran_out_of_memory, watched
from .readers import READERS, input_of

MOST_FAILURES = 20


def outcome(name: str, number: int) -> tuple[str, str]:
    """The outcome for the input of a number: its kind, with details if it is not an allowed kind."""
    reader = READERS[name]
    given = input_of(name, number)
    try:
        with watched():
            reader.read(given)
    except (ForbiddenError, TooSlowError, Exception) as error:
        if isinstance(error, reader.errors) and not ran_out_of_memory(error):
            return type(error).__name__, ""
        return "failure", "".join(traceback.format_exception(error))[-4000:]
    return "loads", ""


def main(first: int, hundreds: int, names: Sequence[str]) -> dict[str, Any]:
    """Read this many hundreds of inputs, distributed over all readers or only these."""
    counts = {name: READERS[name].share * hundreds for name in names or READERS}
    for name in counts:  # all that is imported when it is needed, and filled when it is asked
        for number in range(50):
            outcome(name, -1 - number)
    confine()
    before, begin, slowest = _peak(), process_time(), 0.0
    kinds: Counter[str] = Counter()
    failures: list[str] = []
    for name, count in counts.items():
        for number in range(first, first + count):
            print(name, number, flush=True)
            start = process_time()
            kind, more = outcome(name, number)
            slowest = max(slowest, process_time() - start)
            kinds[f"{name}: {kind}"] += 1
            if more and len(failures) < MOST_FAILURES:
                failures.append(f"{name} {number}: {more}")
    return {
        "kinds": kinds,
        "failures": failures,
        "memory": _peak() - before,
        "seconds": process_time() - begin,
        "slowest": slowest,
    }


def _peak() -> int:
    """The peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
