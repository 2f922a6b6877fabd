"""The exponential of matrices and its Fréchet derivatives."""

from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import expm, expm_frechet

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape


def _by_scipy(x: Any, *directions: Any) -> Any:
    """Each matrix on its own, in double precision; the second derivative as the first of a block matrix."""
    out = np.empty(x.shape, np.result_type(x.dtype, np.float64))
    for at in np.ndindex(*x.shape[:-2]):
        a, *es = (array[at].astype(out.dtype) for array in (x, *directions))
        if not a.size:
            continue
        if not es:
            out[at] = expm(a)
        elif len(es) == 1:
            out[at] = expm_frechet(a, es[0], compute_expm=False)
        else:
            size, none = a.shape[0], np.zeros_like(a)
            block: Any = np.block([[a, es[0]], [none, a]])
            along = np.block([[es[1], none], [none, es[1]]])
            derivative: Any = expm_frechet(block, along, compute_expm=False)
            out[at] = derivative[:size, size:]
    return out


def _expm(shape: Shape, directions: int, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "expm", (shape,) * (1 + directions), dtype, reference=_by_scipy, widened=False, ulps=4096,
        signed_zeros=False, **more,
    )  # fmt: skip


SAMPLES: tuple[Sample, ...] = (
    *(_expm(shape, 0, dtype) for shape, dtype in product(((3, 3), (2, 2, 2), (1, 1)), ("f64", "c128"))),
    *(_expm(shape, 1, dtype) for shape, dtype in product(((3, 3), (2, 2, 2)), ("f64", "c128"))),
    _expm((2, 2), 2),
    *(_expm(shape, count) for shape, count in product(((0, 0), (0, 2, 2)), (0, 1))),
    *(_expm((3, 3), count, dtype) for count, dtype in product((0, 1), ("f32", "c64"))),
    *(_expm((3, 3), 1, layout=layout) for layout in ("reversed", "strided", "fortran")),
)
FAILURES = (
    Failure("expm", ((2, 3),), "f64", MatrixShapeError, "must be square"),
    Failure("expm", ((2, 2), (3, 3)), "f64", DTypeError, "not of its type"),
    Failure("expm", ((2, 2),), "i64", DTypeError, "LAPACK has"),
)
