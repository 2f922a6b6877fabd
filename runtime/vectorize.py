"""`vmap`: a function of one example becomes a function of a batch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..compiler.errors import TransformArgumentError
from ..compiler.ir import ArrayType
from ..compiler.program import (
    NAMESPACE,
    Argument,
    ArrayOutput,
    Program,
    Static,
    argument_names,
    describe,
    flatten_arguments,
    path_names,
    trace,
)
from ..compiler.traced_array import TracedArray
from ..passes.vmap import mapped_outputs
from ..passes.vmap import vmap as vmap_graph
from .transform import as_argument, inputs_of, like_function, run

Dim = int | None


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    *,
    kw_dims: dict[str, Any] | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Map `func` over an axis of its arguments, as a loop over the slices would, without the loop.

    Args:
        func: a function of arrays (or pytrees of them) for one example.
        in_dims: which axis of each argument is the batch: an int for all, or a tuple with an entry per positional
            argument; an entry is an int, None (not mapped), or a tree of these that is a prefix of the argument.
        out_dims: where the batch axis goes in each output: an int, None (the output does not depend on the
            batch), or a tree that is a prefix of the output. Negative numbers count from the end of the result.
        kw_dims: the same for keyword arguments, by name; those not named are not mapped.
        axis_size: the batch size, needed only if no argument is mapped.

    Returns:
        A function of the batched arguments. Value, shape and dtype equal those of the stacked results of the loop.

    Raises:
        TransformArgumentError: (a ValueError) for dims that do not fit the arguments or the outputs.

    >>> import numpy as np
    >>> vmap(np.dot)(np.ones((3, 2)), np.ones((3, 2)))
    array([2., 2., 2.])
    """

    @like_function(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _Mapping(func, in_dims, out_dims, kw_dims or {}, axis_size, args, kwargs).result()

    return mapped


class _Mapping:
    """One call of a mapped function."""

    def __init__(
        self,
        func: Callable[..., Any],
        in_dims: Any,
        out_dims: Any,
        kw_dims: dict[str, Any],
        axis_size: int | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.where = f"vmap({describe(func)})"
        self.out_dims = out_dims
        self._check_out_dims()
        self._check_in_dims(in_dims, kw_dims, args, kwargs, axis_size)
        self.leaves, tree = flatten_arguments(args, kwargs)
        self.names = argument_names(tree)
        self.dims = self._leaf_dims(in_dims, kw_dims, args, kwargs)
        self.size = self._batch_size(axis_size)
        entering = [
            self._enter(leaf, name, dim) for leaf, name, dim in zip(self.leaves, self.names, self.dims, strict=True)
        ]
        self.program = trace(func, tree, entering)
        traced = [isinstance(e, Argument) for e in entering]
        self.inputs = inputs_of(self.program, [x for x, t in zip(self.leaves, traced, strict=True) if t])
        self.in_axes: list[Dim] = [d for d, t in zip(self.dims, traced, strict=True) if t]
        self.in_axes += [None] * len(self.program.captured)

    # ---- checks before the function runs ---------------------------------------------------------

    def _check_out_dims(self) -> None:
        for dim in optree.tree_leaves(self.out_dims, none_is_leaf=True, namespace=NAMESPACE):
            if not _is_dim(dim):
                raise TransformArgumentError(
                    f"{self.where}: out_dims must hold ints and None, not {type(dim).__name__}: {dim!r}"
                )

    def _check_in_dims(
        self, in_dims: Any, kw_dims: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], axis_size: int | None
    ) -> None:
        if isinstance(in_dims, bool) or not isinstance(in_dims, (int, np.integer, tuple, list)):
            if not (in_dims is None and (axis_size is not None or kw_dims)):
                raise TransformArgumentError(
                    f"{self.where}: in_dims must be an int or a tuple with one entry per argument, "
                    f"not {type(in_dims).__name__}: {in_dims!r}"
                )
        if not args and not kw_dims and axis_size is None:
            raise TransformArgumentError(f"{self.where}: no inputs: vmap needs a positional argument to map over")
        for name in kw_dims:
            if name not in kwargs:
                raise TransformArgumentError(f"{self.where}: kw_dims has {name!r}, which the call does not pass")

    def _leaf_dims(
        self, in_dims: Any, kw_dims: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Dim]:
        """The dim of each leaf of the arguments."""
        per_argument = tuple(in_dims) if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(per_argument) != len(args):
            raise self._mismatch("in_dims", in_dims, args)
        dims: list[Dim] = []
        for i, (dim, arg) in enumerate(zip(per_argument, args, strict=True)):
            dims += self._spread(dim, arg, f"args[{i}]", "in_dims", in_dims, args)
        for name in _in_tree_order(kwargs):
            dims += self._spread(kw_dims.get(name), kwargs[name], f"kwargs[{name!r}]", "kw_dims", kw_dims, kwargs)
        return [
            self._checked(dim, leaf, path) for dim, leaf, path in zip(dims, self.leaves, self.names, strict=True)
        ]

    def _spread(self, dims: Any, tree: Any, path: str, what: str, all_dims: Any, all_trees: Any) -> list[Any]:
        """A tree of dims that is a prefix of `tree`, as one dim per leaf."""
        if dims is None or isinstance(dims, (int, np.integer)) or _is_leaf(dims):
            if not _is_dim(dims):
                raise TransformArgumentError(f"{self.where}: {what} for {path} must be an int or None, not {dims!r}")
            return [dims] * optree.tree_structure(tree, namespace=NAMESPACE).num_leaves
        if _is_leaf(tree) or type(dims) is not type(tree) or _entries(dims) != _entries(tree):
            raise self._mismatch(what, all_dims, all_trees)
        spread: list[Any] = []
        for entry, dim, part in zip(_entries(tree), _children(dims), _children(tree), strict=True):
            spread += self._spread(dim, part, f"{path}[{entry!r}]", what, all_dims, all_trees)
        return spread

    def _mismatch(self, what: str, dims: Any, tree: Any) -> TransformArgumentError:
        shown = str(optree.tree_structure(tree, namespace=NAMESPACE)).removeprefix("PyTreeSpec(")
        shown = shown.removesuffix(")").replace(f", namespace='{NAMESPACE}'", "")
        return TransformArgumentError(f"{self.where}: {what}={dims!r} does not fit the structure {shown}")

    def _checked(self, dim: Dim, leaf: Any, path: str) -> Dim:
        """A dim in range for its array, wrapped to be non-negative."""
        if dim is None:
            return None
        if not isinstance(leaf, (np.ndarray, TracedArray)):
            raise TransformArgumentError(
                f"{self.where}: {path} has in_dim {dim} but is {type(leaf).__name__}, not an array: use None"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            valid = f"the valid range is {-leaf.ndim} to {leaf.ndim - 1}" if leaf.ndim else "it is 0-d: use None"
            raise TransformArgumentError(
                f"{self.where}: in_dim {dim} is out of range for {path} of shape {tuple(leaf.shape)}; {valid}"
            )
        return int(dim) % leaf.ndim

    def _batch_size(self, axis_size: int | None) -> int:
        sizes = {
            name: leaf.shape[dim]
            for name, leaf, dim in zip(self.names, self.leaves, self.dims, strict=True)
            if dim is not None
        }
        if not sizes and axis_size is None:
            raise TransformArgumentError(f"{self.where}: every in_dim is None: map at least one argument or give axis_size")
        distinct = {*sizes.values(), *(() if axis_size is None else (axis_size,))}
        if len(distinct) > 1:
            found = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            given = "" if axis_size is None else f", axis_size is {axis_size}"
            raise TransformArgumentError(f"{self.where}: the mapped axes have different sizes: {found}{given}")
        return distinct.pop()

    def _enter(self, leaf: Any, name: str, dim: Dim) -> "Argument | Static":
        """A mapped leaf enters as one example of it; an unmapped array as it is; anything else unchanged."""
        if dim is None:
            is_array = isinstance(leaf, (np.ndarray, TracedArray))
            return as_argument(leaf, name, known=False) if is_array else Static(leaf)
        whole = as_argument(leaf, name, known=False)
        shape = whole.type.shape[:dim] + whole.type.shape[dim + 1 :]
        # A slice of a 1-d array is a scalar, as in the loop.
        return Argument(ArrayType(whole.type.dtype, shape), name, None, not shape, None, whole.identity)

    # ---- running -----------------------------------------------------------------------------------

    def result(self) -> Any:
        """The batched result; arrays that the function wrote to are updated."""
        program = self.program
        mapped = mapped_outputs(program.graph, self.in_axes)
        out_axes: list[Dim] = [None] * len(program.graph.outputs)
        for leaf, dim, path in zip(program.out_leaves, self._output_dims(), self._output_paths(), strict=True):
            if isinstance(leaf, ArrayOutput):
                out_axes[leaf.index] = self._output_axis(program, leaf, dim, mapped[leaf.index], path)
        for index, output in program.mutated:
            self._check_mutation(index, mapped[output])
            out_axes[output] = self.in_axes[index]
        graph = vmap_graph(program.graph, in_axes=self.in_axes, size=self.size, out_axes=out_axes)
        outputs = run(graph, self.inputs)
        for index, output in program.mutated:
            self.inputs[index][...] = outputs[output]
        return program.result(outputs)

    def _output_paths(self) -> list[str]:
        return path_names(self.program.out_tree, "output")

    def _output_dims(self) -> Sequence[Any]:
        """The out_dim of each leaf of the result."""
        placeholders = optree.tree_unflatten(self.program.out_tree, list(range(self.program.out_tree.num_leaves)))
        return self._spread(self.out_dims, placeholders, "output", "out_dims", self.out_dims, placeholders)

    def _output_axis(self, program: Program, leaf: ArrayOutput, dim: Dim, is_mapped: bool, path: str) -> Dim:
        if dim is None:
            if is_mapped:
                raise TransformArgumentError(
                    f"{self.where}: {path} depends on the batch, so its out_dim cannot be None: say where the axis goes"
                )
            return None
        ndim = program.graph.outputs[leaf.index].ndim + 1
        if not -ndim <= dim < ndim:
            raise TransformArgumentError(
                f"{self.where}: out_dim {dim} is out of range for {path}, which has {ndim} axes with the batch; "
                f"the valid range is {-ndim} to {ndim - 1}"
            )
        return int(dim) % ndim

    def _check_mutation(self, index: int, is_mapped: bool) -> None:
        """A loop would write to an unmapped array once per example, in order: that is not one batched write."""
        if self.in_axes[index] is None:
            name = self.program.graph.input_names[index]
            raise TransformArgumentError(
                f"{self.where}: the function writes to {name}, which is not mapped: every example would overwrite it. "
                "Map it, or return the new value instead"
            )


def _is_dim(dim: Any) -> bool:
    return dim is None or (isinstance(dim, (int, np.integer)) and not isinstance(dim, bool))


def _is_leaf(tree: Any) -> bool:
    return optree.tree_is_leaf(tree, none_is_leaf=True, namespace=NAMESPACE)


def _children(tree: Any) -> list[Any]:
    return list(optree.tree_flatten_one_level(tree, none_is_leaf=True, namespace=NAMESPACE)[0])


def _entries(tree: Any) -> list[Any]:
    return list(optree.tree_flatten_one_level(tree, none_is_leaf=True, namespace=NAMESPACE)[2])


def _in_tree_order(kwargs: dict[str, Any]) -> list[str]:
    """Keyword names in the order in which a tree holds them."""
    return sorted(kwargs)
