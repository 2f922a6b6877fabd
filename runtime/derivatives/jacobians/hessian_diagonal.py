"""`hessian_diag` and `laplacian`: the diagonal of a Hessian, and its sum, from a few products with it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.dtypes import Array
from ...eager.converting import Convert, converting
from ...eager.run import like_function
from ...tracebacks import with_users_frames
from ..argnums import Argnums
from ..grad import Names, Numbers
from .coloured_derivatives import SparseCall, has_scipy
from .jacobian_options import JacobianOptions, jacobian_options
from .sparse_jacobians import gradient_call


@with_users_frames
def hessian_diag(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    convert: Convert = None,
) -> Callable[..., Any]:
    """The diagonal of the Hessian of a function of one number: the second derivative with respect to each entry.

    Entries between which the Hessian has a structural zero share one product with it. Without SciPy, which finds the
    structure, there is a product per entry. Works inside `compile` and other transforms.

    Returns:
        A function with the arguments of `func`; the result has the structure, shapes and dtypes of `grad`. Arguments
        and errors as of `hessian`; a chunk is one of products.

    >>> import numpy as np
    >>> hessian_diag(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    func = converting(func, convert)
    choice = Argnums("hessian_diag", argnums, argnames)
    options = jacobian_options("hessian_diag", func, chunk_size, memory_limit, randomness)

    @like_function(func)
    def diagonal(*args: Any, **kwargs: Any) -> Any:
        chosen, call, products, colours = _products(func, choice, has_aux, options, args, kwargs)
        result = chosen.rebuild(products.diagonal(colours))
        return (result, call.value(products.outputs)[1]) if has_aux else result

    return diagonal


@with_users_frames
def laplacian(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    convert: Convert = None,
) -> Callable[..., Any]:
    """The sum of the second derivatives of a function of one number with respect to each entry of its arguments.

    The trace of the Hessian, computed like `hessian_diag`. A number; ``(number, aux)`` with ``has_aux=True``.

    >>> import numpy as np
    >>> laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    np.float64(18.0)
    """
    func = converting(func, convert)
    choice = Argnums("laplacian", argnums, argnames)
    options = jacobian_options("laplacian", func, chunk_size, memory_limit, randomness)

    @like_function(func)
    def trace(*args: Any, **kwargs: Any) -> Any:
        _, call, products, colours = _products(func, choice, has_aux, options, args, kwargs)
        total = products.trace(colours)
        return (total, call.value(products.outputs)[1]) if has_aux else total

    return trace


def _products(
    func: Callable[..., Any],
    choice: Argnums,
    has_aux: bool,
    options: JacobianOptions,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    chosen = choice.choose(func, args, kwargs)
    call, leaves = gradient_call(func, chosen, args, kwargs, has_aux, options)
    products = SparseCall(call, leaves, options.chunks)
    size = sum(type.size for type in products.in_types)
    colours: Array = products.sparsity.symmetric.diagonal_colours if has_scipy() else np.arange(size)
    return chosen, call, products, colours
