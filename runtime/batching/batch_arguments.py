"""`BatchArguments`: the arguments of a mapped function, and the batch axis of each array."""

from collections.abc import Mapping
from typing import Any

import optree

from ...compiler.arguments.leaves import NAMESPACE, argument_names, flatten_arguments, leaf_type, remedy_for
from ...compiler.arguments.option_checks import is_int
from ...compiler.errors import TransformArgumentError, TreeMismatchError
from ...compiler.frontend.program import Argument, Static
from ...compiler.ir import ArrayType
from ...compiler.labelled.classes import CONVERTERS, MEMORY
from ...compiler.nesting import refusing_deep_nesting, shown
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.foreign_memory import is_outside
from ..eager.mapped_graph import BatchAxis
from ..eager.run import as_argument, is_array
from ..int_options import joint_length
from ..trees import show, spread


class BatchArguments:
    """The arguments of one call of a mapped function with the batch axis of each leaf, checked."""

    def __init__(
        self,
        where: str,
        in_dims: Any,
        out_dims: Any,
        kw_dims: Mapping[str, Any],
        axis_size: int | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.where = where
        self.out_dims = out_dims
        self._check_out_dims()
        self._check_in_dims(in_dims, kw_dims, axis_size)
        self._check_inputs(args, kwargs, kw_dims, axis_size)
        self.leaves, self.tree = flatten_arguments(args, kwargs)
        self.names = argument_names(self.tree)
        given = self._spread_in_dims(in_dims, kw_dims)
        self.dims = [
            self._checked(dim, leaf, name)
            for dim, leaf, name in zip(given, self.leaves, self.names, strict=True)
        ]
        if MEMORY and any(self.dims):
            self._check_labels()
        self.size = self._size(axis_size)

    def _check_out_dims(self) -> None:
        with refusing_deep_nesting("out_dims", self.out_dims):
            dims = optree.tree_leaves(self.out_dims, none_is_leaf=True, namespace=NAMESPACE)
        for dim in dims:
            if not _is_dim(dim):
                raise TransformArgumentError(
                    f"{self.where}: out_dims must contain ints and None, not {type(dim).__name__}: {shown(dim)}"
                )

    def _check_in_dims(self, in_dims: Any, kw_dims: Mapping[str, Any], axis_size: int | None) -> None:
        is_possible = isinstance(in_dims, (tuple, list)) or _is_dim(in_dims)
        if not is_possible or (in_dims is None and axis_size is None and not kw_dims):
            raise TransformArgumentError(
                f"{self.where}: in_dims must be an int or a tuple with one entry per argument, "
                f"not {type(in_dims).__name__}: {shown(in_dims)}"
            )
        if not isinstance(kw_dims, Mapping):
            raise TransformArgumentError(
                f"{self.where}: kw_dims must be a dict of dims by name, not {type(kw_dims).__name__}: "
                f"{shown(kw_dims)}"
            )
        if axis_size is not None and not (_is_size(axis_size) and axis_size >= 0):
            raise TransformArgumentError(
                f"{self.where}: axis_size must be an int of at least 0, not {shown(axis_size)}"
            )

    def _check_inputs(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], kw_dims: Mapping[str, Any], axis_size: int | None
    ) -> None:
        if not args and not kw_dims and axis_size is None:
            raise TransformArgumentError(
                f"{self.where}: no inputs: vmap needs a positional argument to map over"
            )
        for name in kw_dims:
            if name not in kwargs:
                raise TransformArgumentError(
                    f"{self.where}: kw_dims has {name!r}, which the call does not pass"
                )

    def _spread_in_dims(self, in_dims: Any, kw_dims: Mapping[str, Any]) -> list[Any]:
        """The entries of `in_dims` and `kw_dims` for each leaf of the arguments."""
        args, kwargs = self.tree.children()
        per_argument = tuple(in_dims) if isinstance(in_dims, list) else in_dims
        per_name = {name: kw_dims.get(name) for name in kwargs.entries()}
        return [
            *spread_dims(per_argument, args, f"{self.where}: in_dims"),
            *spread_dims(per_name, kwargs, f"{self.where}: kw_dims"),
        ]

    def _checked(self, dim: Any, leaf: Any, path: str) -> BatchAxis:
        """A dim in range for its array, wrapped to be non-negative."""
        if not _is_dim(dim):
            raise TransformArgumentError(
                f"{self.where}: the dim of {path} must be an int or None, not {type(dim).__name__}: {shown(dim)}"
            )
        if is_array(leaf) or is_outside(leaf):
            leaf_type(leaf, f"{self.where}: {path}")
        if dim is None:
            return None
        if not is_array(leaf):
            raise TransformArgumentError(
                f"{self.where}: {path} has dim {dim} but is {type(leaf).__name__}, not an array: use None"
                + remedy_for(leaf)
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            valid = (
                f"the valid range is {-leaf.ndim} to {leaf.ndim - 1}" if leaf.ndim else "it is 0-d: use None"
            )
            raise TransformArgumentError(
                f"{self.where}: dim {dim} is out of range for {path} of shape {leaf.shape}; {valid}"
            )
        return int(dim) % int(leaf.ndim)

    def _check_labels(self) -> None:
        """Labels belong to an example only if the axis of the examples is the first one."""
        for dim, is_labelled, name in zip(self.dims, _of_labelled(self.tree), self.names, strict=True):
            if dim and is_labelled:
                raise TransformArgumentError(
                    f"{self.where}: {name} has dim {dim}, but an example gets its labels only if the examples come "
                    "first: pass df.T, x.transpose(…) of a DataArray, or x.to_numpy()"
                )

    def _size(self, axis_size: int | None) -> int:
        leaves = zip(self.names, self.leaves, self.dims, strict=True)
        sizes = {name: leaf.shape[dim] for name, leaf, dim in leaves if dim is not None}
        if not sizes and axis_size is None:
            raise TransformArgumentError(
                f"{self.where}: every dim is None: map at least one argument or give axis_size"
            )
        known = joint_length([*sizes.values(), *(() if axis_size is None else (axis_size,))])
        if known is None:
            found = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            given = "" if axis_size is None else f"; axis_size is {axis_size}"
            raise TransformArgumentError(
                f"{self.where}: the mapped axes have different sizes: {found}{given}"
            )
        return known if isinstance(known, SymbolicSize) else int(known)

    def arguments(self) -> "list[Argument | Static]":
        """A mapped array enters as one example; an unmapped one as it is; anything else does not change."""
        return [
            _example(leaf, name, dim) if is_array(leaf) else Static(leaf)
            for leaf, name, dim in zip(self.leaves, self.names, self.dims, strict=True)
        ]


def _of_labelled(tree: Any) -> list[bool]:
    """For each leaf, whether an object of pandas or xarray holds it."""
    if tree.is_leaf() or tree.type in MEMORY or tree.type in CONVERTERS:
        return [not tree.is_leaf()] * tree.num_leaves
    return [found for child in tree.children() for found in _of_labelled(child)]


def _is_dim(dim: Any) -> bool:
    return dim is None or is_int(dim)


def _is_size(size: Any) -> bool:
    return isinstance(size, SymbolicSize) or is_int(size)


def spread_dims(dims: Any, tree: Any, what: str) -> list[Any]:
    """A tree of dims that is a prefix of `tree`, expanded to one dim per leaf."""
    try:
        return spread(
            dims, tree, lambda part, _: optree.tree_is_leaf(part, none_is_leaf=True, namespace=NAMESPACE)
        )
    except LookupError:
        raise TreeMismatchError(
            f"{what}={shown(dims)} is not a prefix of the structure {show(tree)}"
        ) from None


def _example(leaf: Any, name: str, dim: BatchAxis) -> Argument:
    """One example of an array; a slice of a 1-d array is a scalar, as in a loop."""
    whole = as_argument(leaf, name, known=dim is None)
    if dim is None:
        return whole
    shape = whole.type.shape[:dim] + whole.type.shape[dim + 1 :]
    layout = whole.layout and whole.layout.without(dim)
    return Argument(
        ArrayType(whole.type.dtype, shape), name, None, not shape, None, (whole.identity, dim), layout
    )
