"""Operations on variables: NumPy's own function runs, and a node is recorded on the tape.

They are those of `runtime.evaluation`, with the tape as the current trace. Under `detect_anomaly` and in the trace of a
function, an operation goes through the NumPy surface, which calls `emit` of the trace for each op.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...compiler.builder import _current
from ...compiler.error_state import begin_quiet, end_quiet
from ...compiler.interpreter import are_calls_observed
from ...compiler.tracing.traced_array import TracedArray
from ..eager.current_tape import tape_of_this_thread
from ..eager.grad_mode import is_grad_enabled
from ..evaluation import functions, indexing, ufuncs
from ..evaluation.evaluated_array import ARRAYS, EvaluatedArray

__all__ = ["functions", "indexing", "record_on_tape", "ufuncs"]  # importing these installs the methods

_OPERATORS: Final = """
    add radd sub rsub mul rmul truediv rtruediv matmul rmatmul eq ne lt le gt ge pow neg getitem array_ufunc
    array_function
""".split()
_UPDATES: Final = "iadd isub imul itruediv setitem".split()
_METHODS: Final = """
    clip cumprod cumsum diagonal dot max mean min prod ptp ravel repeat reshape squeeze std sum swapaxes trace transpose
    var
""".split()


def record_on_tape(variable: type[EvaluatedArray]) -> None:
    """Give the class of variables its operations."""
    for name in (f"__{name}__" for name in (*_OPERATORS, *_UPDATES)):
        fast, by_surface = getattr(EvaluatedArray, name), getattr(TracedArray, name)
        setattr(variable, name, _operation(fast, by_surface, updates=name.strip("_") in _UPDATES))
    for name in _METHODS:
        setattr(variable, name, _operation(getattr(EvaluatedArray, name), _method(name)))
    transposed: Any = TracedArray.T
    own: Any = variable
    own.T = property(_operation(vars(EvaluatedArray)["T"].fget, transposed.fget))
    own.__hash__ = TracedArray.__hash__


def _operation(
    fast: Callable[..., Any], by_surface: Callable[..., Any], *, updates: bool = False
) -> Callable[..., Any]:
    """An operation on a variable. After one that `updates` it under `no_grad`, recording starts at the new contents."""

    def called(self: Any, *args: Any, **options: Any) -> Any:
        around, records = _current.builder, is_grad_enabled()
        tape: Any = tape_of_this_thread()
        is_elsewhere = around is not None and around is not tape
        if is_elsewhere or are_calls_observed() or (updates and not records):
            return by_surface(self, *args, **options)
        quiet = None
        try:
            _current.builder = tape
            quiet = begin_quiet()
            if records:
                return fast(self, *args, **options)
            return _unrecorded(fast(self, *args, **options), (self, *args))
        finally:
            end_quiet(quiet)
            _current.builder = around

    return called


def _unrecorded(result: Any, given: Sequence[Any]) -> Any:
    """A result that needs no gradient. If it is one of the `given` variables, it stays as it is."""
    if type(result) not in ARRAYS or not result.is_up_to_date() or any(result is one for one in given):
        return result
    result._node = None
    if not result.is_unshared():
        result._seen = -1  # a view is read again later, when the mode may be another one
    return result


def _method(name: str) -> Callable[..., Any]:
    def called(self: Any, *args: Any, **options: Any) -> Any:
        return TracedArray.__getattr__(self, name)(*args, **options)

    return called
