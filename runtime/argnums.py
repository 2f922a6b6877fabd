"""Which arguments a transform differentiates: `argnums` and `argnames`, checked, and the way back to their trees."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..compiler.dtypes import dtype_name, is_complex, is_inexact
from ..compiler.errors import TransformArgumentError, TransformTypeError
from ..compiler.program import NAMESPACE, describe, leaf_type


class Argnums:
    """The choice as it was made when wrapping a function. Wrong types are found here, wrong numbers at the call."""

    def __init__(self, transform: str, argnums: Any, argnames: Any) -> None:
        self.transform = transform
        if argnums is None:
            argnums = () if argnames is not None else 0
        self.is_tuple = isinstance(argnums, (tuple, list))
        self.numbers = tuple(argnums) if self.is_tuple else (argnums,)
        self.names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
        for number in self.numbers:
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
                raise TransformTypeError(f"{transform}: argnums must be an int or a tuple of ints, not {argnums!r}")
        for name in self.names:
            if not isinstance(name, str):
                raise TransformTypeError(f"{transform}: argnames must be a str or a tuple of them, not {argnames!r}")
        if not self.numbers and not self.names:
            raise TransformArgumentError(f"{transform}: argnums is empty, there is nothing to differentiate")

    def choose(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Chosen":
        """The chosen arguments of one call."""
        where = f"{self.transform}({describe(function)})"
        count = len(args)
        for number in self.numbers:
            if not -count <= number < count:
                raise TransformArgumentError(
                    f"{where}: argnums={number} is out of range: the call has {count} positional arguments"
                )
        positions = tuple(int(number) % count for number in self.numbers)
        if len(set(positions)) != len(positions):
            raise TransformArgumentError(f"{where}: argnums={self.numbers} names an argument twice")
        for name in self.names:
            if name not in kwargs:
                raise TransformArgumentError(f"{where}: argnames has {name!r}, which the call does not pass by keyword")
        return Chosen(self, where, positions, args, kwargs)


class Chosen:
    """The arguments of one call that are differentiated."""

    def __init__(
        self, argnums: Argnums, where: str, positions: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.argnums = argnums
        self.where = where
        self.positions = positions
        self.args = args
        self.kwargs = kwargs

    def leaves(self) -> list[bool]:
        """For each leaf of the call whether it belongs to a chosen argument."""
        args = tuple(_fill(arg, i in self.positions) for i, arg in enumerate(self.args))
        kwargs = {name: _fill(arg, name in self.argnums.names) for name, arg in self.kwargs.items()}
        return optree.tree_leaves((args, kwargs), namespace=NAMESPACE)  # type: ignore[arg-type]

    def check(self, leaf: Any, path: str, *, holomorphic: bool | None = None) -> None:
        """A leaf that is differentiated must be a floating array or number; complex only if that is wanted."""
        dtype = leaf_type(leaf, f"{self.where}: {path}").dtype
        if not is_inexact(dtype):
            raise TransformTypeError(
                f"{self.where}: {path} has dtype {dtype_name(dtype)}, which has no derivative: pass floating-point "
                "numbers, or leave the argument out of argnums"
            )
        if holomorphic is False and is_complex(dtype):
            raise TransformTypeError(f"{self.where}: {path} is complex: pass holomorphic=True if the function is")

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the structure of the chosen arguments: bare for an int, a tuple for a tuple, a dict for names."""
        remaining = iter(leaves)

        def filled(tree: Any) -> Any:
            return optree.tree_map(lambda _: next(remaining), tree, namespace=NAMESPACE)

        by_position = {position: filled(self.args[position]) for position in sorted(self.positions)}
        by_name = {name: filled(self.kwargs[name]) for name in sorted(self.kwargs) if name in self.argnums.names}
        if not self.positions:
            return by_name
        ordered = tuple(by_position[position] for position in self.positions)
        result = ordered if self.argnums.is_tuple else ordered[0]
        return (result, by_name) if by_name else result


def _fill(tree: Any, flag: bool) -> Any:
    return optree.tree_map(lambda _: flag, tree, namespace=NAMESPACE)
