"""Running sums, products, extrema and log-sums."""

from collections.abc import Callable
from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.dtypes import dtype_named, dtype_names, kind
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape


def _running(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The reference: entry by entry."""

    def reference(x: Any, axis: int, reverse: bool) -> Any:
        rows = np.moveaxis(x, axis, 0)
        out, before = np.empty(rows.shape, x.dtype), None
        for i in reversed(range(len(rows))) if reverse else range(len(rows)):
            before = rows[i] if before is None else combine(before, rows[i]).astype(x.dtype)
            out[i] = before
        return np.moveaxis(out, 0, axis)

    return reference


# op, kinds, how entries combine
ROWS: tuple[tuple[str, str, Callable[[Any, Any], Any]], ...] = (
    ("cumsum", "iufc", np.add),
    ("cumprod", "iufc", np.multiply),
    ("cummax", "biuf", np.maximum),
    ("cummin", "biuf", np.minimum),
    ("cumlogsumexp", "f", np.logaddexp),
)
CALLS: tuple[tuple[Shape, int], ...] = (
    ((5,), 0),
    ((1,), 0),
    ((2, 3), 0),
    ((2, 3), 1),
    ((2, 4, 2), 1),
    ((0,), 0),
    ((3, 0), 0),
)
SPECIAL = {
    "cumsum": (Points((1.0, float("inf"), 2.0, float("-inf"), 3.0)),),
    "cumprod": (Points((0.0, -2.0, float("inf"), 0.0)),),
    "cummax": (Points((1.0, float("nan"), 2.0)), Points((float("-inf"), 3.0, float("inf"), 4.0))),
    "cummin": (Points((1.0, float("nan"), 2.0)), Points((float("inf"), 3.0, float("-inf"), 4.0))),
    "cumlogsumexp": (
        Points((float("-inf"), float("-inf"), 1.0, 800.0)),
        Points((-800.0, -900.0, float("inf"))),
        Points((1.0, float("nan"), 2.0)),
    ),
}


def _sample(op: str, combine: Callable[[Any, Any], Any], shape: Shape, axis: int, **more: Any) -> Sample:
    params = {"axis": axis, "reverse": more.pop("reverse", False)}
    domain = more.pop("domain", "positive" if op == "cumsum" else "away_from_ties")
    return Sample(op, (shape,), params=params, domain=domain, reference=_running(combine), ulps=8, **more)


SAMPLES: tuple[Sample, ...] = (
    *(
        _sample(op, combine, shape, axis, reverse=reverse)
        for op, _, combine in ROWS
        for shape, axis in CALLS
        for reverse in (False, True)
    ),
    *(
        _sample(op, combine, (3, 4), 1, layout=layout)
        for op, _, combine in ROWS
        for layout in ("reversed", "strided", "fortran")
    ),
    *(
        _sample(op, combine, (2, 4), 1, dtypes="c128", domain="real")
        for op, kinds, combine in ROWS
        if "c" in kinds
    ),
    *(
        _sample(op, combine, (5,), 0, reverse=reverse, dtypes=name, label="each")
        for op, kinds, combine in ROWS
        for name in dtype_names()
        if kind(dtype_named(name)) in kinds
        for reverse in (False, True)
    ),
    *(
        _sample(op, combine, (len(points),), 0, domain=points, label=f"special {place}")
        for op, _, combine in ROWS
        for place, points in enumerate(SPECIAL[op])
    ),
)
FAILURES: tuple[Failure, ...] = (
    *(
        Failure(op, ((2,),), name, DTypeError, f"{op} is not defined for", {"axis": 0, "reverse": False})
        for op, kinds, _ in ROWS
        for name in dtype_names()
        if kind(dtype_named(name)) not in kinds
    ),
    *(
        Failure(op, ((2,),), "f64", ShapeError, "out of range", {"axis": 1, "reverse": False})
        for op, _, _ in ROWS
    ),
    *(
        Failure(op, ((),), "f64", ShapeError, "out of range", {"axis": 0, "reverse": False})
        for op, _, _ in ROWS
    ),
)
