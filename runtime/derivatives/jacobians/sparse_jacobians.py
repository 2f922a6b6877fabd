"""`sparsity`, and the sparse forms of `jacobian` and `hessian`: SciPy matrices from a few products."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ....compiler.dtypes import Array
from ....compiler.errors import TransformTypeError
from ....compiler.frontend.program import ArrayOutput
from ....compiler.ir import ArrayType
from ....compiler.tracing.trace import current_trace
from ....compiler.tracing.traced_memory import is_traced
from ...batching.chunk_size import Chunking
from ...eager.run import like_function
from ...tracebacks import with_users_frames
from ..argnums import Argnums, Chosen
from ..grad import Names, Numbers, grad
from ..traced_derivative import TracedDerivative
from .coloured_derivatives import SparseCall, Sparsity, count_of, require_scipy
from .jacobian_options import JacobianOptions, jacobian_options

Matrix: TypeAlias = Any
"""A `scipy.sparse.csr_array`."""


@with_users_frames
def sparsity(
    func: Callable[..., Any], argnums: Numbers = None, *, argnames: Names = None, randomness: str = "error"
) -> Callable[..., Sparsity]:
    """Where the Jacobian of `func` may have nonzero entries, as found by ``jacobian(func, sparse=True)``.

    The pattern comes from the ops of the call, not from the values of the derivative: a factor that is 0 counts,
    unless it does not depend on the differentiated arguments. It is valid for every point at which Python's control
    flow takes the same path and computed indices have the same values.

    Returns:
        A function of the arguments of `func` that gives a `Sparsity`, with ``.pattern``, a boolean
        `scipy.sparse.csr_array` of all output entries by all input entries. ``jacobian(func, sparse=found)`` and
        ``hessian`` (of the pattern of the gradient) use it again.

    Raises:
        MissingPackageError: (an ImportError) SciPy is not installed; and the errors of `jacobian`.

    >>> import numpy as np
    >>> sparsity(lambda x: x[1:] * x[:-1])(np.ones(4))
    <Sparsity 3 x 4: 6 entries>
    """
    choice = Argnums("sparsity", argnums, argnames)
    options = jacobian_options("sparsity", func, None, None, randomness)

    @like_function(func)
    def pattern(*args: Any, **kwargs: Any) -> Sparsity:
        chosen = choice.choose(func, args, kwargs)
        call = TracedDerivative(options.guarding(func), args, kwargs, chosen, has_aux=False)
        _require_arrays(call)
        return SparseCall(call, call.differentiable(), options.chunks).sparsity

    return pattern


def require_sparse_option(where: str, sparse: Any) -> None:
    """Raises `TransformTypeError` for objects without sparsity information."""
    if not isinstance(sparse, (bool, Sparsity)):
        raise TransformTypeError(f"{where}: sparse must be a bool or a Sparsity, not {type(sparse).__name__}")


def _require_arrays(call: TracedDerivative) -> None:
    require_scipy(call.where)
    if current_trace() is not None or any(map(is_traced, call.inputs)):
        raise TransformTypeError(
            f"{call.where}: sparse matrices are SciPy's, which cannot be part of a trace: call it on arrays, outside "
            "of compile, vmap and other transforms"
        )


Blocks: TypeAlias = list[list[Matrix]]


def sparse_blocks(
    call: TracedDerivative,
    leaves: list[ArrayOutput],
    chunks: Chunking,
    *,
    mode: str,
    sparse: bool | Sparsity,
) -> tuple[list[Any], Blocks]:
    """The outputs, and a matrix for each output leaf and each input leaf."""
    _require_arrays(call)
    products = SparseCall(call, leaves, chunks, known=sparse if isinstance(sparse, Sparsity) else None)
    found = products.sparsity
    by_rows = mode == "reverse"
    if mode == "auto":
        by_rows = count_of(found.row_colours) < count_of(found.column_colours)
    rows, columns = _entries(found)
    if by_rows:
        data = products.products(found.row_colours, by_rows=True)[found.row_colours[rows], columns]
    else:
        data = products.products(found.column_colours)[found.column_colours[columns], rows]
    types = [
        [row.dtype if not by_rows else column.dtype for column in products.in_types]
        for row in products.out_types
    ]
    return products.outputs, _cut(data, found, products.out_types, products.in_types, types)


def _entries(found: Sparsity) -> tuple[Array, Array]:
    """The row and the column of each entry of the pattern, in its order."""
    counts = np.diff(found.pattern.indptr)
    return np.repeat(np.arange(found.shape[0]), counts), found.pattern.indices


def _cut(
    data: Array,
    found: Sparsity,
    out_types: Sequence[ArrayType],
    in_types: Sequence[ArrayType],
    dtypes: Sequence[Sequence[Any]],
) -> Blocks:
    """The matrix of all leaves, split into one per pair of leaves."""
    from scipy.sparse import csr_array

    whole = csr_array((data, found.pattern.indices, found.pattern.indptr), shape=found.shape)
    row_ends = np.cumsum([t.size for t in out_types]).tolist()
    column_ends = np.cumsum([t.size for t in in_types]).tolist()
    return [
        [
            whole[end - t.size : end, stop - u.size : stop].astype(dtype)
            for u, stop, dtype in zip(in_types, column_ends, row, strict=True)
        ]
        for t, end, row in zip(out_types, row_ends, dtypes, strict=True)
    ]


# ---- second derivatives ----------------------------------------------------------------------------------


def gradient_call(
    func: Callable[..., Any],
    chosen: Chosen,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    options: JacobianOptions,
    *,
    safe_where: bool = False,
) -> tuple[TracedDerivative, list[ArrayOutput]]:
    """The gradient of a function of one number as a call to differentiate; its leaves are in the arguments' order."""
    names = tuple(name for name in kwargs if name in chosen.argnums.names)
    gradient = grad(func, tuple(sorted(chosen.positions)), has_aux, argnames=names, safe_where=safe_where)
    call = TracedDerivative(options.guarding(gradient), args, kwargs, chosen, has_aux, safe_where=safe_where)
    leaves = call.differentiable()
    call.check_complex(leaves, holomorphic=False)
    return call, leaves


