"""Whether a loop of known length becomes a loop of the program or is unrolled."""

from typing import Any, Final

from ....compiler.errors import ConcretizationError, SharedMemoryError, TracemillError
from ....compiler.frontend.sites import Site
from ....compiler.shapes.scope import SizesFixedError
from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.sharing import TELLS_APART
from ....compiler.tracing.trace import require_trace
from ...environment import checking

HEAVY: Final = 32
"""A loop that contains loops or branches becomes a loop of the program if its iterations weigh this much together."""
VERY_LONG: Final = 256
"""A loop of this many iterations is never unrolled, even if that would tell apart arrays that may share memory."""


class RunsInPythonError(Exception):
    """A loop should be unrolled. The message says why: "no value ends it"."""


class IterationRaisesError(RunsInPythonError):
    """Each iteration raises an error of the user, whatever the values are. So there is at most one iteration."""


def is_long(site: Site, length: Any) -> bool:
    """Whether a loop of known length becomes a loop of the program rather than being unrolled."""
    if site.asks_python or isinstance(length, SymbolicSize):
        return not site.asks_python
    trace = require_trace()
    is_flat = site.weight == 1 and not trace.may_not_run
    heavy = VERY_LONG if trace.shows_values and not site.inner_loops else HEAVY
    return is_very_long(length) if is_flat else bool(length * site.weight >= heavy)


def is_very_long(length: Any) -> bool:
    """Whether the unrolled loop would be too long."""
    return isinstance(length, SymbolicSize) or bool(length >= VERY_LONG)


def raise_own_fault(error: Exception) -> None:
    """With ``TRACEMILL_CHECK``, raise a bug of Tracemill that kept a loop from being traced as one.

    A recursion without end is found in every loop on its way. The end of all tracing for named sizes is no reason.
    """
    if isinstance(error, SizesFixedError) or (isinstance(error, ConcretizationError) and error.is_recursion):
        raise error
    if checking() and not isinstance(error, (TracemillError, RunsInPythonError)):
        raise error


def raise_to_tell_apart(error: Exception) -> None:
    """Raise an error for which the function is traced again: about shared memory, to tell arrays apart, or about a
    recursion."""
    if isinstance(error, SizesFixedError) or (isinstance(error, ConcretizationError) and error.is_recursion):
        raise error
    if isinstance(error, SharedMemoryError) and not TELLS_APART.get():
        raise error
