"""`register_pytree` and `register_dataclass`: your own classes as containers of arguments and results."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import optree

from ...compiler.arguments.leaves import NAMESPACE
from ...compiler.errors import TransformArgumentError, TransformTypeError
from ...compiler.errors.tracemill_error import text_of
from ...compiler.nesting import shown
from .run import require_function

T = TypeVar("T")

UNFLATTEN: dict[type[Any], Callable[[Any, Sequence[Any]], Any]] = {}
"""Creates an object of a registered class from its metadata and children."""


def register_pytree(
    cls: type[T],
    flatten: Callable[[T], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, Sequence[Any]], T],
) -> type[T]:
    """Make objects of `cls` containers, like tuples and dicts, wherever Tracemill accepts or returns pytrees.

    Args:
        cls: the class.
        flatten: gives ``(children, metadata)``; the metadata must be hashable and is part of the structure.
        unflatten: makes the object from ``(metadata, children)``. It must take any children, not only arrays.

    Returns:
        `cls`.

    Raises:
        TransformTypeError: (a TypeError) `cls` is not a class, or `flatten` or `unflatten` is not a function.
        TransformArgumentError: (a ValueError) `cls` is a container already.

    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> _ = register_pytree(Interval, lambda i: ((i.low, i.high), None), lambda _, ends: Interval(*ends))
    """
    _check_class("register_pytree", cls)
    require_function("register_pytree: flatten", flatten)
    require_function("register_pytree: unflatten", unflatten)
    _register(cls, flatten, unflatten)
    return cls


def register_dataclass(cls: type[T], *, static: Sequence[str] = ()) -> type[T]:
    """Make objects of a dataclass, or of a class of attrs, containers of their fields. Works as a decorator.

    Args:
        cls: a dataclass, or a class that `attrs.define` or `attr.s` has made.
        static: fields that are settings rather than data: hashable, never traced, part of the structure.

    Returns:
        `cls`.

    Raises:
        TransformTypeError: (a TypeError) `cls` is neither.
        TransformArgumentError: (a ValueError) `cls` is a container already, or has no such field.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float
    >>> from tracemill import grad
    >>> grad(lambda p: p.x * p.y)(Point(2.0, 3.0))
    Point(x=np.float64(3.0), y=np.float64(2.0))
    """
    _check_class("register_dataclass", cls)
    if dataclasses.is_dataclass(cls):
        fields = [field.name for field in dataclasses.fields(cls)]
    elif hasattr(cls, "__attrs_attrs__"):
        fields = [field.name for field in getattr(cls, "__attrs_attrs__")]  # noqa: B009
    else:
        raise TransformTypeError(
            f"register_dataclass: {cls.__name__} is neither a dataclass nor a class of attrs: use register_pytree"
        )
    named: Any = static
    static = tuple(named) if isinstance(named, Iterable) and not isinstance(named, str) else (named,)
    if not all(isinstance(name, str) for name in static):
        raise TransformTypeError(f"register_dataclass: static must be names of fields, not {shown(static)}")
    unknown = [name for name in static if name not in fields]
    if unknown:
        raise TransformArgumentError(
            f"register_dataclass: {cls.__name__} has no fields {unknown}, only {fields}"
        )
    traced = [name for name in fields if name not in static]

    def flatten(node: T) -> tuple[list[Any], tuple[Any, ...], list[str]]:
        return [getattr(node, name) for name in traced], tuple(getattr(node, name) for name in static), traced

    def unflatten(metadata: tuple[Any, ...], children: Sequence[Any]) -> T:
        """Without ``__init__``, which may inspect, convert or refuse values."""
        node = object.__new__(cls)
        for name, value in (*zip(static, metadata, strict=True), *zip(traced, children, strict=True)):
            object.__setattr__(node, name, value)
        return node

    _register(cls, flatten, unflatten, path_entry_type=optree.GetAttrEntry)
    return cls


def _check_class(function: str, cls: Any) -> None:
    if not isinstance(cls, type):
        raise TransformTypeError(f"{function}: expected a class, not {type(cls).__name__}: {shown(cls)}")


def _register(cls: type[Any], flatten: Any, unflatten: Any, **options: Any) -> None:
    try:
        optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE, **options)
    except ValueError as error:
        raise TransformArgumentError(f"{cls.__name__} cannot be registered: {text_of(error)}") from error
    UNFLATTEN[cls] = unflatten
