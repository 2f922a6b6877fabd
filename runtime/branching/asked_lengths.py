"""Questions about lengths that only the program can answer, such as ``len(x[mask]) == 0`` for an example of a batch."""

from typing import Any

from ...compiler.shapes.dim import ANSWERS, Comparison, Dim, of_terms
from ...compiler.symbolic_size import SymbolicFact, SymbolicSize
from ...compiler.tracing.lengths_in_call import LengthsInCall
from ...compiler.tracing.value_lengths import depends_on_values
from .python_numbers import is_open


def length_test(test: Any) -> Any:
    """A test of such a length as a traced bool; any other test unchanged.

    If the current call shows the length, the program is made for the answer instead.
    """
    if not isinstance(test, SymbolicFact | SymbolicSize):
        return test
    asked = test != 0 if isinstance(test, Dim) else test
    if not isinstance(asked, Comparison) or (ANSWERS.get() or Dim.answers).decide(asked) is not None:
        return test
    size: Any = of_terms(asked.terms)
    own = [str(one) for one in size.sizes if depends_on_values(one)]
    return asked.as_traced() if own and LengthsInCall().lengths(own) is None else test


def is_staged(test: Any) -> bool:
    """Whether the program decides a test."""
    if type(test) is bool:
        return False
    return is_open(test) or is_open(length_test(test))
