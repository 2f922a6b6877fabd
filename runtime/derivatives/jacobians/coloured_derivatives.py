"""`Sparsity`, and sparse Jacobians and Hessians: their entries from a few directions, one per colour."""

from collections.abc import Sequence
from functools import cached_property, partial, reduce
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from ....compiler.builder import inline
from ....compiler.dtypes import Array
from ....compiler.errors import ArgumentTypeError, MissingPackageError, ShapeError
from ....compiler.frontend.program import ArrayOutput
from ....compiler.interpreter import depends_on
from ....compiler.ir import ArrayType, Graph, Value
from ....compiler.nesting import shown
from ....compiler.ops.nested_graphs import graph_of
from ....compiler.tracing.trace import ExampleIndex
from ....compiler.tracing.traced_memory import is_traced
from ....compiler.value_ops import add, constant, convert, equal, reshape, slice_axis, sum_, where
from ....passes.sparsity.colouring import colour_columns, colour_neighbours, colour_stars
from ....passes.sparsity.sparsity import Known, sparsity
from ....passes.transforms.transpose import transpose
from ...batching.chunk_size import Chunking
from ...eager.mapped_axes import all_indices
from ...eager.mapped_graph import MappedGraph
from ...eager.run import transformed
from ..traced_derivative import TracedDerivative


class Sparsity:
    """Where a Jacobian may have nonzero entries, for all leaves of its arguments and results, one after another.

    Its colours are computed once, when they are first needed: keep it to compute many Jacobians with the same
    structure.

    >>> import numpy as np
    >>> from tracemill import jacobian, sparsity
    >>> found = sparsity(np.diff)(np.ones(4))
    >>> found.shape, found.column_colours
    ((3, 4), array([0, 1, 0, 1]))
    >>> jacobian(np.diff, sparse=found)(np.ones(4)).nnz
    6
    """

    def __init__(self, pattern: Any, without_rule: Any) -> None:
        from scipy.sparse import csr_array, issparse

        is_matrix = isinstance(pattern, np.ndarray) or issparse(pattern)
        if not is_matrix or pattern.ndim != 2 or pattern.dtype != np.bool_:
            raise ArgumentTypeError(
                f"Sparsity: pattern must be a matrix of booleans, not {type(pattern).__name__}: "
                "tracemill.sparsity(f)(*args) finds that of a function"
            )
        if not isinstance(without_rule, tuple) or not all(isinstance(op, str) for op in without_rule):
            raise ArgumentTypeError(
                f"Sparsity: without_rule must be a tuple of the names of ops, not {shown(without_rule)}"
            )
        self.pattern = csr_array(pattern)
        """A `scipy.sparse.csr_array` of bools: a row per output entry, a column per input entry."""
        self.without_rule = without_rule
        """The ops without a rule for patterns: all of their results count as depending on all of their operands."""

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.pattern.shape
        return rows, columns

    @cached_property
    def column_colours(self) -> Array:
        """A colour per column: columns of one colour share no row, and are computed by one product."""
        return colour_columns(_rows(self.pattern), self.shape[1])

    @cached_property
    def row_colours(self) -> Array:
        """A colour per row: rows of one colour share no column."""
        return colour_columns(_rows(self.pattern.T.tocsr()), self.shape[0])

    @cached_property
    def symmetric(self) -> "Sparsity":
        """The colourings for a matrix that is known to be symmetric."""
        both = self.pattern.multiply(self.pattern.T).astype(np.bool_).tocsr()
        return Sparsity(both, self.without_rule)

    @cached_property
    def star_colours(self) -> Array:
        """A colour per row and column of a symmetric matrix, from which all of its entries follow."""
        return colour_stars(_rows(self.pattern))

    @cached_property
    def diagonal_colours(self) -> Array:
        """A colour per row and column of a symmetric matrix, from which its diagonal follows."""
        return colour_neighbours(_rows(self.pattern))

    def __repr__(self) -> str:
        rows, columns = self.shape
        dense = f", no rule for {', '.join(self.without_rule)}" if self.without_rule else ""
        return f"<Sparsity {rows} x {columns}: {self.pattern.nnz} entries{dense}>"


def _rows(pattern: Any) -> list[list[int]]:
    ends, entries = pattern.indptr.tolist(), pattern.indices.tolist()
    return [entries[a:b] for a, b in pairwise(ends)]


def count_of(colours: Array) -> int:
    """The number of colours."""
    return int(colours.max(initial=-1)) + 1


def require_scipy(where: str) -> None:
    """Raises `MissingPackageError` unless SciPy is installed."""
    if not has_scipy():
        raise MissingPackageError(f"{where} needs SciPy, which is not installed: pip install scipy")


def has_scipy() -> bool:
    try:
        return find_spec("scipy.sparse") is not None
    except (ImportError, ValueError):
        return False


