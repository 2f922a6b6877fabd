"""`jacfwd`, `jacrev`, `jacobian` and `hessian`: the derivatives of all outputs with respect to all inputs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import optree

from ....compiler.arguments.option_checks import is_choice
from ....compiler.callers.function_names import describe
from ....compiler.errors import TransformArgumentError
from ....compiler.nesting import shown
from ...batching.chunk_size import Chunking
from ...eager.converting import Convert, converting
from ...eager.run import like_function
from ...tracebacks import with_users_frames
from ..argnums import Argnums, Chosen
from ..differentiated import differentiated, forward_in_all_directions
from ..forward_derivative import ForwardJacobian
from ..grad import Names, Numbers
from ..traced_derivative import TracedDerivative
from .coloured_derivatives import Sparsity
from .jacobian_blocks import BlocksOf, blocks_of_shorter_side, columns, rows
from .jacobian_options import JacobianOptions, jacobian_options
from .sparse_jacobians import require_sparse_option, sparse_blocks, sparse_hessian

MODES: dict[str, BlocksOf] = {"auto": blocks_of_shorter_side, "forward": columns, "reverse": rows}


@with_users_frames
def jacrev(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    safe_where: bool = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """The Jacobian of `func`, one row (output element) per pass: best for few outputs.

    A leaf has the shape of the output followed by the shape of the input; the tree is the output's tree of
    the chosen arguments' trees. Its dtype is that of the input. Keyword arguments are passed on. `func` runs once.

    Args:
        func, argnums, has_aux, argnames, holomorphic: as of `grad`, but `func` may return any arrays.
        chunk_size: how many rows of an output to compute at once, each chunk written into its part of one array;
            default: all; 1 is the plain loop.
        memory_limit: instead, how much memory the mapped passes may allocate, the result included: bytes, or
            ``"512MB"``; see `vmap`.
        randomness: whether `func` may draw from a `tracemill.random.Generator`: "error" or "same", one draw for all
            rows.
        safe_where, convert: as of `grad`.

    Raises:
        TransformArgumentError: (a ValueError) for wrong options; and the errors of `grad`.

    >>> import numpy as np
    >>> jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    func = converting(func, convert)
    options = jacobian_options("jacrev", func, chunk_size, memory_limit, randomness)
    return _jacobian(
        func, rows, Argnums("jacrev", argnums, argnames), has_aux, holomorphic, options, safe_where
    )


