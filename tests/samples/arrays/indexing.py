"""Reading and writing at places known at run time: gather and scatter."""

from collections.abc import Callable
from typing import Any

import numpy as np

from samples.sample import Failure, Interval, Points, Sample
from tracemill.compiler.dtypes import dtype_named, dtype_names, kind
from tracemill.compiler.errors import DTypeError, InternalError, OutOfBoundsError, ShapeError
from tracemill.compiler.ir import Shape
from tracemill.compiler.ops.arrays.indexing import MODES

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": np.add,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
}


def _places(indices: Any) -> Any:
    """Each entry of the broadcast indices: where it stands, and what it names on every indexed axis."""
    together = np.broadcast_arrays(*indices)
    for at in np.ndindex(*together[0].shape):
        yield at, [int(index[at]) for index in together]


def _where(ndim: int, axes: Shape, place: list[int]) -> tuple[Any, ...]:
    where: list[Any] = [slice(None)] * ndim
    for axis, index in zip(axes, place, strict=True):
        where[axis] = index
    return tuple(where)


def _gather(x: Any, *indices: Any, axes: Shape, unique: bool = False) -> Any:
    rest = [dim for axis, dim in enumerate(x.shape) if axis not in axes]
    out = np.empty((*np.broadcast_shapes(*(i.shape for i in indices)), *rest), x.dtype)
    for at, place in _places(indices):
        nearest = [min(max(i, 0), x.shape[axis] - 1) for i, axis in zip(place, axes, strict=True)]
        out[at] = x[_where(x.ndim, axes, nearest)]
    return out


def _scatter(x: Any, updates: Any, *indices: Any, axes: Shape, mode: str, unique: bool = False) -> Any:
    combine = COMBINE[mode]
    out = x.copy()
    for at, place in _places(indices):
        if all(0 <= i < x.shape[axis] for i, axis in zip(place, axes, strict=True)):
            where = _where(x.ndim, axes, place)
            out[where] = combine(out[where], updates[at])
    return out


REFERENCES: dict[str, Callable[..., Any]] = {
    "gather": _gather,
    "scatter": _scatter,
}


def _sample(op: str, shapes: tuple[Shape, ...], params: dict[str, Any], floating: int, **more: Any) -> Sample:
    """A call with indices as inputs after the first `floating`: from −6 … 6, so some are out of bounds."""
    dtype, index = more.pop("dtype", "f64"), more.pop("index", "i64")
    dtypes = (dtype,) * floating + (index,) * (len(shapes) - floating)
    if "domain" in more:
        domains = more.pop("domain")
        more["domain"] = tuple(domains[: len(shapes)]) + (domains[-1],) * (len(shapes) - len(domains))
    return Sample(op, shapes, dtypes, params, reference=REFERENCES[op], **more)


# x, indices, axes
GATHERS: tuple[tuple[Shape, tuple[Shape, ...], Shape], ...] = (
    ((5,), ((3,),), (0,)),
    ((5,), ((),), (0,)),
    ((4, 3), ((2, 2),), (0,)),
    ((3, 4), ((2,),), (1,)),
    ((3, 4), ((2,), (2,)), (0, 1)),
    ((3, 4), ((2, 1), (3,)), (1, 0)),
    ((2, 3, 4), ((3,), ()), (2, 0)),
    ((2, 3, 2), ((2,),), (1,)),
    ((3, 0), ((2,),), (0,)),
    ((0, 2), ((0,),), (0,)),
    ((3, 2), ((0,),), (0,)),
)
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
INSIDE = Points((0, 3, 2, 4, 1))


def _updates(x: Shape, indices: tuple[Shape, ...], axes: Shape) -> Shape:
    return (*np.broadcast_shapes(*indices), *(dim for axis, dim in enumerate(x) if axis not in axes))


def _scatters(x: Shape, indices: tuple[Shape, ...], axes: Shape, mode: str, **more: Any) -> Sample:
    params = {"axes": axes, "mode": mode, **({"unique": True} if more.pop("unique", False) else {})}
    return _sample("scatter", (x, _updates(x, indices, axes), *indices), params, 2, **more)