class SparseCall:
    """One call of a function whose derivative at a point is computed colour by colour."""

    def __init__(
        self,
        call: TracedDerivative,
        leaves: list[ArrayOutput],
        chunks: Chunking,
        *,
        known: "Sparsity | None" = None,
    ) -> None:
        self.call, self.chunks = call, chunks
        self.in_types = call.primal_types
        self.out_types = [call.type_of(leaf) for leaf in leaves]
        self.forward, self.linear = call.linearize(leaves)
        self.outputs, self.residuals = call.run_forward(self.forward)
        self._given = known
        if known is not None and known.shape != (_size(self.out_types), _size(self.in_types)):
            raise ShapeError(
                f"{call.where}: the sparsity is that of a Jacobian of shape {known.shape}, this one has shape "
                f"{(_size(self.out_types), _size(self.in_types))}"
            )

    @cached_property
    def sparsity(self) -> Sparsity:
        """The pattern at this point, unless one was given."""
        if self._given is not None:
            return self._given
        count = len(self.call.graph.outputs)
        moving = depends_on(self.forward, self.call.wrt)
        residuals = [
            Known(None if is_traced(x) else np.asarray(x), value not in moving)
            for x, value in zip(self.residuals, self.forward.outputs[count:], strict=True)
        ]
        patterns, without_rule = sparsity(self.linear, residuals)
        return Sparsity(_stacked(patterns, _size(self.in_types)), without_rule)

    def products(self, colours: Array, *, by_rows: bool = False) -> Array:
        """For each colour the sum of the columns, or rows, of that colour."""
        marks = [False] * len(self.residuals) + [True] * len(self.in_types)
        graph = transformed(partial(transpose, linear=marks), self.linear) if by_rows else self.linear
        types = self.out_types if by_rows else self.in_types
        made = self.in_types if by_rows else self.out_types
        found = zip(self._mapped(graph, types, colours, lambda seeds, pushed: pushed), made, strict=True)
        return np.concatenate([np.reshape(out, (count_of(colours), t.size)) for out, t in found], axis=1)

    def diagonal(self, colours: Array) -> list[Any]:
        """Per leaf the diagonal of a square derivative: entries of the products at the seeds of their colours."""
        if count_of(colours) == _size(self.in_types):  # one each: a number per product is enough
            (found,) = self._mapped(self.linear, self.in_types, colours, _traced)
            ends = np.cumsum([t.size for t in self.in_types]).tolist()
            pairs = zip(self.in_types, ends, strict=True)
            parts = [found[end - t.size : end].astype(t.dtype) for t, end in pairs]
        else:
            found = self._mapped(self.linear, self.in_types, colours, _on_the_diagonal)
            parts = [np.sum(part, axis=0) for part in found]
        return [_shaped(part, t) for part, t in zip(parts, self.in_types, strict=True)]

    def trace(self, colours: Array) -> Any:
        """The sum of the diagonal of a square derivative."""
        (found,) = self._mapped(self.linear, self.in_types, colours, _traced)
        return np.sum(found)

    def _mapped(self, graph: Graph, types: Sequence[ArrayType], colours: Array, keep: Any) -> list[Any]:
        """The results of `keep` on the seeds of each colour and the graph's results for them."""
        count, size = len(self.residuals), count_of(colours)

        def each(*inputs: Value) -> Sequence[Value]:
            seeds = _seeds(inputs[-1], colours, types)
            return list(keep(seeds, inline(graph, (*inputs[:count], *seeds))))

        given = [*(v.type for v in graph.inputs[:count]), ExampleIndex.type]
        name = f"{self.call.name}_colours"
        body = graph_of(name, given, each, (*graph.input_names[:count], "colour"))
        mapped = MappedGraph(body, [*[None] * count, 0], [0] * len(body.outputs), size)
        return self.chunks.run(self.call.where, mapped, [*self.residuals, all_indices(ExampleIndex(size))])


def _seeds(colour: Value, colours: Array, types: Sequence[ArrayType]) -> list[Value]:
    """Ones at the entries of a colour, zeros at the others, in the shapes of the directions."""
    chosen = equal(constant(colours), colour)
    ends = np.cumsum([type.size for type in types]).tolist()
    return [
        convert(reshape(slice_axis(chosen, end - type.size, end, 0), type.shape), type.dtype)
        for type, end in zip(types, ends, strict=True)
    ]


def _on_the_diagonal(seeds: Sequence[Value], pushed: Sequence[Value]) -> list[Value]:
    return [where(equal(seed, 1), out, 0) for seed, out in zip(seeds, pushed, strict=True)]


def _traced(seeds: Sequence[Value], pushed: Sequence[Value]) -> list[Value]:
    dtype = np.result_type(*(out.dtype for out in pushed))
    sums = [convert(sum_(x, range(x.ndim)), dtype) for x in _on_the_diagonal(seeds, pushed)]
    return [reduce(add, sums)]


def _stacked(patterns: Sequence[Any], columns: int) -> Any:
    from scipy.sparse import csr_array, vstack

    return vstack(patterns, format="csr") if patterns else csr_array((0, columns), dtype=np.bool_)


def _size(types: Sequence[ArrayType]) -> int:
    return sum(type.size for type in types)


def _shaped(x: Any, type: ArrayType) -> Any:
    shaped = np.reshape(x, type.shape)
    return shaped if type.shape else shaped[()]
