"""`jacfwd`, `jacrev` and `hessian`: all derivatives of all outputs, by mapping a basis through `jvp` or `vjp`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from ..compiler.dtypes import dtype_name, is_complex, is_inexact
from ..compiler.errors import NotDifferentiableError
from ..compiler.functions import constant
from ..compiler.ir import ArrayType, Constant
from ..compiler.program import ArrayOutput, leaf_type, path_names
from ..passes.linearize import linearize
from ..passes.vjp import vjp
from ..passes.vmap import vmap
from .argnums import Argnums, Chosen
from .differentiate import check_aux, marked, result_leaves, result_tree
from .transform import Tracing, like_function, run


def jacrev(func: Callable[..., Any], argnums: Any = None, has_aux: bool = False, *, argnames: Any = None,
           holomorphic: bool = False) -> Callable[..., Any]:  # fmt: skip
    """The Jacobian of `func`, one row (output element) per pass: for few outputs.

    A leaf has the shape of the output followed by the shape of the input; the tree is the output's tree of the
    chosen arguments' trees. Arguments as of `grad`; keyword arguments are passed on.

    >>> import numpy as np
    >>> jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _jacobian("jacrev", _rows, func, argnums, has_aux, argnames, holomorphic)


def jacfwd(func: Callable[..., Any], argnums: Any = None, has_aux: bool = False, *, argnames: Any = None,
           holomorphic: bool = False) -> Callable[..., Any]:  # fmt: skip
    """The Jacobian of `func`, one column (input element) per pass: for few inputs. As `jacrev` otherwise.

    >>> import numpy as np
    >>> jacfwd(np.sin)(0.0)
    np.float64(1.0)
    """
    return _jacobian("jacfwd", _columns, func, argnums, has_aux, argnames, holomorphic)


def hessian(func: Callable[..., Any], argnums: Any = None, has_aux: bool = False, *, argnames: Any = None,
            holomorphic: bool = False) -> Callable[..., Any]:  # fmt: skip
    """The matrix of second derivatives, ``jacfwd(jacrev(func))``. For a dict argument a dict of dicts.

    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    options = {"argnums": argnums, "has_aux": has_aux, "argnames": argnames, "holomorphic": holomorphic}
    return jacfwd(jacrev(func, **options), **options)


_Blocks = list[list[Any]]
"""For each output leaf, for each input leaf, an array of shape output + input."""


def _jacobian(
    name: str,
    blocks_of: Callable[..., tuple[list[Any], _Blocks]],
    func: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    argnames: Any,
    holomorphic: bool,
) -> Callable[..., Any]:
    choice = Argnums(name, argnums, argnames)

    @like_function(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = choice.choose(func, args, kwargs)
        call = Tracing(func, args, kwargs, chosen)
        check_aux(call.program, chosen.where, has_aux)
        leaves = _differentiable_leaves(call, chosen, has_aux, holomorphic)
        outputs, blocks = blocks_of(call, leaves)
        call.update_captured(outputs)
        tree = result_tree(call.program, has_aux)
        jacobians = optree.tree_unflatten(tree, [chosen.rebuild(row) for row in blocks])
        return (jacobians, call.program.result(outputs)[1]) if has_aux else jacobians

    return jacobian


def _differentiable_leaves(call: Tracing, chosen: Chosen, has_aux: bool, holomorphic: bool) -> list[ArrayOutput]:
    """The array outputs; errors for outputs without a derivative and for complex numbers that were not asked for."""
    program = call.program
    leaves = result_leaves(program, has_aux, numbers=True)
    for leaf, path in zip(leaves, path_names(result_tree(program, has_aux), "output"), strict=True):
        if not isinstance(leaf, ArrayOutput):
            raise NotDifferentiableError(f"{chosen.where}: {path} is {type(leaf.value).__name__}, not an array")
        dtype = program.graph.outputs[leaf.index].dtype
        if not is_inexact(dtype):
            raise NotDifferentiableError(f"{chosen.where}: {path} has dtype {dtype_name(dtype)}, which has no derivative")
        if is_complex(dtype) and not holomorphic:
            raise NotDifferentiableError(f"{chosen.where}: {path} is complex: pass holomorphic=True if the function is")
    for leaf in call.differentiated:
        chosen.check(leaf, "an argument", holomorphic=holomorphic)
    return leaves


def _basis(type: ArrayType) -> Constant:
    """The unit arrays of a type, one per element, along a new first axis."""
    return constant(np.eye(type.size, dtype=type.dtype).reshape(type.size, *type.shape))


def _zeros(type: ArrayType) -> Constant:
    return constant(np.zeros(type.shape, type.dtype))


def _rows(call: Tracing, leaves: list[ArrayOutput]) -> tuple[list[Any], _Blocks]:
    """Reverse mode: one vectorised pull per output leaf."""
    program = call.program
    forward, backward = vjp(program.graph, wrt=call.wrt, of=marked(program, leaves))
    count = len(program.graph.outputs)
    results = run(forward, call.inputs)
    outputs, residuals = results[:count], results[count:]
    types = [program.graph.outputs[leaf.index].type for leaf in leaves]
    in_shapes = [leaf_type(x, "").shape for x in call.differentiated]
    blocks: _Blocks = []
    for row, type in enumerate(types):
        cotangents = [_basis(t) if i == row else _zeros(t) for i, t in enumerate(types)]
        axes = [None] * len(residuals) + [0 if i == row else None for i in range(len(types))]
        mapped = vmap(backward, in_axes=axes, size=type.size, out_axes=[0] * len(in_shapes))
        pulled = run(mapped, [*residuals, *cotangents])
        blocks.append([np.reshape(p, (*type.shape, *shape)) for p, shape in zip(pulled, in_shapes, strict=True)])
    return outputs, [[_scalar(block) for block in row] for row in blocks]


def _columns(call: Tracing, leaves: list[ArrayOutput]) -> tuple[list[Any], _Blocks]:
    """Forward mode: one vectorised push per input leaf; the pushed axis moves to the end."""
    program = call.program
    forward, linear = linearize(program.graph, wrt=call.wrt, of=marked(program, leaves))
    count = len(program.graph.outputs)
    results = run(forward, call.inputs)
    outputs, residuals = results[:count], results[count:]
    out_types = [program.graph.outputs[leaf.index].type for leaf in leaves]
    in_types = [leaf_type(x, "") for x in call.differentiated]
    columns = []
    for column, type in enumerate(in_types):
        tangents = [_basis(t) if i == column else _zeros(t) for i, t in enumerate(in_types)]
        axes = [None] * len(residuals) + [0 if i == column else None for i in range(len(in_types))]
        mapped = vmap(linear, in_axes=axes, size=type.size, out_axes=[t.ndim for t in out_types])
        pushed = run(mapped, [*residuals, *tangents])
        columns.append([np.reshape(p, (*t.shape, *type.shape)) for p, t in zip(pushed, out_types, strict=True)])
    return outputs, [[_scalar(column[row]) for column in columns] for row in range(len(out_types))]


def _scalar(x: Any) -> Any:
    """0-d results are scalars, as NumPy's."""
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
