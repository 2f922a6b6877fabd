"""`dynamic=`: which axes of a call's arguments get names for their sizes, so that one program serves all of them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from keyword import iskeyword
from typing import Any, Final, TypeAlias, cast

from ...compiler.arguments.leaves import users_name
from ...compiler.arguments.option_checks import is_int
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import DType, dtype_name, dtype_named, dtype_names
from ...compiler.errors import (
    ArgumentSpecError,
    DimMismatchError,
    DimSpecError,
    DTypeError,
    TransformTypeError,
)
from ...compiler.ir import Shape
from ...compiler.nesting import shown
from ...compiler.shapes.arguments.solving import SizeReader, axes_text
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import LONGEST_NAME, RESERVED, Comparison, Dim, Extent
from ...compiler.shapes.guards import Guard, Guards
from ...compiler.shapes.reading import Sizes, read_constraints, read_dim, split_sizes
from ...compiler.shapes.terms import sizes_in
from .signature import ArraySpec, Signature

Axes: TypeAlias = Sequence["Dim | int | str | None"]
"""The sizes of an argument: dims, ints, their texts, or None for unspecified ones."""
Given: TypeAlias = "bool | str | Axes | None"
Place: TypeAlias = tuple[int, int]
"""The number of a leaf, and one of its axes."""

SMALLEST: Final = 2
"""Smaller sizes are special: an axis of size 1 is broadcast, and one of size 0 is empty."""

_SPEC = re.compile(r"\s*(\w*)\s*\[([^\[\]]*)\]\s*")
_HINT = 'write "f32[B, 784]", "[B, 2*K + 1]", with _ for an unspecified size, or a tuple of dims and ints'
_ROOT = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Described:
    """The declaration of an array: its sizes, and its dtype if that is declared, too."""

    shape: tuple[Extent | None, ...]
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Observations:
    """Facts from the calls of one family: the sizes of those that were compiled, and the results of naming sizes."""

    calls: tuple[Signature, ...] = ()
    given_up: frozenset[Place] = frozenset()
    """Axes for whose sizes programs were compiled one by one anyway."""


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Which axes are symbolic, checked: for all arguments, or by their names, with the declared sizes."""

    usual: bool | None = None
    arguments: Mapping[str, bool | Described | None] = field(default_factory=dict[str, Any], hash=False)
    sizes: Mapping[str, Dim] = field(default_factory=dict[str, Dim], hash=False)
    relations: tuple[Comparison, ...] = ()

    def named(
        self, function: Callable[..., Any], called: Signature, seen: Observations
    ) -> "tuple[Signature, dict[str, int]] | None":
        """The signature of a call with names for sizes, and their values in this call; None if nothing has a name.

        Raises:
            ArgumentSpecError, DTypeError, DimMismatchError, UndeterminedDimError: the call does not fit what is
                declared.
        """
        if self.usual is False and not self.arguments:
            return None
        naming = _Naming(self, function, called, seen)
        specs = naming.specs()
        reader = SizeReader(
            [naming.names[place] for place in naming.declared],
            [_shape(specs[place]) for place in naming.declared],
            self.relations,
        )
        hints = reader.read([_shape(called.specs[place]) for place in naming.declared])
        hints |= naming.hints
        if not hints:
            return None
        guards = Guards(tuple(map(Guard, self.relations)))
        return replace(called, specs=tuple(specs), guards=guards), hints


def _shape(spec: Any) -> Shape:
    assert isinstance(spec, ArraySpec)
    return spec.shape


# ---- one call ----------------------------------------------------------------------------------------


