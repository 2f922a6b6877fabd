"""Calls of elementwise ops for every dtype, operands with special values, and how near results have to be."""

import zlib
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from samples.sample import special_values
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.dtypes import Array, DType, dtype_name, dtype_named, real_dtype
from tracemill.compiler.errors import DTypeError
from tracemill.compiler.ir import ArrayType, Call, Constant, Graph, Value
from tracemill.compiler.op import Op, all_ops, lookup

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128".split()
DTYPES = [dtype_named(name) for name in NAMES]
PARAMS: dict[str, list[dict[str, Any]]] = {
    "convert": [{"dtype": dtype} for dtype in DTYPES],
    "bitcast": [{"dtype": dtype} for dtype in DTYPES if dtype.kind != "b"],
    "sinc": [{"order": order} for order in (0, 1, 2)],
    "polygamma": [{"order": order} for order in (1, 2, 5)],
    "gammainc": [{"upper": upper} for upper in (False, True)],
}


def calls_of(op: Op, among: Sequence[DType] = DTYPES) -> Iterator[Call]:
    """A call of an op for all params and all of these dtypes that it takes."""
    for params, dtype, arity in product(PARAMS.get(op.name, [{}]), among, (1, 2, 3)):
        dtypes = [dtype] * arity
        if op.name == "where":
            dtypes[0] = np.dtype(bool)
        values = [Value(ArrayType(dtype, ())) for dtype in dtypes]
        try:
            with recording(Builder()) as builder:
                bind(op.name, *values, **params)
        except (DTypeError, TypeError):
            continue
        yield builder.calls[0]


ROUNDED = {
    "elementary",
    "error_functions",
    "gamma",
    "bessel",
    "incomplete",
}  # families of functions that are not exact
ULPS = {"cbrt": 4, "power": 4, "absolute": 4, "polygamma": 32}  # its error grows with the order
WAVES = {"betainc", "gammainc", "j0", "j1", "sinc", "y0", "y1"}
"""Functions with zeros, near which their errors are in proportion to 1."""
DIFFERENCES = {"expm1", "log1p"}  # of numbers up to 2 if they are complex
SUMS = {"digamma", "gammaln", "logaddexp", "logaddexp2"}
"""Functions that cancel near their zeros: their errors are in proportion to the operands, at least 1."""
SLOW_FOR_LARGE = {"betainc", "gammainc"}  # they add up a number of terms that grows with the operands


def calls_with_known(dtype: DType, position: int, size: int = 256) -> Graph:
    """Calls of all elementwise ops of a dtype that take an operand there, which is the number 1."""
    inputs: dict[tuple[int, DType], Value] = {}
    calls: list[Call] = []
    for op in (op for op in all_ops().values() if op.spelling is not None):
        for call in calls_of(op, (dtype,)):
            if len(call.inputs) < max(2, position + 1) or "c" in {v.dtype.kind for v in call.outputs}:
                continue
            operands = [
                Constant(np.ones((), v.dtype))
                if place == position
                else inputs.setdefault((place, v.dtype), Value(ArrayType(v.dtype, (size,))))
                for place, v in enumerate(call.inputs)
            ]
            result = Value(ArrayType(call.outputs[0].dtype, (size,)))
            calls.append(Call(op.name, tuple(operands), call.params, (result,)))
    return Graph("f", tuple(inputs.values()), tuple(calls), tuple(call.outputs[0] for call in calls))


def name_of(call: Call) -> str:
    params = "".join(f"_{dtype_name(p) if isinstance(p, np.dtype) else p}" for p in call.params.values())
    return f"{call.op}_{dtype_name(call.inputs[-1].dtype)}{params}"


def random_values(dtype: DType, rng: np.random.Generator, count: int) -> Array:
    """Of all magnitudes, and near 0; integers of all sizes."""
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        any_size = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
        small: Array = rng.integers(-9 if dtype.kind == "i" else 0, 10, count).astype(dtype)
        return np.where(rng.random(count) < 0.5, any_size, small)
    if dtype.kind == "c":
        parts = random_values(real_dtype(dtype), rng, 2 * count)
        return parts.view(dtype)
    top = int(np.finfo(dtype).maxexp) - 3
    sizes = rng.standard_normal(count) * 2.0 ** rng.integers(-top, top, count)
    choices = [sizes, 4 * rng.standard_normal(count), rng.integers(-20, 20, count), rng.uniform(-1, 1, count)]
    return np.choose(rng.integers(0, 4, count), choices).astype(dtype)


