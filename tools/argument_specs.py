"""Arguments in the IR's words: ``x: f32[4, 784]``, ``layers.0.w: f32[784, 10]``, ``n: int``, ``axis=-1``."""

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import click
import numpy as np

from ..compiler.dtypes import dtype_named, dtype_names
from ..compiler.errors import TracemillError
from ..compiler.ir import Constant
from ..compiler.program import describe, flatten_arguments
from ..compiler.tracing import array_type
from ..runtime.signature import ArraySpec, NumberSpec, Signature, Spec, StaticSpec, identity_of

_NUMBERS = {"int": int, "float": float, "complex": complex}
_ARRAY = re.compile(r"(\w+)\s*\[([^\[\]]*)\]")
_NAMED = re.compile(r"\s*([^\W\d]\w*(?:\.\w+)*)\s*([:=])(.*)", re.DOTALL)
_HINT = 'write "x: f32[4, 784]", "n: int" or "axis = -1"'


def parse_spec(text: str) -> tuple[str, Spec]:
    """The dotted name of an argument, empty if it has none, and what it is.

    `click.UsageError` for a text that is not one.

    >>> name, spec = parse_spec("layers.0.w: f32[784, 10]")
    >>> name, str(spec)
    ('layers.0.w', 'f32[784, 10]')
    >>> str(parse_spec("float")[1]), str(parse_spec("axis = -1")[1])
    ('float', 'static -1')
    """
    named = _NAMED.fullmatch(text)
    if named is None:
        return "", _type_named(text.strip(), text)
    name, sign, right = named.groups()
    return name, _literal(right.strip(), text) if sign == "=" else _type_named(right.strip(), text)


def _type_named(name: str, text: str) -> Spec:
    if name in _NUMBERS:
        return NumberSpec(_NUMBERS[name], Constant(_NUMBERS[name]()).dtype)
    array = _ARRAY.fullmatch(name)
    if array is None:
        raise click.UsageError(f"cannot read the argument {text!r}: {_HINT}")
    short, inside = array.groups()
    if short not in dtype_names():
        raise click.UsageError(f"in {text!r}: there is no dtype {short!r}, only {', '.join(dtype_names())}")
    dims = [dim.strip() for dim in inside.split(",")] if inside.strip() else []
    if not all(dim.isascii() and dim.isdigit() for dim in dims):
        raise click.UsageError(f"in {text!r}: the shape [{inside}] must hold sizes such as [4, 784]")
    dtype, shape = dtype_named(short), tuple(map(int, dims))
    return ArraySpec(dtype, shape) if shape else NumberSpec(np.generic, dtype)


def _literal(right: str, text: str) -> Spec:
    try:
        value = ast.literal_eval(right)
        hash(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise click.UsageError(
            f"in {text!r}: {right!r} is not a number, a string, a tuple of these, or None"
        ) from None
    return StaticSpec(value, identity_of(value))


def read_example(path: Path) -> list[tuple[str, Spec]]:
    """The arrays of a ``.npz`` file as arguments: their names are dotted names. Nothing is unpickled."""
    if path.is_file() and not is_zipfile(path):
        raise click.ClickException(
            f"cannot read arrays from {path}: it is no .npz file, which np.savez writes"
        )
    try:
        with np.load(path, allow_pickle=False) as archive:
            types = {name: array_type(archive[name]) for name in archive.files}
    except (OSError, ValueError, AttributeError, TypeError, TracemillError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise click.ClickException(f"cannot read arrays from {path}: {reason}") from error
    return [(name, ArraySpec(type.dtype, type.shape)) for name, type in types.items()]


def signature_of_call(function: Callable[..., Any], described: Iterable[tuple[str, Spec]]) -> Signature:
    """The signature of a call of `function` with the arguments described; those without a name come in order.

    `click.UsageError` if the function does not take them.
    """
    nameless: list[Any] = []
    trees: dict[str, Any] = {}
    for name, spec in described:
        if name:
            _insert(trees, name, spec)
        else:
            nameless.append(spec)
    args, kwargs = _bind(function, nameless, {name: _with_lists(tree) for name, tree in trees.items()})
    leaves, tree = flatten_arguments(args, kwargs)
    return Signature(tree, tuple(leaves))


def _insert(trees: dict[str, Any], name: str, spec: Spec) -> None:
    *outer, last = name.split(".")
    tree = trees
    for part in outer:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise click.UsageError(f"{name!r} lies inside {part!r}, which is described as an array")
    if last in tree:
        raise click.UsageError(f"{name!r} is described twice")
    tree[last] = spec


def _with_lists(tree: Any) -> Any:
    """Dicts whose keys are 0, 1, … become lists."""
    if not isinstance(tree, dict):
        return tree
    if all(key.isdigit() for key in tree):
        if sorted(map(int, tree)) != list(range(len(tree))):
            raise click.UsageError(
                f"a list has the indices {', '.join(tree)}: they must count from 0 without a gap"
            )
        return [_with_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _with_lists(value) for key, value in tree.items()}


def _bind(
    function: Callable[..., Any], nameless: list[Any], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments: by position as far as the function's signature allows."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return tuple(nameless), dict(named)
    try:
        bound = signature.bind(*nameless, **named)
    except TypeError as error:
        wants = ", ".join(map(str, signature.parameters.values())) or "nothing"
        given = len(nameless) + len(named)
        raise click.UsageError(
            f"{describe(function)} takes ({wants}), and --in describes {given} arguments: {error}"
        ) from None
    return bound.args, bound.kwargs
