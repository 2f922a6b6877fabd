"""`raise_if`: makes the program raise a user's exception if a condition holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind_all
from ...dtypes import BOOL
from ...errors import DTypeError
from ...ir import ArrayType, Value
from ...op import RAISES, Op, not_linear, register, zero_derivative
from ..batch_axes import all_leading, in_front

FAMILY = "raise_if"


def _type(condition: ArrayType, *message_values: ArrayType, error: str) -> tuple[ArrayType, ...]:
    if condition.dtype != BOOL:
        raise DTypeError(f"raise_if: a condition must be of dtype bool, not {condition} (for {error})")
    return ()


def _raise(condition: Any, *message_values: Any, error: Any) -> Any:
    """`RuntimeError` with the name of the error; the interpreter raises that error instead."""
    if np.any(condition):
        raise RuntimeError(error)
    return ()


@in_front
def _batch(inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, **params: Any) -> tuple[Value, ...]:
    """It raises if the condition holds for any example, with the values of the first."""
    if len(inputs) > 1:
        inputs = tuple(all_leading(inputs, mapped, size))
    return bind_all("raise_if", *inputs, **params)


register(
    Op(
        "raise_if",
        FAMILY,
        _type,
        _raise,
        zero_derivative,
        not_linear,
        _batch,
        spelling=None,
        effect=RAISES,
        doc="Nothing. Raises the exception that `error` names, ``ValueError('negative')``, if the condition holds "
        "anywhere.",
    )
)
