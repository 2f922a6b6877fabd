"""Einstein summation: NumPy's syntax, contracted pair by pair in the order of `numpy.einsum_path`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import INT64, Array
from ...errors import ArgumentValueError, DTypeError, ShapeError
from ...ir import Value
from ...memory_layout.layout import Layout, dense_layout, elementwise_order, row_major
from ...memory_layout.result_layouts import joint_questions, order_of
from ...nesting import shown
from ...symbolic_size import SymbolicSize, is_empty, is_known, is_one, joint_shape, typical
from ...tracing.array_values import as_value
from ...tracing.indexing import Gather
from ...tracing.registry import implements
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.views import Strided, Transpose
from ...value_ops import (
    constant,
    convert,
    gather,
    inverse_permutation,
    iota,
    multiply,
    reshape,
    transpose,
)
from ..ufuncs.reductions import finished_reduction, fold_all
from ..ufuncs.ufunc_calls import as_array, ufunc_layout, write_out
from .products import added_to_zero, in_common_dtype, sum_of_products

Labels = tuple[Any, ...]
"""One label per axis: a letter, or a number for an axis that the ellipsis stands for."""


@dataclass(frozen=True, slots=True)
class _Term:
    """An operand and the labels of its axes."""

    value: Value
    labels: Labels


# ---- reading the subscripts --------------------------------------------------------------------------


def _letters(sublist: Sequence[Any]) -> str:
    """A list of labels as a string: 0 is A, 26 is a."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join("..." if label is Ellipsis else alphabet[int(label)] for label in sublist)