SAMPLES: tuple[Sample, ...] = (
    *(_sample("gather", (x, *indices), {"axes": axes}, 1) for x, indices, axes in GATHERS),
    *(
        _sample("gather", (x, *indices), {"axes": axes}, 1, layout=layout)
        for x, indices, axes in GATHERS[2:7]
        for layout in ("reversed", "strided", "fortran")
    ),
    *(
        _sample("gather", ((5,), (12,)), {"axes": (0,)}, 1, index=i, domain=("real", "special"))
        for i in INTEGERS
    ),
    *(
        _sample("gather", ((3, 4), (12,), (1, 12)), {"axes": (0, 1)}, 1, index=i, domain=("real", "special"))
        for i in INTEGERS
    ),
    *(
        _sample("gather", ((4, 3), (2,)), {"axes": (0,)}, 1, dtype=name, label="each")
        for name in dtype_names()
    ),
    _sample("gather", ((5, 2), (5,)), {"axes": (0,), "unique": True}, 1, domain=("real", INSIDE)),
    _sample("gather", ((4, 3), (2, 2)), {"axes": (0,)}, 1, dtype="c128"),
    *(_scatters(*gather, mode) for gather in GATHERS for mode in MODES),
    *(
        _scatters(*gather, "set", layout=layout)
        for gather in GATHERS[2:7]
        for layout in ("reversed", "strided", "fortran")
    ),
    *(_scatters((2, 2), ((7,), (7,)), (0, 1), mode, domain=("real", Interval(0, 1))) for mode in MODES),
    *(_scatters((5,), ((12,),), (0,), "set", index=i, domain=("real", "real", "special")) for i in INTEGERS),
    *(_scatters((5, 2), ((5,),), (0,), mode, unique=True, domain=("real", "real", INSIDE)) for mode in MODES),
    *(
        _scatters((4, 2), ((6,),), (0,), mode, dtype=name, label="each", ulps=8)
        for mode, kinds in MODES.items()
        for name in dtype_names()
        if kind(dtype_named(name)) in kinds
    ),
    *(_scatters((4, 2), ((6,),), (0,), mode, dtype="c128", ulps=8) for mode in ("set", "add", "multiply")),
    *(
        _scatters(
            (2,), ((4,),), (0,), mode, domain=(Points((3, 0)), Points((0, 2, 5, 0)), Points((0, 0, 1, 1)))
        )
        for mode in MODES
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure("gather", ((3,),), "f64", ShapeError, "0 index arrays", {"axes": ()}),
    Failure("gather", ((3,), (2,)), ("f64", "i64"), ShapeError, "1 index arrays", {"axes": (0, 1)}),
    Failure("gather", ((3,), (2,)), ("f64", "i64"), ShapeError, "different axes", {"axes": (1,)}),
    Failure("gather", ((3,), (2,)), ("f64", "f64"), DTypeError, "integer dtype", {"axes": (0,)}),
    Failure("gather", ((3,), (2,)), ("f64", "bool"), DTypeError, "integer dtype", {"axes": (0,)}),
    Failure("gather", ((0,), (2,)), ("f64", "i64"), OutOfBoundsError, "no entry to read", {"axes": (0,)}),
    Failure(
        "gather",
        ((3, 3), (2,), (3,)),
        ("f64", "i64", "i64"),
        ShapeError,
        "do not broadcast",
        {"axes": (0, 1)},
    ),
    Failure(
        "scatter",
        ((3,), (2,), (2,)),
        ("f64", "f64", "i64"),
        InternalError,
        "none of set",
        {"axes": (0,), "mode": "put"},
    ),
    Failure(
        "scatter",
        ((3,), (1,), (2,)),
        ("f64", "f64", "i64"),
        ShapeError,
        "the updates are",
        {"axes": (0,), "mode": "set"},
    ),
    Failure(
        "scatter",
        ((3,), (2,), (2,)),
        ("f64", "f32", "i64"),
        DTypeError,
        "not defined for",
        {"axes": (0,), "mode": "set"},
    ),
    *(
        Failure(
            "scatter",
            ((3,), (2,), (2,)),
            ("c64", "c64", "i64"),
            DTypeError,
            "not defined for",
            {"axes": (0,), "mode": mode},
        )
        for mode in ("minimum", "maximum")
    ),
)
