"""Comparison, logic, bits, and choosing by a condition."""

from typing import Any

import numpy as np

from samples.elementwise_samples import SHAPES, elementwise, misuse
from samples.sample import Failure, Sample
from tracemill.compiler.dtypes import dtype_names
from tracemill.compiler.errors import DTypeError, ShapeError

ANY, ORDERED = "biufc", "biuf"


def _reference_where(condition: Any, x: Any, y: Any) -> Any:
    condition, x, y = np.broadcast_arrays(condition, x, y)
    picked = [a if c else b for c, a, b in zip(condition.flat, x.flat, y.flat, strict=True)]
    return np.array(picked, x.dtype).reshape(x.shape)


def _reference_shift(sign: int) -> Any:
    """Shifts by powers of two of unbounded integers, cut to the width."""

    def reference(x: Any, y: Any) -> Any:
        bits = 8 * x.dtype.itemsize
        x, y = np.broadcast_arrays(x, y)
        out = []
        for value, count in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True):
            by = count if 0 <= count < bits else bits  # NumPy: all bits are shifted out
            shifted = (value << by if sign > 0 else value >> by) & (2**bits - 1)
            out.append(shifted - 2**bits if x.dtype.kind == "i" and shifted >= 2 ** (bits - 1) else shifted)
        return np.array(out, x.dtype).reshape(x.shape)

    return reference


# op, arity, kinds, and what differs from the usual
ROWS: tuple[tuple[str, int, str, dict[str, Any]], ...] = (
    ("equal", 2, ANY, {}),
    ("not_equal", 2, ANY, {}),
    ("less", 2, ANY, {}),
    ("less_equal", 2, ANY, {}),
    ("greater", 2, ANY, {}),
    ("greater_equal", 2, ANY, {}),
    ("logical_and", 2, "b", {}),
    ("logical_or", 2, "b", {}),
    ("logical_xor", 2, "b", {}),
    ("logical_not", 1, "b", {}),
    ("isnan", 1, ANY, {}),
    ("isinf", 1, ANY, {}),
    ("isfinite", 1, ANY, {}),
    ("signbit", 1, "iuf", {}),
    ("bitwise_and", 2, "biu", {}),
    ("bitwise_or", 2, "biu", {}),
    ("bitwise_xor", 2, "biu", {}),
    ("left_shift", 2, "iu", {"reference": _reference_shift(1)}),
    ("right_shift", 2, "iu", {"reference": _reference_shift(-1)}),
    ("invert", 1, "biu", {}),
    ("bitwise_count", 1, "iu", {}),
)
SAMPLES: tuple[Sample, ...] = (
    *(sample for op, arity, kinds, more in ROWS for sample in elementwise(op, arity, kinds, **more)),
    *(Sample("where", s, ("bool", "f64", "f64"), reference=_reference_where) for s in SHAPES[3]),
    *(
        Sample("where", ((2, 2), (2,), ()), ("bool", name, name), reference=_reference_where, domain=domain)
        for name in dtype_names()
        for domain in ("real", "special")
    ),
)
FAILURES: tuple[Failure, ...] = (
    *(failure for op, arity, kinds, _ in ROWS for failure in misuse(op, arity, kinds)),
    Failure("where", ((2,), (2,), (2,)), "f64", DTypeError, "where is not defined for"),
    Failure("where", ((2,), (2,), (2,)), ("bool", "f64", "f32"), DTypeError, "where is not defined for"),
    Failure(
        "where", ((2,), (3,), ()), ("bool", "f64", "f64"), ShapeError, "where of .*: shapes do not broadcast"
    ),
)
