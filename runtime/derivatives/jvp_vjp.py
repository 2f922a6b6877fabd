"""`jvp`, `linearize` and `vjp`: a function's derivative at a point, as functions of Python functions."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import optree

from ...compiler.arguments.leaves import is_array_like, path_names
from ...compiler.callers.function_names import describe
from ...compiler.errors import TransformArgumentError, TransformTypeError
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import ArrayType, Graph
from ...compiler.nesting import shown
from ...passes.transforms.vmap import vmap as vmap_graph
from ..batching.batch_size import batch_size
from ..eager.converting import Convert, converting
from ..eager.run import require_function, run, transformed, zeros
from ..host_arrays import taking_host_arrays
from ..tracebacks import with_users_frames
from ..trees import check_same_structure, spread, structure
from .argnums import Argnums
from .batched_derivative import BatchedDerivative
from .batched_linear import BatchedLinear
from .differentiated import differentiated, forward
from .differentiated_call import DifferentiatedCall, fitting
from .evaluated_derivative import EvaluatedDerivative
from .forward_derivative import ForwardDerivative
from .traced_derivative import TracedDerivative


@with_users_frames
@taking_host_arrays
def jvp(
    func: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    strict: bool = False,
    has_aux: bool = False,
    safe_where: bool = False,
    convert: Convert = None,
) -> Any:
    """The value of `func` at `primals` and its derivative in the direction `tangents`.

    Args:
        func: a function of arrays (or pytrees of them) that returns arrays.
        primals: a tuple or list with the positional arguments; floating arrays or Python floats.
        tangents: the direction: the same structure, shapes and dtypes.
        strict: raise if an output does not depend on the primals, instead of a zero tangent.
        has_aux: `func` returns ``(output, aux)``.
        safe_where: as of `grad`: what a `where` does not choose has the derivative 0.
        convert: whose code is converted, as of `grad`.

    Returns:
        ``(output, tangent)``, or ``(output, tangent, aux)``. Outputs of integer dtype have zero tangents.

    Raises:
        TransformTypeError: (a TypeError) for primals that have no derivative, such as integers.
        TreeMismatchError, ShapeError: (ValueErrors) for tangents that do not fit the primals.
        DTypeError: (a TypeError) for tangents of another dtype.

    >>> import numpy as np
    >>> jvp(np.sin, (0.0,), (1.0,))
    (np.float64(0.0), np.float64(1.0))
    """
    func = converting(func, convert)
    require_function("jvp", func)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TransformTypeError(
                f"jvp({describe(func)}): {name} must be a tuple with an entry per argument, not "
                f"{type(given).__name__}: jvp(f, (x,), (dx,))"
            )
    args, directions = tuple(primals), tuple(tangents)
    tree, found = structure(args), structure(directions)
    if found is not tree:
        check_same_structure(f"jvp({describe(func)}): tangents", found, tree)
    call = _call("jvp", func, args, has_aux, safe_where, by_sweep=True, tangents=directions)
    moves = [] if isinstance(call, ForwardDerivative) else call.directions(directions, tree)
    leaves = call.floating()
    if strict:
        call.check_dependence(leaves)
    if isinstance(call, ForwardDerivative):
        outputs, rates = call.values(keeps=False), call.tangents(leaves)
    elif isinstance(call, EvaluatedDerivative) and call.can_sweep(moves):
        outputs, rates = call.values(keeps=False), call.push_forward(leaves, moves)
    else:
        outputs, rates = call.split(run(call.jvp(leaves), [*call.inputs, *moves]))
    value, aux = call.value(outputs)
    tangent = call.tangent_tree(leaves, rates)
    return (value, tangent, aux) if has_aux else (value, tangent)


@with_users_frames
@taking_host_arrays
def linearize(
    func: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    safe_where: bool = False,
    convert: Convert = None,
) -> Any:
    """The value of `func` at `primals`, and its derivative there as a function of tangents.

    `func` runs once. ``jvp_fn(*tangents)`` may be called many times; it checks structure, shapes and dtypes,
    with the errors of `jvp`. `safe_where` and `convert` are those of `grad`.

    Returns:
        ``(output, jvp_fn)``, or ``(output, jvp_fn, aux)``.

    >>> import numpy as np
    >>> out, jvp_fn = linearize(np.square, 3.0)
    >>> jvp_fn(1.0)
    np.float64(6.0)
    """
    func = converting(func, convert)
    call = _call("linearize", func, primals, has_aux, safe_where, by_sweep=True)
    leaves = call.floating()
    push: Callable[[list[Any]], list[Any]]
    if isinstance(call, BatchedDerivative):
        value, aux = call.value(call.values(keeps=True))
        push = BatchedLinear(call, leaves, is_backward=False)
    else:
        forward, linear = call.linearize(leaves)
        outputs, residuals = call.run_forward(forward)
        value, aux = call.value(outputs)
        call.forget_arrays()
        push = partial(_run_linear, linear, residuals)
        del outputs
    tree = structure(primals)
    del primals

    @with_users_frames
    def jvp_fn(*tangents: Any) -> Any:
        return call.tangent_tree(leaves, push(call.directions(tangents, tree)))

    return (value, jvp_fn, aux) if has_aux else (value, jvp_fn)


def _run_linear(linear: Graph, residuals: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
    return run(linear, [*residuals, *directions])


@with_users_frames
@taking_host_arrays
def vjp(
    func: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    safe_where: bool = False,
    convert: Convert = None,
) -> Any:
    """The value of `func` at `primals`, and the map from cotangents of the output to those of the primals.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes the structure of the
        output (None inside it means zero) and returns a tuple with one cotangent per primal; with
        ``batched=True`` the first axis of each cotangent is a batch. The forward values are computed once.
        `safe_where` and `convert` are those of `grad`.

    Raises:
        TransformTypeError: (a TypeError) for primals that have no derivative, such as integers.
        NotDifferentiableError: (a TypeError) for outputs that are not floating arrays.
        TreeMismatchError, ShapeError, DTypeError: by ``vjp_fn``, for cotangents that do not fit the output.

    >>> import numpy as np
    >>> out, vjp_fn = vjp(np.multiply, 2.0, 3.0)
    >>> vjp_fn(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    func = converting(func, convert)
    call = _call("vjp", func, primals, has_aux, safe_where, keeps=True, by_sweep=True)
    leaves = call.differentiable()
    pullback: _Pullback
    if isinstance(call, BatchedDerivative):
        value, aux = call.value(call.values(keeps=True))
        pullback = _BatchedPullback(call, leaves, structure(primals))
    elif isinstance(call, EvaluatedDerivative):
        value, aux = call.value(call.values(keeps=True))
        call.forget_values()
        pullback = _EvaluatedPullback(call, leaves, structure(primals))
    else:
        forward, backward = call.vjp(leaves)
        outputs, residuals = call.run_forward(forward)
        value, aux = call.value(outputs)
        call.forget_arrays()
        pullback = _TracedPullback(call, leaves, structure(primals), backward, residuals)

    @with_users_frames
    def vjp_fn(cotangents: Any, *, batched: bool = False) -> Any:
        return pullback.pull(cotangents, batched=batched)

    return (value, vjp_fn, aux) if has_aux else (value, vjp_fn)


class _Pullback:
    """A function after its forward pass, ready for the backward pass."""

    def __init__(self, call: DifferentiatedCall, out_leaves: list[ArrayOutput], primals: Any) -> None:
        self.call, self.out_leaves, self.primals = call, out_leaves, primals
        self.out_types = list(map(call.type_of, out_leaves))

    def pull(self, cotangents: Any, *, batched: bool) -> Any:
        """The cotangents of the primals."""
        flat = self._flatten(cotangents)
        size = None
        if batched:
            size = batch_size(self.call.where, "the cotangents", flat, self._paths(), "batched=True")
        given = self._fitted(flat, () if size is None else (size,))
        return optree.tree_unflatten(self.primals, self._pulled(given, size))

    def _pulled(self, given: list[Any], size: int | None) -> list[Any]:
        """The leaves of the cotangents of the primals. With `size`, the first axes are a batch."""
        raise NotImplementedError

    def _through(
        self, backward: Graph, residuals: Sequence[Any], given: list[Any], size: int | None
    ) -> list[Any]:
        """The same by a graph."""
        graph = backward
        if size is not None:
            axes = [None] * len(residuals) + [0] * len(given)
            out_axes = [0] * len(backward.outputs)
            graph = transformed(partial(vmap_graph, in_axes=axes, size=size, out_axes=out_axes), backward)
        return run(graph, [*residuals, *given])

    def _flatten(self, cotangents: Any) -> list[Any]:
        """One array or None per output."""
        tree = self.call.out_tree
        try:
            return spread(
                cotangents, tree, lambda x, part: x is None or (part.is_leaf() and is_array_like(x))
            )
        except LookupError:
            check_same_structure(f"{self.call.where}: cotangents", structure(cotangents), tree)
            raise TransformTypeError(
                f"{self.call.where}: the cotangents must be arrays, not {shown(cotangents, 80)}"
            ) from None

    def _fitted(self, given: Sequence[Any], batch: tuple[int, ...]) -> list[Any]:
        """Arrays of the outputs' types after the axis `batch`; None becomes zeros."""
        return [
            zeros(ArrayType(type.dtype, (*batch, *type.shape)))
            if cotangent is None
            else fitting(cotangent, type, (*batch, *type.shape), f"{self.call.where}: {path}", casting="safe")
            for cotangent, type, path in zip(given, self.out_types, self._paths(), strict=True)
        ]

    def _paths(self) -> list[str]:
        return path_names(self.call.out_tree, "cotangents")


class _TracedPullback(_Pullback):
    """By the graph of the backward pass."""

    def __init__(
        self,
        call: DifferentiatedCall,
        out_leaves: list[ArrayOutput],
        primals: Any,
        backward: Graph,
        residuals: list[Any],
    ) -> None:
        super().__init__(call, out_leaves, primals)
        self.backward, self.residuals = backward, residuals

    def _pulled(self, given: list[Any], size: int | None) -> list[Any]:
        leaves = self._through(self.backward, self.residuals, given, size)
        safe = partial(self.call.vjp, self.out_leaves, safe=True)
        self.call.warn_of_masked_nan(leaves, lambda: self._through(safe()[1], self.residuals, given, size))
        return leaves


class _EvaluatedPullback(_Pullback):
    """Through the nodes of a function that has run."""

    call: EvaluatedDerivative

    def _pulled(self, given: list[Any], size: int | None) -> list[Any]:
        if size is not None or not self.call.can_sweep(given):
            return self._by_graph(given, size, safe=False)
        leaves = self.call.pull_back(self.out_leaves, given)
        self.call.warn_of_masked_nan(leaves, lambda: self._by_graph(given, size, safe=True))
        return leaves

    def _by_graph(self, given: list[Any], size: int | None, *, safe: bool) -> list[Any]:
        backward, residuals = self.call.backward(self.out_leaves, safe=safe)
        found = self._through(backward, residuals, given, size)
        if not safe:
            self.call.warn_of_masked_nan(found, lambda: self._by_graph(given, size, safe=True))
        return found


class _BatchedPullback(_Pullback):
    """Through the nodes of a function that has run for a whole batch."""

    def __init__(self, call: BatchedDerivative, out_leaves: list[ArrayOutput], primals: Any) -> None:
        super().__init__(call, out_leaves, primals)
        self._linear = BatchedLinear(call, out_leaves, is_backward=True)

    def _pulled(self, given: list[Any], size: int | None) -> list[Any]:
        return self._linear(given, size)


@lru_cache
def _all_arguments(transform: str, count: int) -> Argnums:
    return Argnums(transform, tuple(range(count)), None)


def _call(
    transform: str,
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    safe_where: bool,
    *,
    keeps: bool = False,
    by_sweep: bool = False,
    tangents: tuple[Any, ...] | None = None,
) -> TracedDerivative | EvaluatedDerivative:
    """A call in which every positional argument is differentiated, in the direction of `tangents` if given."""
    require_function(transform, func)
    if not primals:
        raise TransformArgumentError(f"{transform}({describe(func)}): no primals given")
    argnums = _all_arguments(transform, len(primals))
    chosen = argnums.choose(func, primals, {})
    if tangents is not None and not safe_where:
        found = forward(func, primals, chosen, has_aux, tangents)
        if found is not None:
            return found
    return differentiated(func, primals, {}, chosen, has_aux, safe_where, keeps=keeps, by_sweep=by_sweep)
