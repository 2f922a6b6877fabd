"""`TapedDerivative`: one call of a function that uses variables of `tracemill.autograd`.

The function has run in a trace of its own. What it returns, and its derivatives, are variables again, because their
nodes lead to those of the variables.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from ...compiler.builder import recording
from ...compiler.error_state import quiet_unless_strict
from ...compiler.frontend.program import ArrayOutput
from ...compiler.interpreter import is_idle
from ...compiler.ir import Graph
from ..eager.current_tape import tape_of_this_thread
from ..evaluation.evaluated_call import EvaluatedCall
from .argnums import Chosen
from .nested_derivative import NestedDerivative


class TapedDerivative(NestedDerivative):
    """A derivative inside of the tape, which is no trace while Python runs the program."""

    def __init__(
        self,
        call: EvaluatedCall,
        leaves: list[Any],
        tree: Any,
        chosen: Chosen,
        has_aux: bool,
        safe_where: bool,
    ) -> None:
        """`call` has run the function with these arguments."""
        self._call: EvaluatedCall | None = call
        tape: Any = tape_of_this_thread()
        super().__init__(tape, chosen.function, leaves, tree, chosen, has_aux, safe_where)
        self._call = None

    def _run(
        self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], *, keeps: bool
    ) -> EvaluatedCall:
        assert self._call is not None
        return self._call

    @contextmanager
    def _on_tape(self) -> Generator[None]:
        with recording(self._home), quiet_unless_strict():
            yield

    def values(self, *, keeps: bool) -> list[Any]:
        with self._on_tape():
            return super().values(keeps=keeps)

    def can_sweep(self, given: Sequence[Any]) -> bool:
        return is_idle() and not self.safe_where

    def pull_back(self, leaves: Sequence[ArrayOutput], cotangents: Sequence[Any]) -> list[Any]:
        with self._on_tape():
            return super().pull_back(leaves, cotangents)

    def push_forward(self, leaves: Sequence[ArrayOutput], directions: Sequence[Any]) -> list[Any]:
        with self._on_tape():
            return super().push_forward(leaves, directions)

    def linear(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, list[Any]]:
        with self._on_tape():
            return super().linear(leaves)
