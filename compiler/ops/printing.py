"""`debug_print`: what a program says while it runs."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentValueError, ShapeError
from ..ir import ArrayType, Value
from ..op import Op, not_linear, register, zero_derivative
from ..trace import bind_all

FAMILY = "printing"
PRINTS = "prints"

Loops: TypeAlias = tuple[tuple[int, tuple[bool, ...]], ...]
"""Per loop around the call, outermost first: its length, and which inputs it runs over."""


def _type(*inputs: ArrayType, text: str, loops: Loops = ()) -> tuple[ArrayType, ...]:
    examples = []
    for place, x in enumerate(inputs):
        over = tuple(length for length, mapped in loops if mapped[place])
        if x.shape[: len(over)] != over:
            raise ShapeError(f"debug_print: input {place} is {x}, the loops run over {over}")
        examples.append(np.ones(x.shape[len(over) :], x.dtype)[()])
    try:
        text.format(*examples)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        given = ", ".join(map(str, inputs)) or "no array"
        raise ArgumentValueError(
            f"debug_print: {text!r} cannot be filled with {given}: {error}. Numbers take a format, such as "
            "{:.3f}; arrays take none"
        ) from None
    return ()


def _print(*inputs: Any, text: str, loops: Any = ()) -> Any:
    for index in np.ndindex(*[length for length, _ in loops]):
        own = [
            x[tuple(at for at, (_, mapped) in zip(index, loops, strict=True) if mapped[place])]
            for place, x in enumerate(inputs)
        ]
        print(text.format(*own))
    return ()


def _batch(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, *, text: str, loops: Loops = ()
) -> tuple[Value, ...]:
    """One line per example."""
    return bind_all("debug_print", *inputs, text=text, loops=((size, tuple(mapped)), *loops))


register(
    Op(
        "debug_print",
        FAMILY,
        _type,
        _print,
        zero_derivative,
        not_linear,
        _batch,
        spelling=None,
        effect=PRINTS,
        doc="Nothing. Prints ``text.format(*inputs)``, once per entry of each of `loops` (length, which inputs have it "
        "as an axis in front).",
    )
)
