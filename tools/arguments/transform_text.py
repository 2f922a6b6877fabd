"""Transforms as text, ``vmap(grad(argnums=0), in_dims=(None, 0, 0))``, parsed without running it."""

import ast
from collections.abc import Callable
from typing import Any

import click

from ...compiler.errors.tracemill_error import text_of
from ...runtime.batching.vmap import vmap
from ...runtime.derivatives.grad import grad, grad_and_value, value_and_grad
from ...runtime.derivatives.jacobians.jacobians import hessian, jacfwd, jacrev

TRANSFORMS: dict[str, Callable[..., Callable[..., Any]]] = {
    "grad": grad,
    "grad_and_value": grad_and_value,
    "value_and_grad": value_and_grad,
    "vmap": vmap,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "hessian": hessian,
}


def apply_transforms(text: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the transforms that `text` names, the innermost first.

    Options are literals, passed by keyword. Raises `click.UsageError` for anything else.

    >>> import numpy as np
    >>> apply_transforms("vmap(grad)", np.square)(np.array([1.0, 3.0]))
    array([2., 6.])
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _unreadable(text) from None
    return _apply(tree, function, text)


def _apply(tree: ast.expr, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    if isinstance(tree, ast.Name):
        return _transform(tree, text)(function)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or len(tree.args) > 1:
        raise _unreadable(text)
    transform = _transform(tree.func, text)
    options: dict[str, Any] = {}
    for keyword in tree.keywords:
        if keyword.arg is None:
            raise _unreadable(text)
        options[keyword.arg] = _literal(keyword.value, keyword.arg, text)
    inner = _apply(tree.args[0], function, text) if tree.args else function
    try:
        return transform(inner, **options)
    except TypeError as error:
        raise click.UsageError(f"in the transform {text!r}: {text_of(error)}") from error


def _transform(name: ast.Name, text: str) -> Callable[..., Callable[..., Any]]:
    if name.id not in TRANSFORMS:
        raise click.UsageError(
            f"in {text!r}: {name.id!r} is not a transform: choose from {', '.join(TRANSFORMS)}"
        )
    return TRANSFORMS[name.id]


def _literal(value: ast.expr, name: str, text: str) -> Any:
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise click.UsageError(f"in {text!r}: {name} must be a literal, not {ast.unparse(value)}") from None


def _unreadable(text: str) -> click.UsageError:
    return click.UsageError(
        f"cannot read the transform {text!r}: write 'grad' or 'vmap(grad(argnums=0), in_dims=(None, 0, 0))'"
    )
