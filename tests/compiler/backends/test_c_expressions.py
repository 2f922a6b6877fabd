"""C expressions of elementwise ops give NumPy's values: every op, every dtype, special values and random ones."""

import ctypes
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samples.sample import special_values
from tracemill.compiler.backends.c.definitions import HEADERS, source_of
from tracemill.compiler.backends.c.expression import POWERS, expression
from tracemill.compiler.backends.c.literals import c_literal
from tracemill.compiler.backends.c.names import variable_name
from tracemill.compiler.backends.c.types import c_type, element_type
from tracemill.compiler.dtypes import Array, DType, dtype_name, dtype_named, real_dtype
from tracemill.compiler.errors import DTypeError, InternalError
from tracemill.compiler.functions import constant
from tracemill.compiler.ir import ArrayType, Call, Value
from tracemill.compiler.kernel import is_loop_call
from tracemill.compiler.op import Op, all_ops, lookup
from tracemill.compiler.trace import Builder, bind, recording
from tracemill.runtime.toolchain import toolchain

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128".split()
DTYPES = [dtype_named(name) for name in NAMES]
PARAMS: dict[str, list[dict[str, Any]]] = {
    "convert": [{"dtype": dtype} for dtype in DTYPES],
    "bitcast": [{"dtype": dtype} for dtype in DTYPES if dtype.kind != "b"],
    "sinc": [{"order": order} for order in (0, 1, 2)],
    "polygamma": [{"order": order} for order in (1, 2, 5)],
    "gammainc": [{"upper": upper} for upper in (False, True)],
}


def calls_of(op: Op) -> Iterator[Call]:
    """A call of an op for all dtypes and params that it takes."""
    for params, dtype, arity in product(PARAMS.get(op.name, [{}]), DTYPES, (1, 2, 3)):
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


CALLS = [call for op in all_ops().values() if op.spelling is not None for call in calls_of(op)]
GROUPS = [
    (family, kind)
    for family in sorted({lookup(call.op).family for call in CALLS})
    for kind in sorted({call.inputs[-1].dtype.kind for call in CALLS if lookup(call.op).family == family})
]
"""The calls of a group are compiled together."""

ROUNDED = {
    "elementary",
    "special",
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


def name_of(call: Call) -> str:
    params = "".join(f"_{dtype_name(p) if isinstance(p, np.dtype) else p}" for p in call.params.values())
    return f"{call.op}_{dtype_name(call.inputs[-1].dtype)}{params}"


def loop_of(call: Call, name: str = "") -> tuple[str, frozenset[str]]:
    """A C function that computes the call element by element."""
    names = [f"x{i}" for i in range(len(call.inputs))]
    element = expression(call, [f"e{i}" for i in range(len(call.inputs))])
    arguments = [
        f"const {element_type(v.dtype)} *restrict {n}" for v, n in zip(call.inputs, names, strict=True)
    ]
    (output,) = call.outputs
    lines = [
        f"void {name or name_of(call)}({', '.join(arguments)}, {element_type(output.dtype)} *restrict out, long n)",
        "{",
        "    for (long i = 0; i < n; i++) {",
        *(f"        const {c_type(v.dtype)} e{i} = x{i}[i];" for i, v in enumerate(call.inputs)),
        f"        out[i] = {element.text};",
        "    }",
        "}\n",
    ]
    return "\n".join(lines), element.needs


def compiled(calls: Sequence[Call], folder: Path) -> ctypes.CDLL:
    """The loops of calls, compiled as programs are."""
    loops = [loop_of(call) for call in calls]
    needs = frozenset[str]().union(*(needs for _, needs in loops))
    return loaded([source_of(needs), *(text for text, _ in loops)], folder)


def loaded(texts: Sequence[str], folder: Path) -> ctypes.CDLL:
    source = "\n".join([*(f"#include <{header}.h>" for header in HEADERS), *texts])
    (folder / "library.so").write_bytes(toolchain().compile(source))
    return ctypes.CDLL(str(folder / "library.so"))


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


def run_in_c(library: ctypes.CDLL, call: Call, operands: Sequence[Array]) -> Array:
    out = np.empty(operands[0].shape, call.outputs[0].dtype)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*operands, out)]
    library[name_of(call)](*pointers, ctypes.c_long(out.size))
    return out


def meaning(call: Call, operands: Sequence[Array]) -> Array:
    """One element after the other: NumPy's vector loops convert numbers that do not fit otherwise than its others."""
    apart = [np.repeat(array, 2)[::2] for array in operands]
    with np.errstate(all="ignore"):
        return np.asarray(lookup(call.op).numpy(*apart, **call.params))


def exact_values(call: Call, operands: Sequence[Array], expected: Array) -> Array:
    """The values of real functions in a wider dtype, where the meaning can have them."""
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


@pytest.mark.usefixtures("c_compiler")
@pytest.mark.parametrize(("family", "kind"), GROUPS, ids=lambda part: part)
def test_the_c_expression_of_an_op_has_the_values_of_its_numpy_meaning(
    family: str, kind: str, tmp_path: Path
) -> None:
    calls = [c for c in CALLS if lookup(c.op).family == family and c.inputs[-1].dtype.kind == kind]
    library = compiled(calls, tmp_path)
    for call in calls:
        operands = operands_of(call)
        actual, expected = run_in_c(library, call, operands), meaning(call, operands)
        if (family in ROUNDED or call.op in ULPS) and kind in "fc":
            assert_near(call, actual, expected, operands)
        else:
            assert_same(actual, expected)


