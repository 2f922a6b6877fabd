"""The leaves of arguments and results: flattening, their paths, and their types."""

import inspect
import operator
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any, Final

import numpy as np
import optree

from ..dtypes import is_supported
from ..errors import ArgumentTypeError, DTypeError
from ..interpreter import is_idle
from ..ir import ArrayType
from ..labelled.classes import CONVERTERS, WAITED_FOR, LabelledDataError, is_labelled
from ..nesting import named, refuse_deep_nesting, shown
from ..symbolic_size import SymbolicSize
from ..tracing.array_values import PYTHON_NUMBERS, plain_form
from ..tracing.outside.foreign_array import COMPILE_OR_COPY, ForeignArray, as_seen_inside, in_native_order
from ..tracing.trace import array_type
from ..tracing.traced_array import TracedArray
from ..tracing.traced_memory import is_traced

NAMESPACE = "tracemill"
_OF_CALL: Final = 3
"""The number of inner nodes of a call's arguments if none of them is a container."""


def flatten_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], Any]:
    """The leaves and the tree of a call's arguments. `is_leaf` says what is not flattened."""
    has_labelled_classes()
    if not kwargs and {*map(type, args)} == {np.ndarray}:  # the usual call of a derivative
        return list(map(in_native_order, args)), tree_of_arrays(len(args))
    try:
        call: Any = (args, kwargs) if is_idle() else with_plain_keys((args, kwargs))
        leaves, tree = flattened(call, is_leaf)
    except RecursionError:
        refuse_deep_nesting(named(args, kwargs))
        raise
    except LabelledDataError:
        with naming_bad_columns((args, kwargs)):
            raise
    return list(map(as_seen_inside, leaves)), tree


@contextmanager
def naming_bad_columns(call: Any, root: str = "") -> Generator[None]:
    """Errors about a Series or a DataFrame in the arguments of a call, or in the pytree `root`, say where it is."""
    try:
        yield
    except LabelledDataError as error:
        data = error.data
        leaves, tree = optree.tree_flatten(
            call, is_leaf=lambda x: x is data or is_labelled(x), namespace=NAMESPACE
        )
        named = zip(path_names(tree, root) if root else argument_names(tree), leaves, strict=True)
        path = next((name for name, leaf in named if leaf is data), "an argument")
        raise DTypeError(f"{path}: {error}") from None


@lru_cache
def tree_of_arrays(count: int) -> Any:
    """The structure of a call with this many positional arguments, which are NumPy arrays."""
    call: Any = (tuple(range(count)), {})
    return optree.tree_structure(call, namespace=NAMESPACE)


