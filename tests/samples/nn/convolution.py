"""Convolutions: `conv`, against the sum written out."""

from itertools import product
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.dtypes import dtype_names
from tracemill.compiler.errors import ArgumentValueError, DTypeError, ShapeError
from tracemill.compiler.ir import Shape


def reference(
    x: Any, w: Any, strides: Shape, padding: Any, input_dilation: Shape, kernel_dilation: Shape
) -> Any:
    """One product per pair of entries that meet; zeros of the padding meet nothing."""
    groups, examples, _, *lengths = x.shape
    kernels, sizes = w.shape[1], w.shape[3:]
    spatial = []
    for n, k, s, (low, high), d, e in zip(
        lengths, sizes, strides, padding, input_dilation, kernel_dilation, strict=True
    ):
        reach = [(count - 1) * gap + 1 if count else 0 for count, gap in ((n, d), (k, e))]
        spatial.append(max(0, (reach[0] + low + high - reach[1]) // s + 1))
    out = np.zeros((groups, examples, kernels, *spatial), x.dtype)
    for place in np.ndindex(*spatial):
        for at in np.ndindex(*sizes):
            found = [
                divmod(t * s + k * e - low, d)
                for t, k, s, (low, _), d, e in zip(
                    place, at, strides, padding, input_dilation, kernel_dilation, strict=True
                )
            ]
            if all(rest == 0 and 0 <= i < n for (i, rest), n in zip(found, lengths, strict=True)):
                entry = x[(..., *(i for i, _ in found))]
                kernel = w[(..., *at)]
                out[(..., *place)] += np.sum(entry[:, :, None, :] * kernel[:, None, :, :], -1, dtype=x.dtype)
    return out


def conv(shapes: tuple[Shape, Shape], dtype: str = "f64", *, domain: str = "positive", **more: Any) -> Sample:
    """Strides and dilations of 1, and no padding, unless given."""
    rank = len(shapes[0]) - 3
    params: dict[str, Any] = {
        "strides": (1,) * rank,
        "padding": ((0, 0),) * rank,
        "input_dilation": (1,) * rank,
        "kernel_dilation": (1,) * rank,
    }
    params.update((name, more.pop(name)) for name in tuple(params) if name in more)
    ulps = 64 if dtype.startswith("c") else 32
    return Sample("conv", shapes, dtype, params, domain, reference=reference, ulps=ulps, **more)


LINE = ((1, 2, 2, 7), (1, 2, 2, 3))
PLANE = ((2, 1, 2, 5, 4), (2, 2, 2, 3, 2))

SAMPLES: tuple[Sample, ...] = (
    conv(LINE),
    conv(((1, 1, 1, 3), (1, 1, 1, 3))),
    conv(((3, 2, 1, 5), (3, 2, 1, 2))),  # three groups
    conv(((1, 2, 3), (1, 4, 3))),  # no spatial axis: a matrix product
    *(
        conv(
            ((1, 1, 1, 7), (1, 1, 1, 3)),
            strides=(s,),
            padding=(p,),
            input_dilation=(d,),
            kernel_dilation=(e,),
        )
        for s, p, d, e in product((1, 2), ((0, 0), (2, 1), (-1, -2)), (1, 2), (1, 2))
    ),
    conv(((1, 1, 1, 6), (1, 1, 1, 2)), strides=(3,), padding=((1, 0),)),  # some entries are never seen
    conv(((1, 1, 1, 4), (1, 1, 1, 2)), padding=((-3, 5),), input_dilation=(3,)),
    conv(((1, 1, 1, 3), (1, 1, 1, 2)), padding=((4, 4),)),  # windows of zeros alone
    conv(PLANE),
    conv(PLANE, strides=(2, 1), padding=((1, 1), (0, 2)), input_dilation=(1, 2), kernel_dilation=(2, 1)),
    conv(PLANE, padding=((1, -1), (3, 2)), input_dilation=(2, 3), kernel_dilation=(2, 1)),
    conv(((1, 2, 3, 5), (1, 1, 3, 2)), padding=((1, 1),)),  # fewer kernels than channels
    conv(((1, 1, 1, 3, 2, 3), (1, 1, 1, 2, 2, 2)), padding=((1, 0), (0, 0), (0, 1))),
    conv(((1, 2, 1, 3), (1, 1, 1, 5))),  # the kernel does not fit: an empty result
    conv(((1, 0, 1, 3), (1, 2, 1, 2))),
    conv(((1, 2, 0, 3), (1, 2, 0, 2))),  # empty sums
    conv(((1, 2, 1, 0), (1, 2, 1, 2)), padding=((1, 2),)),
    conv(((1, 1, 2, 3), (1, 2, 2, 0))),
    *(conv(LINE, "c128", domain="real", strides=(s,)) for s in (1, 2)),
    *(conv(PLANE, layout=layout, strides=(2, 1)) for layout in ("reversed", "strided", "fortran")),
    *(conv(LINE, name, domain="integers", padding=((1, 1),)) for name in dtype_names() if name != "bool"),
)


def _failure(
    shapes: tuple[Shape, Shape], error: type[Exception], match: str, dtypes: Any = "f64", **params: Any
) -> Failure:
    sample = conv(shapes, **params)
    return Failure("conv", shapes, dtypes, error, match, sample.params)


FAILURES: tuple[Failure, ...] = (
    _failure(LINE, DTypeError, "conv is not defined for", "bool"),
    _failure(LINE, DTypeError, "conv is not defined for", ("f32", "f64")),
    _failure(((1, 2, 2, 7), (1, 2, 2)), ShapeError, "the same axes"),
    _failure(((1, 2, 2, 7), (1, 2, 3, 3)), ShapeError, "1 groups of 2 channels, w 1 of 3"),
    _failure(((2, 2, 2, 7), (1, 2, 2, 3)), ShapeError, "2 groups of 2 channels, w 1 of 2"),
    _failure(LINE, ShapeError, "one entry per spatial axis", strides=(1, 1)),
    _failure(LINE, ShapeError, "one entry per spatial axis", padding=()),
    _failure(LINE, ArgumentValueError, "at least 1", strides=(0,)),
    _failure(LINE, ArgumentValueError, "at least 1", kernel_dilation=(0,)),
    _failure(LINE, ArgumentValueError, "at least 1", input_dilation=(-1,)),
)