def operands_of(call: Call) -> list[Array]:
    """All combinations of special values, then random ones: a number of elements that fills no vector."""
    rng = np.random.default_rng(zlib.crc32(name_of(call).encode()))
    specials = [special_values(value.dtype) for value in call.inputs]
    if call.op in SLOW_FOR_LARGE:
        specials = [values[~np.isfinite(values) | (np.abs(values) <= 3)] for values in specials]
    grid = np.array(list(product(*(range(len(values)) for values in specials))))
    randoms = [random_values(value.dtype, rng, 2003 - len(grid) % 2) for value in call.inputs]
    if call.op in SLOW_FOR_LARGE:
        randoms = [
            np.where(np.abs(values) < 50, values, np.sign(values)).astype(values.dtype) for values in randoms
        ]
    operands = [
        np.concatenate([values[grid[:, i]], more])
        for i, (values, more) in enumerate(zip(specials, randoms, strict=True))
    ]
    if call.op == "power" and operands[1].dtype.kind == "i":
        operands[1] = np.where(operands[1] < 0, ~operands[1], operands[1])  # NumPy refuses negative exponents
    return operands


def meaning(call: Call, operands: Sequence[Array]) -> Array:
    """One element after the other: NumPy's vector loops convert numbers that do not fit otherwise than its others."""
    apart = [np.repeat(array, 2)[::2] for array in operands]
    with np.errstate(all="ignore"):
        return np.asarray(lookup(call.op).numpy(*apart, **call.params))


def graph_of(call: Call, size: int) -> Graph:
    """A call on arrays with this many elements."""
    inputs = tuple(Value(ArrayType(value.dtype, (size,))) for value in call.inputs)
    (output,) = call.outputs
    result = Value(ArrayType(output.dtype, (size,)))
    return Graph("f", inputs, (Call(call.op, inputs, call.params, (result,)),), (result,))


def complex_product(operands: Sequence[Array]) -> Array:
    """The first times the last, with each product of their parts rounded, as NumPy computes it on some processors."""
    (a, b), (c, d) = ((np.real(x), np.imag(x)) for x in (operands[0], operands[-1]))
    with np.errstate(all="ignore"):
        parts = a * c - b * d, a * d + b * c
    return np.stack(parts, axis=-1).view(operands[0].dtype)[:, 0]


def exact_values(call: Call, operands: Sequence[Array], expected: Array) -> Array:
    """The values of real functions in a wider dtype, where the NumPy definition supports it."""
    wide = {"f4": "f8", "f8": "longdouble"}.get(expected.dtype.str[1:])
    if wide is None or (wide == "longdouble" and not isinstance(lookup(call.op).numpy, np.ufunc)):
        return expected
    return meaning(call, [array.astype(wide) if array.dtype.kind == "f" else array for array in operands])


def assert_same(actual: Array, expected: Array) -> None:
    """Bit for bit, but for the bits of NaN."""
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    if actual.dtype.kind in "fc":
        parts = [np.ascontiguousarray(array).view(real_dtype(array.dtype)) for array in (actual, expected)]
        ours, theirs = (np.signbit(part) | np.isnan(part) for part in parts)
        np.testing.assert_array_equal(ours, theirs)


def assert_near(call: Call, actual: Array, expected: Array, operands: Sequence[Array]) -> None:
    """NaN, infinities and the signs of zeros equal, other values as near as their place allows."""
    exact = exact_values(call, operands, expected)
    real = real_dtype(actual.dtype)
    ours, theirs = (
        np.ascontiguousarray(array).view(real).reshape(len(actual), -1) for array in (actual, expected)
    )
    special = ~np.isfinite(theirs) | ~np.isfinite(ours) | ((theirs == 0) & (ours == 0))
    assert_same(ours[special], theirs[special])
    amplitude = np.abs(theirs)
    if call.op in SUMS:
        for operand in operands:
            amplitude = np.maximum(
                amplitude, np.where(np.isfinite(operand), np.abs(operand), 1).reshape(-1, 1)
            )
    if call.op in WAVES | SUMS:
        amplitude = np.maximum(amplitude, 1)
    if call.op in DIFFERENCES and actual.dtype.kind == "c":
        amplitude = np.maximum(amplitude, 2)
    size = np.where(special, 1, amplitude).max(-1, keepdims=True)  # a complex number has one place
    half = np.maximum(size / 2, np.finfo(real).tiny).astype(real)  # the largest number has no next
    place = 2 * np.spacing(half).astype(np.longdouble)
    true = np.ascontiguousarray(exact).view(real_dtype(exact.dtype)).reshape(theirs.shape)
    with np.errstate(all="ignore"):
        error = np.where(special, 0, np.abs(ours.astype(np.longdouble) - true)) / place
    at = int(error.max(-1).argmax())
    limit = ULPS.get(call.op, 4 if isinstance(lookup(call.op).numpy, np.ufunc) else 12)
    off = f"{name_of(call)}: {error.max()} ulp off for {[x[at] for x in operands]}"
    assert error.max() <= limit + 0.5, f"{off}: {actual[at]}, not {exact[at]}"
