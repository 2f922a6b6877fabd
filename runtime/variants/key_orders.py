"""The order of the keys of dicts in a call: a function can see it, but the structures of arguments do not include
it."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any, Final, TypeAlias

KeyOrders: TypeAlias = tuple[tuple[Any, ...], ...]
"""The keys of each dict in a call, inner dicts first and keywords last; keywords have none if their order does not
matter."""

_OUTERMOST: Final = 3
"""The containers of a call without any: that of args and kwargs, args, and kwargs."""


def key_orders(tree: Any, leaves: Sequence[Any], *, with_keywords: bool) -> KeyOrders:
    """The orders of the arguments ``(args, kwargs)``; empty if there are no dicts, nor keywords whose order matters.

    An OrderedDict is left out, because its order is a part of the structure.

    >>> from tracemill.compiler.arguments.leaves import flatten_arguments
    >>> leaves, tree = flatten_arguments(({"w": 1.0, "b": 2.0}, 3.0), {"y": 4.0, "x": {"n": 5.0}})
    >>> key_orders(tree, leaves, with_keywords=True)
    (('w', 'b'), ('n',), ('y', 'x'))
    >>> key_orders(tree, leaves, with_keywords=False)
    (('w', 'b'), ('n',), ())
    """
    if not with_keywords and tree.num_nodes - tree.num_leaves == _OUTERMOST:
        return ()
    found: list[tuple[Any, ...]] = []

    def note(node: Any) -> Any:
        if type(node) is dict or type(node) is defaultdict:
            found.append(tuple(node))
        return node

    tree.traverse(leaves, note)
    *inner, keywords = found
    if with_keywords:
        return (*inner, keywords)
    return (*inner, ()) if inner else ()


def sees_keywords_in_order(function: Callable[..., Any]) -> bool:
    """Whether a function takes keywords as a dict, or does not say how it takes them."""
    try:
        parameters = signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):  # some functions that are written in C do not say
        return True
    return any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
