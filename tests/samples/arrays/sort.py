"""Ordering along an axis: sort of several operands, and the k largest entries."""

from functools import cmp_to_key
from itertools import product
from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.dtypes import dtype_names
from tracemill.compiler.errors import ShapeError
from tracemill.compiler.ir import Shape


def _parts(entry: Any) -> tuple[Any, ...]:
    return (entry.real, entry.imag) if entry.dtype.kind == "c" else (entry,)


def _compare(left: Any, right: Any) -> int:
    """NumPy's order of two entries: NaN above all; complex ones with a NaN above those without."""
    ours, theirs = _parts(left), _parts(right)
    rank = [tuple(bool(np.isnan(part)) for part in parts) for parts in (ours, theirs)]
    if rank[0] != rank[1]:
        return 1 if rank[0] > rank[1] else -1
    for a, b in zip(ours, theirs, strict=True):
        if not np.isnan(a) and a != b:
            return -1 if a < b else 1
    return 0


def _order(keys: list[Any], descending: bool) -> list[int]:
    """The stable order of the positions of 1-d keys."""
    sign = -1 if descending else 1

    def compare(i: int, j: int) -> int:
        return next((sign * c for key in keys if (c := _compare(key[i], key[j]))), 0)

    return sorted(range(len(keys[0])), key=cmp_to_key(compare))


def _sort(*operands: Any, axis: int, num_keys: int, descending: bool) -> tuple[Any, ...]:
    rows = [np.moveaxis(x, axis, -1) for x in operands]
    outs = [np.empty(row.shape, row.dtype) for row in rows]
    for at in np.ndindex(*rows[0].shape[:-1]):
        order = _order([row[at] for row in rows[:num_keys]], descending)
        for out, row in zip(outs, rows, strict=True):
            out[at] = row[at][order]
    return tuple(np.moveaxis(out, -1, axis) for out in outs)


def _top_k(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    number = np.indices(x.shape)[axis]
    values, places = _sort(x, number, axis=axis, num_keys=1, descending=True)
    return tuple(np.take(out, range(k), axis) for out in (values, places))  # type: ignore[return-value]


def _sorting(shape: Shape, dtypes: str | tuple[str, ...] = "f64", **more: Any) -> Sample:
    count = 1 if isinstance(dtypes, str) else len(dtypes)
    params = {"axis": 0, "num_keys": 1, "descending": False}
    params.update((name, more.pop(name)) for name in tuple(params) if name in more)
    domain = more.pop("domain", "away_from_ties")
    return Sample("sort", (shape,) * count, dtypes, params, domain, reference=_sort, widened=False, **more)


def _largest(shape: Shape, k: int, axis: int, **more: Any) -> Sample:
    domain = more.pop("domain", "away_from_ties")
    return Sample(
        "top_k",
        (shape,),
        params={"k": k, "axis": axis},
        domain=domain,
        reference=_top_k,
        widened=False,
        **more,
    )


TIES = Points((2, 0, 2, 1, 0, 2, 0, 1))
TURNS = (False, True)

SAMPLES: tuple[Sample, ...] = (
    *(
        _sorting(shape, axis=axis, descending=descending)
        for shape, axis in (
            ((5,), 0),
            ((1,), 0),
            ((0,), 0),
            ((2, 3), 0),
            ((2, 3), 1),
            ((2, 3, 2), 1),
            ((2, 0), 0),
        )
        for descending in TURNS
    ),
    *(_sorting((3, 4), axis=1, layout=layout) for layout in ("reversed", "strided", "fortran")),
    *(
        _sorting((3, 4), ("f64", "i64"), axis=1, layout=layout)
        for layout in ("reversed", "strided", "fortran")
    ),
    *(
        _sorting((8,), (name, "i64"), descending=d, domain=(TIES, "real"))
        for name in dtype_names()
        for d in TURNS
    ),
    *(
        _sorting((49,), (name, "i64"), descending=d, domain=("special", "real"), signed_zeros=False)
        for name in dtype_names()
        for d in TURNS
    ),
    *(
        _sorting((49,), name, descending=d, domain="special", signed_zeros=False)
        for name in dtype_names()
        for d in TURNS
    ),
    *(
        _sorting((8,), ("i32", "f64", "f32"), num_keys=2, descending=d, domain=(TIES, "real", "real"))
        for d in TURNS
    ),
    *(
        _sorting(
            (49,),
            ("i32", "c128", "bf16"),
            num_keys=3,
            descending=d,
            domain=(TIES, "special", "special"),
            signed_zeros=False,
        )
        for d in TURNS
    ),
    *(_sorting((2, 3), ("f64", "f64"), axis=axis, num_keys=keys) for axis, keys in product((0, 1), (1, 2))),
    _sorting((2, 3), ("c128", "f64"), axis=1, domain="real"),
    _sorting((4,), ("i64", "f64")),
    *(_largest((5,), k, 0) for k in (0, 1, 3, 5)),
    *(_largest((2, 3), 2, axis) for axis in (0, 1)),
    *(_largest((3, 4), 2, 1, layout=layout) for layout in ("reversed", "strided", "fortran")),
    *(_largest((8,), 5, 0, dtypes=name, domain=TIES) for name in dtype_names()),
    *(_largest((49,), 20, 0, dtypes=name, domain="special") for name in dtype_names()),
)

BY_ONE = {"axis": 0, "num_keys": 1, "descending": False}
FAILURES: tuple[Failure, ...] = (
    Failure("sort", ((3,),), "f64", ShapeError, "by 0 keys", {**BY_ONE, "num_keys": 0}),
    Failure("sort", ((3,),), "f64", ShapeError, "by 2 keys", {**BY_ONE, "num_keys": 2}),
    Failure("sort", (), (), ShapeError, "sort of 0 operands", BY_ONE),
    Failure("sort", ((3,), (2,)), "f64", ShapeError, "their shapes differ", BY_ONE),
    Failure("sort", ((3,),), "f64", ShapeError, "out of range", {**BY_ONE, "axis": 1}),
    Failure("top_k", ((3,),), "f64", ShapeError, "does not have 4", {"k": 4, "axis": 0}),
    Failure("top_k", ((3,),), "f64", ShapeError, "does not have -1", {"k": -1, "axis": 0}),
    Failure("top_k", ((),), "f64", ShapeError, "out of range", {"k": 0, "axis": 0}),
)
