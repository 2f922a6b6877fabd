"""Why a call has no C function, and what to do about it."""

from typing import Final

from ....errors import ExportError
from ....ir import Call, called
from ....op import has_effect, is_natural_power, lookup
from ..steps.matrices import MATRIX_STEPS

INSTEAD: Final = "export as a bundle or as Python"

_LIBRARIES: Final = {
    "determinant": "LAPACK",
    "factorization": "LAPACK",
    "least_squares": "LAPACK",
    "linear_systems": "LAPACK",
    "polar": "LAPACK",
    "spectral": "LAPACK",
    "fft": "NumPy's FFT",
}
"""The library that computes the ops of a family."""


def refusal(call: Call) -> ExportError:
    """The error for a call that C cannot compute."""
    inner = _with_effect(call)
    if inner is not None:
        return refusal(inner)
    types = ", ".join(str(value.type) for value in call.inputs)
    return ExportError(f"C cannot compute {call.op}({types}): {_reason(call)}", call.location)


def _reason(call: Call) -> str:
    effect = lookup(call.op).effect
    if effect is not None:
        return f"it {effect}, and there is no Python; {INSTEAD}, or leave it out"
    if call.op in MATRIX_STEPS:
        return f"this is written for real matrices of float32 and float64; {INSTEAD}"
    family = lookup(call.op).family
    if family in _LIBRARIES:
        return f"it needs {_LIBRARIES[family]}; {INSTEAD}"
    dtypes = {value.dtype for value in (*call.inputs, *call.outputs)}
    if any(dtype.itemsize == 2 and dtype.kind not in "iu" for dtype in dtypes):
        return "it has no arithmetic of floating-point numbers of two bytes; compute in float32, x.astype(np.float32)"
    if not is_natural_power(call):
        return "an exponent may be negative, which NumPy refuses; raise floating-point numbers to it"
    if any(dtype.kind == "c" for dtype in dtypes):
        return f"this is not written for complex numbers; {INSTEAD}"
    return f"only NumPy can; {INSTEAD}"


def _with_effect(call: Call) -> Call | None:
    """The call with its own effect in a graph that a call holds."""
    return next((inner for graph in called((call,)) for inner in graph.calls if has_effect(inner)), None)
