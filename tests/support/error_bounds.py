"""How far results may be from those of a graph if sums are added in another order: a bound for each element.

A sum of numbers x is off by some ε·Σ|x|, which is far more than ε times the sum if they cancel. The ops after it pass
that on.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tracemill.compiler.dtypes import Array, real_dtype
from tracemill.compiler.interpreter import Interpreter, run_call
from tracemill.compiler.ir import Call, Constant, Graph, Value
from tracemill.compiler.params import ints_param

Bounded: TypeAlias = tuple[Array, Array]
"""An array, and how far each element may be from that of another computation: infinitely if that may overflow."""

ROUNDINGS = 4
"""The result of a call is off by this many ε, and a sum by as many ε of the sum of absolute values."""


def with_bounds(graph: Graph, inputs: Sequence[Array]) -> list[Bounded]:
    """The outputs of a graph of `graphs.random_graphs`, without sorting and calls of graphs."""
    with np.errstate(all="ignore"):
        return [*_Bounds(graph).run(*((x, np.zeros(x.shape)) for x in inputs))]


def assert_within(actual: Sequence[Any], expected: Sequence[Bounded]) -> None:
    """No element is farther from the expected one than its bound. NaN and infinity are the same."""
    for ours, (array, bound) in zip(actual, expected, strict=True):
        found = np.asarray(ours)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        for part in (np.real, np.imag) if array.dtype.kind == "c" else (np.asarray,):
            x, y = _wide(part(found)), _wide(part(array))
            with np.errstate(invalid="ignore"):
                is_near = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= bound) | np.isinf(bound)
            assert np.all(is_near), f"{x[~is_near]} instead of {y[~is_near]}, within {bound[~is_near]}"


class _Bounds(Interpreter):
    """Runs a graph on arrays with bounds."""

    def value(self, value: Value, env: Mapping[Value, Any]) -> Any:
        found = super().value(value, env)
        return (found, np.zeros(found.shape)) if isinstance(value, Constant) else found

    def call(self, call: Call, inputs: Sequence[Bounded]) -> tuple[Bounded]:
        (result,) = run_call(call, [array for array, _ in inputs])
        array = np.asarray(result)
        size = np.abs(_wide(array))
        about: Any = ml_dtypes.finfo(real_dtype(array.dtype))  # type: ignore[no-untyped-call]
        rounding = ROUNDINGS * float(about.eps)
        passed = _passed_on(
            call, [_wide(x) for x, _ in inputs], [bound for _, bound in inputs], size, rounding
        )
        bound = passed + rounding * size + 2 * float(about.smallest_subnormal)
        overflows = (passed > 0) & ~(size + bound < float(about.max))
        return ((array, np.where(overflows, np.inf, np.where(np.isfinite(size), bound, 0))),)


def _passed_on(
    call: Call, x: Sequence[Array], bounds: Sequence[Array], size: Array, rounding: float
) -> Array:
    """What comes of the bounds of the operands `x`, and of the order of a sum; `size` is that of the result."""
    if call.op == "multiply":
        return _times(np.abs(x[0]) + bounds[0], bounds[1]) + _times(np.abs(x[1]), bounds[0])
    if call.op in ("add", "subtract"):
        return bounds[0] + bounds[1]
    if call.op == "exp":
        return _times(size, np.expm1(bounds[0]))
    if call.op == "sin" and x[0].dtype.kind == "c":
        return _times(np.cosh(np.abs(np.imag(x[0])) + bounds[0]), bounds[0])
    if call.op == "sin":
        return np.minimum(bounds[0], 2.0)
    if call.op == "sum":
        finite = np.where(np.isfinite(x[0]), np.abs(x[0]), 0.0)
        return np.asarray(np.sum(bounds[0] + rounding * finite, axis=ints_param(call, "axes")))
    if call.op in ("conjugate", "negative", "reshape"):
        return bounds[0].reshape(size.shape)
    raise AssertionError(f"there is no bound for {call.op}")


def _times(x: Array, bound: Array) -> Array:
    """``x * bound``, which is 0 for exact elements next to infinity, and infinite for what may overflow."""
    return np.where(bound == 0, 0.0, np.where(np.isinf(bound), np.inf, x * bound))


def _wide(x: Any) -> Array:
    return np.asarray(x).astype(np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64)
