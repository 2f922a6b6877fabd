"""Prints, which have no result."""

from typing import Any

from samples.sample import Failure, Sample
from tracemill.compiler.errors import ArgumentValueError, ShapeError


def _nothing(*inputs: Any, **params: Any) -> tuple[()]:
    return ()


SAMPLES: tuple[Sample, ...] = (
    Sample("debug_print", ((2,), ()), ("f64", "i64"), {"text": "{0} {1:>4d} {{}}"}, reference=_nothing),
    Sample("debug_print", ((),), "f32", {"text": "{0:.3f} {0!r}"}, reference=_nothing),
    Sample("debug_print", ((2, 3), (3,)), ("f64", "bool"),
           {"text": "{1}, {0}", "loops": ((2, (True, False)),)}, reference=_nothing),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    Failure(
        "debug_print", ((),), "f64", ArgumentValueError, "is no place for a line", {"text": "{0}", "to": ("file", "x")}
    ),
    Failure("debug_print", ((2,),), "f64", ArgumentValueError, "cannot be filled with f64", {"text": "{0:.3f}"}),
    Failure("debug_print", ((2,),), "f64", ArgumentValueError, "Replacement index 1", {"text": "{0} {1}"}),
    Failure("debug_print", ((2,),), "f64", ShapeError, "loops run over",
            {"text": "{0}", "loops": ((3, (True,)),)}),
)  # fmt: skip