class _Naming:
    """Gives names to the sizes of one call."""

    def __init__(
        self, dynamic: Dynamic, function: Callable[..., Any], called: Signature, seen: Observations
    ) -> None:
        self.dynamic, self.called, self.seen = dynamic, called, seen
        self.names = [users_name(function, path) for path in called.paths]
        self.declared: list[int] = []
        """The leaves with declared sizes."""
        self.hints: dict[str, int] = {}
        """The sizes that were named here."""
        self._function = function
        self._taken = {*dynamic.sizes, *(_ROOT.findall(name)[0] for name in self.names), *RESERVED}
        self._by_sizes: dict[tuple[int, ...], Dim] = {}
        """Axes whose sizes were equal in all calls share a name."""

    def specs(self) -> list[Any]:
        """What the leaves are, with dims."""
        self._check_all_are_there()
        specs = list(self.called.specs)
        for number, spec in enumerate(specs):
            if not isinstance(spec, ArraySpec):
                continue
            said = self._said(self.names[number])
            if isinstance(said, Described):
                self._check(number, spec, said)
                self.declared.append(number)
                shape = [
                    self._observed(number, axis, None) if size is None else size
                    for axis, size in enumerate(said.shape)
                ]
            else:
                shape = [self._observed(number, axis, said) for axis in range(len(spec.shape))]
            specs[number] = replace(spec, shape=cast("Shape", tuple(shape)))
        return specs

    def _said(self, name: str) -> bool | Described | None:
        """By the longest name that leads to it."""
        arguments = self.dynamic.arguments
        found = [key for key in arguments if _leads_to(key, name)]
        return arguments[max(found, key=len)] if found else self.dynamic.usual

    def _check_all_are_there(self) -> None:
        for key in self.dynamic.arguments:
            arrays = [
                name
                for name, spec in zip(self.names, self.called.specs, strict=True)
                if isinstance(spec, ArraySpec)
            ]
            if not any(_leads_to(key, name) for name in arrays):
                raise ArgumentSpecError(
                    f"dynamic describes {key!r}, but this call of {describe(self._function)} has no such array:"
                    f" it has {', '.join(arrays) or 'none'}"
                )

    def _check(self, number: int, spec: ArraySpec, said: Described) -> None:
        name = self.names[number]
        if len(said.shape) != len(spec.shape):
            shown = ", ".join("_" if size is None else str(size) for size in said.shape)
            raise DimMismatchError(
                f"{name} has {axes_text(len(spec.shape))}, {list(spec.shape)}, and {len(said.shape)} are declared:"
                f" [{shown}]"
            )
        if said.dtype is not None and said.dtype != spec.dtype:
            raise DTypeError(
                f"{name} is {dtype_name(spec.dtype)} in this call, and it is declared to be {dtype_name(said.dtype)}:"
                f" convert it, np.asarray({name}, np.{said.dtype.name})"
            )

    def _observed(self, number: int, axis: int, mode: bool | None) -> Extent:
        """A name for a size, if earlier calls suggest one; otherwise the size."""
        size = _shape(self.called.specs[number])[axis]
        before = [_shape(call.specs[number])[axis] for call in self.seen.calls]
        is_varied = any(other != size for other in before)
        if size < SMALLEST or mode is False or (mode is None and not is_varied):
            return size
        if (number, axis) in self.seen.given_up:
            return size
        dim = self._by_sizes.get((*before, size))
        if dim is None:
            dim = self._by_sizes[*before, size] = Dim(self._free_name(number, axis), min=SMALLEST)
            self.hints[repr(dim)] = size
        return dim

    def _free_name(self, number: int, axis: int) -> str:
        """``x_0``, after the argument and the axis."""
        parts = re.findall(r"[A-Za-z0-9_]+", self.names[number])
        stem = "_".join(parts)[: LONGEST_NAME - 16] or "size"
        stem = stem if stem[0].isalpha() or stem[0] == "_" else f"_{stem}"
        name, count = f"{stem}_{axis}", 1
        while name in self._taken or iskeyword(name):
            count += 1
            name = f"{stem}_{axis}_{count}"
        self._taken.add(name)
        return name


def _leads_to(key: str, name: str) -> bool:
    """Whether `name` is the argument called `key`, or a part of it."""
    return name == key or (name.startswith(key) and name[len(key)] in "[.")


