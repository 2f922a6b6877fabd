"""`jacfwd`, `jacrev` and `hessian`: all derivatives of all outputs, by mapping a basis through one pass."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import optree

from ..compiler.functions import constant
from ..compiler.ir import ArrayType, Constant
from ..compiler.program import ArrayOutput
from ..passes.linearize import linearize
from ..passes.vjp import vjp
from ..passes.vmap import vmap
from .argnums import Argnums
from .differentiated_call import DifferentiatedCall
from .gradient import Names, Numbers
from .transform import like_function, run, transformed


def jacrev(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `func`, one row (output element) per pass: for few outputs.

    A leaf has the shape of the output followed by the shape of the input; the tree is the output's tree of
    the chosen arguments' trees. Its dtype is that of the input. Arguments and errors as of `grad`; keyword arguments
    are passed on.

    >>> import numpy as np
    >>> jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _jacobian("jacrev", _rows, func, argnums, has_aux, argnames, holomorphic)


def jacfwd(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `func`, one column (input element) per pass: for few inputs.

    As `jacrev`, but a leaf has the dtype of the output.

    >>> import numpy as np
    >>> jacfwd(np.sin)(0.0)
    np.float64(1.0)
    """
    return _jacobian("jacfwd", _columns, func, argnums, has_aux, argnames, holomorphic)


def hessian(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The second derivatives, ``jacfwd(jacrev(func))``: a leaf has shape output + input + input.

    For a dict argument a dict of dicts. Arguments and errors as of `grad`.

    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    first = _jacobian("hessian", _rows, func, argnums, has_aux, argnames, holomorphic)
    return _jacobian("hessian", _columns, first, argnums, has_aux, argnames, holomorphic)


Blocks: TypeAlias = list[list[Any]]
"""For each output leaf, for each input leaf, an array of shape output + input."""


def _jacobian(
    name: str,
    blocks_of: Callable[[DifferentiatedCall, list[ArrayOutput]], tuple[list[Any], Blocks]],
    func: Callable[..., Any],
    argnums: Numbers,
    has_aux: bool,
    argnames: Names,
    holomorphic: bool,
) -> Callable[..., Any]:
    choice = Argnums(name, argnums, argnames)

    @like_function(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = choice.choose(func, args, kwargs)
        call = DifferentiatedCall(func, args, kwargs, chosen, has_aux)
        leaves = call.differentiable()
        call.check_complex(leaves, holomorphic=holomorphic)
        outputs, blocks = blocks_of(call, leaves)
        jacobians = optree.tree_unflatten(call.out_tree, [chosen.rebuild(row) for row in blocks])
        return (jacobians, call.value(outputs)[1]) if has_aux else jacobians

    return jacobian


def _rows(call: DifferentiatedCall, leaves: list[ArrayOutput]) -> tuple[list[Any], Blocks]:
    """Reverse mode: one vectorised pull per output leaf."""
    forward, backward = transformed(partial(vjp, wrt=call.wrt, of=call.marked(leaves)), call.graph)
    outputs, residuals = call.run_forward(forward)
    types = [call.type_of(leaf) for leaf in leaves]
    blocks: Blocks = []
    for row, type in enumerate(types):
        cotangents = [_basis(t) if i == row else _zeros(t) for i, t in enumerate(types)]
        axes = [None] * len(residuals) + [0 if i == row else None for i in range(len(types))]
        out_axes = [0] * len(call.primal_types)
        mapped = transformed(partial(vmap, in_axes=axes, size=type.size, out_axes=out_axes), backward)
        pulled = run(mapped, [*residuals, *cotangents])
        if type.dtype.kind == "c":  # vjp gives the direction uphill, the conjugate of the derivative
            pulled = list(map(np.conjugate, pulled))
        blocks.append(
            [_reshaped(p, (*type.shape, *t.shape)) for p, t in zip(pulled, call.primal_types, strict=True)]
        )
    return outputs, blocks


def _columns(call: DifferentiatedCall, leaves: list[ArrayOutput]) -> tuple[list[Any], Blocks]:
    """Forward mode: one vectorised push per input leaf; the pushed axis moves to the end."""
    forward, linear = transformed(partial(linearize, wrt=call.wrt, of=call.marked(leaves)), call.graph)
    outputs, residuals = call.run_forward(forward)
    out_types = [call.type_of(leaf) for leaf in leaves]
    in_types = call.primal_types
    columns: Blocks = []
    for column, type in enumerate(in_types):
        tangents = [_basis(t) if i == column else _zeros(t) for i, t in enumerate(in_types)]
        axes = [None] * len(residuals) + [0 if i == column else None for i in range(len(in_types))]
        out_axes = [t.ndim for t in out_types]
        mapped = transformed(partial(vmap, in_axes=axes, size=type.size, out_axes=out_axes), linear)
        pushed = run(mapped, [*residuals, *tangents])
        columns.append(
            [_reshaped(p, (*t.shape, *type.shape)) for p, t in zip(pushed, out_types, strict=True)]
        )
    return outputs, [list(row) for row in zip(*columns, strict=True)]


def _basis(type: ArrayType) -> Constant:
    """The unit arrays of a type, one per element, along a new first axis."""
    return constant(np.eye(type.size, dtype=type.dtype).reshape(type.size, *type.shape))


def _zeros(type: ArrayType) -> Constant:
    return constant(np.zeros(type.shape, type.dtype))


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` in another shape; a 0-d result is a scalar, as NumPy's are."""
    reshaped = np.reshape(x, shape)
    return reshaped if shape else reshaped[()]
