"""Functions and methods that write the elements of arrays to files, or make texts and bytes of them.

A derivative that runs the function as it is has the elements. No program can do this, so a compiled function runs
uncompiled.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ..callers.user_code import user_location
from ..errors import ConcretizationError
from ..message_values import MISSING, is_drafted
from ..tracing.outside.system_calls import act_error
from ..tracing.registry import LEAVING, method
from ..tracing.trace import require_trace
from ..tracing.traced_array import TracedArray
from ..tracing.traced_memory import is_traced


def _saved(function: Any, *args: Any, **kwargs: Any) -> None:
    """``np.save(path, x)``"""
    trace = require_trace()
    if not trace.is_evaluating:
        raise act_error(trace, "saves an array", user_location())
    function(*map(_elements, args), **{name: _elements(x) for name, x in kwargs.items()})


def _elements(x: Any) -> Any:
    """The elements of an array in a trace that has computed them."""
    if not is_traced(x):
        return x
    known = x.concrete()
    return known[()] if x.is_scalar else known


def _texted(function: Callable[..., str], x: Any, *args: Any, **kwargs: Any) -> str:
    """``np.array2string(x)``"""
    if not is_traced(x):
        return function(x, *args, **kwargs)
    if require_trace().is_evaluating:
        return function(_elements(x), *args, **kwargs)
    if is_drafted():
        return MISSING
    raise _leaves("makes a text of an array", f"np.{function.__name__}(x)")


def _in_bytes(name: str, x: TracedArray, *args: Any, **kwargs: Any) -> Any:
    """``x.tobytes()``"""
    if not require_trace().is_evaluating:
        raise _leaves("makes bytes of an array", f"x.{name}()")
    x._refuse_to_detach(f"x.{name}()")
    return getattr(_elements(x), name)(*args, **kwargs)


def _leaves(act: str, what: str) -> ConcretizationError:
    error = ConcretizationError(
        f"{what} needs the elements of an array, which are known only when the program runs: return the array, and do "
        "this with the result",
        user_location(),
    )
    error.is_of_text, error.act = True, act
    return error


def _method_that_saves(name: str) -> Callable[..., None]:
    return partial(_saved, lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs))


for _function in (np.save, np.savetxt, np.savez, np.savez_compressed):
    LEAVING[_function] = partial(_saved, _function)
for _text in (np.array2string, np.array_repr, np.array_str):
    LEAVING[_text] = partial(_texted, _text)
TEXTS_OF_NUMBERS: Final[dict[Any, Callable[..., str]]] = {
    own: partial(_texted, own) for own in (np.format_float_positional, np.format_float_scientific)
}
"""Functions that NumPy does not let arrays implement."""
for _name in ("tofile", "dump"):
    method(_name)(_method_that_saves(_name))
for _name in ("tobytes", "dumps"):
    method(_name)(partial(_in_bytes, _name))
