"""Which arguments a transform differentiates: `argnums`, `argnames`, and the way back to their trees."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import leaf_type
from ...compiler.arguments.option_checks import is_int
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import dtype_name, is_inexact
from ...compiler.errors import TransformArgumentError, TransformTypeError
from ...compiler.nesting import shown
from ..trees import structure


class Argnums:
    """The choice made when wrapping a function. Wrong types are detected here, wrong numbers at the call."""

    def __init__(self, transform: str, argnums: Any, argnames: Any) -> None:
        self.transform = transform
        if argnums is None:
            argnums = () if argnames is not None else 0
        self.is_tuple = isinstance(argnums, (tuple, list))
        self.numbers = tuple(argnums) if self.is_tuple else (argnums,)
        for number in self.numbers:
            if not is_int(number):
                raise TransformTypeError(
                    f"{transform}: argnums must be an int or a tuple of ints, not {shown(argnums)}"
                )
        self.names = (argnames,) if isinstance(argnames, str) else () if argnames is None else argnames
        if not isinstance(self.names, (tuple, list)) or not all(isinstance(name, str) for name in self.names):
            raise TransformTypeError(
                f"{transform}: argnames must be a str or a tuple of them, not {shown(argnames)}"
            )
        self.is_beginning = self.numbers == tuple(range(len(self.numbers))) and not self.names
        """Whether the first arguments are chosen, in order."""
        if not self.numbers and not self.names:
            raise TransformArgumentError(f"{transform}: argnums is empty, there is nothing to differentiate")

    def choose(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Chosen":
        """The chosen arguments of one call."""
        count = len(args)
        if self.is_beginning and len(self.numbers) <= count:
            return Chosen(self, function, self.numbers, args, kwargs)
        for number in self.numbers:
            if not -count <= number < count:
                where = self.named(function)
                raise TransformArgumentError(
                    f"{where}: argnums={number} is out of range: the call has {count} positional argument"
                    f"{'' if count == 1 else 's'}"
                )
        positions = tuple(int(number) % count for number in self.numbers)
        if len(set(positions)) != len(positions):
            raise TransformArgumentError(
                f"{self.named(function)}: argnums={self.numbers} names an argument twice"
            )
        if len(set(self.names)) != len(self.names):
            raise TransformArgumentError(
                f"{self.named(function)}: argnames={self.names} names an argument twice"
            )
        for name in self.names:
            if name not in kwargs:
                raise TransformArgumentError(
                    f"{self.named(function)}: argnames has {shown(name)}, which the call does not pass by keyword"
                )
        return Chosen(self, function, positions, args, kwargs)

    def named(self, function: Callable[..., Any]) -> str:
        """The transform of a function, in messages: ``grad(loss)``."""
        return f"{self.transform}({describe(function)})"


class Chosen:
    """The arguments of one call that are differentiated."""

    def __init__(
        self,
        argnums: Argnums,
        function: Callable[..., Any],
        positions: tuple[int, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.argnums = argnums
        self.function = function
        self.positions = positions
        self.args = args
        self.kwargs = kwargs

    @property
    def where(self) -> str:
        """The transform of the function, in messages."""
        return self.argnums.named(self.function)

    def leaves(self, tree: Any) -> list[bool]:
        """For each leaf of the call, whose structure is `tree`, whether it belongs to a chosen argument."""
        count = len(self.args)
        if tree.num_leaves == count and tree.num_nodes == count + 3:  # no argument is a container
            return [number in self.positions for number in range(len(self.args))]
        args, kwargs = tree.children()
        parts = [(number in self.positions, part) for number, part in enumerate(args.children())]
        by_name = zip(kwargs.entries(), kwargs.children(), strict=True)
        parts += [(name in self.argnums.names, part) for name, part in by_name]
        return [is_chosen for is_chosen, part in parts for _ in range(part.num_leaves)]

    def check(self, leaf: Any, path: str) -> None:
        """A differentiated leaf must be a floating-point or complex array or number."""
        dtype = leaf_type(leaf, f"{self.where}: {path}").dtype
        if not is_inexact(dtype):
            raise TransformTypeError(
                f"{self.where}: {path} has dtype {dtype_name(dtype)}, which has no derivative: pass "
                "floating-point numbers, or leave the argument out of argnums"
            )

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the trees of the chosen arguments: bare for an int, a tuple, or a dict for names."""
        argnums = self.argnums
        if not (argnums.is_tuple or argnums.names) and type(self.args[self.positions[0]]) is np.ndarray:
            return leaves[0]
        remaining = iter(leaves)

        def filled(tree: Any) -> Any:
            if type(tree) is np.ndarray:
                return next(remaining)
            shape = structure(tree)
            return optree.tree_unflatten(shape, islice(remaining, shape.num_leaves))

        by_position = {position: filled(self.args[position]) for position in sorted(self.positions)}
        names = sorted(name for name in self.kwargs if name in self.argnums.names)
        by_name = {name: filled(self.kwargs[name]) for name in names}
        if not self.positions:
            return by_name
        ordered = tuple(by_position[position] for position in self.positions)
        result = ordered if self.argnums.is_tuple else ordered[0]
        return (result, by_name) if by_name else result
