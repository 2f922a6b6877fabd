"""Which statements of a loop compute the arguments of its sines, cosines and tangents."""

import numpy as np

from tracemill.compiler.affine import Variable, of
from tracemill.compiler.backends.c.expression import near, of_library
from tracemill.compiler.backends.c.kernels.angles import angles_in, before_angles
from tracemill.compiler.backends.c.kernels.loops import Writer
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.ir import ArrayType, Call, Value
from tracemill.compiler.loops.nest import Apply, Buffer, Choose, Expression, Let, Load, Local, Loop, Store
from tracemill.compiler.op import Between

DOUBLE = np.dtype(np.float64)
INDEX = Variable("i", 0, 8)
X, OUT = Buffer("x", DOUBLE, 9), Buffer("out", DOUBLE, 9)


def call_of(op: str) -> Call:
    with recording(Builder()) as builder:
        bind(op, Value(ArrayType(DOUBLE, ())))
    return builder.calls[0]


def let(name: str, op: str, operand: Expression) -> Let:
    return Let(Local(name, DOUBLE), Apply(call_of(op), (operand,)))


ELEMENT = Load(X, of(INDEX))
ROOT, POWER = let("root", "sqrt", ELEMENT), let("power", "exp", ELEMENT)
SINE = let("sine", "sin", ROOT.local)


def text_of(*body: Let | Store | Choose) -> str:
    writer = Writer()
    writer.loop(Loop(INDEX, body))
    return "\n".join(writer.lines)


def test_arguments_need_some_statements_alone() -> None:
    body = (ROOT, POWER, SINE, Store(OUT, of(INDEX), SINE.local))
    assert angles_in(body) == [ROOT.local]
    assert before_angles(body) == (ROOT,)
    text = text_of(*body)
    check, _, rest = text.partition("if (!tm_far)")
    assert "tm_far |= tm_is_far_f64(root);" in check
    assert "power" not in check
    near, _, far = rest.partition("else")
    assert "tm_near_sin_f64(root)" in near
    assert "tm_sin_f64(root)" in far
    assert "simd" not in far


def test_arguments_from_what_the_loop_stores_are_not_computed_before() -> None:
    root = let("root", "sqrt", Load(OUT, of(INDEX)))
    body = (Store(OUT, of(INDEX), ELEMENT), root, SINE, Store(OUT, of(INDEX), SINE.local))
    assert before_angles(body) is None
    text = text_of(*body)
    assert "tm_sin_f64(root)" in text
    assert "tm_far" not in text
    assert "simd" not in text


def test_arguments_that_only_some_iterations_compute_are_not_computed_before() -> None:
    chosen = Local("chosen", DOUBLE)
    condition = Between(of(INDEX), 2, 5)
    choice = Choose(chosen, (condition,), (SINE,), SINE.local, (), ELEMENT, call_of("sin"))
    body = (ROOT, choice, Store(OUT, of(INDEX), chosen))
    assert angles_in(body) == [ROOT.local]
    assert before_angles(body) is None


def test_loops_without_angles_have_no_check() -> None:
    assert angles_in((ROOT, POWER)) == []
    assert "tm_far" not in text_of(ROOT, POWER)


def test_angles_may_be_left_to_other_functions() -> None:
    text = "tm_sin_f64(x) + tm_cos_f32(y) + tm_sinh_f64(x) + tm_tan_f64(1.0)"
    assert near(text) == "tm_near_sin_f64(x) + tm_near_cos_f32(y) + tm_sinh_f64(x) + tm_near_tan_f64(1.0)"
    assert of_library(text) == "sin(x) + cosf(0 + y) + tm_sinh_f64(x) + tan(1.0)"
