"""Sums of products: `dot`."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.dtypes import dtype_names
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape


def _reference(x: Any, y: Any, **axes: Shape) -> Any:
    """The sum written out: one product per pair of entries."""
    contract_x, contract_y, batch_x, batch_y = axes.values()
    free_x = [a for a in range(x.ndim) if a not in contract_x and a not in batch_x]
    free_y = [a for a in range(y.ndim) if a not in contract_y and a not in batch_y]
    left = np.transpose(x, [*batch_x, *free_x, *contract_x])
    right = np.transpose(y, [*batch_y, *free_y, *contract_y])
    nb, nx, ny = len(batch_x), len(free_x), len(free_y)
    out = np.zeros((*left.shape[: nb + nx], *right.shape[nb : nb + ny]), x.dtype)
    for index in np.ndindex(*out.shape):
        terms = left[index[: nb + nx]] * right[(*index[:nb], *index[nb + nx :])]
        for term in terms.flat:
            out[index] += term
    return out


def _axes(contract_x: Shape, contract_y: Shape, batch_x: Shape = (), batch_y: Shape = ()) -> dict[str, Shape]:
    return {"contract_x": contract_x, "contract_y": contract_y, "batch_x": batch_x, "batch_y": batch_y}


CALLS: tuple[tuple[tuple[Shape, Shape], dict[str, Shape]], ...] = (
    (((2, 3), (3, 4)), _axes((1,), (0,))),  # matrix · matrix
    (((3, 2), (4, 3)), _axes((0,), (1,))),  # both transposed
    (((3,), (3,)), _axes((0,), (0,))),  # inner
    (((2,), (3,)), _axes((), ())),  # outer
    (((2, 3), (3,)), _axes((1,), (0,))),
    (((3,), (2, 3)), _axes((0,), (1,))),
    (((4, 2, 3), (4, 3, 2)), _axes((2,), (1,), (0,), (0,))),  # batched
    (
        ((2, 4, 3), (3, 2, 4)),
        _axes((2,), (0,), (1, 0), (2, 1)),
    ),  # only batch axes and contracted ones, out of order
    (((2, 3, 4), (4, 5, 3)), _axes((1, 2), (2, 0))),  # two contracted axes
    (((2, 3, 4), (3, 5, 4)), _axes((2, 1), (2, 0))),
    (((), ()), _axes((), ())),
    (((2, 0), (0, 3)), _axes((1,), (0,))),  # an empty sum
    (((0, 2), (2, 3)), _axes((1,), (0,))),
    (((2, 1), (1, 3)), _axes((1,), (0,))),
)
SAMPLES: tuple[Sample, ...] = (
    *(Sample("dot", shapes, "f64", axes, "positive", reference=_reference, ulps=8) for shapes, axes in CALLS),
    *(Sample("dot", shapes, "c128", axes, reference=_reference, ulps=16) for shapes, axes in CALLS[::2]),
    *(
        Sample("dot", CALLS[index][0], "f64", CALLS[index][1], "positive", layout, _reference, ulps=8)
        for index in (0, 7)
        for layout in ("reversed", "strided", "fortran")
    ),
    *(
        Sample("dot", CALLS[index][0], name, CALLS[index][1], "integers", reference=_reference, ulps=16)
        for index in (0, 2)
        for name in dtype_names()
        if name != "bool"
    ),
)
FAILURES = (
    Failure("dot", ((2,), (2,)), "bool", DTypeError, "dot is not defined for", _axes((0,), (0,))),
    Failure("dot", ((2,), (2,)), ("f32", "f64"), DTypeError, "dot is not defined for", _axes((0,), (0,))),
    Failure("dot", ((2,), (3,)), "f64", ShapeError, "contracted axes have lengths", _axes((0,), (0,))),
    Failure("dot", ((2, 1), (3, 1)), "f64", ShapeError, "batch axes have lengths", _axes((), (), (0,), (0,))),
    Failure("dot", ((2,), (2,)), "f64", ShapeError, "different axes", _axes((1,), (0,))),
    Failure("dot", ((2, 2), (2, 2)), "f64", ShapeError, "different axes", _axes((0,), (0,), (0,), (1,))),
)
