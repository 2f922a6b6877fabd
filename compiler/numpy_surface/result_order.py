"""The memory order of results: how NumPy allocates them for arguments that are not in C order.

A function that is in no table here returns arrays in C order, or consists of functions that are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, wraps
from inspect import Signature, signature
from typing import Any, TypeAlias

import numpy as np

from ..arguments.axes import normalize_axis
from ..dtypes import is_inexact
from ..ir import Shape
from ..memory_layout.layout import Layout, dense_layout, elementwise_order, joined_order, row_major
from ..memory_layout.result_layouts import (
    copied_order,
    direct_layout,
    elementwise_layout,
    joint_questions,
    layout_of_stacks,
    stride_order,
)
from ..memory_layout.strides import Order
from ..symbolic_size import is_known
from ..tracing.array_values import as_value, weak_or_dtype
from ..tracing.registry import FUNCTIONS, enter_all
from ..tracing.traced_array import wrap
from ..tracing.traced_memory import is_numpy_array, is_traced
from .ufuncs.reductions import some_axes
from .ufuncs.ufunc_calls import are_direct, layouts_of

Rule: TypeAlias = Callable[[dict[str, Any], Sequence[Layout], Shape], Layout | None]
"""From the arguments by name, the layouts of the arrays among them, and the shape of the result, to its layout."""


_RULES: dict[str, Rule] = {}
"""Name of a NumPy function -> the rule for the memory order of its results."""


def give_results_numpys_order() -> None:
    """Wrap the registered functions that have a rule, so that new arrays among their results follow it."""
    for name, rule in _RULES.items():
        function = function_named(name)
        if function is not None:
            FUNCTIONS[function] = _ordered(function, rule)


def function_named(name: str) -> Any:
    """NumPy's function with a name such as ``linalg.inv``; None if the installed NumPy is too old for it."""
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part, None)
    return function


@cache
def signature_of(function: Any) -> Signature:
    """The signature of one of NumPy's functions. If NumPy is old and has none, that of our implementation."""
    try:
        return signature(function)
    except ValueError:
        return signature(FUNCTIONS[function])


def _ordered(function: Any, rule: Rule) -> Callable[..., Any]:
    implementation = FUNCTIONS[function]

    @wraps(implementation)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        result = implementation(*args, **kwargs)
        given = list(arrays_among((*args, *kwargs.values())))
        operands = layouts_of(given)
        if not operands:
            return result
        memory = {id(x._storage) for x in given if is_traced(x)}

        def laid_out(one: Any) -> Any:
            if not is_traced(one) or one.ndim < 2 or id(one._storage) in memory:
                return one
            if all(layout.is_row_major for layout in operands) and rule not in _IN_C_ORDER_TOO:
                layout: Layout | None = row_major(one.shape, joint_questions(operands))
            else:
                layout = rule(signature_of(function).bind(*args, **kwargs).arguments, operands, one.shape)
            return wrap(one.value, layout=layout)

        if isinstance(result, (tuple, list)):
            return tuple_like(result, map(laid_out, result))
        return laid_out(result)

    return ordered


def tuple_like(result: Any, items: Iterable[Any]) -> Any:
    """A list, tuple or named tuple with other items."""
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def arrays_among(args: Sequence[Any]) -> Iterator[Any]:
    """The arrays among arguments, also in lists."""
    for one in args:
        if is_traced(one) or is_numpy_array(one):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from arrays_among(one)


# ---- rules -----------------------------------------------------------------------------------------------


