"""C expressions of elementwise ops give NumPy's values: every op, every dtype, special values and random ones."""

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphs.elementwise_calls import (
    DTYPES,
    NAMES,
    ROUNDED,
    ULPS,
    assert_near,
    assert_same,
    calls_of,
    graph_of,
    meaning,
    name_of,
    operands_of,
)
from support.kept_files import compiler_facts, kept
from tracemill.compiler.analysis.fusible_ops import is_loop_call
from tracemill.compiler.backends.c.definitions import source_of
from tracemill.compiler.backends.c.expression import POWERS, expression
from tracemill.compiler.backends.c.literals import c_array, c_literal
from tracemill.compiler.backends.c.names import variable_name
from tracemill.compiler.backends.c.types import c_type, element_type
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.dtypes import Array, dtype_name, dtype_named
from tracemill.compiler.errors import InternalError
from tracemill.compiler.ir import ArrayType, Call, Value
from tracemill.compiler.op import all_ops, lookup
from tracemill.compiler.value_ops import constant
from tracemill.runtime.machine.toolchain import toolchain

CALLS = [
    graph_of(call, 1).calls[0]
    for op in all_ops().values()
    if op.spelling is not None
    for call in calls_of(op)
]
"""On arrays, as in `meaning`: NumPy's power is another one if the exponent has no axes."""
GROUPS = [
    (family, kind)
    for family in sorted({lookup(call.op).family for call in CALLS})
    for kind in sorted({call.inputs[-1].dtype.kind for call in CALLS if lookup(call.op).family == family})
]
"""The calls of a group are compiled together."""
MOST_USED = ("bool", "i64", "u8", "f64", "c128")
OTHERS = tuple(name for name in NAMES if name not in MOST_USED)

HEADERS = ("complex", "float", "math", "stdbool", "stddef", "stdint")
"""What the definitions of functions need."""


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


def compiled(calls: Sequence[Call]) -> ctypes.CDLL:
    """The loops of calls, compiled as programs are."""
    loops = [loop_of(call) for call in calls]
    needs = frozenset[str]().union(*(needs for _, needs in loops))
    return loaded([source_of(needs), *(text for text, _ in loops)])


def loaded(texts: Sequence[str]) -> ctypes.CDLL:
    source = "\n".join([*(f"#include <{header}.h>" for header in (*HEADERS, "string")), *texts])
    compiler = toolchain()
    key = [compiler_facts(compiler.command), list(compiler.flags_for(fast_math=False)), source]
    return ctypes.CDLL(str(kept(".so", key, lambda: compiler.compile(source))))


def run_in_c(library: ctypes.CDLL, call: Call, operands: Sequence[Array]) -> Array:
    out = np.empty(operands[0].shape, call.outputs[0].dtype)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*operands, out)]
    library[name_of(call)](*pointers, ctypes.c_long(out.size))
    return out


@pytest.mark.sampled(every=7, slow=3)
@pytest.mark.usefixtures("c_compiler", "lightly_optimised")
@pytest.mark.parametrize(("family", "kind"), GROUPS, ids=lambda part: part)
@pytest.mark.parametrize(
    "dtypes",
    [pytest.param(MOST_USED, id="most used"), pytest.param(OTHERS, id="others", marks=pytest.mark.slow)],
)
def test_the_c_expression_of_an_op_has_the_values_of_its_numpy_meaning(
    family: str, kind: str, dtypes: Sequence[str]
) -> None:
    of_kind = [c for c in CALLS if lookup(c.op).family == family and c.inputs[-1].dtype.kind == kind]
    calls = [c for c in of_kind if dtype_name(c.inputs[-1].dtype) in dtypes]
    library = compiled(calls)
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


def test_needed_functions_are_defined_once_and_after_the_functions_that_they_call() -> None:
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
def test_powers_of_known_exponents_have_the_values_of_powers(dtype: Any) -> None:
    base = Value(ArrayType(np.dtype(dtype), ()))
    calls: list[Call] = []
    exponents = (*POWERS, 2, 0.25)
    for exponent in exponents:
        with recording(Builder()) as builder:
            bind("power", base, constant(exponent, dtype))
        calls += builder.calls
    names = [f"power_{i}" for i in range(len(calls))]
    loops = [loop_of(call, name) for call, name in zip(calls, names, strict=True)]
    library = loaded([source_of(frozenset().union(*(needs for _, needs in loops))), *(t for t, _ in loops)])
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
def test_literals_give_the_same_bits() -> None:
    arrays = {name: np.array(numbers, dtype_named(name)) for name, numbers in LITERALS.items()}
    payloads = [0x7FF8000000000123, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFF7FFFFFFFFFFFF]
    arrays["payload_f64"] = np.array(payloads, np.uint64).view(np.float64)
    payloads = [0xFFC00123, 0x7F800001, 0xFFBFFFFF, 0x7FFFFFFF]
    arrays["payload_f32"] = np.array(payloads, np.uint32).view(np.float32)
    arrays["payload_c64"] = arrays["payload_f32"].view(np.complex64)
    lines: list[str] = []
    for name, array in arrays.items():
        stores = " ".join(f"out[{i}] = {c_literal(np.asarray(number))};" for i, number in enumerate(array))
        lines.append(f"void write_{name}({c_type(array.dtype)} *out) {{ {stores} }}")
        lines.append(c_array(f"constant_{name}", array))
        copy = f"memcpy(out, constant_{name}, sizeof constant_{name});"
        lines.append(f"void copy_{name}({c_type(array.dtype)} *out) {{ {copy} }}")
    library = loaded(lines)
    for name, array in arrays.items():
        for function in (f"write_{name}", f"copy_{name}"):
            written = np.zeros_like(array)
            library[function](ctypes.c_void_p(written.ctypes.data))
            assert written.tobytes() == array.tobytes(), function


def test_no_variable_has_the_name_of_a_function_that_is_called() -> None:
    texts = [expression(call, ["x", "y", "z"][: len(call.inputs)]).text for call in CALLS]
    called = {name for text in texts for name in re.findall(r"\b(\w+)\(", text)}
    assert {"sqrtf", "cexp", "ccos"} <= called
    assert not {name for name in called if variable_name(name) == name}
