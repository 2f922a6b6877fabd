"""The parts of a kernel with a product: how its operands are computed, and what is computed from its elements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from .....analysis.fusible_ops import PRODUCTS, is_elementwise
from .....builder import Builder, inline, recording
from .....dtypes import FLOAT32, DType, kind
from .....ir import ArrayType, Call, Graph, Shape, Value
from .....ops.nn.convolution import LEAD
from .....params import ints_param
from .....symbolic_size import SymbolicSize, is_known
from .....value_ops import convert, full, multiply, reshape, sum_, transpose
from ...kernels.assumed import assumed, is_multiple
from ...kernels.reductions import gathered_dtype
from .windows import Windows

WIDE: Final = 16
"""A thread loads this many bytes at once."""


@dataclass(frozen=True, slots=True)
class Product:
    """A batch of products of two matrices."""

    batch: int
    rows: int
    columns: int
    length: int
    type: ArrayType
    """The call in the program."""
    left: Graph
    """From the kernel's inputs to the left matrices: ``[batch, rows, length]``."""
    right: Graph | Windows
    """The right ones: ``[batch, length, columns]``."""
    tail: Graph
    """From the kernel's inputs, and the product after them, to the outputs."""
    stacked: int
    """The columns belong to this many matrices, which follow one another in the result."""
    is_copied: bool
    """Whether operands are copied from memory unchanged, several numbers at once, and at most widened then."""
    is_turned: bool = False
    """Whether rows and columns of the result are swapped."""

    @property
    def is_symbolic(self) -> bool:
        """Whether it is for matrices of other sizes in other calls."""
        return any(
            isinstance(size, SymbolicSize) for size in (self.batch, self.rows, self.columns, self.length)
        )

    @property
    def dtype(self) -> DType:
        """The dtype of the operands."""
        return self.left.outputs[0].dtype


def has_product(graph: Graph) -> bool:
    """Whether the graph of a kernel holds a product of matrices."""
    return any(call.op in PRODUCTS for call in graph.calls)


def product_of(call: Call) -> Graph:
    """The graph of a kernel that computes only a product."""
    x, y = (Value(value.type) for value in call.inputs)
    out = Value(call.outputs[0].type)
    product = Call(call.op, (x, y), dict(call.params), (out,), call.location)
    return Graph("product", (x, y), (product,), (out,), ("x", "y"))


def product_in(graph: Graph) -> Product:
    """The product in a kernel's graph, and the parts before and after it."""
    (call,) = (call for call in graph.calls if call.op in PRODUCTS)
    (out,) = call.outputs
    tail = Graph(
        "tail",
        (*graph.inputs, out),
        _made_of(graph, graph.outputs, (out,)),
        graph.outputs,
        (*graph.input_names, "product"),
    )
    return (_convolution if call.op == "conv" else _product)(graph, call, tail)


