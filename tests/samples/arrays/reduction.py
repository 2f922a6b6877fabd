"""Reductions over axes: sum, prod, max, min, any, all, argmax, argmin, trace."""

import math
from functools import reduce
from typing import Any

import numpy as np

from samples.elementwise_samples import WIDEST
from samples.sample import Failure, Sample
from tracemill.compiler.dtypes import dtype_named, dtype_names, is_inexact, kind
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape


def _one_by_one(function: Any, start: Any) -> Any:
    """The reference: fold the entries in order, with a start value if there is one."""

    def reference(x: Any, axes: Shape) -> Any:
        rest = [a for a in range(x.ndim) if a not in axes]
        count = math.prod(x.shape[a] for a in axes)
        flat = np.transpose(x, [*axes, *rest]).reshape(count, *(x.shape[a] for a in rest))
        first = [] if start is None else [np.full(flat.shape[1:], start, x.dtype)]
        return np.asarray(reduce(lambda a, b: function(a, b).astype(x.dtype), [*first, *flat]))

    return reference


def _first_extreme(sign: int) -> Any:
    """The reference: scan for the first NaN, else the first extreme entry."""

    def reference(x: Any, axis: int) -> Any:
        rows = np.moveaxis(x, axis, -1)
        out = np.empty(rows.shape[:-1], np.int64)
        for index in np.ndindex(*out.shape):
            row = [(float(v) if is_inexact(x.dtype) else int(v)) * sign for v in rows[index]]
            nans = [i for i, v in enumerate(row) if math.isnan(v)]
            out[index] = nans[0] if nans else row.index(max(row))
        return out

    return reference


# op, kinds, reference, domain, whether an empty axis is fine
FOLDS: tuple[tuple[str, str, Any, str, bool], ...] = (
    ("sum", "biufc", _one_by_one(np.add, 0), "real", True),
    ("prod", "biufc", _one_by_one(np.multiply, 1), "away_from_zero", True),
    ("max", "biuf", _one_by_one(np.maximum, None), "away_from_ties", False),
    ("min", "biuf", _one_by_one(np.minimum, None), "away_from_ties", False),
    ("any", "b", _one_by_one(np.logical_or, False), "real", True),
    ("all", "b", _one_by_one(np.logical_and, True), "real", True),
)
SHAPED: tuple[tuple[Shape, Shape], ...] = (
    ((3,), (0,)), ((2, 3), (0,)), ((2, 3), (1,)), ((2, 3, 2), (0, 2)), ((2, 3, 2), (2, 0)), ((2, 3), (0, 1)),
    ((2, 3), ()), ((), ()), ((0, 2), (1,)), ((1, 4), (0,)),
)  # fmt: skip
EMPTY: tuple[tuple[Shape, Shape], ...] = (((0, 2), (0,)), ((0,), (0,)), ((2, 0), (1,)))


def _folds() -> list[Sample]:
    samples = []
    for op, kinds, reference, domain, empty in FOLDS:
        widest = next(WIDEST[k] for k in "fiubc" if k in kinds)
        shared: dict[str, Any] = {"domain": domain, "reference": reference, "ulps": 8}
        for shape, axes in (*SHAPED, *(EMPTY if empty else ())):
            samples.append(Sample(op, (shape,), widest, {"axes": axes}, **shared))
        samples += [
            Sample(op, ((2, 3),), widest, {"axes": (0,)}, layout=layout, **shared)
            for layout in ("reversed", "strided", "fortran")
        ]
        for name in dtype_names():
            if kind(dtype_named(name)) in kinds:
                wide = dtype_named(name).kind == "c"
                samples.append(Sample(op, ((2, 3),), name, {"axes": (1,)}, label="each", **shared))
                special: dict[str, Any] = {**shared, "domain": "special", "widened": not wide}
                samples.append(Sample(op, ((7, 2),), name, {"axes": (1,)}, **special))
    return samples


def _trace(x: Any, offset: int, axes: tuple[int, int]) -> Any:
    return np.trace(x, offset, *axes, dtype=x.dtype)


TRACED: tuple[tuple[Shape, int, tuple[int, int]], ...] = (
    ((3, 3), 0, (0, 1)), ((2, 4), 1, (0, 1)), ((4, 2), -2, (0, 1)), ((2, 3, 2), 0, (2, 0)), ((2, 2), 5, (1, 0)),
    ((0, 2), 0, (0, 1)),
)  # fmt: skip
SAMPLES: tuple[Sample, ...] = (
    *_folds(),
    *(
        Sample("trace", (shape,), "f64", {"offset": offset, "axes": axes}, reference=_trace)
        for shape, offset, axes in TRACED
    ),
    *(
        Sample("trace", ((3, 3),), name, {"offset": 0, "axes": (0, 1)}, reference=_trace, label="each")
        for name in dtype_names()
        if name != "bool"
    ),
    *(
        Sample(op, (shape,), name, {"axis": axis}, domain, layout, _first_extreme(sign), widened=False)
        for op, sign in (("argmax", 1), ("argmin", -1))
        for shape, axis, name, domain, layout in (
            ((4,), 0, "f64", "real", "contiguous"),
            ((2, 3), 0, "f64", "real", "reversed"),
            ((2, 3), 1, "f64", "real", "strided"),
            ((2, 3, 2), 1, "i64", "real", "contiguous"),
            ((0, 2), 1, "f64", "real", "contiguous"),
            *(((8, 2), 1, name, "special", "contiguous") for name in dtype_names() if name[0] != "c"),
        )
    ),
)
FAILURES: tuple[Failure, ...] = (
    *(
        Failure("trace", ((2, 3),), "f64", ShapeError, "different axes", {"offset": 0, "axes": axes})
        for axes in ((0, 0), (0, 2))
    ),
    *(
        Failure(op, ((2,),), name, DTypeError, f"{op} is not defined for", {"axes": (0,)})
        for op, kinds, *_ in FOLDS
        for name in dtype_names()
        if kind(dtype_named(name)) not in kinds
    ),
    *(
        Failure(op, ((2, 3),), WIDEST[kinds[0]], ShapeError, "different axes", {"axes": axes})
        for op, kinds, *_ in FOLDS
        for axes in ((2,), (0, 0), (-1,))
    ),
    *(
        Failure(op, (shape,), "f64", ShapeError, "empty", {"axes": axes})
        for op in ("max", "min")
        for shape, axes in EMPTY
    ),
    *(Failure(op, ((2,),), "c128", DTypeError, "not defined", {"axis": 0}) for op in ("argmax", "argmin")),
    *(Failure(op, ((2, 0),), "f64", ShapeError, "empty", {"axis": 1}) for op in ("argmax", "argmin")),
    *(Failure(op, ((2,),), "f64", ShapeError, "different axes", {"axis": 1}) for op in ("argmax", "argmin")),
)
