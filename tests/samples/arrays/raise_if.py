"""Checks of the user's, which have no result."""

from typing import Any

from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError


def _nothing(*inputs: Any, **params: Any) -> tuple[()]:
    return ()


_ERROR = {"error": "ValueError('no root')"}
_NEVER = Points((0,))

SAMPLES: tuple[Sample, ...] = (
    Sample("raise_if", ((),), "bool", _ERROR, _NEVER, reference=_nothing),
    Sample("raise_if", ((2, 3),), "bool", _ERROR, _NEVER, reference=_nothing),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    Failure("raise_if", ((2,),), "f64", DTypeError, "must be of dtype bool", _ERROR),
)  # fmt: skip
