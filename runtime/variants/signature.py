"""Signatures: what a compiled variant was compiled for, as a key for lookup and as generated code that checks a
call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ...compiler.arguments.leaves import argument_names, is_array_like, leaf_type, remedy_for, weak_type
from ...compiler.dtypes import Array, DType, dtype_name, is_supported
from ...compiler.errors import StaticArgumentError, WrongDeviceError
from ...compiler.frontend.program import Argument, Static
from ...compiler.ir import ArrayType, Shape
from ...compiler.memory_layout.layout import LayoutQuestion, row_major
from ...compiler.memory_layout.memory_order import MemoryOrder, memory_order
from ...compiler.nesting import refusing_deep_nesting, shown
from ...compiler.shapes.arguments.solving import SizeReader
from ...compiler.shapes.dim import Dim, of_size
from ...compiler.shapes.guards import Guards
from ...compiler.shapes.terms import sizes_in
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.traced_memory import is_traced
from ..gpu.device_array import DeviceArray
from .key_orders import KeyOrders
from .static_values import identity_of


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array argument: ``f32[2, 3]``, or ``f32[2, 3] on cuda:0``."""

    dtype: DType
    shape: Shape
    gpu: int | None = None
    """The number of the GPU that holds it; None if it is a NumPy array."""
    memory: MemoryOrder | None = field(default=None, compare=False)
    """Its memory layout; None for C order. It only counts if a program depends on it: see `LayoutGuard`."""
    owndata: bool = field(default=True, compare=False)
    writeable: bool = field(default=True, compare=False)
    """The flags in ``x.flags``; they count if a program reads them."""
    is_length: bool = field(default=False, compare=False)
    """It stands for an int that is a size."""

    is_traced = True

    def __str__(self) -> str:
        if self.is_length:
            return f"int {self.shape[0]}"
        place = "" if self.gpu is None else f" on cuda:{self.gpu}"
        return f"{ArrayType(self.dtype, self.shape)}{place}"

    @property
    def is_symbolic(self) -> bool:
        """Whether a size has a name."""
        return any(isinstance(size, SymbolicSize) for size in self.shape)


@dataclass(frozen=True, slots=True)
class NumberSpec:
    """A Python number (its type counts, not its value) or a NumPy scalar (its dtype counts)."""

    type: type[Any]
    dtype: DType

    is_traced = True

    def __str__(self) -> str:
        return (
            self.type.__name__ if self.type in (int, float, complex) else f"{dtype_name(self.dtype)} scalar"
        )


@dataclass(frozen=True, slots=True)
class StaticSpec:
    """An argument whose value is part of the signature."""

    value: Any = field(compare=False)
    identity: Any

    is_traced = False

    def __str__(self) -> str:
        return f"static {shown(self.value)}"


Spec = ArraySpec | NumberSpec | StaticSpec