def sparse_hessian(
    func: Callable[..., Any],
    choice: Argnums,
    has_aux: bool,
    options: JacobianOptions,
    sparse: bool | Sparsity,
    *,
    safe_where: bool,
) -> Callable[..., Any]:
    """`hessian` with ``sparse=``: products with the star colours of the symmetric pattern."""

    @like_function(func)
    def hessian(*args: Any, **kwargs: Any) -> Any:
        chosen = choice.choose(func, args, kwargs)
        call, leaves = gradient_call(func, chosen, args, kwargs, has_aux, options, safe_where=safe_where)
        _require_arrays(call)
        known = sparse if isinstance(sparse, Sparsity) else None
        products = SparseCall(call, leaves, options.chunks, known=known)
        found = products.sparsity.symmetric
        data = _symmetric_entries(found, products.products(found.star_colours))
        types = products.in_types
        blocks = _cut(data, found, types, types, [[t.dtype] * len(types) for t in types])
        hessians = chosen.rebuild([chosen.rebuild(row) for row in blocks])
        return (hessians, call.value(products.outputs)[1]) if has_aux else hessians

    return hessian


def _symmetric_entries(found: Sparsity, products: Array) -> Array:
    """Entry (i, j) from row i if it is the only one there among the columns of its colour, otherwise from row j."""
    rows, columns = _entries(found)
    colours = found.star_colours
    keys = rows * (count_of(colours) + 1) + colours[columns]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    alone = counts[which] == 1
    i, j = np.where(alone, rows, columns), np.where(alone, columns, rows)
    return products[colours[j], i]
