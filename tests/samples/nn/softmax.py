"""logsumexp, softmax, log_softmax and their backward ops against their formulas in long double."""

from collections.abc import Callable
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape


def _softmax(x: Any, axis: int) -> Any:
    terms = np.exp(x)
    return terms / np.sum(terms, axis, keepdims=True)


def _softmax_backward(ct: Any, output: Any, axis: int) -> Any:
    return output * (ct - np.sum(ct * output, axis, keepdims=True))


def _log_softmax_backward(ct: Any, output: Any, axis: int) -> Any:
    return ct - np.exp(output) * np.sum(ct, axis, keepdims=True)


# op, operands, the value
ROWS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("softmax", 1, _softmax),
    ("log_softmax", 1, lambda x, axis: np.log(_softmax(x, axis))),
    ("softmax_backward", 2, _softmax_backward),
    ("log_softmax_backward", 2, _log_softmax_backward),
)
SHAPED: tuple[tuple[Shape, int], ...] = (((3,), 0), ((2, 3), 0), ((2, 3, 2), 1), ((0, 2), 1), ((2, 0), 1))
SUMMED: tuple[tuple[Shape, tuple[int, ...]], ...] = (
    ((3,), (0,)), ((2, 3), (1,)), ((2, 3, 2), (2, 0)), ((2,), ()), ((), ()), ((0, 2), (1,)),
)  # fmt: skip
NARROW = ("f16", "bf16", "f32")
SHARED: dict[str, Any] = {"ulps": 64, "signed_zeros": False}


def _logsumexp(x: Any, axes: tuple[int, ...]) -> Any:
    return np.log(np.sum(np.exp(x), axes))


SAMPLES: tuple[Sample, ...] = (
    *(
        Sample("logsumexp", (shape,), "f64", {"axes": axes}, reference=_logsumexp, **SHARED)
        for shape, axes in SUMMED
    ),
    *(
        Sample("logsumexp", ((2, 4),), name, {"axes": (1,)}, reference=_logsumexp, **SHARED)
        for name in NARROW
    ),
    Sample(
        "logsumexp",
        ((0, 2),),
        "f64",
        {"axes": (0,)},
        domain="special",
        reference=lambda x, axes: np.full(2, -np.inf),
    ),
    *(
        Sample(op, (shape,) * operands, "f64", {"axis": axis}, reference=reference, **SHARED)
        for op, operands, reference in ROWS
        for shape, axis in SHAPED
    ),
    *(
        Sample(op, ((2, 4),) * operands, name, {"axis": 1}, reference=reference, **SHARED)
        for op, operands, reference in ROWS
        for name in NARROW
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure("logsumexp", ((2,),), "i64", DTypeError, "logsumexp is not defined for", {"axes": (0,)}),
    Failure("logsumexp", ((2,),), "f64", ShapeError, "logsumexp of", {"axes": (1,)}),
    Failure("logsumexp", ((2, 2),), "f64", ShapeError, "logsumexp of", {"axes": (0, 0)}),
    *(
        failure
        for op, operands, _ in ROWS
        for failure in (
            Failure(op, ((2,),) * operands, "c128", DTypeError, f"{op} is not defined for", {"axis": 0}),
            Failure(op, ((2,),) * operands, "f64", ShapeError, "and .* of its axes", {"axis": 1}),
            Failure(op, ((2,),) * (operands + 1), "f64", ShapeError, f"it takes {operands} of", {"axis": 0}),
        )
    ),
    Failure("softmax_backward", ((2,), (3,)), "f64", ShapeError, "of one shape", {"axis": 0}),
    Failure("log_softmax_backward", ((2,), (2,)), ("f64", "f32"), DTypeError, "not defined", {"axis": 0}),
)
