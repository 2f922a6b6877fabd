"""`Program`: a whole function in plain NumPy, the calls to try it with, and what must hold for it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Arguments: TypeAlias = tuple[Any, ...]

FEATURES = frozenset(
    {
        "and or not",
        "array argument written",
        "assert",
        "break",
        "class",
        "closure",
        "conditional expression",
        "continue",
        "dict",
        "early return",
        "element loops",
        "float argument",
        "for else",
        "global table",
        "if",
        "inner loop bounds",
        "int argument",
        "list",
        "mask",
        "min max",
        "raise",
        "random draws",
        "recursion",
        "str argument",
        "while",
        "while True",
    }
)


@dataclass(frozen=True)
class Program:
    """A function that must mean the same compiled, batched and differentiated.

    Attributes:
        function: takes arrays, numbers, and containers of them; its docstring is one line.
        cases: makes the arguments of two or more calls, which differ in sizes or in the branches that they take.
        uses: what makes the function hard to trace, in the words of `FEATURES`.
        in_dims: as for `vmap`. The batch is made of those cases whose mapped arguments have the first case's shapes;
            arguments that are not mapped are the first case's.
        gradient: the positions of the arguments to differentiate with respect to, on every case where they and the
            results are finite floating-point numbers.
        kinks: the numbers of cases without such a derivative, because they stand on a threshold of the program.
        refused: the error that says that the program cannot be compiled; empty if it can.
        refused_batched: the same under `vmap`, if that is all that cannot be.
        rtol: the largest relative error, and the largest absolute one for numbers below 1.
    """

    function: Callable[..., Any]
    cases: Callable[[], Sequence[Arguments]]
    uses: tuple[str, ...]
    in_dims: tuple[int | None, ...] | None = None
    gradient: tuple[int, ...] | None = None
    kinks: tuple[int, ...] = ()
    refused: str = ""
    refused_batched: str = ""
    rtol: float = 1e-9

    @property
    def name(self) -> str:
        """That of the function."""
        return self.function.__name__

    @property
    def doc(self) -> str:
        """What the function computes, in one line."""
        return inspect.getdoc(self.function) or ""