# ---- reading what is given ---------------------------------------------------------------------------


def read_dynamic(given: Any, constraints: Any = ()) -> Dynamic:
    """The options of `compile`, checked as far as possible without a function.

    Raises:
        TransformTypeError: it is of a type that says nothing.
        ArgumentSpecError: an argument's description cannot be read.
        DimSpecError: a size or a constraint cannot be read.
        ContradictoryConstraintsError: the constraints hold for no sizes.
    """
    dims = _dims_in(given.values()) if isinstance(given, Mapping) else ()
    sizes, relations = read_constraints(constraints, dims)
    if not isinstance(given, Mapping):
        if given is not None and not isinstance(given, bool):
            raise TransformTypeError(
                f"dynamic must be None, True, False, or a dict of what arguments are, not {shown(given)}"
            )
        if sizes or relations:
            raise DimSpecError(
                'constraints are of dims that dynamic names: write dynamic={"x": "[B, 784]"}, constraints=("B <= 64",)'
            )
        return Dynamic(given)
    declared = {name: _described(name, said, sizes) for name, said in given.items()}
    known = Assumptions(relations)
    shapes = [said.shape for said in declared.values() if isinstance(said, Described)]
    named = {repr(one) for shape in shapes for size in shape if isinstance(size, Dim) for one in size.sizes}
    named |= {size.text for one in known.relations for size in sizes_in(one.terms)}
    if stray := sizes.keys() - named:
        raise DimSpecError(f"the constraints are of {min(stray)!r}, which dynamic names in no argument")
    return Dynamic(None, declared, sizes, known.relations)


def _dims_in(described: Iterable[Any]) -> Iterable[Dim]:
    for said in described:
        for size in said if isinstance(said, tuple | list) else ():
            if isinstance(size, Dim):
                yield from size.sizes


def check_arguments(function: Callable[..., Any], dynamic: Dynamic) -> None:
    """Raises `ArgumentSpecError` for a name that is in none of the function's parameters, as far as Python knows
    them."""
    if not dynamic.arguments:
        return
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature
        return
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return
    names = [parameter.name for parameter in parameters]
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        names.append("args")
    for key in dynamic.arguments:
        if not any(_leads_to(name, key) for name in names):
            raise ArgumentSpecError(
                f"dynamic describes {key!r}, but {describe(function)} has no such argument: it has"
                f" {', '.join(names) or 'none'}"
            )


def _described(name: Any, said: Any, sizes: Sizes) -> bool | Described | None:
    if not isinstance(name, str):
        raise ArgumentSpecError(f"dynamic: arguments have names such as 'x', and {shown(name)} is none")
    if said is None or isinstance(said, bool):
        return said
    if isinstance(said, str):
        found = _SPEC.fullmatch(said)
        if found is None:
            raise ArgumentSpecError(
                f"dynamic: cannot read {shown(said)}, the description of {name!r}: {_HINT}"
            )
        short, inside = found.groups()
        if short and short not in dtype_names():
            raise ArgumentSpecError(
                f"dynamic: {name!r} is described as {shown(said)}, but {short!r} is not a dtype: write one of "
                f"{', '.join(dtype_names())}"
            )
        shape = tuple(_size(name, part, sizes) for part in split_sizes(inside))
        return Described(shape, dtype_named(short) if short else None)
    if isinstance(said, tuple | list):
        return Described(tuple(_size(name, size, sizes) for size in said))
    raise ArgumentSpecError(f"dynamic: {name!r} cannot be {shown(said)}: {_HINT}")


def _size(name: str, size: Any, sizes: Sizes) -> Extent | None:
    if size is None or size == "_":
        return None
    if isinstance(size, str):
        size = read_dim(size, sizes)
    if isinstance(size, Dim):
        return size
    if not is_int(size, 0):
        raise ArgumentSpecError(f"dynamic: a size of {name!r} cannot be {shown(size)}: {_HINT}")
    return int(size)