def flattened(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of a pytree, and its structure."""
    has_labelled_classes()
    leaves, structure = optree.tree_flatten(tree, is_leaf=is_leaf, namespace=NAMESPACE)
    if has_ordered_dict(
        structure
    ):  # optree takes its keys in the order in which they were inserted, not in its own
        leaves, structure = optree.tree_flatten(with_plain_keys(tree), is_leaf=is_leaf, namespace=NAMESPACE)
    return leaves, structure


def has_labelled_classes() -> bool:
    """Whether pandas has been loaded. Its classes, and those of xarray, are containers from then on."""
    for name in tuple(WAITED_FOR):  # another thread may register one
        if name in sys.modules:
            from ..labelled.pandas_objects import register_loaded

            register_loaded(NAMESPACE)
            break
    return bool(CONVERTERS)


def has_containers(tree: Any) -> bool:
    """Whether an argument of a call, whose structure this is, is a container."""
    return bool(tree.num_nodes - tree.num_leaves > _OF_CALL)


def has_ordered_dict(structure: Any) -> bool:
    """Whether a structure contains an OrderedDict."""
    if structure.type is OrderedDict:
        return True
    has_more = structure.num_nodes - structure.num_leaves > 1  # inner nodes besides this one
    return has_more and any(map(has_ordered_dict, structure.children()))


def argument_names(tree: Any) -> list[str]:
    """The paths of the leaves of a call's arguments: ``args[0]['w']``, ``kwargs['scale']``."""
    return [name.replace("[0]", "args", 1) if name.startswith("[0]") else name.replace("[1]", "kwargs", 1)
            for name in path_names(tree, "")]  # fmt: skip


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def users_name(function: Callable[..., Any], name: str) -> str:
    """The path of an argument with the function's own parameter: ``weights['w']`` for ``args[0]['w']``.

    >>> users_name(lambda weights, x: x, "args[0]['w']"), users_name(np.sin, "kwargs['where']")
    ("weights['w']", 'where')
    """
    if keyword := re.match(r"kwargs\['(\w+)'\]", name):
        return keyword[1] + name[keyword.end() :]
    if position := re.match(r"args\[(\d+)\]", name):
        parameters = _positional(function)
        if len(parameters) > int(position[1]):
            return parameters[int(position[1])] + name[position.end() :]
    return name


def _positional(function: Callable[..., Any]) -> Sequence[str]:
    """The names of the parameters that take positional arguments one by one."""
    if isinstance(function, FunctionType) and not function.__dict__:  # quickly, as it has no other signature
        return function.__code__.co_varnames[: function.__code__.co_argcount]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature
        return ()
    return [p.name for p in parameters if p.kind in _POSITIONAL]


def path_names(tree: Any, root: str) -> list[str]:
    """The path of each leaf of a tree from `root`, as a Python expression."""
    return [accessor.codify(root) for accessor in optree.treespec_accessors(tree)]


def leaf_type(leaf: Any, path: str) -> ArrayType:
    """The type of an array or a number. For anything else, an `ArgumentTypeError` names the path."""
    if isinstance(leaf, TracedArray):
        return leaf.type
    if isinstance(leaf, np.ndarray):
        if type(leaf) not in (np.ndarray, np.memmap):
            raise ArgumentTypeError(
                f"{path} is a {type(leaf).__name__}, whose rules differ from a plain array's: {plain_form(leaf)}"
            )
        try:
            return array_type(leaf)
        except DTypeError as error:
            raise DTypeError(f"{path}: {error.message}") from None
    if isinstance(leaf, (np.generic, *PYTHON_NUMBERS)):
        number = np.asarray(leaf)
        if not is_supported(number.dtype):
            raise DTypeError(
                f"{path}: the {type(leaf).__name__} {shown(leaf)} fits no dtype that can be traced: pass a float"
            )
        if isinstance(leaf, int) and number.dtype == np.uint64:
            raise DTypeError(
                f"{path}: the int {shown(leaf)} does not fit int64, in which programs compute ints: pass it as "
                "np.uint64, or pass a float"
            )
        return ArrayType(number.dtype, ())
    raise ArgumentTypeError(f"{path} is {type(leaf).__name__}, not an array or a number{remedy_for(leaf)}")


def remedy_for(leaf: Any) -> str:
    """The end of a message that refuses a leaf: what to do for arrays from outside and for the user's classes."""
    if isinstance(leaf, ForeignArray):
        return f": {COMPILE_OR_COPY}"
    name = type(leaf).__name__
    library = type(leaf).__module__.partition(".")[0]
    if library == "pandas":
        return ". Pass its values, x.to_numpy()"
    if hasattr(type(leaf), "__dlpack__"):
        return ". Convert it first, np.asarray(x)"
    if library == "dask":
        return ". Apply the function to each block, tm.dask.map_blocks(f, x), or compute the value first, x.compute()"
    if is_dataclass(leaf) or hasattr(type(leaf), "__attrs_attrs__"):
        return f". Register the class once, tm.register_dataclass({name}), or use a dict"
    if hasattr(leaf, "__dict__") and not callable(leaf):
        return (
            f". Say once which arrays it holds, tm.register_pytree({name}, flatten, unflatten), or use a dict"
        )
    return ""


def is_array_like(leaf: Any) -> bool:
    """Whether a leaf is an array or a number, which can be traced."""
    return isinstance(leaf, (TracedArray, np.ndarray, np.generic, *PYTHON_NUMBERS))


def weak_type(leaf: Any) -> "type[Any] | None":
    """The Python type of a weak number, which takes the dtype of the array that it meets; None for others."""
    if is_traced(leaf):
        weak: type[Any] | None = leaf.weak
        return weak
    is_number = isinstance(leaf, PYTHON_NUMBERS) and not isinstance(leaf, np.generic)
    return next(t for t in PYTHON_NUMBERS if isinstance(leaf, t)) if is_number else None


def strongest_type(kinds: "Iterable[type[Any] | None]") -> "type[Any]":
    """The Python type of a number that is computed from numbers of these types.

    >>> strongest_type([int, float])
    <class 'float'>
    """
    known = set(kinds)
    return next(kind for kind in (complex, float, int, bool) if kind in known)


def with_plain_keys(tree: Any) -> Any:
    """New containers, in which symbolic sizes and traced numbers that are keys of dicts or members of sets are replaced
    by the numbers that the user put there, and the keys of an OrderedDict are inserted in its order."""
    if type(tree) in (dict, OrderedDict):
        return type(tree)((plain_key(key), with_plain_keys(item)) for key, item in tree.items())
    if type(tree) in (set, frozenset):
        return type(tree)(map(plain_key, tree))
    if type(tree) in (tuple, list):
        return type(tree)(map(with_plain_keys, tree))
    if tree is None or optree.tree_is_leaf(tree, namespace=NAMESPACE):
        return tree
    children, metadata, _, unflatten = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    return unflatten(metadata, [with_plain_keys(child) for child in children])


def plain_key(key: Any) -> Any:
    """A key of a dict, or a member of a set, with plain numbers for symbolic sizes and traced numbers in it."""
    if type(key) is tuple:
        return tuple(map(plain_key, key))
    if is_traced(key) and key.is_scalar:
        return key.as_key()
    return operator.index(key) if isinstance(key, SymbolicSize) else key
