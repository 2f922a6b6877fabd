"""`jvp`, `linearize`, `vjp`, `grad` and their variants, as functions of Python functions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..compiler.dtypes import dtype_name, is_complex, is_inexact
from ..compiler.errors import (
    DTypeError,
    NonScalarOutputError,
    NotDifferentiableError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
)
from ..compiler.ir import ArrayType
from ..compiler.program import (
    NAMESPACE,
    ArrayOutput,
    Program,
    describe,
    is_array_like,
    leaf_type,
    path_names,
    weak_type,
)
from ..compiler.trace import depends_on
from ..compiler.traced_array import is_traced
from ..passes.jvp import jvp as jvp_of_graph
from ..passes.linearize import linearize as linearize_graph
from ..passes.vjp import vjp as vjp_of_graph
from ..passes.vmap import vmap as vmap_graph
from .argnums import Argnums
from .transform import Tracing, like_function, run, same_tree


def jvp(
    func: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The value of `func` at `primals` and its derivative in the direction `tangents`.

    Args:
        func: a function of arrays (or pytrees of them) that returns arrays.
        primals: a tuple or list with the positional arguments; floating arrays or Python floats.
        tangents: the direction: the same structure, shapes and dtypes.
        strict: raise if an output does not depend on the primals, instead of a zero tangent.
        has_aux: `func` returns ``(output, aux)``.

    Returns:
        ``(output, tangent)``, or ``(output, tangent, aux)``.

    >>> import numpy as np
    >>> jvp(np.sin, (0.0,), (1.0,))
    (np.float64(0.0), np.float64(1.0))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TransformTypeError(f"jvp({describe(func)}): primals and tangents must be tuples or lists")
    args = tuple(primals)
    where = f"jvp({describe(func)})"
    same_tree(
        f"{where}: tangents",
        optree.tree_structure(tuple(tangents), namespace=NAMESPACE),
        optree.tree_structure(args, namespace=NAMESPACE),
    )
    call = _trace("jvp", func, args, has_aux)
    directions = _matching(call, where, "tangents", args, tuple(tangents))
    program, count = call.program, len(call.program.graph.outputs)
    leaves = _floating(program, has_aux)
    if strict:
        _check_dependence(call, where, leaves)
    pushed = jvp_of_graph(program.graph, wrt=call.wrt, of=marked(program, leaves))
    results = run(pushed, [*call.inputs, *directions])
    outputs = results[:count]
    call.update_captured(outputs)
    value, rate = program.result(outputs), program.result(_spread(program, leaves, results[count:]))
    if has_aux:
        return value[0], rate[0], value[1]
    return value, rate


def linearize(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func` at `primals`, and its derivative there as a function of tangents.

    `func` runs once. ``jvp_fn(*tangents)`` may be called many times; it checks structure, shapes and dtypes.

    >>> import numpy as np
    >>> out, jvp_fn = linearize(np.square, 3.0)
    >>> jvp_fn(1.0)
    np.float64(6.0)
    """
    where = f"linearize({describe(func)})"
    call = _trace("linearize", func, primals, has_aux)
    program = call.program
    leaves = _floating(program, has_aux)
    forward, linear = linearize_graph(program.graph, wrt=call.wrt, of=marked(program, leaves))
    count = len(program.graph.outputs)
    results = run(forward, call.inputs)
    outputs, residuals = results[:count], results[count:]
    call.update_captured(outputs)

    def jvp_fn(*tangents: Any) -> Any:
        directions = _matching(call, where, "tangents", primals, tangents)
        result = program.result(_spread(program, leaves, run(linear, [*residuals, *directions])))
        return result[0] if has_aux else result

    value = program.result(outputs)
    return (value[0], jvp_fn, value[1]) if has_aux else (value, jvp_fn)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func` at `primals`, and the map from cotangents of the output to cotangents of the primals.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes the structure of the
        output (None inside it means zero) and returns a tuple with one cotangent per primal; with
        ``batched=True`` the first axis of each cotangent is a batch. The forward values are computed once.

    >>> import numpy as np
    >>> out, vjp_fn = vjp(np.multiply, 2.0, 3.0)
    >>> vjp_fn(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    where = f"vjp({describe(func)})"
    call = _trace("vjp", func, primals, has_aux)
    return _Pullback(call, where, primals, has_aux).result()


class _Pullback:
    """A function run forward, ready to be pulled back."""

    def __init__(self, call: Tracing, where: str, primals: tuple[Any, ...], has_aux: bool) -> None:
        self.call, self.where, self.primals, self.has_aux = call, where, primals, has_aux
        program = call.program
        leaves = result_leaves(program, has_aux, numbers=True)
        _check_differentiable(program, leaves, result_tree(program, has_aux), where)
        self.forward, self.backward = vjp_of_graph(program.graph, wrt=call.wrt, of=marked(program, leaves))
        count = len(program.graph.outputs)
        results = run(self.forward, call.inputs)
        self.outputs, self.residuals = results[:count], results[count:]
        call.update_captured(self.outputs)
        self.out_types = [program.graph.outputs[leaf.index].type for leaf in leaves]

    def result(self) -> Any:
        value = self.call.program.result(self.outputs)
        return (value[0], self.pull, value[1]) if self.has_aux else (value, self.pull)

    def pull(self, cotangents: Any, *, batched: bool = False) -> Any:
        """The cotangents of the primals."""
        flat, size = self._flatten(cotangents, batched)
        graph = self.backward
        if batched:
            axes = [None] * len(self.residuals) + [0] * len(flat)
            graph = vmap_graph(graph, in_axes=axes, size=size, out_axes=[0] * len(graph.outputs))
        leaves = iter(run(graph, [*self.residuals, *flat]))
        return optree.tree_map(lambda _: next(leaves), self.primals, namespace=NAMESPACE)

    def _flatten(self, cotangents: Any, batched: bool) -> tuple[list[Any], int]:
        """One array per array of the output, checked; None becomes zeros."""
        tree = result_tree(self.call.program, self.has_aux)
        paths = path_names(tree, "cotangents")
        given = _flatten_with_none(cotangents, tree, self.where)
        sizes = {np.shape(ct)[0] for ct in given if batched and ct is not None and np.ndim(ct)}
        if len(sizes) > 1:
            raise ShapeError(f"{self.where}: the cotangents have batches of different sizes {sorted(sizes)}")
        size = next(iter(sizes), 0)
        flat = []
        for ct, type, path in zip(given, self.out_types, paths, strict=True):
            shape = (size, *type.shape) if batched else type.shape
            flat.append(np.zeros(shape, type.dtype) if ct is None else _fitting(ct, type, shape, f"{self.where}: {path}"))
        return flat, size


def grad(func: Callable[..., Any], argnums: Any = None, has_aux: bool = False, *, argnames: Any = None,
         holomorphic: bool = False) -> Callable[..., Any]:  # fmt: skip
    """The gradient of a function that returns one real number.

    Args:
        func: returns a 0-d float, or ``(float, aux)`` with ``has_aux=True``.
        argnums: which positional arguments to differentiate: an int (default 0) gives a bare gradient, a tuple
            gives a tuple. A pytree argument gives a gradient of the same structure.
        argnames: keyword arguments to differentiate; gives a dict by name.
        holomorphic: allow a complex result, and complex arguments only.

    Returns:
        A function with the arguments of `func` that returns the gradient, or ``(gradient, aux)``.

    Python control flow on values works. For complex arguments the gradient points uphill: d|z| at 1 + 0j is 1 + 0j.

    >>> import numpy as np
    >>> grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    both = _Gradient("grad", func, argnums, has_aux, argnames, holomorphic)

    @like_function(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        grads, _, aux = both(args, kwargs)
        return (grads, aux) if has_aux else grads

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Any = None, has_aux: bool = False, *, argnames: Any = None,
                   holomorphic: bool = False) -> Callable[..., Any]:  # fmt: skip
    """As `grad`, returning ``(gradient, value)``, or ``(gradient, (value, aux))`` with ``has_aux=True``.

    >>> import numpy as np
    >>> grad_and_value(np.sin)(0.0)
    (np.float64(1.0), np.float64(0.0))
    """
    both = _Gradient("grad_and_value", func, argnums, has_aux, argnames, holomorphic)

    @like_function(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        grads, value, aux = both(args, kwargs)
        return (grads, (value, aux)) if has_aux else (grads, value)

    return gradient_and_value


def value_and_grad(func: Callable[..., Any], argnums: Any = None, has_aux: bool = False, *, argnames: Any = None,
                   holomorphic: bool = False) -> Callable[..., Any]:  # fmt: skip
    """As `grad`, returning ``(value, gradient)``, or ``((value, aux), gradient)`` with ``has_aux=True``.

    >>> import numpy as np
    >>> value_and_grad(np.sin)(0.0)
    (np.float64(0.0), np.float64(1.0))
    """
    both = _Gradient("value_and_grad", func, argnums, has_aux, argnames, holomorphic)

    @like_function(func)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        grads, value, aux = both(args, kwargs)
        return ((value, aux), grads) if has_aux else (value, grads)

    return value_and_gradient


class _Gradient:
    """What `grad`, `grad_and_value` and `value_and_grad` share."""

    def __init__(
        self, transform: str, func: Callable[..., Any], argnums: Any, has_aux: bool, argnames: Any, holomorphic: bool
    ) -> None:
        self.func, self.has_aux, self.holomorphic = func, has_aux, holomorphic
        self.argnums = Argnums(transform, argnums, argnames)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        """``(gradients, value, aux)``."""
        chosen = self.argnums.choose(self.func, args, kwargs)
        call = Tracing(self.func, args, kwargs, chosen)
        program = call.program
        check_aux(program, chosen.where, self.has_aux)
        leaves = result_leaves(program, self.has_aux, numbers=True)
        index = self._scalar_output(program, leaves, chosen.where)
        if index is None:  # a Python number: nothing depends on the arguments
            outputs = run(program.graph, call.inputs)
            gradients = [np.zeros(np.shape(x), leaf_type(x, "").dtype)[()] for x in call.differentiated]
        else:
            of = [i == index for i in range(len(program.graph.outputs))]
            forward, backward = vjp_of_graph(program.graph, wrt=call.wrt, of=of)
            results = run(forward, call.inputs)
            count = len(program.graph.outputs)
            outputs, residuals = results[:count], results[count:]
            one = np.ones((), program.graph.outputs[index].dtype)
            gradients = run(backward, [*residuals, one])
        call.update_captured(outputs)
        result = program.result(outputs)
        value, aux = result if self.has_aux else (result, None)
        return chosen.rebuild(gradients), value, aux

    def _scalar_output(self, program: Program, leaves: Sequence[Any], where: str) -> int | None:
        """Which output of the graph is the number to differentiate; None if it is a Python float."""
        tree = result_tree(program, self.has_aux)
        if len(leaves) != 1 or tree.num_nodes != 1:
            raise NonScalarOutputError(
                f"{where}: the function must return one number, not {_shown(program, tree)}. Use has_aux=True to return "
                "more than the number, vjp or jacrev for arrays"
            )
        (leaf,) = leaves
        if not isinstance(leaf, ArrayOutput):
            return self._python_number(leaf.value, where)
        type = program.graph.outputs[leaf.index].type
        if type.shape:
            raise NonScalarOutputError(
                f"{where}: the function must return one number, not an array of shape {type.shape}. Sum it, or use vjp "
                "or jacrev for the derivative of an array"
            )
        if not is_inexact(type.dtype):
            raise NotDifferentiableError(f"{where}: the result has dtype {dtype_name(type.dtype)}, which has no derivative")
        if is_complex(type.dtype) and not self.holomorphic:
            raise NotDifferentiableError(f"{where}: the result is complex. Return a real number, or pass holomorphic=True")
        return leaf.index

    def _python_number(self, number: Any, where: str) -> None:
        if isinstance(number, float):
            return
        raise NonScalarOutputError(f"{where}: the function must return a float, not {type(number).__name__}: {number!r:.60}")


# ---- what these share ----------------------------------------------------------------------------------


def _trace(transform: str, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> Tracing:
    """Trace a call in which every positional argument is differentiated."""
    if not primals:
        raise TransformArgumentError(f"{transform}({describe(func)}): no primals given")
    argnums = Argnums(transform, tuple(range(len(primals))), None)
    call = Tracing(func, primals, {}, argnums.choose(func, primals, {}))
    check_aux(call.program, f"{transform}({describe(func)})", has_aux)
    return call


def check_aux(program: Program, where: str, has_aux: bool) -> None:
    if has_aux and (program.out_tree.type is not tuple or program.out_tree.num_children != 2):
        raise NonScalarOutputError(
            f"{where}: with has_aux=True the function must return a pair (output, aux), not {_shown(program, program.out_tree)}"
        )


def _shown(program: Program, tree: Any) -> str:
    return str(tree).removeprefix("PyTreeSpec(").removesuffix(")").replace(f", namespace='{NAMESPACE}'", "")


def _check_differentiable(program: Program, leaves: Sequence[Any], tree: Any, where: str) -> None:
    """`vjp` needs at least one output, and floating arrays only."""
    if not leaves:
        raise NotDifferentiableError(f"{where}: the function returns {_shown(program, tree)}, which holds no array")
    for leaf, path in zip(leaves, path_names(tree, "output"), strict=True):
        if not isinstance(leaf, ArrayOutput):
            raise NotDifferentiableError(f"{where}: {path} is {type(leaf.value).__name__}, not an array")
        dtype = program.graph.outputs[leaf.index].dtype
        if not is_inexact(dtype):
            raise NotDifferentiableError(f"{where}: {path} has dtype {dtype_name(dtype)}, which has no derivative")


def result_tree(program: Program, has_aux: bool) -> Any:
    """The structure of the result proper, without aux."""
    return program.out_tree.children()[0] if has_aux else program.out_tree


def result_leaves(program: Program, has_aux: bool, *, numbers: bool = False) -> list[Any]:
    """The leaves of the result proper; with `numbers` those that are not arrays, too."""
    leaves = program.out_leaves[: result_tree(program, has_aux).num_leaves]
    return [leaf for leaf in leaves if numbers or isinstance(leaf, ArrayOutput)]


def marked(program: Program, leaves: Sequence[ArrayOutput]) -> list[bool]:
    """Which outputs of the graph these leaves of the result are."""
    chosen = {leaf.index for leaf in leaves}
    return [i in chosen for i in range(len(program.graph.outputs))]


def _floating(program: Program, has_aux: bool) -> list[ArrayOutput]:
    """The arrays of the result proper that have tangents."""
    return [
        leaf for leaf in result_leaves(program, has_aux) if is_inexact(program.graph.outputs[leaf.index].dtype)
    ]


def _spread(program: Program, leaves: Sequence[ArrayOutput], tangents: Sequence[Any]) -> list[Any]:
    """A tangent per output of the graph: those given for `leaves`, zeros elsewhere."""
    by_index = {leaf.index: t for leaf, t in zip(leaves, tangents, strict=True)}
    outputs = program.graph.outputs
    return [by_index[i] if i in by_index else np.zeros(v.shape, v.dtype)[()] for i, v in enumerate(outputs)]


def _matching(call: Tracing, where: str, what: str, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> list[Any]:
    """The tangents as a flat list, checked against the primals in structure, shape and dtype."""
    flat, tree = optree.tree_flatten(tangents, namespace=NAMESPACE)
    same_tree(f"{where}: {what}", tree, optree.tree_structure(primals, namespace=NAMESPACE))
    fitted = []
    for tangent, primal, path in zip(flat, call.differentiated, path_names(tree, what), strict=True):
        type = leaf_type(primal, path)
        fitted.append(_fitting(tangent, type, type.shape, f"{where}: {path}"))
    return fitted


def _fitting(given: Any, type: ArrayType, shape: tuple[int, ...], where: str) -> Any:
    """A tangent or cotangent of exactly this shape, and of this dtype or one that casts to it safely."""
    found = leaf_type(given, where)
    if found.shape != shape:
        raise ShapeError(f"{where} has shape {found.shape}, expected {shape}")
    weak = weak_type(given)
    if found.dtype != type.dtype and weak is None and not np.can_cast(found.dtype, type.dtype, "safe"):
        raise DTypeError(f"{where} has dtype {dtype_name(found.dtype)}, expected {dtype_name(type.dtype)}")
    if weak is complex and not is_complex(type.dtype):
        raise DTypeError(f"{where} is complex, expected {dtype_name(type.dtype)}")
    return given if found.dtype == type.dtype else np.asarray(given, type.dtype) if not is_traced(given) else given.astype(type.dtype)


def _flatten_with_none(cotangents: Any, tree: Any, where: str) -> list[Any]:
    """The leaves of `cotangents`, whose structure must be `tree` except that None may stand for any part."""
    flat: list[Any] = []

    def walk(given: Any, expected: Any) -> None:
        if given is None:
            flat.extend([None] * expected.num_leaves)
            return
        if expected.is_leaf():
            if not is_array_like(given):
                same_tree(f"{where}: cotangents", optree.tree_structure(cotangents, namespace=NAMESPACE), tree)
            flat.append(given)
            return
        children = optree.tree_flatten_one_level(given, namespace=NAMESPACE)[0] if _is_node(given) else []
        if expected.type is not type(given) or len(children) != expected.num_children or _keys(given) != expected.entries():
            same_tree(f"{where}: cotangents", optree.tree_structure(cotangents, namespace=NAMESPACE), tree)
        for child, part in zip(children, expected.children(), strict=True):
            walk(child, part)

    walk(cotangents, tree)
    return flat


def _is_node(tree: Any) -> bool:
    return not optree.tree_is_leaf(tree, namespace=NAMESPACE)


def _keys(tree: Any) -> list[Any]:
    return list(optree.tree_structure(tree, namespace=NAMESPACE).entries()) if _is_node(tree) else []


def _check_dependence(call: Tracing, where: str, leaves: Sequence[ArrayOutput]) -> None:
    """`jvp(strict=True)`: every output must depend on the primals."""
    reached = depends_on(call.program.graph, call.wrt)
    for leaf in leaves:
        if call.program.graph.outputs[leaf.index] not in reached:
            path = call.program.out_paths()[leaf.index]
            raise NotDifferentiableError(f"{where}: {path} does not depend on the primals (strict=True)")