def test_an_op_without_a_c_expression_is_no_loop_call() -> None:
    half = Value(ArrayType(np.dtype(np.float16), ()))
    whole = Value(ArrayType(np.dtype(np.int64), ()))
    refused = [
        ("exp", (half,)),
        ("convert", (half,)),
        ("power", (whole, whole)),
        ("power", (whole, constant([2, -1]))),
    ]
    for op, inputs in refused:
        with recording(Builder()) as builder:
            bind(op, *inputs, **({"dtype": np.dtype(np.float64)} if op == "convert" else {}))
        assert not is_loop_call(builder.calls[0])
    assert all(
        map(is_loop_call, (call for call in CALLS if (call.op, call.inputs[0].dtype.kind) != ("power", "i")))
    )


def test_every_elementwise_op_of_the_dtypes_that_c_has_is_covered() -> None:
    elementwise = {name for name, op in all_ops().items() if op.spelling is not None}
    assert {call.op for call in CALLS} == elementwise
    assert {value.dtype for call in CALLS for value in call.inputs} == set(DTYPES)


def test_needed_functions_stand_once_and_after_what_they_call() -> None:
    text = source_of({"tm_clip_f32", "tm_maximum_f32", "tm_logaddexp_f64"})
    assert text.count("tm_maximum_f32(float x") == 1
    assert text.index("tm_maximum_f32(float x") < text.index("tm_clip_f32(float x")
    assert '__attribute__((simd("notinbranch"))) double log1p(double);' in text
    assert text == source_of({"tm_logaddexp_f64", "tm_clip_f32"})


def test_a_function_that_no_file_and_no_op_defines_is_refused() -> None:
    with pytest.raises(InternalError, match="there is no function tm_nothing"):
        source_of({"tm_nothing_f64"})


LITERALS = {
    "bool": [False, True],
    "f64": [0.1, -0.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan, -np.nan],
    "f32": [0.1, -0.0, 1e-45, 3.4028235e38, np.inf, -np.inf, np.nan, -np.nan],
    "c64": [complex(-0.0, np.inf), complex(np.nan, -1e-45)],
    "c128": [complex(-0.0, np.inf), complex(np.nan, -5e-324)],
} | {name: [np.iinfo(dtype_named(name)).min, 0, np.iinfo(dtype_named(name)).max] for name in NAMES[1:9]}


@pytest.mark.usefixtures("c_compiler")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_known_exponents_have_the_values_of_powers(dtype: Any, tmp_path: Path) -> None:
    base = Value(ArrayType(np.dtype(dtype), ()))
    calls: list[Call] = []
    exponents = (*POWERS, 2, 0.25)
    for exponent in exponents:
        with recording(Builder()) as builder:
            bind("power", base, constant(exponent, dtype))
        calls += builder.calls
    names = [f"power_{i}" for i in range(len(calls))]
    loops = [loop_of(call, name) for call, name in zip(calls, names, strict=True)]
    library = loaded(
        [source_of(frozenset().union(*(needs for _, needs in loops))), *(t for t, _ in loops)], tmp_path
    )
    bases, _ = operands_of(
        next(call for call in CALLS if call.op == "power" and call.inputs[0].dtype == dtype)
    )
    for call, name, exponent in zip(calls, names, exponents, strict=True):
        operands = [bases, np.full_like(bases, exponent)]
        out = np.empty_like(bases)
        library[name](
            *(ctypes.c_void_p(array.ctypes.data) for array in (bases, operands[1], out)),
            ctypes.c_long(out.size),
        )
        assert_near(call, out, meaning(call, operands), operands)


@pytest.mark.usefixtures("c_compiler")
def test_literals_give_the_same_bits(tmp_path: Path) -> None:
    arrays = {name: np.array(numbers, dtype_named(name)) for name, numbers in LITERALS.items()}
    arrays["payload_f64"] = np.array([0x7FF8000000000123], np.uint64).view(np.float64)
    arrays["payload_f32"] = np.array([0xFFC00123], np.uint32).view(np.float32)
    lines: list[str] = []
    for name, array in arrays.items():
        stores = " ".join(f"out[{i}] = {c_literal(np.asarray(number))};" for i, number in enumerate(array))
        lines.append(f"void write_{name}({c_type(array.dtype)} *out) {{ {stores} }}")
    library = loaded(lines, tmp_path)
    for name, array in arrays.items():
        written = np.zeros_like(array)
        library[f"write_{name}"](ctypes.c_void_p(written.ctypes.data))
        assert written.tobytes() == array.tobytes(), name


def test_no_variable_has_the_name_of_a_function_that_is_called() -> None:
    texts = [expression(call, ["x", "y", "z"][: len(call.inputs)]).text for call in CALLS]
    called = {name for text in texts for name in re.findall(r"\b(\w+)\(", text)}
    assert {"sqrtf", "cexp", "cos"} <= called
    assert not {name for name in called if variable_name(name) == name}