def _product(graph: Graph, call: Call, tail: Graph) -> Product:
    (x, y), axes = call.inputs, _axes(call)
    narrow_x, narrow_y = (_before_widening(graph, operand) for operand in (x, y))
    if narrow_x.dtype == narrow_y.dtype:
        x, y = narrow_x, narrow_y  # their products are exact in four bytes, and tensor cores sum them
    widened = [value for value, narrow in ((x, narrow_x), (y, narrow_y)) if value is not narrow]
    batch, rows, columns, length = (
        math.prod(shape) for shape in (axes.batch, axes.rows, axes.columns, axes.length)
    )
    for value in (narrow_x, narrow_y, call.outputs[0]):
        if value.shape and isinstance(value.shape[-1], SymbolicSize):
            assumed(value.shape[-1] % (WIDE // value.dtype.itemsize) == 0)
    left = _operand(graph, x, (*axes.batch_x, *axes.free_x, *axes.contract_x), (batch, rows, length))
    right = _operand(graph, y, (*axes.batch_y, *axes.contract_y, *axes.free_y), (batch, length, columns))
    is_copied = all(
        is_multiple(math.prod(value.shape[-1:]), WIDE // value.dtype.itemsize)
        for value in (narrow_x, narrow_y)
    ) and not any(
        is_elementwise(call) and call.outputs[0] not in widened
        for operand in (left, right)
        for call in operand.calls
    )
    type = call.outputs[0].type
    product = Product(batch, rows, columns, length, type, left, right, tail, stacked=1, is_copied=is_copied)
    return _turned(product) if widened == [y] else product


def _turned(product: Product) -> Product:
    """The product of the transposed right matrices and the transposed left ones: the same numbers in columns, not
    rows.

    A widened operand is stored in shared memory again. As the right operand it would be waited for after the whole
    left block has been loaded into registers, which then are not enough.
    """
    assert isinstance(product.right, Graph)
    left, right = (_with_turned_output(operand) for operand in (product.right, product.left))
    return replace(
        product, rows=product.columns, columns=product.rows, left=left, right=right, is_turned=True
    )


def _convolution(graph: Graph, call: Call, tail: Graph) -> Product:
    """The product of the kernels, as rows, and the windows, as columns; a group is a matrix of the batch."""
    (x, w), (out,) = call.inputs, call.outputs
    groups, kernels, length = w.shape[0], w.shape[1], math.prod(w.shape[2:])
    left = _operand(graph, w, tuple(range(w.ndim)), (groups, kernels, length))
    columns = x.shape[1] * math.prod(out.shape[LEAD:])
    right = Windows(call, graph.inputs.index(x))
    points = math.prod(x.shape[LEAD:])
    if right.are_points and isinstance(points, SymbolicSize):
        assumed(points % (WIDE // x.dtype.itemsize) == 0)
    return Product(
        groups, kernels, columns, length, out.type, left, right, tail, stacked=x.shape[1], is_copied=False
    )


def with_sums(graph: Graph) -> Graph:
    """The graph of a kernel with its product replaced by its definition: products of elements, summed; not for
    windows.

    Two-byte numbers are widened before.
    """
    env: dict[Value, Value] = {}
    with recording(Builder()) as builder:
        for call in graph.calls:
            given = tuple(env.get(value, value) for value in call.inputs)
            builder.location = call.location
            if call.op in PRODUCTS:
                env[call.outputs[0]] = _sum_of_products(call, *given)
            else:
                env.update(zip(call.outputs, builder.emit(call.op, given, call.params), strict=True))
    outputs = tuple(env.get(value, value) for value in graph.outputs)
    return Graph(graph.name, graph.inputs, tuple(builder.calls), outputs, graph.input_names)


def in_parts(product: Product, parts: int) -> Product:
    """The product whose sums are in parts: ``[parts, …]``, to be added."""
    dtype = gathered_dtype(product.dtype)
    given = Value(ArrayType(dtype, (parts, *product.type.shape)))
    tail = Graph("tail", (*product.tail.inputs[:-1], given), (), (given,), product.tail.input_names)
    return replace(product, type=ArrayType(dtype, product.type.shape), tail=tail)


def graph_after_parts(product: Product, parts: int) -> Graph:
    """From the kernel's inputs, and the parts of the product's sums after them, to the outputs."""
    *others, _ = (Value(value.type) for value in product.tail.inputs)
    (sums,) = in_parts(product, parts).tail.outputs
    with recording(Builder()) as builder:
        total = convert(sum_(sums, (0,)), product.type.dtype)
        outputs = inline(product.tail, (*others, total))
    return Graph("tail", (*others, sums), tuple(builder.calls), outputs, product.tail.input_names)


def dot_text(dtype: DType, operands: str) -> str:
    """Two blocks of a dtype, ``x, y`` or ``x, y, total``, multiplied as matrices and added in `gathered_dtype`.

    >>> import numpy as np
    >>> dot_text(np.dtype(np.float16), "x, y")
    'tl.dot(x, y)'
    """
    if dtype == FLOAT32:
        return f"tm_dot({operands})"
    return f"tl.dot({operands}, out_dtype=tl.float64)" if dtype.itemsize == 8 else f"tl.dot({operands})"


# ---- axes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Axes:
    """The axes of the operands by their role, and their lengths."""

    batch_x: Shape
    batch_y: Shape
    free_x: Shape
    free_y: Shape
    contract_x: Shape
    contract_y: Shape
    batch: Shape
    rows: Shape
    columns: Shape
    length: Shape


def _axes(call: Call) -> _Axes:
    x, y = (value.shape for value in call.inputs)
    batch_x, batch_y = ints_param(call, "batch_x", ()), ints_param(call, "batch_y", ())
    contract_x, contract_y = ints_param(call, "contract_x"), ints_param(call, "contract_y")
    free_x = tuple(axis for axis in range(len(x)) if axis not in (*batch_x, *contract_x))
    free_y = tuple(axis for axis in range(len(y)) if axis not in (*batch_y, *contract_y))

    def along(shape: Shape, axes: Sequence[int]) -> Shape:
        return tuple(shape[axis] for axis in axes)

    lengths = along(x, batch_x), along(x, free_x), along(y, free_y), along(x, contract_x)
    return _Axes(batch_x, batch_y, free_x, free_y, contract_x, contract_y, *lengths)


def _sum_of_products(call: Call, x: Value, y: Value) -> Value:
    if call.op == "conv":
        return full(call.outputs[0].shape, 0, x.dtype)  # of no entries
    axes = _axes(call)
    if any(is_known(dim == 0) for dim in axes.length):
        return full(call.outputs[0].shape, 0, x.dtype)
    left = transpose(x, (*axes.batch_x, *axes.free_x, *axes.contract_x))
    right = transpose(y, (*axes.batch_y, *axes.free_y, *axes.contract_y))
    left = reshape(left, (*axes.batch, *axes.rows, *(1 for _ in axes.columns), *axes.length))
    right = reshape(right, (*axes.batch, *(1 for _ in axes.rows), *axes.columns, *axes.length))
    wide = gathered_dtype(x.dtype)
    total = multiply(convert(left, wide), convert(right, wide))
    out = call.outputs[0].ndim
    if axes.length:
        total = sum_(total, tuple(range(out, out + len(axes.length))))
    return convert(total, x.dtype)


# ---- parts of graphs -------------------------------------------------------------------------------------


def _operand(graph: Graph, value: Value, axes: Shape, shape: Shape) -> Graph:
    """From the kernel's inputs to an operand as matrices."""
    with recording(Builder()) as builder:
        matrices = reshape(transpose(value, axes), shape)
    calls = (*_made_of(graph, (value,), ()), *builder.calls)
    return Graph("operand", graph.inputs, calls, (matrices,), graph.input_names)


def _with_turned_output(operand: Graph) -> Graph:
    with recording(Builder()) as builder:
        turned = transpose(operand.outputs[0], (0, 2, 1))
    return replace(operand, calls=(*operand.calls, *builder.calls), outputs=(turned,))


def _made_of(graph: Graph, wanted: Sequence[Value], known: Sequence[Value]) -> tuple[Call, ...]:
    """The calls that compute values from known ones."""
    needed, found = set(wanted) - set(known), list[Call]()
    for call in reversed(graph.calls):
        if needed.intersection(call.outputs):
            found.append(call)
            needed |= set(call.inputs) - set(known)
    return tuple(reversed(found))


def _before_widening(graph: Graph, value: Value) -> Value:
    """The two-byte numbers from which a value is computed, with all their bits in four bytes."""
    maker = next((call for call in graph.calls if value in call.outputs), None)
    if maker is None or maker.op != "convert" or value.dtype != FLOAT32:
        return value
    source = maker.inputs[0]
    return source if kind(source.dtype) == "f" and source.dtype.itemsize == 2 else value
