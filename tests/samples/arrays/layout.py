"""Moving elements without computing: shapes, axes, slices, padding, joining."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.dtypes import dtype_names
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape

# The references move entry by entry.


def _broadcast(x: Any, shape: Shape) -> Any:
    lead = len(shape) - x.ndim
    out = np.empty(shape, x.dtype)
    for index in np.ndindex(*shape):
        out[index] = x[tuple(0 if dim == 1 else i for i, dim in zip(index[lead:], x.shape, strict=True))]
    return out


def _reshape(x: Any, shape: Shape) -> Any:
    out = np.empty(shape, x.dtype)
    for target, source in zip(np.ndindex(*shape), np.ndindex(*x.shape), strict=True):
        out[target] = x[source]
    return out


def _transpose(x: Any, axes: Shape) -> Any:
    out = np.empty([x.shape[a] for a in axes], x.dtype)
    for index in np.ndindex(*x.shape):
        out[tuple(index[a] for a in axes)] = x[index]
    return out


def _slice(x: Any, start: Shape, stop: Shape, step: Shape) -> Any:
    return x[np.ix_(*(range(*part) for part in zip(start, stop, step, strict=True)))]


def _update_slice(x: Any, y: Any, start: Shape, stop: Shape, step: Shape) -> Any:
    out = x.copy()
    for index in np.ndindex(*y.shape):
        out[tuple(a + i * s for a, i, s in zip(start, index, step, strict=True))] = y[index]
    return out


def _flip(x: Any, axes: Shape) -> Any:
    for axis in axes:
        x = np.take(x, range(x.shape[axis])[::-1], axis)
    return x


def _pad(x: Any, fill: Any, low: Shape, high: Shape, interior: Shape) -> Any:
    sizes = zip(low, x.shape, high, interior, strict=True)
    out = np.full([a + n + max(n - 1, 0) * gap + b for a, n, b, gap in sizes], fill)
    for index in np.ndindex(*x.shape):
        out[tuple(a + i * (gap + 1) for a, i, gap in zip(low, index, interior, strict=True))] = x[index]
    return out


def _concatenate(*parts: Any, axis: int) -> Any:
    rows = [row for part in parts for row in np.moveaxis(part, axis, 0)]
    return np.moveaxis(np.array(rows, parts[0].dtype).reshape(-1, *np.delete(parts[0].shape, axis)), 0, axis)


REFERENCES: dict[str, Callable[..., Any]] = {
    "broadcast_to": _broadcast, "reshape": _reshape, "transpose": _transpose, "slice": _slice,
    "update_slice": _update_slice, "flip": _flip, "pad": _pad, "concatenate": _concatenate,
}  # fmt: skip

# op, shapes, params
CALLS: tuple[tuple[str, tuple[Shape, ...], dict[str, Any]], ...] = (
    ("broadcast_to", ((),), {"shape": (2, 3)}),
    ("broadcast_to", ((3,),), {"shape": (2, 3)}),
    ("broadcast_to", ((2, 1),), {"shape": (4, 2, 3)}),
    ("broadcast_to", ((1,),), {"shape": (0,)}),
    ("broadcast_to", ((2, 3),), {"shape": (2, 3)}),
    ("reshape", ((2, 3),), {"shape": (3, 2)}),
    ("reshape", ((2, 3, 2),), {"shape": (12,)}),
    ("reshape", ((1,),), {"shape": ()}),
    ("reshape", ((),), {"shape": (1, 1)}),
    ("reshape", ((0, 3),), {"shape": (5, 0)}),
    ("transpose", ((2, 3),), {"axes": (1, 0)}),
    ("transpose", ((2, 3, 4),), {"axes": (1, 2, 0)}),
    ("transpose", ((2, 0),), {"axes": (1, 0)}),
    ("transpose", ((),), {"axes": ()}),
    ("slice", ((5,),), {"start": (1,), "stop": (4,), "step": (1,)}),
    ("slice", ((7,),), {"start": (1,), "stop": (7,), "step": (3,)}),
    ("slice", ((4, 5),), {"start": (0, 1), "stop": (4, 4), "step": (2, 2)}),
    ("slice", ((4,),), {"start": (2,), "stop": (2,), "step": (1,)}),
    ("slice", ((0, 2),), {"start": (0, 0), "stop": (0, 1), "step": (1, 1)}),
    ("update_slice", ((5,), (3,)), {"start": (1,), "stop": (4,), "step": (1,)}),
    ("update_slice", ((7,), (2,)), {"start": (1,), "stop": (7,), "step": (3,)}),
    ("update_slice", ((4, 5), (2, 2)), {"start": (0, 1), "stop": (4, 4), "step": (2, 2)}),
    ("update_slice", ((4,), (0,)), {"start": (2,), "stop": (2,), "step": (1,)}),
    ("flip", ((3,),), {"axes": (0,)}),
    ("flip", ((2, 3),), {"axes": (0, 1)}),
    ("flip", ((2, 3, 2),), {"axes": (1,)}),
    ("flip", ((0,),), {"axes": (0,)}),
    ("pad", ((3,), ()), {"low": (1,), "high": (2,), "interior": (0,)}),
    ("pad", ((3,), ()), {"low": (0,), "high": (0,), "interior": (2,)}),
    ("pad", ((2, 3), ()), {"low": (1, 0), "high": (0, 2), "interior": (1, 0)}),
    ("pad", ((0,), ()), {"low": (1,), "high": (1,), "interior": (1,)}),
    ("pad", ((), ()), {"low": (), "high": (), "interior": ()}),
    ("concatenate", ((2,), (3,)), {"axis": 0}),
    ("concatenate", ((2, 1), (2, 0), (2, 3)), {"axis": 1}),
    ("concatenate", ((1, 2), (2, 2)), {"axis": 0}),
    ("concatenate", ((3,),), {"axis": 0}),
)
FIRST = {op: (shapes, params) for op, shapes, params in reversed(CALLS)}


def _sample(op: str, shapes: tuple[Shape, ...], params: dict[str, Any], **more: Any) -> Sample:
    return Sample(op, shapes, params=params, reference=REFERENCES[op], **more)


SAMPLES: tuple[Sample, ...] = (
    *(_sample(*call) for call in CALLS),
    *(_sample(*call, dtypes="c128") for call in CALLS[::3]),
    *(_sample(*call, layout=layout) for call in CALLS[1::3] for layout in ("reversed", "strided", "fortran")),
    *(
        _sample(op, shapes, params, dtypes=name, domain="special")
        for (op, (shapes, params)), name in product(FIRST.items(), dtype_names())
    ),
)
FAILURES = (
    Failure("broadcast_to", ((2,),), "f64", ShapeError, "does not broadcast", {"shape": (3,)}),
    Failure("broadcast_to", ((2, 2),), "f64", ShapeError, "does not broadcast", {"shape": (2,)}),
    Failure("reshape", ((2, 3),), "f64", ShapeError, "has 6 elements", {"shape": (5,)}),
    Failure("reshape", ((0,),), "f64", ShapeError, "must not be negative", {"shape": (-1, 0)}),
    Failure("transpose", ((2, 3),), "f64", ShapeError, "permutation", {"axes": (0, 0)}),
    Failure("transpose", ((2, 3),), "f64", ShapeError, "permutation", {"axes": (0,)}),
    Failure("slice", ((3,),), "f64", ShapeError, "within", {"start": (0,), "stop": (4,), "step": (1,)}),
    Failure("slice", ((3,),), "f64", ShapeError, "within", {"start": (0,), "stop": (3,), "step": (-1,)}),
    Failure("slice", ((3,),), "f64", ShapeError, "one entry", {"start": (), "stop": (), "step": ()}),
    Failure(
        "update_slice",
        ((3,), (1,)),
        "f64",
        ShapeError,
        "the update",
        {"start": (0,), "stop": (3,), "step": (1,)},
    ),
    Failure("flip", ((3,),), "f64", ShapeError, "different axes", {"axes": (1,)}),
    Failure("flip", ((3,),), "f64", ShapeError, "different axes", {"axes": (0, 0)}),
    Failure("pad", ((3,), ()), "f64", ShapeError, "≥ 0", {"low": (-1,), "high": (0,), "interior": (0,)}),
    Failure("pad", ((3,), (1,)), "f64", ShapeError, "fill", {"low": (1,), "high": (0,), "interior": (0,)}),
    Failure(
        "pad", ((3,), ()), ("f64", "f32"), DTypeError, "fill", {"low": (1,), "high": (0,), "interior": (0,)}
    ),
    Failure("concatenate", ((3,), (3, 1)), "f64", ShapeError, "differ", {"axis": 0}),
    Failure("concatenate", ((3,), (3,)), ("f64", "f32"), DTypeError, "differ", {"axis": 0}),
    Failure("concatenate", ((3,), (3,)), "f64", ShapeError, "out of range", {"axis": 1}),
    Failure("concatenate", (), (), ShapeError, "needs at least one", {"axis": 0}),
)