def elementwise(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc of all arrays."""
    return elementwise_layout(shape, operands)


def elementwise_steps(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc of the result of one."""
    first = elementwise_layout(shape, operands)
    return first and direct_layout(shape, [first])


def direct(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc of one array."""
    return direct_layout(shape, operands)


def angle(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc of real numbers, or of the parts of complex ones, which have gaps."""
    rule = elementwise if as_value(named["z"]).dtype.kind == "c" else direct
    return rule(named, operands, shape)


def polynomial(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for products of the points with a sum, which begins as a copy of them."""
    points = operands[-1]
    if len(points.shape) != len(shape):
        return elementwise_layout(shape, operands)
    copy = dense_layout(shape, copied_order(points, "K"), points.questions)
    product = direct_layout(shape, [copy, points])
    return product and direct_layout(shape, [product])


def close(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc of the difference, which is compared, and of the tolerance, which is computed from `b` alone.

    NumPy first copies a `b` of integers or bools to an array of floats.
    """
    first, second = layouts_of([named["a"]]), layouts_of([named["b"]])
    if not is_inexact(as_value(named["b"]).dtype):
        second = [dense_layout(x.shape, copied_order(x, "K"), x.questions) for x in second]
    tolerances = [elementwise_layout(x.shape, [x]) or row_major(x.shape) for x in second]
    equal = elementwise_layout(shape, [*first, *second]) or row_major(shape)
    near = elementwise_layout(shape, [equal, *tolerances]) or row_major(shape)
    return direct_layout(shape, [near, equal])


def clipped(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc of the array and its bounds."""
    given = [named[name] for name in ("a", "a_min", "a_max", "min", "max") if named.get(name) is not None]
    kinds = [weak_or_dtype(x, as_value(x)) for x in given]
    dtypes = [np.result_type(*kinds)] * len(given)
    return (direct_layout if are_direct(given, dtypes, operands) else elementwise_layout)(shape, operands)


def like_first(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The axes in the order of the first array, whatever their new lengths are."""
    first = operands[0]
    if len(first.shape) != len(shape):
        return None
    return dense_layout(shape, elementwise_order(len(shape), [first]), first.questions)


def cumulated(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc; with an initial entry, as for a ufunc of that and the joined others."""
    first = operands[0]
    if not named.get("include_initial"):
        return like_first(named, operands, shape)
    order = elementwise_order(len(shape), [first])
    axis = normalize_axis(named.get("axis") or 0, len(shape))
    initial = (*shape[:axis], 1, *shape[axis + 1 :])
    return joined(
        {"axis": axis}, [dense_layout(x, order, first.questions) for x in (initial, first.shape)], shape
    )


def reduced(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The remaining axes, in the order of the reduced array."""
    first = operands[0]
    axes = some_axes(named.get("axis"), len(first.shape))
    return reduced_layout(first, axes, shape)


def spread(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As of the difference of two reductions."""
    extreme = reduced(named, operands, shape)
    return None if extreme is None else direct_layout(shape, [extreme, extreme])


def traced(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The axes other than those of the summed diagonals."""
    axes = [normalize_axis(named.get(f"axis{i}", i - 1), len(operands[0].shape)) for i in (1, 2)]
    return reduced_layout(operands[0], axes, shape)


def reduced_layout(source: Layout, axes: Sequence[int], shape: Shape) -> Layout | None:
    """The layout of a reduction over `axes`, which are removed from the `shape` of the result or have length 1."""
    if len(shape) < 2:
        return None
    if source.is_row_major:
        return row_major(shape, source.questions) if source.questions else None
    order = elementwise_order(len(source.shape), [source])
    if len(shape) != len(source.shape):
        order = _without(order, axes)
    return dense_layout(shape, order, source.questions)


def reduced_copy(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """Like `reduced` for a copy in which the axes that a broadcast array repeats come last."""
    first = operands[0]
    return reduced(named, [dense_layout(first.shape, copied_order(first, "K"), first.questions)], shape)


def reduced_to_new_axes(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The same; the axes that are kept are new ones, whose strides are 0."""
    first = operands[0]
    axes = some_axes(named.get("axis"), len(first.shape))
    if len(shape) != len(first.shape) or not axes:
        return reduced_copy(named, operands, shape)
    rest = tuple(dim for axis, dim in enumerate(shape) if axis not in axes)
    copy = dense_layout(first.shape, copied_order(first, "K"), first.questions)
    strides = iter((reduced_layout(copy, axes, rest) or row_major(rest)).strides or ())
    kept = tuple(0 if axis in axes else next(strides) for axis in range(len(shape)))
    return Layout(shape, kept, first.questions)


def nanmedian(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The same; NumPy takes the mean of an empty array."""
    is_mean = any(is_known(dim == 0) for dim in operands[0].shape)
    if is_mean and all(layout.is_row_major for layout in operands):
        return row_major(shape, joint_questions(operands))
    return (reduced if is_mean else reduced_to_new_axes)(named, operands, shape)


def left_over(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """One position or a slice is left out as in `pad`. For others, NumPy selects the rest by a mask along the axis.

    Positions whose number the program finds out count as several, even if there is one.
    """
    obj = named["obj"]
    if not isinstance(obj, slice):
        value = as_value(obj)
        if value.dtype.kind == "b" or not is_known(value.type.size == 1):
            axis = normalize_axis(named["axis"], len(shape))
            rest = [one for one in stride_order(operands[0]) if one != axis]
            return dense_layout(shape, (axis, *rest), operands[0].questions)
    return column_major_if_first(named, operands, shape)


def distinct_rows(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """NumPy sorts the entries along an axis as rows in C order."""
    axis = named.get("axis")
    along = 0 if axis is None else normalize_axis(axis, len(shape))
    order = (along, *(one for one in range(len(shape)) if one != along))
    return dense_layout(shape, order, joint_questions(operands))


_IN_C_ORDER_TOO: frozenset[Rule] = frozenset({reduced_to_new_axes, nanmedian, left_over, distinct_rows})
"""The rules that results of arrays in C order follow, too."""


def count_nonzero(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """NumPy makes a copy in bool."""
    rule = reduced if as_value(named["a"]).dtype.kind == "b" else reduced_copy
    return rule(named, operands, shape)


def norm(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """NumPy makes a copy in float64 of numbers that are not inexact."""
    rule = reduced if is_inexact(as_value(named["x"]).dtype) else reduced_copy
    squares = rule(named, operands, shape)
    return squares and direct_layout(shape, [squares])


def reduced_without_nan(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """NumPy makes a copy in which it replaces NaN."""
    rule = reduced_copy if as_value(named["a"]).dtype.kind in "fc" else reduced
    return rule(named, operands, shape)


def cumulated_without_nan(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The same for cumulative sums and products."""
    rule = same_as_copy if as_value(named["a"]).dtype.kind in "fc" else like_first
    return rule(named, operands, shape)


def _without(order: Order, axes: Sequence[int]) -> Order:
    """The order of the remaining axes, by their new numbers."""
    left = [axis for axis in order if axis not in axes]
    return tuple(sorted(left).index(axis) for axis in left)


def column_major_if_first(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """F order if the first array is only in F order, otherwise C order."""
    first = operands[0]
    is_column_major = first.is_contiguous("F") and not first.is_contiguous("C")
    axes = tuple(range(len(shape)))
    return dense_layout(shape, axes[::-1] if is_column_major else axes, first.questions)


def masked_triangle(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a selection between the array and 0 by a mask, which is in C order."""
    return elementwise_layout(shape, [row_major(shape[-2:]), *operands])


def joined(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """Nearly as for a ufunc of the arrays, which differ in the length of one axis."""
    if named.get("axis", 0) is None or any(len(layout.shape) != len(shape) for layout in operands):
        return None
    return dense_layout(shape, joined_order(len(shape), operands), joint_questions(operands))


def stacked(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """The same for arrays that get a new axis, which has no order relative to the others."""
    axis = normalize_axis(named.get("axis", 0), len(shape))
    return joined(named, [with_new_axis(layout, axis) for layout in operands], shape)


def with_new_axis(layout: Layout, axis: int) -> Layout:
    """The layout of ``np.expand_dims(x, axis)``."""
    shape = (*layout.shape[:axis], 1, *layout.shape[axis:])
    strides = layout.strides
    return Layout(shape, strides and (*strides[:axis], 0, *strides[axis:]), layout.questions)


def of_stacks(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """A function of stacks of matrices."""
    return layout_of_stacks(shape, operands)


def scaled(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """C order, except for a product with a number, which BLAS does not compute and which is elementwise."""
    is_scaled = np.ndim(named["a"]) == 0 or np.ndim(named["b"]) == 0
    dtype = np.result_type(as_value(named["a"]).dtype, as_value(named["b"]).dtype)
    in_blas = dtype.char in "fdFD" and len(shape) <= 2
    if not is_scaled or in_blas:
        return None
    given = as_value(named["a" if np.ndim(named["a"]) else "b"]).dtype
    copy = same_as_copy(named, operands, shape)
    converted = [copy] if given != dtype and copy is not None else operands
    return direct_layout(shape, converted)


def as_indexed(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """Like the indices: there is one for each entry of the result."""
    return elementwise_layout(shape, layouts_of([named["indices"]]))


def elementwise_of_complex(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a ufunc; for real arrays NumPy answers in C order without reading them."""
    return elementwise_layout(shape, operands) if as_value(named["x"]).dtype.kind == "c" else None


def rounded(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a copy of complex numbers, and of integers, which do not change; to an integer, as for a ufunc."""
    dtype, decimals = as_value(named["a"]).dtype, named.get("decimals", 0)
    if dtype.kind == "c" or (dtype.kind in "iu" and decimals >= 0):
        return same_as_copy(named, operands, shape)
    return column_major_if_first(named, operands, shape) if decimals else direct_layout(shape, operands)


def same_as_copy(named: dict[str, Any], operands: Sequence[Layout], shape: Shape) -> Layout | None:
    """As for a copy of the first array, if the number of axes does not change."""
    first = operands[0]
    return (
        dense_layout(shape, copied_order(first, "K"), first.questions)
        if len(shape) == len(first.shape)
        else None
    )


enter_all(_RULES, rounded, "round around")
enter_all(
    _RULES,
    elementwise,
    """
    where real_if_close
    """,
)
enter_all(_RULES, direct, "fix isneginf isposinf")
enter_all(_RULES, angle, "angle")
enter_all(_RULES, elementwise_steps, "sinc i0 isreal")
enter_all(_RULES, polynomial, "polyval")
enter_all(
    _RULES,
    like_first,
    """
    cumsum cumprod
    """,
)
enter_all(
    _RULES,
    reduced,
    """
    sum prod max min any all mean var std nanmax nanmin trapezoid
    """,
)
enter_all(_RULES, spread, "ptp")
enter_all(_RULES, cumulated, "cumulative_sum cumulative_prod")
enter_all(_RULES, close, "isclose")
enter_all(_RULES, clipped, "clip")
enter_all(_RULES, reduced_to_new_axes, "median")
enter_all(_RULES, nanmedian, "nanmedian")
enter_all(_RULES, count_nonzero, "count_nonzero")
enter_all(_RULES, norm, "linalg.norm")
enter_all(_RULES, reduced_without_nan, "nansum nanprod nanmean nanvar nanstd")
enter_all(_RULES, cumulated_without_nan, "nancumsum nancumprod")
enter_all(_RULES, traced, "trace")
enter_all(
    _RULES,
    same_as_copy,
    """
    sort partition sort_complex nan_to_num unwrap piecewise gradient
    fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft2
    fft.irfft2 fft.rfftn fft.irfftn fft.fftshift fft.ifftshift
    """,
)
enter_all(_RULES, column_major_if_first, "pad insert packbits unpackbits")
enter_all(_RULES, left_over, "delete")
enter_all(_RULES, distinct_rows, "unique")
enter_all(_RULES, masked_triangle, "tril triu")
enter_all(_RULES, joined, "concatenate")
enter_all(_RULES, stacked, "stack")
enter_all(_RULES, as_indexed, "take_along_axis")
enter_all(_RULES, elementwise_of_complex, "iscomplex")
enter_all(_RULES, scaled, "dot")
enter_all(
    _RULES,
    of_stacks,
    """
    linalg.inv linalg.solve linalg.cholesky linalg.pinv linalg.det linalg.slogdet linalg.eig linalg.eigvals
    linalg.eigh linalg.eigvalsh
    """,
)
