"""Discrete Fourier transforms, against the sums that define them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.errors import ArgumentValueError, DTypeError, ShapeError
from tracemill.compiler.ir import Shape

NORMS = ("backward", "ortho", "forward")


def _sums(x: Any, axis: int, sign: int, norm: str) -> Any:
    """The sums over j of x[j] · exp(sign · 2πi jk/n), with the factor that `norm` gives to a direct transform."""
    n = x.shape[axis]
    turns = (np.outer(np.arange(n), np.arange(n)) % n).astype(np.longdouble) / n
    matrix = np.exp(sign * 8j * np.arctan(np.longdouble(1)) * turns)
    factor = {"backward": 1, "ortho": np.sqrt(np.longdouble(n)), "forward": n}[norm]
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix / factor, -1, axis)


def _fft(x: Any, axis: int, norm: str = "backward") -> Any:
    return _sums(x, axis, -1, norm)


def _ifft(x: Any, axis: int, norm: str = "backward") -> Any:
    return _sums(x, axis, 1, {"backward": "forward", "ortho": "ortho", "forward": "backward"}[norm])


def _rfft(x: Any, axis: int, norm: str = "backward") -> Any:
    return np.take(_fft(x, axis, norm), range(x.shape[axis] // 2 + 1), axis)


def _irfft(x: Any, axis: int, length: int, norm: str = "backward") -> Any:
    """The coefficients that are left out are the conjugates of those given, in opposite order."""
    x = np.moveaxis(x, axis, -1).copy()
    x[..., 0].imag = 0
    if length % 2 == 0:
        x[..., -1].imag = 0
    twins = np.conj(x[..., 1 : length - length // 2])[..., ::-1]
    return np.moveaxis(_ifft(np.concatenate([x, twins], -1), -1, norm), -1, axis).real


REFERENCES: dict[str, Callable[..., Any]] = {"fft": _fft, "ifft": _ifft, "rfft": _rfft, "irfft": _irfft}
COMPLEX = ("fft", "ifft", "irfft")


def _transform(op: str, shape: Shape, axis: int, dtype: str = "", **more: Any) -> Sample:
    """A transform of a signal of this shape; of its coefficients for irfft."""
    params: dict[str, Any] = {"axis": axis}
    if op == "irfft":
        params["length"] = shape[axis]
        shape = (*shape[:axis], shape[axis] // 2 + 1, *shape[axis + 1 :])
    if "norm" in more:
        params["norm"] = more.pop("norm")
    dtype = dtype or ("c128" if op in COMPLEX else "f64")
    # The error is relative to the whole signal, and an entry may be much smaller than that.
    return Sample(op, (shape,), dtype, params, reference=REFERENCES[op], ulps=64, signed_zeros=False, **more)


CALLS: tuple[tuple[Shape, int], ...] = (
    ((1,), 0),
    ((2,), 0),
    ((5,), 0),
    ((8,), 0),
    ((2, 3), 1),
    ((4, 2), 0),
    ((2, 5, 2), 1),
    ((0, 3), 1),
)

SAMPLES: tuple[Sample, ...] = tuple(
    sample
    for op in REFERENCES
    for sample in (
        *(_transform(op, shape, axis) for shape, axis in CALLS),
        *(_transform(op, (2, length), 1, norm=norm) for norm in NORMS for length in (4, 5)),
        *(
            _transform(op, (3, 4), 1, "c64" if op in COMPLEX else "f32", layout=layout)
            for layout in ("contiguous", "reversed", "strided", "fortran")
        ),
    )
)


def _failures(op: str) -> tuple[Failure, ...]:
    dtype, other = ("c128", "f64") if op in COMPLEX else ("f64", "c128")
    more = {"length": 4} if op == "irfft" else {}
    return (
        Failure(op, ((3,),), other, DTypeError, f"{op} is not defined for", {"axis": 0, **more}),
        Failure(op, ((3,),), "i64", DTypeError, f"{op} is not defined for", {"axis": 0, **more}),
        Failure(op, ((3,),), dtype, ShapeError, "out of range", {"axis": 1, **more}),
        Failure(op, ((0,),), dtype, ShapeError, "no transform of 0 entries", {"axis": 0, **more}),
        Failure(op, ((3,),), dtype, ArgumentValueError, "norm='both'", {"axis": 0, "norm": "both", **more}),
    )


FAILURES: tuple[Failure, ...] = (
    *(failure for op in REFERENCES for failure in _failures(op)),
    Failure("rfft", ((3,),), "f16", DTypeError, "rfft is not defined for", {"axis": 0}),
    Failure("irfft", ((3,),), "c128", ShapeError, "coefficients of 7 entries", {"axis": 0, "length": 7}),
    Failure("irfft", ((1,),), "c128", ShapeError, "coefficients of 0 entries", {"axis": 0, "length": 0}),
)
