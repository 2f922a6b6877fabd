"""The generated entry of a variant: checks the arguments, runs the program, and assembles the result."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optree

from ...compiler.dtypes import dtype_name
from ...compiler.frontend.objects.made_objects import MadeObjects
from ...compiler.frontend.program import ArrayOutput, Program, Static, as_read_only, order_of_keys
from ...compiler.ir import Shape
from ...compiler.labelled.classes import CONVERTERS
from ...compiler.shapes.dim import Dim
from ...compiler.shapes.spelling import spelled
from ..gpu.device_array import DeviceArray
from .donation import to_overwrite
from .huge_arrays import condition
from .layout_guards import LayoutGuard
from .signature import ArraySpec, NumberSpec, Signature, Spec, StaticSpec
from .static_values import can_change, identity_of

_OF_INTS = {"int64": (-(2**63), 2**63), "uint64": (2**63, 2**64)}
"""Which of Python's ints have a dtype: those from the first number to the second, without it."""
MISS: Any = object()
"""The result of an entry for a call that does not fit."""


def as_array(x: Any) -> Any:
    """A result without axes as the array that the function returns."""
    return x if isinstance(x, DeviceArray) else np.asarray(x)


def always_miss(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The default entry: every call takes the general path."""
    return MISS


def generate_entry(
    signature: Signature,
    program: Program,
    function: Callable[..., Any],
    donated: Sequence[int] = (),
    layouts: Sequence[LayoutGuard] = (),
    new_arrays: Sequence[Dim] = (),
) -> Callable[..., Any] | None:
    """``entry(args, kwargs)`` for one signature; None if the arguments hold containers it cannot take apart.

    A call also misses if one of the `new_arrays`, by their bytes, would be too large.
    """
    check = CheckWriter(signature, layouts)
    if not check.write():
        return None
    if new_arrays:
        check.lines.append(f"if {condition(new_arrays, size_names(signature))}: return MISS")
    names = {
        **check.names,
        "MISS": MISS,
        "run": function,
        "asarray": as_array,
        "to_overwrite": to_overwrite,
    }
    inputs = list(check.leaves)
    for i, array in enumerate(program.captured):
        names[f"c{i}"] = array
        inputs.append(f"c{i}")
    result = result_expression(program, names, size_names(signature))
    if program.out_tree.type is MadeObjects:
        result += ".made()"
    for index in donated:
        if not inputs[index].isidentifier():
            continue  # a Python number has no memory
        others = "".join(f"{name}, " for place, name in enumerate(inputs) if place != index)
        check.lines.append(f"{inputs[index]} = to_overwrite({inputs[index]}, ({others}))")
    lines = [*check.lines, f"out = run({', '.join(inputs)})", f"return {result}"]
    source = "def entry(args, kwargs):\n" + "".join(f"    {line}\n" for line in lines)
    try:
        code = builtins.compile(source, f"<entry of {program.graph.name}>", "exec")
    except (SyntaxError, RecursionError, MemoryError):  # the result nests deeper than Python reads brackets
        return None
    exec(code, names)
    generated: Callable[..., Any] = names["entry"]
    return generated


def size_names(signature: Signature) -> dict[str, str]:
    """The local variables with the sizes of dims, by their names."""
    return {repr(dim): f"size_{dim!r}" for dim in signature.dims}


def generate_size_reader(
    signature: Signature,
) -> Callable[[Sequence[Shape]], dict[str, int] | None]:
    """A function of the shapes of all arrays of a call: the sizes of dims, or None if they do not fit."""
    arrays = [spec for spec in signature.specs if isinstance(spec, ArraySpec)]
    names = size_names(signature)
    shapes = [f"s{number}" for number, _ in enumerate(arrays)]
    lines = [f"{', '.join(shapes)}, = shapes" if shapes else "pass"]
    lines += [
        f"if {shape} != {spec.shape!r}: return None"
        for shape, spec in zip(shapes, arrays, strict=True)
        if not spec.is_symbolic
    ]
    from ...compiler.shapes.arguments.matching import matching

    symbolic = [shape for shape, spec in zip(shapes, arrays, strict=True) if spec.is_symbolic]
    lines += matching(signature.sizes, symbolic, names, "return None")
    lines.append(f"return {{{', '.join(f'{dim!r}: {name}' for dim, name in names.items())}}}")
    source = "def read(shapes):\n" + "".join(f"    {line}\n" for line in lines)
    made: dict[str, Any] = {}
    exec(builtins.compile(source, "<sizes of a call>", "exec"), made)
    generated: Callable[[Sequence[Shape]], dict[str, int] | None] = made["read"]
    return generated


class CheckWriter:
    """Writes the body of a function that unpacks the leaves of ``args, kwargs`` and returns MISS unless they fit."""

    def __init__(self, signature: Signature, layouts: Sequence[LayoutGuard] = ()) -> None:
        self.signature = signature
        self._layouts = {guard.leaf: guard for guard in layouts}
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"ndarray": np.ndarray}
        self.leaves: list[str] = []
        """The local variable of each traced leaf."""
        self._shapes: list[str] = []
        """The local variables of the shapes in which sizes have names."""
        self._count = 0

    def write(self) -> bool:
        """Fill `lines`; False if the arguments hold containers that generated code cannot take apart."""
        args, kwargs = self.signature.tree.children()
        self._specs = iter(enumerate(self.signature.specs))
        self._miss_if(f"len(args) != {args.num_children} or len(kwargs) != {kwargs.num_children}")
        is_known = all(
            self._visit(child, f"args[{i}]") for i, child in enumerate(args.children())
        ) and self._visit_dict(kwargs, "kwargs", in_order=any(self.signature.orders[-1:]))
        if is_known and self._shapes:
            from ...compiler.shapes.arguments.matching import matching

            names = size_names(self.signature)
            self.lines += matching(self.signature.sizes, self._shapes, names, "return MISS")
        return is_known

    def _visit(self, tree: Any, source: str) -> bool:
        if tree.is_leaf():
            self._leaf(*next(self._specs), source)
            return True
        name = self._bind(source)
        if tree.type is dict:
            self._miss_if(f"type({name}) is not dict or len({name}) != {tree.num_children}")
            return self._visit_dict(tree, name, in_order=bool(self.signature.orders))
        if tree.type in (list, tuple) or optree.is_namedtuple_class(tree.type):
            container = f"{tree.type.__name__}_{name}"
            self.names[container] = tree.type
            self._miss_if(f"type({name}) is not {container} or len({name}) != {tree.num_children}")
            return all(self._visit(child, f"{name}[{i}]") for i, child in enumerate(tree.children()))
        if tree.type is None or tree.type is type(None):
            self._miss_if(f"{name} is not None")
            return True
        if tree.type in CONVERTERS:  # without its labels, as `detached` gives it
            kind, form = f"kind_{name}", f"form_{name}"
            placeholder = optree.tree_unflatten(tree, tree.num_leaves * [None])
            if type(placeholder) is not tree.type:  # with its labels, on which the program depends
                return False
            self.names[kind], self.names[form] = tree.type, placeholder.form
            self._miss_if(f"type({name}) is not {kind} or {name}.form != {form}")
            return all(self._visit(child, f"{name}.arrays[{i}]") for i, child in enumerate(tree.children()))
        return False

    def _visit_dict(self, tree: Any, name: str, *, in_order: bool) -> bool:
        keys = tree.entries()
        if not all(type(key) in (str, int) for key in keys):
            return False
        if in_order:
            self.names[f"keys_{name}"] = [keys[place] for place in order_of_keys(tree)]
            self._miss_if(f"[*{name}] != keys_{name}")
        else:
            for key in keys:
                self._miss_if(f"{key!r} not in {name}")
        return all(
            self._visit(child, f"{name}[{key!r}]") for key, child in zip(keys, tree.children(), strict=True)
        )

    def _leaf(self, number: int, spec: Spec, source: str) -> None:
        name = self._bind(source)
        if isinstance(spec, ArraySpec):
            dtype = f"d_{dtype_name(spec.dtype)}"
            self.names[dtype] = spec.dtype
            kind = "ndarray"
            if spec.gpu is not None:
                kind, self.names["DeviceArray"] = "DeviceArray", DeviceArray
            shape = f"{name}.shape != {spec.shape!r}"
            if spec.is_symbolic:
                shape = f"len({name}_shape := {name}.shape) != {len(spec.shape)}"
                self._shapes.append(f"{name}_shape")
            self._miss_if(f"type({name}) is not {kind} or {name}.dtype is not {dtype} or {shape}")
            if spec.gpu is not None:
                self._miss_if(f"{name}.device.ordinal != {spec.gpu}")
            guard = self._layouts.get(number)
            if guard is not None:
                self._layout(guard, name)
            order = guard.entering if guard is not None else None
            if order is not None:
                self.lines.append(f"{name}_in_order = {name}.transpose({order!r})")
            self.leaves.append(name if order is None else f"{name}_in_order")
        elif isinstance(spec, NumberSpec):
            type_ = spec.dtype.type if spec.type is np.generic else spec.type
            self.names[f"t_{type_.__name__}"] = type_
            self._miss_if(f"type({name}) is not t_{type_.__name__}")
            if type_ is int:  # whose dtype is that of its value
                low, high = _OF_INTS[spec.dtype.name]
                self._miss_if(f"not {low} <= {name} < {high}")
            self.names[f"n_{dtype_name(spec.dtype)}"] = spec.dtype.type
            self.leaves.append(name if spec.type is np.generic else f"n_{dtype_name(spec.dtype)}({name})")
        else:
            self._static_leaf(spec, name)

    def _layout(self, guard: LayoutGuard, name: str) -> None:
        fits = f"fits_{name}"
        self.names[fits] = guard.fits
        if guard.asks_single or not guard.is_row_major:
            self._miss_if(f"not {fits}({name})")
        elif guard.asks_strides:
            self._miss_if(f"not {name}.flags.c_contiguous")
        else:
            self._miss_if(f"not {name}.flags.c_contiguous and not {fits}({name})")

    def _static_leaf(self, spec: StaticSpec, name: str) -> None:
        value, identity = f"v_{name}", f"i_{name}"
        self.names[value], self.names[identity], self.names["identity_of"] = (
            spec.value,
            spec.identity,
            identity_of,
        )
        is_other = f"identity_of({name}) != {identity}"
        self._miss_if(is_other if can_change(spec.value) else f"{name} is not {value} and {is_other}")

    def _bind(self, source: str) -> str:
        name = f"x{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {source}")
        return name

    def _miss_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return MISS")


def result_expression(program: Program, names: dict[str, Any], sizes: Mapping[str, str]) -> str:
    """The Python result as an expression of ``out`` and `sizes`; other names that it uses are added to `names`."""
    leaves = iter(program.out_leaves)

    def leaf_text() -> str:
        leaf = next(leaves)
        if not isinstance(leaf, ArrayOutput):
            return _constant(leaf, sizes, named)
        return _array(leaf, program.graph.outputs[leaf.index].ndim, names)

    def named(prefix: str, value: Any) -> str:
        name = f"{prefix}{len(names)}"
        names[name] = value
        return name

    def text(tree: Any) -> str:
        if tree.is_leaf():
            return leaf_text()
        parts = [text(child) for child in tree.children()]
        joined = ", ".join(parts)
        if tree.type is tuple:
            return f"({joined},)" if parts else "()"
        if tree.type is list:
            return f"[{joined}]"
        if tree.type is dict and all(type(key) in (str, int) for key in tree.entries()):
            keys = tree.entries()
            return "{" + ", ".join(f"{keys[i]!r}: {parts[i]}" for i in order_of_keys(tree)) + "}"
        if tree.type is None or tree.type is type(None):
            return "None"
        return f"{named('build', _builder(tree))}({joined})"

    return text(program.out_tree)


def _array(leaf: ArrayOutput, ndim: int, names: dict[str, Any]) -> str:
    """An array or a number of the result."""
    found = f"out[{leaf.index}]"
    if leaf.weak is not None:
        return f"{found}.item()"
    if leaf.axes is not None:
        found = f"{found}.transpose({leaf.axes!r})"
    elif not (ndim or leaf.is_scalar):
        found = f"asarray({found})"
    if not leaf.is_read_only:
        return found
    names["as_read_only"] = as_read_only
    return f"as_read_only({found})"


def _constant(leaf: Static, sizes: Mapping[str, str], named: Callable[[str, Any], str]) -> str:
    """A part of the result that is the same in each call."""
    if isinstance(leaf.value, Dim):
        return spelled(leaf.value.terms, sizes)
    if leaf.is_copied:
        return f"{named('s', leaf)}.returned()"
    return named("s", leaf.value)


def _builder(tree: Any) -> Callable[..., Any]:
    """Rebuilds a container without a Python literal from its children."""
    container = tree.one_level()
    return lambda *children: container.unflatten(children)