class StaticLeaf:
    """Wraps a static argument while flattening, so that it counts as one leaf whatever it holds."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True, slots=True, repr=False)
class Signature:
    """The structure of a call's arguments and the type of each leaf. Hashable: the key of a variant without named
    sizes."""

    tree: Any
    specs: tuple[Spec, ...]
    guards: Guards = field(default=Guards(), compare=False)
    """Facts about named sizes, in addition to their own limits."""
    layouts: tuple[str, ...] = field(default=(), compare=False)
    """Facts about the memory orders of arguments, if they are not C order."""
    orders: KeyOrders = ()
    """The orders of the keys of dicts, from `key_orders`; empty if they do not matter."""

    @property
    def paths(self) -> list[str]:
        """The path of each leaf: ``args[0]['w']``."""
        return argument_names(self.tree)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The named sizes, in the order of their first occurrence; then those that only guards have."""
        arrays = [spec for spec in self.specs if isinstance(spec, ArraySpec)]
        named = [size for spec in arrays for size in spec.shape if isinstance(size, SymbolicSize)]
        sizes = [dim for size in named for dim in cast("Dim", size).sizes]
        compared = [
            of_size(size) for guard in self.guards.guards for size in sizes_in(guard.comparison.terms)
        ]
        return tuple(dict.fromkeys((*sizes, *compared)))

    @property
    def facts(self) -> list[str]:
        """Facts about the named sizes: ``["B in 1..4096", "A <= B"]``."""
        limits = [fact for dim in self.dims for fact in dim.limits[repr(dim)]]
        return limits + [repr(guard.comparison) for guard in self.guards.guards]

    @property
    def sizes(self) -> SizeReader:
        """Reads the named sizes from the shapes of the arrays that have some."""
        named = [
            (path, spec.shape)
            for path, spec in zip(self.paths, self.specs, strict=True)
            if isinstance(spec, ArraySpec) and spec.is_symbolic
        ]
        return SizeReader(
            [path for path, _ in named],
            [shape for _, shape in named],
            [one.comparison for one in self.guards.guards],
        )

    @property
    def shapes(self) -> list[Shape]:
        """Those of the arrays."""
        return [spec.shape for spec in self.specs if isinstance(spec, ArraySpec)]

    def at(self, sizes: Mapping[str, int]) -> "Signature":
        """The same with numbers for named sizes."""

        def number(size: Any) -> int:
            return cast("int", size.at(sizes) if isinstance(size, SymbolicSize) else size)

        specs = (
            replace(spec, shape=tuple(map(number, spec.shape))) if isinstance(spec, ArraySpec) else spec
            for spec in self.specs
        )
        return Signature(self.tree, tuple(specs), orders=self.orders)

    @property
    def family(self) -> "Signature":
        """The same for calls that differ only in sizes."""
        specs = (
            ArraySpec(spec.dtype, (-1,) * len(spec.shape), spec.gpu) if isinstance(spec, ArraySpec) else spec
            for spec in self.specs
        )
        return Signature(self.tree, tuple(specs), orders=self.orders)

    def __str__(self) -> str:
        leaves = ", ".join(f"{path}: {spec}" for path, spec in zip(self.paths, self.specs, strict=True))
        return (leaves or "no arguments") + self.where

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def symbolic_text(self) -> str:
        """The leaves with named sizes, and facts about these."""
        leaves = [
            f"{path}: {spec}"
            for path, spec in zip(self.paths, self.specs, strict=True)
            if isinstance(spec, ArraySpec) and spec.is_symbolic
        ]
        return ", ".join(leaves) + self.where

    @property
    def where(self) -> str:
        """Facts about named sizes and memory orders, as the end of a text; empty without any."""
        known = [*self.facts, *self.layouts]
        return f" where {' and '.join(known)}" if known else ""

    def changes_from(self, other: "Signature") -> list[str]:
        """How it differs from another signature, a line per argument path; a named size may have any value."""
        ours, theirs = (
            dict(zip(self.paths, self.specs, strict=True)),
            dict(zip(other.paths, other.specs, strict=True)),
        )
        lines = [
            f"{path}: {theirs[path]} became {ours[path]}"
            for path in ours
            if path in theirs and not is_one_of(ours[path], theirs[path])
        ]
        lines += [f"{path}: {ours[path]} is new" for path in ours if path not in theirs]
        lines += [f"{path}: {theirs[path]} is gone" for path in theirs if path not in ours]
        if self.tree == other.tree:
            return lines + [
                f"a dict has its keys in the order {shown(ours, 120)}, and had them in the order {shown(theirs, 120)}"
                for ours, theirs in zip(self.orders, other.orders, strict=True)
                if ours != theirs
            ]
        return lines or ["the containers of the arguments changed"]


def is_one_of(spec: Spec, other: Spec) -> bool:
    """Whether a leaf is the same in another signature, whatever the values of named sizes."""
    if not isinstance(spec, ArraySpec) or not isinstance(other, ArraySpec) or not other.is_symbolic:
        return spec == other
    if (spec.dtype, spec.gpu, len(spec.shape)) != (other.dtype, other.gpu, len(other.shape)):
        return False
    return all(
        isinstance(theirs, SymbolicSize) or ours == theirs
        for ours, theirs in zip(spec.shape, other.shape, strict=True)
    )