def _as_string(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Subscripts and arrays, from ``einsum("ij,jk", x, y)`` or ``einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    if not operands:
        raise ArgumentValueError("must specify the einstein sum subscripts string and at least one operand")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs = len(operands) // 2
    arrays = list(operands[: 2 * pairs : 2])
    subscripts = ",".join(_letters(sublist) for sublist in operands[1 : 2 * pairs : 2])
    if len(operands) % 2:
        subscripts += "->" + _letters(operands[-1])
    return subscripts, arrays


def _labels(term: str, extra: int) -> Labels:
    """The labels of a term whose ellipsis stands for `extra` axes, numbered so that the last is −1."""
    before, dots, after = term.partition("...")
    if "." in before + after or not all(c.isalpha() and c.isascii() for c in before + after):
        raise ArgumentValueError(f"einsum: {term!r} is not made of letters and at most one ellipsis")
    return (*before, *(range(-extra, 0) if dots else ()), *after)


def parsed(subscripts: str, ndims: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the result."""
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ArgumentValueError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(ndims)} operands")
    extras = [ndim - len(term.replace("...", "")) for term, ndim in zip(terms, ndims, strict=True)]
    for term, extra, ndim in zip(terms, extras, ndims, strict=True):
        if extra < 0 or (extra and "..." not in term):
            raise ShapeError(f"einsum: an operand with {ndim} axes does not fit the term {term!r}")
    inputs = [_labels(term, extra) for term, extra in zip(terms, extras, strict=True)]
    dots = max((extra for term, extra in zip(terms, extras, strict=True) if "..." in term), default=0)
    if arrow:
        output = _labels(right, dots)
    else:  # labels that occur once, in alphabetical order, after the axes of the ellipsis
        counts = Counter(label for labels in inputs for label in labels if isinstance(label, str))
        output = (*range(-dots, 0), *sorted(label for label, count in counts.items() if count == 1))
    known = {label for labels in inputs for label in labels}
    if len(set(output)) != len(output) or not set(output) <= known:
        raise ArgumentValueError(
            f"einsum: the result {right!r} repeats a label or has one that no operand has"
        )
    return inputs, output


# ---- contracting -------------------------------------------------------------------------------------


def _sizes(terms: Sequence[_Term]) -> dict[Any, int]:
    """The length of each label's axes; an axis of length 1 is repeated."""
    sizes: dict[Any, int] = {}
    for term in terms:
        for label, dim in zip(term.labels, term.value.shape, strict=True):
            known = sizes.setdefault(label, dim)
            joint = joint_shape((known,), (dim,))
            if joint is None:
                raise ShapeError(f"einsum: the axes labelled {label!r} have lengths {known} and {dim}")
            sizes[label] = joint[0]
    return sizes


def _every(length: int) -> Value:
    """All positions along an axis."""
    return iota(length, INT64) if isinstance(length, SymbolicSize) else constant(np.arange(length))


def _diagonal(term: _Term) -> _Term:
    """The entries where axes of the same label have the same index: one axis per label."""
    value, labels = term.value, term.labels
    for label in [label for label, count in Counter(labels).items() if count > 1]:
        axes = tuple(axis for axis, one in enumerate(labels) if one == label)
        length, *others = (value.shape[axis] for axis in axes)
        if any(other != length for other in others):
            lengths = [length, *others]
            raise ShapeError(f"einsum: the axes of one operand labelled {label!r} have lengths {lengths}")
        index = _every(length)
        value = gather(value, [index] * len(axes), axes)
        labels = (label, *(one for axis, one in enumerate(labels) if axis not in axes))
    return _Term(value, labels)


def _without_repeated(term: _Term, sizes: dict[Any, int]) -> _Term:
    """The operand without axes of length 1 that other operands have longer."""
    lengths = zip(term.labels, term.value.shape, strict=True)
    return _without(term, [label for label, length in lengths if not is_known(length == sizes[label])])


def _sum_over(term: _Term, needed: set[Any]) -> _Term:
    """The operand summed over the axes whose labels nothing else needs."""
    gone = tuple(axis for axis, label in enumerate(term.labels) if label not in needed)
    return _Term(fold_all("sum", term.value, gone), tuple(label for label in term.labels if label in needed))


def _contract(x: _Term, y: _Term, needed: set[Any], *, keeps_zeros: bool) -> _Term:
    """The two operands as one, summed over the labels that are no longer needed.

    A sum starts at 0, so that it is never −0, even if it has one term only; unless `keeps_zeros`.
    """
    x = _sum_over(x, needed | set(y.labels))
    y = _sum_over(y, needed | set(x.labels))
    both = [label for label in x.labels if label in y.labels]
    batch = [label for label in both if label in needed]
    over = [label for label in both if label not in needed]
    if keeps_zeros and all(is_one(x.value.shape[x.labels.index(label)]) for label in over):
        return _product(_sum_over(x, needed), _sum_over(y, needed))

    def axes(term: _Term, labels: list[Any]) -> tuple[int, ...]:
        return tuple(term.labels.index(label) for label in labels)

    if not over and len(batch) == len(x.labels) == len(y.labels):
        product = _product(x, y)
        return _Term(added_to_zero(product.value), product.labels)
    value = sum_of_products(
        x.value, y.value, (axes(x, over), axes(y, over)), (axes(x, batch), axes(y, batch))
    )
    free = [label for term in (x, y) for label in term.labels if label not in both]
    return _Term(value, (*batch, *free))


def _product(x: _Term, y: _Term) -> _Term:
    """The products of entries whose indices agree along the labels that both have."""
    labels = (*x.labels, *(label for label in y.labels if label not in x.labels))
    return _Term(multiply(_along(x, labels), _along(y, labels)), labels)


def _along(term: _Term, labels: Labels) -> Value:
    """The operand with its axes in the order of `labels`, and axes of length 1 for those that it does not have."""
    axes = [term.labels.index(label) for label in labels if label in term.labels]
    value = transpose(term.value, axes)
    sizes = dict(zip(term.labels, term.value.shape, strict=True))
    return reshape(value, tuple(sizes.get(label, 1) for label in labels))


def _without(term: _Term, labels: Sequence[Any]) -> _Term:
    """The operand without these axes, whose length is 1."""
    kept = [axis for axis, label in enumerate(term.labels) if label not in labels]
    shape = tuple(term.value.shape[axis] for axis in kept)
    return _Term(reshape(term.value, shape), tuple(term.labels[axis] for axis in kept))


def _path(terms: Sequence[_Term], output: Labels, optimize: Any) -> list[tuple[int, ...]]:
    """Which operands to contract, step by step."""
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    numbers = {label: number for number, label in enumerate({x for term in terms for x in term.labels})}
    args: list[Any] = []
    for term in terms:
        args += [_stand_in(term.value.shape), [numbers[label] for label in term.labels]]
    strategy = "greedy" if optimize is False or optimize is True else optimize
    path, _ = np.einsum_path(*args, [numbers[label] for label in output], optimize=strategy)
    return [tuple(step) for step in path[1:]]


def _stand_in(shape: Sequence[int]) -> Any:
    """An array of that shape that uses no memory."""
    return np.broadcast_to(np.zeros((), np.int8), tuple(map(typical, shape)))


@implements(np.einsum)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> TracedArray:
    subscripts, given = _as_string(operands)
    arrays = [as_array(x) for x in given]
    inputs, output = parsed(subscripts, [x.ndim for x in arrays])
    if (
        len(arrays) == 1
        and out is None
        and dtype is None
        and sorted(map(str, set(inputs[0]))) == sorted(map(str, output))
    ):
        return _view(arrays[0], inputs[0], output)
    values = in_common_dtype(*given) if dtype is None else [x.value for x in arrays]
    if dtype is not None:
        for value in values:
            if not np.can_cast(value.dtype, dtype, casting):  # type: ignore[arg-type]
                raise DTypeError(
                    f"einsum: cannot cast {value.dtype} to {dtype} with casting rule {shown(casting)}"
                )
        values = [convert(value, np.dtype(dtype)) for value in values]
    terms = [_diagonal(_Term(v, labels)) for v, labels in zip(values, inputs, strict=True)]
    sizes = _sizes(terms)
    terms = [_without_repeated(term, sizes) for term in terms]
    path = _path(terms, output, optimize)
    for step in path:
        chosen = [terms[i] for i in sorted(step)]
        terms = [term for i, term in enumerate(terms) if i not in step]
        joined = chosen[0]
        for index, other in enumerate(chosen[1:], 1):
            later = [*terms, *chosen[index + 1 :]]
            needed = set(output).union(*[term.labels for term in later])
            # In steps, NumPy multiplies two arrays if nothing is summed. In one step, it adds products to zeros.
            keeps_zeros = optimize is not False and len(chosen) == 2
            joined = _contract(joined, other, needed, keeps_zeros=keeps_zeros)
        terms.append(joined)
    (last,) = terms
    last = _sum_over(last, set(output))
    value = _in_order(last, output, sizes)
    if out is not None and np.ndim(out) == value.ndim:  # to which the result is broadcast
        return write_out(out, wrap(value), casting=casting)
    delivered = finished_reduction(value, out, casting=casting)
    if delivered.ndim < 2:
        return delivered
    given = [_Seen(array.layout, labels) for array, labels in zip(arrays, inputs, strict=True)]
    if optimize is False and not any(is_empty(array.shape) for array in arrays):
        layout = _layout_of_sum(given, output, sizes, order)
    else:
        steps = False if optimize is False else ["einsum_path", *path]
        layout = _layout_by_numpy(steps, given, output, sizes, order)
    return wrap(delivered.value, layout=layout)


def _in_order(term: _Term, output: Labels, sizes: dict[Any, int]) -> Value:
    """The axes in the order of the result, including those of length 1 that no operand has any longer."""
    present = [label for label in output if label in term.labels]
    value = transpose(term.value, [term.labels.index(label) for label in present])
    return reshape(value, tuple(sizes[label] for label in output))


def _view(x: TracedArray, labels: Labels, output: Labels) -> TracedArray:
    """A diagonal or transpose of one operand: in NumPy a view that can be written through."""
    if x.is_scalar:
        return x
    steps: list[Any] = []
    given = labels
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    for label in repeated:
        axes = tuple(axis for axis, one in enumerate(labels) if one == label)
        length, *others = (x.shape[axis] for axis in axes)
        if any(other != length for other in others) or len(repeated) > 1:
            return wrap(
                _in_order(_diagonal(_Term(x.value, labels)), output, _sizes([_Term(x.value, labels)]))
            )
        index = require_trace().new_storage(_every(length))
        steps.append(Gather((index,) * len(axes), axes, 0))
        labels = (label, *(one for axis, one in enumerate(labels) if axis not in axes))
    steps.append(Transpose(tuple(labels.index(label) for label in output)))
    along = tuple(tuple(axis for axis, one in enumerate(given) if one == label) for label in output)
    return x.through(Strided(tuple(steps), tuple(x.shape[axes[0]] for axes in along), along))


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """NumPy's own function, which only needs the shapes."""
    subscripts, given = _as_string(operands)
    shapes = [as_value(x).shape for x in given]
    return np.einsum_path(subscripts, *map(_stand_in, shapes), optimize=optimize)


# ---- memory order ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Seen:
    """The memory layout of an operand, or of a result of some, and the labels of its axes."""

    layout: Layout
    labels: Labels


def _layout_by_numpy(
    optimize: Any, given: Sequence[_Seen], output: Labels, sizes: dict[Any, int], order: str
) -> Layout:
    """As NumPy does for small arrays with the same order of axes in memory.

    How NumPy contracts operands along a path, and therefore the layout of the result, may change between versions.
    """
    numbers = {label: number for number, label in enumerate(sizes)}
    args: list[Any] = []
    for term in given:
        args += [_miniature(term.layout), [numbers[label] for label in term.labels]]
    labels = [numbers[label] for label in output]
    result = np.einsum(*args, labels, optimize=optimize, order=order)  # type: ignore[call-overload]
    shape = tuple(sizes[label] for label in output)
    return dense_layout(shape, order_of(result), joint_questions([term.layout for term in given]))


def _miniature(layout: Layout) -> Array:
    """An array with the layout of another one, with two entries along each axis that may have several.

    An array without elements keeps the strides of the array it was sliced from; those of a new one are 0.
    """
    strides = layout.asked().strides or (0,) * len(layout.shape)
    shape = [1 if is_one(dim) else 2 for dim in layout.shape]
    in_memory = sorted(range(len(shape)), key=lambda axis: -abs(typical(strides[axis])))
    kept = [1 if strides[axis] == 0 else shape[axis] for axis in in_memory]
    small = np.zeros(kept).transpose(inverse_permutation(in_memory))
    return np.broadcast_to(small, shape)[
        tuple(slice(0 if is_known(dim == 0) else None) for dim in layout.shape)
    ]


def _layout_of_sum(terms: Sequence[_Seen], output: Labels, sizes: dict[Any, int], order: str) -> Layout:
    """As for a ufunc of operands that have all labels as axes."""
    shape = tuple(sizes[label] for label in output)
    layouts = [term.layout for term in terms]
    if order not in ("K", "k"):
        return ufunc_layout(shape, layouts, order) or row_major(shape)
    labels = [*output, *(label for label in sizes if label not in output)]
    axes = elementwise_order(len(labels), [_spread(term, labels) for term in terms])
    return dense_layout(shape, tuple(axis for axis in axes if axis < len(output)), joint_questions(layouts))


def _spread(term: _Seen, labels: Sequence[Any]) -> Layout:
    """The operand with an axis for each label."""
    strides = term.layout.strides or (0,) * len(term.labels)
    axes = list(zip(term.labels, term.layout.shape, strides, strict=True))
    shape = tuple(next((dim for own, dim, _ in axes if own == label), 1) for label in labels)
    steps = tuple(sum(step for own, _, step in axes if own == label) for label in labels)
    return Layout(shape, steps, term.layout.questions)
