"""Reading and writing a part of an array that begins at a place known at run time."""

from collections.abc import Callable
from typing import Any

from samples.sample import Failure, Points, Sample
from tracemill.compiler.dtypes import dtype_names
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape


def _window(shape: Shape, starts: Any, sizes: Shape) -> tuple[slice, ...]:
    first = [min(max(int(s), 0), dim - size) for s, dim, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(a, a + size) for a, size in zip(first, sizes, strict=True))


def _dynamic_slice(x: Any, *starts: Any, sizes: Shape) -> Any:
    return x[_window(x.shape, starts, sizes)]


def _dynamic_update_slice(x: Any, y: Any, *starts: Any) -> Any:
    out = x.copy()
    out[_window(x.shape, starts, y.shape)] = y
    return out


REFERENCES: dict[str, Callable[..., Any]] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
}
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def _sample(
    op: str,
    shapes: tuple[Shape, ...],
    params: dict[str, Any],
    arrays: int,
    dtype: str = "f64",
    index: str = "i64",
    **more: Any,
) -> Sample:
    """A call with starts as inputs after the first `arrays`: from −6 … 6, so some are out of bounds."""
    dtypes = (dtype,) * arrays + (index,) * (len(shapes) - arrays)
    return Sample(op, shapes, dtypes, params, reference=REFERENCES[op], **more)


# x, the part
WINDOWS: tuple[tuple[Shape, Shape], ...] = (
    ((5,), (2,)),
    ((4, 3), (2, 2)),
    ((4, 3), (4, 2)),
    ((4, 3), (4, 3)),
    ((2, 3, 4), (1, 3, 2)),
    ((4,), (0,)),
    ((), ()),
)

SAMPLES: tuple[Sample, ...] = (
    *(_sample("dynamic_slice", (x, *((),) * len(x)), {"sizes": sizes}, 1) for x, sizes in WINDOWS),
    *(
        _sample("dynamic_slice", ((4, 3), (), ()), {"sizes": (2, 2)}, 1, dtype=name, label="each")
        for name in dtype_names()
    ),
    *(
        _sample("dynamic_slice", ((5,), ()), {"sizes": (2,)}, 1, index=i, domain=("real", Points((3,))))
        for i in INTEGERS
    ),
    *(_sample("dynamic_update_slice", (x, y, *((),) * len(x)), {}, 2) for x, y in WINDOWS),
    *(
        _sample("dynamic_update_slice", ((4, 3), (2, 2), (), ()), {}, 2, dtype=name, label="each")
        for name in dtype_names()
    ),
    *(
        _sample("dynamic_update_slice", ((4, 3), (2, 2), (), ()), {}, 2, layout=layout)
        for layout in ("reversed", "strided", "fortran")
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure("dynamic_slice", ((3,), ()), ("f64", "f64"), DTypeError, "one integer", {"sizes": (2,)}),
    Failure("dynamic_slice", ((3,), (1,)), ("f64", "i64"), DTypeError, "one integer", {"sizes": (2,)}),
    Failure("dynamic_slice", ((3,), ()), ("f64", "i64"), ShapeError, "does not fit", {"sizes": (4,)}),
    Failure("dynamic_slice", ((3,),), "f64", ShapeError, "one start and one size", {"sizes": (2,)}),
    Failure("dynamic_update_slice", ((3,), (4,), ()), ("f64", "f64", "i64"), ShapeError, "does not fit"),
    Failure("dynamic_update_slice", ((3,), (), ()), ("f64", "f64", "i64"), ShapeError, "0 axes"),
    Failure("dynamic_update_slice", ((3,), (2,), ()), ("f64", "f32", "i64"), DTypeError, "not defined for"),
)
