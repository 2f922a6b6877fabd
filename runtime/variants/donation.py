"""Donated arguments: arrays whose memory a compiled function may use for its results."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np

from ...compiler.arguments.option_checks import is_int
from ...compiler.callers.function_names import describe
from ...compiler.errors import DonationError
from ...compiler.nesting import shown
from .signature import Signature

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def check_donated(function: Callable[..., Any], donated: Sequence[Any], static: Sequence[int]) -> None:
    """Raises `DonationError` for positions that `function` does not have, or that are static, as far as Python
    knows."""
    for position in donated:
        if not is_int(position, 0):
            raise DonationError(
                f"donate_argnums has {shown(position)}: it must be a position, 0 for the first argument"
            )
        if position in static:
            raise DonationError(
                f"donate_argnums and static_argnums both have {position}: a setting has no memory"
            )
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions that are written in C do not say
        return
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return
    names = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
    for position in donated:
        if position >= len(names):
            raise DonationError(
                f"donate_argnums has {position}, but {describe(function)} has no such parameter: it has "
                f"{', '.join(names) or 'none'}"
            )


def donated_inputs(called: Signature, argnums: Sequence[int]) -> tuple[int, ...]:
    """The inputs of a program that come from these arguments, which may be containers, when given by position."""
    if not argnums:
        return ()
    positional = called.tree.children()[0].children()
    donated: list[int] = []
    leaf = number = 0
    for position, tree in enumerate(positional):
        for spec in called.specs[leaf : leaf + tree.num_leaves]:
            if position in argnums and spec.is_traced:
                donated.append(number)
            number += spec.is_traced
        leaf += tree.num_leaves
    return tuple(donated)


def to_overwrite(array: Any, others: Sequence[Any]) -> Any:
    """A donated argument, or a copy if its memory is read-only, not in order, or shared with another argument."""
    if not isinstance(array, np.ndarray):
        return array
    is_shared = any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in others)
    return array.copy() if is_shared or not array.flags.carray else array
