"""`check`: compares a compiled function with Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tracemill as tm


def check(
    function: Callable[..., Any],
    *calls: tuple[Any, ...],
    backend: str = "numpy",
    programs: int = 1,
    **options: Any,
) -> None:
    """Check that the compiled function returns and writes the same as in Python, with the given number of programs."""
    compiled = tm.compile(function, backend=backend, on_recompile="ignore", **options)
    for args in calls:
        ours, theirs = ([x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
        found, expected = compiled(*ours), function(*theirs)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for x, y in [*pairs, *zip(ours, theirs, strict=True)]:
            np.testing.assert_allclose(x, y, rtol=1e-12)
            assert np.shape(x) == np.shape(y)
    assert len(compiled.signatures()) == programs