@with_users_frames
def jacfwd(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    safe_where: bool = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """The Jacobian of `func`, one column (input element) per pass: best for few inputs.

    Like `jacrev`, but a leaf has the dtype of the output, and a chunk consists of columns.

    >>> import numpy as np
    >>> jacfwd(np.sin)(0.0)
    np.float64(1.0)
    """
    func = converting(func, convert)
    options = jacobian_options("jacfwd", func, chunk_size, memory_limit, randomness)
    return _jacobian(
        func, columns, Argnums("jacfwd", argnums, argnames), has_aux, holomorphic, options, safe_where
    )


@with_users_frames
def jacobian(
    func: Callable[..., Any],
    argnums: Numbers = None,
    mode: str = "auto",
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    safe_where: bool = False,
    sparse: bool | Sparsity = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """The Jacobian of `func`, by columns (``mode="forward"``) or by rows (``mode="reverse"``).

    With ``mode="auto"``, by columns if there are at most as many input as output elements, otherwise by rows. A
    compiled program shows which: it calls a graph named ``…_columns…`` or ``…_rows…``. Everything else is as for
    `jacfwd` and `jacrev`.

    With ``sparse=True`` the leaves are `scipy.sparse.csr_array` of shape (output size, input size). The structure is
    found by following entries through the derivative (see `sparsity`). Columns, or rows, that do not overlap are then
    computed together (Curtis, Powell and Reid 1974; Coleman and Moré 1983), in the mode that needs fewer products.
    Pass the result of `sparsity` as ``sparse=`` to reuse it. Not inside a trace.

    >>> import numpy as np
    >>> jacobian(lambda x: np.outer(x, x))(np.array([1.0, 2.0])).shape
    (2, 2, 2)
    """
    func = converting(func, convert)
    if not is_choice(mode, MODES):
        raise TransformArgumentError(
            f"jacobian({describe(func)}): mode must be one of {', '.join(map(repr, MODES))}, not {shown(mode)}"
        )
    require_sparse_option(f"jacobian({describe(func)})", sparse)
    blocks: BlocksOf = MODES[mode]
    if sparse is not False:
        blocks = partial(sparse_blocks, mode=mode, sparse=sparse)
    options = jacobian_options("jacobian", func, chunk_size, memory_limit, randomness)
    return _jacobian(
        func, blocks, Argnums("jacobian", argnums, argnames), has_aux, holomorphic, options, safe_where
    )


@with_users_frames
def hessian(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    safe_where: bool = False,
    sparse: bool | Sparsity = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """The second derivatives, ``jacfwd(jacrev(func))``: a leaf has shape output + input + input.

    For a dict argument a dict of dicts. Arguments and errors as for `jacrev`; a chunk consists of columns.

    With ``sparse=True`` or a `Sparsity` (that of ``grad(func)``), for a function of one number, the leaves are
    `scipy.sparse.csr_array`, as for `jacobian`. A symmetric matrix needs fewer products: columns that share a row may
    be computed together if each entry is the only one in its row or in the row of its mirror image (Coleman and Moré
    1984).

    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    func = converting(func, convert)
    choice = Argnums("hessian", argnums, argnames)
    require_sparse_option(f"hessian({describe(func)})", sparse)
    if sparse is not False:
        options = jacobian_options("hessian", func, chunk_size, memory_limit, randomness)
        return sparse_hessian(func, choice, has_aux, options, sparse, safe_where=safe_where)
    inner = jacobian_options("hessian", func, chunk_size, None, randomness)
    outer = jacobian_options("hessian", func, chunk_size, memory_limit, randomness)
    gradients = _jacobian(func, rows, choice, has_aux, holomorphic, inner, safe_where)
    return _jacobian(gradients, columns, choice, has_aux, holomorphic, outer, safe_where)


def _jacobian(
    func: Callable[..., Any],
    blocks_of: BlocksOf,
    choice: Argnums,
    has_aux: bool,
    holomorphic: bool,
    options: JacobianOptions,
    safe_where: bool,
) -> Callable[..., Any]:
    @like_function(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = choice.choose(func, args, kwargs)
        if blocks_of is columns and options.chunks == Chunking() and not safe_where:
            found = forward_in_all_directions(options.guarding(func), args, kwargs, chosen, has_aux)
            if found is not None:
                return _of_columns(found, chosen, holomorphic=holomorphic)
        made = partial(differentiated, by_sweep=True) if blocks_of in MODES.values() else TracedDerivative
        call = made(options.guarding(func), args, kwargs, chosen, has_aux, safe_where)
        leaves = call.differentiable()
        call.check_complex(leaves, holomorphic=holomorphic)
        outputs, blocks = blocks_of(call, leaves, options.chunks)
        jacobians = optree.tree_unflatten(call.out_tree, [chosen.rebuild(row) for row in blocks])
        return (jacobians, call.value(outputs)[1]) if has_aux else jacobians

    return jacobian


def _of_columns(call: ForwardJacobian, chosen: Chosen, *, holomorphic: bool) -> Any:
    """The Jacobian whose columns are known, with aux if the function has it."""
    leaves = call.differentiable()
    call.check_complex(leaves, holomorphic=holomorphic)
    jacobians = optree.tree_unflatten(call.out_tree, list(map(chosen.rebuild, call.columns(leaves))))
    return (jacobians, call.value(call.values(keeps=False))[1]) if call.has_aux else jacobians
