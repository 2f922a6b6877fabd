"""Lengths that a program finds out, positions of a mask, and what a program expects of values."""

from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.shapes.dim import Dim


def _nothing(*inputs: Any, **params: Any) -> tuple[()]:
    return ()


def _zeros(count: Any, **params: Any) -> Any:
    return np.zeros(int(count), bool)


def _positions(mask: Any, length: Any) -> Any:
    return np.arange(len(mask))[mask.astype(bool)]


_MASK = Points((1, 0, 0, 1, 1))
_SIZE = {"dim": Dim("n_1")}

SAMPLES: tuple[Sample, ...] = (
    Sample("length", ((),), "i64", _SIZE, Points((3,)), reference=_zeros, single=True, found={"n_1": 3}),
    Sample("length", ((),), "i64", _SIZE, Points((0,)), reference=_zeros, single=True, found={"n_1": 0}, label="none"),
    Sample("flatnonzero", ((5,), (3,)), "bool", {}, (_MASK, _MASK), reference=_positions, single=True),
    Sample("flatnonzero", ((6,), (0,)), "bool", {}, Points((0,)), reference=_positions, single=True),
    Sample("expect", ((), ()), "i64", {"what": "int(x)"}, Points((7,)), reference=_nothing, single=True),
    Sample("expect", ((3,), (3,)), "i64", {"what": "x"}, Points((7,)), reference=_nothing, single=True),
    Sample("expect_size", (), (), {"dim": 3, "relation": ">="}, (), reference=_nothing, single=True),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    Failure("length", ((),), "f64", DTypeError, "a count is an i64", _SIZE),
    Failure("length", ((),), "i64", ShapeError, "has a name", {"dim": 3}),
    Failure("flatnonzero", ((2, 2), (2,)), "bool", DTypeError, "a mask is a bool"),
    Failure("flatnonzero", ((2,), (2, 2)), "bool", DTypeError, "a length is a bool"),
    Failure("expect", ((), (2,)), "i64", DTypeError, "is never"),
    Failure("expect_size", (), (), ShapeError, "a relation is one of", {"dim": 3, "relation": "<"}),
)  # fmt: skip
