"""`hvp`: the Hessian of a function of one number times directions, without the Hessian."""

from collections.abc import Callable, Sequence
from typing import Any

from ....compiler.callers.function_names import describe
from ....compiler.errors import TransformArgumentError, TransformTypeError
from ...batching.vmap import vmap
from ...eager.converting import Convert, converting
from ...eager.run import like_function, require_function
from ...tracebacks import with_users_frames
from ..grad import Gradient, Numbers
from ..jvp_vjp import jvp, linearize
from .jacobian_options import jacobian_options


@with_users_frames
def hvp(
    func: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    batched: bool = False,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    randomness: str = "error",
    convert: Convert = None,
    **kwargs: Any,
) -> Any:
    """How the gradient of `func` at `primals` changes in the direction `tangents`: Hessian times vector.

    Forward over reverse, as in ``jvp(grad(func, argnums), primals, tangents)``: it costs about four calls of `func`,
    for any sizes.

    Args:
        func: returns one real number, or ``(number, aux)`` with ``has_aux=True``.
        primals: a tuple or list of the positional arguments.
        tangents: a direction for each of them: the same structure, shapes and dtypes; None for an argument that
            does not move, such as an integer.
        argnums: the arguments by which the gradient is taken, as of `grad`: the structure of the result.
        batched: the first axis of every tangent is a batch of directions; the result has it, too. The function
            and its derivative are computed once for all.
        chunk_size, memory_limit: how many directions of a batch to take at once, as of `vmap`.
        randomness: whether `func` may draw random numbers, as of `jacrev`.
        convert: whose code is converted, as of `grad`.
        kwargs: keyword arguments of `func`.

    Returns:
        The product, in the form of the gradient; ``(product, aux)`` with ``has_aux=True``.

    Raises:
        TransformTypeError, NonScalarOutputError, TransformArgumentError: as of `grad` and `jvp`.

    >>> import numpy as np
    >>> hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    func = converting(func, convert)
    require_function("hvp", func)
    where = f"hvp({describe(func)})"
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TransformTypeError(
                f"{where}: {name} must be a tuple with an entry per argument, not {type(given).__name__}: "
                "hvp(f, (x,), (dx,))"
            )
    if len(primals) != len(tangents):
        raise TransformArgumentError(f"{where}: {len(primals)} primals, but {len(tangents)} tangents")
    options = jacobian_options("hvp", func, chunk_size, memory_limit, randomness)
    moving = [i for i, tangent in enumerate(tangents) if tangent is not None]
    if not moving:
        raise TransformArgumentError(f"{where}: every tangent is None: give at least one direction")
    gradient = Gradient("grad", options.guarding(func), argnums, has_aux)

    @like_function(func)
    def along(*moved: Any) -> Any:
        args = list(primals)
        for place, primal in zip(moving, moved, strict=True):
            args[place] = primal
        grads, _, aux = gradient(tuple(args), kwargs)
        return (grads, aux) if has_aux else grads

    points, directions = [primals[i] for i in moving], [tangents[i] for i in moving]
    if not batched:
        _, *found = jvp(along, points, directions, has_aux=has_aux)
    else:
        _, push, *aux = linearize(along, *points, has_aux=has_aux)
        found = [vmap(push, chunk_size=chunk_size, memory_limit=memory_limit)(*directions), *aux]
    return tuple(found) if has_aux else found[0]
