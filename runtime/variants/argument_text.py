"""Arguments as types of the IR: ``x: f32[4, 784]``, ``layers.0.w: f32[784, 10]``, ``n: int``, ``axis=-1``."""

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from itertools import takewhile
from typing import Any, cast

import numpy as np

from ...compiler.arguments.leaves import flatten_arguments
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import dtype_named, dtype_names, short_name
from ...compiler.errors import ArgumentSpecError, DimSpecError
from ...compiler.ir import Constant
from ...compiler.shapes.reading import Sizes, read_dim, split_sizes
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.verifier import shape_problem
from .signature import ArraySpec, NumberSpec, Signature, Spec, StaticSpec
from .static_values import identity_of

_NUMBERS = {"int": int, "float": float, "complex": complex}
_ARRAY = re.compile(r"(\w+)\s*\[([^\[\]]*)\]")
_NAMED = re.compile(r"\s*([^\W\d]\w*(?:\.\w+)*)\s*([:=])(.*)", re.DOTALL)
_HINT = 'write "x: f32[4, 784]", "n: int" or "axis = -1"'
_LONGEST_DIM = 15  # digits


def parse_spec(text: str, sizes: Sizes | None = None) -> tuple[str, Spec]:
    """The dotted name of an argument, empty if it has none, and its type.

    Raises `ArgumentSpecError` for an invalid text. With `sizes`, dims by their names, shapes may contain them: new
    names are added.

    >>> name, spec = parse_spec("layers.0.w: f32[784, 10]")
    >>> name, str(spec)
    ('layers.0.w', 'f32[784, 10]')
    >>> str(parse_spec("float")[1]), str(parse_spec("axis = -1")[1])
    ('float', 'static -1')
    """
    named = _NAMED.fullmatch(text)
    if named is None:
        return "", spec_named(text, sizes=sizes)
    name, sign, right = named.groups()
    return name, _literal(right.strip(), text) if sign == "=" else spec_named(right, text, sizes)


def spec_named(name: str, text: str | None = None, sizes: Sizes | None = None) -> Spec:
    """The type in a text: ``f32[4, 784]`` or ``float32[4, 784]``, ``f64[]`` for a NumPy scalar, ``int``; ``f32[B]``.

    `ArgumentSpecError` quotes the surrounding `text`.
    """
    name, text = name.strip(), name if text is None else text
    if name in _NUMBERS:
        return NumberSpec(_NUMBERS[name], Constant(_NUMBERS[name]()).dtype)
    array = _ARRAY.fullmatch(name)
    if array is None:
        raise ArgumentSpecError(f"cannot read the argument {text!r}: {_HINT}")
    given, inside = array.groups()
    if (short := short_name(given)) is None:
        raise ArgumentSpecError(f"in {text!r}: there is no dtype {given!r}, only {', '.join(dtype_names())}")
    shape = tuple(_size(dim, inside, text, sizes) for dim in split_sizes(inside))
    if problem := shape_problem(tuple(size for size in shape if not isinstance(size, SymbolicSize))):
        raise ArgumentSpecError(f"in {text!r}: {problem}")
    dtype = dtype_named(short)
    return ArraySpec(dtype, shape) if shape else NumberSpec(np.generic, dtype)


def _size(dim: str, inside: str, text: str, sizes: Sizes | None) -> int:
    if dim.isascii() and dim.isdigit():
        return int(dim) if len(dim) <= _LONGEST_DIM else 2**63
    if sizes is None:
        raise ArgumentSpecError(f"in {text!r}: the shape [{inside}] must contain sizes such as [4, 784]")
    try:
        return cast("int", read_dim(dim, sizes))
    except DimSpecError as error:
        raise ArgumentSpecError(f"in {text!r}: {error.message}") from None


def _literal(right: str, text: str) -> Spec:
    try:
        value = ast.literal_eval(right)
        hash(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ArgumentSpecError(
            f"in {text!r}: {right!r} is not a number, a string, a tuple of these, or None"
        ) from None
    return StaticSpec(value, identity_of(value))


def signature_of_call(function: Callable[..., Any], described: Iterable[tuple[str, Spec]]) -> Signature:
    """The signature of a call of `function` with the described arguments; those without a name are positional.

    Raises `ArgumentSpecError` if the function does not take them.
    """
    nameless: list[Any] = []
    named = NamedArguments()
    for name, spec in described:
        if name:
            named.add(name, spec)
        else:
            nameless.append(spec)
    args, kwargs = bound_arguments(function, nameless, named.trees())
    leaves, tree = flatten_arguments(args, kwargs)
    return Signature(tree, tuple(leaves))


class NamedArguments:
    """Collects arguments by dotted names, whose parts are keys of dicts and indices of lists."""

    def __init__(self) -> None:
        self._trees: dict[str, Any] = {}

    def add(self, name: str, spec: Any) -> None:
        """One argument, or a part of one."""
        *outer, last = name.split(".")
        tree = self._trees
        for part in outer:
            tree = tree.setdefault(part, {})
            if not isinstance(tree, dict):
                raise ArgumentSpecError(f"{name!r} lies inside {part!r}, which is described as an array")
        if last in tree:
            raise ArgumentSpecError(f"{name!r} is described twice")
        tree[last] = spec

    def trees(self) -> dict[str, Any]:
        """The arguments by name."""
        return {name: _with_lists(tree) for name, tree in self._trees.items()}


def _with_lists(tree: Any) -> Any:
    """Dicts whose keys are 0, 1, … become lists."""
    if not isinstance(tree, dict):
        return tree
    if all(isinstance(key, str) and key.isdigit() for key in tree):
        if sorted(map(int, tree)) != list(range(len(tree))):
            raise ArgumentSpecError(
                f"a list has the indices {', '.join(tree)}: they must count from 0 without a gap"
            )
        return [_with_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _with_lists(value) for key, value in tree.items()}


def bound_arguments(
    function: Callable[..., Any], nameless: Iterable[Any], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments: by position if the function's signature allows it."""
    nameless, named = tuple(nameless), dict(named)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return nameless, named
    parameters = signature.parameters
    if Parameter.VAR_KEYWORD not in [p.kind for p in parameters.values()]:
        for name in named.keys() - parameters.keys():
            near = difflib.get_close_matches(name, parameters, 1)
            raise ArgumentSpecError(
                f"{describe(function)} has no argument {name!r}, only {', '.join(parameters) or 'none'}"
                + (f": did you mean {near[0]!r}?" if near else "")
            )
    by_place = [name for name, parameter in parameters.items() if parameter.kind is Parameter.POSITIONAL_ONLY]
    nameless += tuple(named.pop(name) for name in takewhile(named.__contains__, by_place[len(nameless) :]))
    try:
        bound = signature.bind(*nameless, **named)
    except TypeError as error:
        wants = ", ".join(map(str, parameters.values())) or "nothing"
        given = len(nameless) + len(named)
        raise ArgumentSpecError(
            f"{describe(function)} takes ({wants}), and {given} arguments are described: {error}"
        ) from None
    return bound.args, bound.kwargs