def sign(leaves: Sequence[Any], tree: Any, orders: KeyOrders = ()) -> Signature:
    """The signature of a call."""
    return Signature(tree, tuple(_spec(leaf, tree, i) for i, leaf in enumerate(leaves)), orders=orders)


def _spec(leaf: Any, tree: Any, index: int) -> Spec:
    if type(leaf) is np.ndarray and is_supported(leaf.dtype):
        return _spec_of(leaf)
    if type(leaf) is DeviceArray:
        return ArraySpec(leaf.dtype, leaf.shape, leaf.device.ordinal)
    if type(leaf) is StaticLeaf:
        return _static(leaf.value, tree, index)
    if is_array_like(leaf) and not isinstance(leaf, bool):
        type_ = leaf_type(leaf, argument_names(tree)[index])
        if isinstance(leaf, np.ndarray):
            return ArraySpec(type_.dtype, type_.shape) if is_traced(leaf) else _spec_of(leaf)
        return NumberSpec(weak_type(leaf) or np.generic, type_.dtype)
    return _static(leaf, tree, index)


def _spec_of(array: Array) -> ArraySpec:
    flags = array.flags
    memory = memory_order(array)
    is_length = array.dtype == np.bool_ and array.strides == (0,) and not flags.writeable
    return ArraySpec(
        array.dtype, array.shape, None, memory, flags.owndata, flags.writeable, is_length=is_length
    )


def _static(value: Any, tree: Any, index: int) -> StaticSpec:
    with refusing_deep_nesting("a static argument", value):
        identity = identity_of(value)
    try:
        hash(identity)
    except TypeError:
        path = argument_names(tree)[index]
        raise StaticArgumentError(
            f"{path} is {type(value).__name__}, which cannot be hashed: a static argument is part of the signature"
            + (remedy_for(value) or ". Pass arrays or numbers, or a tuple instead of a list")
        ) from None
    return StaticSpec(value, identity)


def gpu_of(signature: Signature, captured: Sequence[Any]) -> int | None:
    """The GPU of the arrays of a call, or of those that its function captured; None if all are NumPy arrays.

    Raises:
        WrongDeviceError: they lie on several.
    """
    found = {
        spec.gpu: path
        for spec, path in zip(signature.specs, signature.paths, strict=True)
        if isinstance(spec, ArraySpec) and spec.gpu is not None
    }
    for array in captured:
        if isinstance(array, DeviceArray):
            found.setdefault(array.device.ordinal, f"{array.type} that the function closes over")
    if len(found) > 1:
        places = ", ".join(f"{path} on cuda:{gpu}" for gpu, path in found.items())
        raise WrongDeviceError(
            f"arrays of one call are on different GPUs: {places}. Use device_put for one of them"
        )
    return next(iter(found), None)


def arguments_for(signature: Signature) -> list["Argument | Static"]:
    """How the leaves of a call with this signature enter a trace."""
    entering: list[Argument | Static] = []
    for spec, path in zip(signature.specs, signature.paths, strict=True):
        if isinstance(spec, ArraySpec):
            question = LayoutQuestion(path, owndata=spec.owndata, writeable=spec.writeable)
            questions, memory = frozenset((question,)), spec.memory
            layout = (
                row_major(spec.shape, questions) if memory is None else memory.layout(spec.shape, questions)
            )
            entering.append(Argument(ArrayType(spec.dtype, spec.shape), path, layout=layout, flags=question))
        elif isinstance(spec, NumberSpec):
            weak = spec.type if spec.type in (int, float, complex) else None
            entering.append(Argument(ArrayType(spec.dtype, ()), path, weak, is_scalar=True))
        else:
            entering.append(Static(spec.value))
    return entering
