"""Convolutions of batches of signals and images with channels, for NumPy arrays and traced arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arguments.option_checks import integer
from ..errors import ArgumentTypeError, ArgumentValueError, ShapeError
from ..nesting import shown
from ..numpy_surface.ufuncs.eager_ops import apply_op, as_numbers
from ..ops.nn.convolution import dilated
from ..tracing.traced_array import located
from .arguments import all_traced_or_none

Pairs = tuple[tuple[int, int], ...]


def conv(
    x: Any,
    w: Any,
    strides: int | Sequence[int] = 1,
    padding: str | int | Sequence[Any] = "valid",
    *,
    dilation: int | Sequence[int] = 1,
    input_dilation: int | Sequence[int] = 1,
    groups: int = 1,
    layout: str | None = None,
) -> Any:
    """Sums of products of each window of `x` with each kernel of `w`, over the channels and the window.

    The kernel is not flipped, as in all networks; `numpy.convolve` flips it.

    Args:
        x: ``[n, c, *lengths]``: examples, channels, and any number of spatial axes.
        w: ``[o, c / groups, *sizes]``: one kernel per channel of the result.
        strides: how far apart the windows lie, one number or one per spatial axis.
        padding: zeros around x: ``"valid"`` for none; ``"same"`` for as many as give ceil(length / stride) windows,
            the odd one behind; a number for both sides of every axis; or per axis a number or a pair (before, after).
            Negative padding leaves entries out.
        dilation: how far apart the entries of a kernel lie.
        input_dilation: how far apart the entries of x lie, with zeros between them.
        groups: into how many groups the channels of x and the kernels are split; each sees only its own channels.
        layout: where the axes lie if not as above, as letters: ``"nhwc,hwio->nhwc"``. Letters other than n, c and
            o, i are spatial axes.

    Returns:
        ``[n, o, *windows]`` in the common dtype of x and w. f16 and bf16 are summed in f32.

    Raises:
        ShapeError: the shapes do not fit together.
        ArgumentValueError: strides, dilations or groups below 1, or an unknown padding or layout.

    >>> import numpy as np
    >>> x = np.arange(6.0).reshape(1, 1, 6)
    >>> w = np.array([[[1.0, 0.0, -1.0]]])
    >>> conv(x, w).tolist()
    [[[-2.0, -2.0, -2.0, -2.0]]]
    >>> conv(x, w, strides=2, padding="same").tolist()
    [[[-2.0, -2.0, 4.0]]]
    """
    return located(_conv, x, w, strides, padding, dilation, input_dilation, groups, layout)


def _conv(
    x: Any, w: Any, strides: Any, padding: Any, dilation: Any, input_dilation: Any, groups: Any, layout: Any
) -> Any:
    order = _order(layout)
    x, w, groups = _checked_operands("conv", x, w, groups, order)
    if x.shape[1] != groups * w.shape[1]:
        raise ShapeError(
            f"conv: x has {x.shape[1]} channels, the kernels are for {w.shape[1]} in {_groups_text(groups)}"
        )
    rank = x.ndim - 2
    steps, apart = _per_axis("strides", strides, rank), _per_axis("dilation", dilation, rank)
    between = _per_axis("input_dilation", input_dilation, rank)
    lengths = [dilated(n, d) for n, d in zip(x.shape[2:], between, strict=True)]
    sizes = [dilated(k, d) for k, d in zip(w.shape[2:], apart, strict=True)]
    (out,) = apply_op(
        "conv",
        _grouped(x, groups, 1),
        _grouped(w, groups, 0),
        strides=steps,
        padding=_padding(padding, [_needed(*axis) for axis in zip(lengths, sizes, steps, strict=True)]),
        input_dilation=between,
        kernel_dilation=apart,
    )
    return order.restored(_ungrouped(out))


def conv_transpose(
    y: Any,
    w: Any,
    strides: int | Sequence[int] = 1,
    padding: str | int | Sequence[Any] = "valid",
    *,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    output_padding: int | Sequence[int] = 0,
    layout: str | None = None,
) -> Any:
    """The transpose of `conv` with the same kernels and parameters: it maps an output of `conv` to an input.

    ``sum(conv(x, w) * y) == sum(x * conv_transpose(y, w))``, so this is also the gradient of `conv` with respect to
    x. With strides it enlarges an image.

    Args:
        y: ``[n, o, *lengths]``, as a result of `conv`.
        w: ``[o, i / groups, *sizes]``, the kernels of `conv`.
        strides, padding, dilation, groups: of `conv`. ``"same"`` gives an array that is `strides` times as long.
        output_padding: of all lengths that `conv` maps to that of y, the smallest plus this.
        layout: as of `conv`, with c for the channels of y and of the result.

    Returns:
        ``[n, i, *lengths]``, with (length − 1) · stride + (size − 1) · dilation + 1 − padding + output_padding
        entries along a spatial axis.

    >>> import numpy as np
    >>> y = np.array([[[1.0, 10.0]]])
    >>> conv_transpose(y, np.array([[[1.0, 2.0, 3.0]]]), strides=2).tolist()
    [[[1.0, 2.0, 13.0, 20.0, 30.0]]]
    """
    return located(_conv_transpose, y, w, strides, padding, dilation, groups, output_padding, layout)


def _conv_transpose(
    y: Any, w: Any, strides: Any, padding: Any, dilation: Any, groups: Any, output_padding: Any, layout: Any
) -> Any:
    order = _order(layout)
    y, w, groups = _checked_operands("conv_transpose", y, w, groups, order)
    if y.shape[1] != w.shape[0]:
        raise ShapeError(f"conv_transpose: y has {y.shape[1]} channels, but there are {w.shape[0]} kernels")
    rank = y.ndim - 2
    steps, apart = _per_axis("strides", strides, rank), _per_axis("dilation", dilation, rank)
    more = _per_axis("output_padding", output_padding, rank, least=0)
    sizes = [dilated(k, d) for k, d in zip(w.shape[2:], apart, strict=True)]
    around = _padding(padding, [k - step for k, step in zip(sizes, steps, strict=True)])
    kernels = np.flip(np.swapaxes(_grouped(w, groups, 0), 1, 2), tuple(range(3, 3 + rank)))
    (out,) = apply_op(
        "conv",
        _grouped(y, groups, 1),
        kernels,
        strides=(1,) * rank,
        padding=tuple(
            (k - 1 - low, k - 1 - high + extra)
            for k, (low, high), extra in zip(sizes, around, more, strict=True)
        ),
        input_dilation=steps,
        kernel_dilation=apart,
    )
    return order.restored(_ungrouped(out))


# ---- arrays ------------------------------------------------------------------------------------------


class _Order(NamedTuple):
    """The axes of the arrays for ``[n, c, *spatial]`` and ``[o, i, *spatial]``; None means this order."""

    x: tuple[int, ...] | None = None
    w: tuple[int, ...] | None = None
    out: tuple[int, ...] | None = None

    def restored(self, out: Any) -> Any:
        return out if self.out is None else np.transpose(out, np.argsort(self.out).tolist())


def _order(layout: Any) -> _Order:
    if layout is None:
        return _Order()
    if not isinstance(layout, str):
        raise ArgumentTypeError(f"layout must be text, not {type(layout).__name__}: {shown(layout)}")
    operands, arrow, out = layout.replace(" ", "").partition("->")
    x, _, w = operands.partition(",")
    spatial = [letter for letter in x if letter not in "nc"]
    wanted = (["n", "c", *spatial], ["o", "i", *spatial], ["n", "c", *spatial])
    given = (x, w, out)
    fits = all(sorted(text) == sorted(letters) for text, letters in zip(given, wanted, strict=True))
    if not arrow or not fits or len(set(x)) < len(x):
        raise ArgumentValueError(
            f"layout {shown(layout)}: x and the result need the letters n and c, w needs o and i, and all three the "
            "same others, each once, as in 'nhwc,hwio->nhwc'"
        )
    places = (tuple(map(text.index, letters)) for text, letters in zip(given, wanted, strict=True))
    return _Order(*places)


def _checked_operands(name: str, x: Any, w: Any, groups: Any, order: _Order) -> tuple[Any, Any, int]:
    """Both in their common dtype, as ``[n, c, *spatial]`` and ``[o, i, *spatial]``; and the number of groups."""
    x, w = all_traced_or_none([as_numbers(x), as_numbers(w)])
    if x.ndim != w.ndim or x.ndim < 2:
        raise ShapeError(
            f"{name} of arrays of shapes {x.shape} and {w.shape}: examples or kernels, channels, and as many "
            "spatial axes in both"
        )
    for array, axes in ((x, order.x), (w, order.w)):
        if axes is not None and len(axes) != array.ndim:
            raise ShapeError(f"{name}: layout names {len(axes)} axes, the arrays have {array.ndim}")
    dtype = np.result_type(x.dtype, w.dtype)
    x, w = x.astype(dtype, copy=False), w.astype(dtype, copy=False)
    x, w = (a if axes is None else np.transpose(a, axes) for a, axes in ((x, order.x), (w, order.w)))
    count = integer("groups", groups)
    if count < 1 or w.shape[0] % count:
        raise ArgumentValueError(f"{name}: {w.shape[0]} kernels cannot be split into {_groups_text(count)}")
    return x, w, count


def _groups_text(groups: int) -> str:
    return "1 group" if groups == 1 else f"{groups} groups"


def _grouped(x: Any, groups: int, axis: int) -> Any:
    """An axis split into groups, which come first."""
    if groups == 1:
        return np.reshape(x, (1, *x.shape))
    shape = (*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    return np.moveaxis(np.reshape(x, shape), axis, 0)


def _ungrouped(out: Any) -> Any:
    """``[g, n, o, *spatial]`` as ``[n, g · o, *spatial]``."""
    groups, examples, kernels, *spatial = out.shape
    return np.reshape(np.moveaxis(out, 0, 1), (examples, groups * kernels, *spatial))


# ---- numbers -----------------------------------------------------------------------------------------


def _per_axis(name: str, given: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """One integer for every axis, or one for each."""
    wanted = "a whole number, or one for each axis"
    numbers = (
        tuple(integer(name, one, wanted) for one in given)
        if isinstance(given, (tuple, list))
        else (integer(name, given, wanted),) * rank
    )
    if len(numbers) != rank:
        raise ArgumentValueError(
            f"{name}={shown(given)}: there are {rank} spatial axes, so one number or {rank}"
        )
    if min(numbers, default=least) < least:
        raise ArgumentValueError(f"{name}={shown(given)}: must be at least {least}")
    return numbers


def _needed(length: int, size: int, stride: int) -> int:
    """The padding for one window per `stride` entries, or for a remainder."""
    return max((-(-length // stride) - 1) * stride + size - length, 0)


def _padding(given: Any, same: Sequence[int]) -> Pairs:
    """The entries before and after each axis; `same` is their total for "same"."""
    if isinstance(given, str):
        if given.lower() == "valid":
            return ((0, 0),) * len(same)
        if given.lower() == "same":
            return tuple((max(total, 0) // 2, total - max(total, 0) // 2) for total in same)
        raise ArgumentValueError(
            f"padding={shown(given)}: 'valid', 'same', a number, or one or a pair per axis"
        )
    wanted = "a whole number, or one or a pair for each axis"
    axes = list(given) if isinstance(given, (tuple, list)) else [given] * len(same)
    if len(axes) != len(same):
        raise ArgumentValueError(
            f"padding={shown(given)}: {len(same)} spatial axes need as many numbers or pairs"
        )
    pairs = [tuple(one) if isinstance(one, (tuple, list)) else (one, one) for one in axes]
    if any(len(pair) != 2 for pair in pairs):
        raise ArgumentValueError(
            f"padding={shown(given)}: each axis needs a number or a pair (before, after)"
        )
    return tuple((integer("padding", low, wanted), integer("padding", high, wanted)) for low, high in pairs)
