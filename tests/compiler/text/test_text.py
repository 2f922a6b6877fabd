"""Graphs as text: what it looks like, that it reads back, and that nothing else is read."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.random_graphs import graphs
from samples.table import SAMPLES
from samples.thinning import thinned
from tracemill.compiler.builder import Builder, bind, bind_all, recording
from tracemill.compiler.dtypes import Array, dtype_named, dtype_names
from tracemill.compiler.errors import ParseError
from tracemill.compiler.ir import ArrayType, Call, Constant, Graph, Location, Param, Value
from tracemill.compiler.text.parser import parse
from tracemill.compiler.text.printer import graph_constants, graph_functions, to_code, to_text
from tracemill.compiler.value_ops import add, constant, cos, dot, exp, multiply, sin, sum_

F32, F64, I64 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")
HEADER = "# tracemill ir 1\n"


def graph_of(
    function: Callable[..., Any], *shapes: tuple[int, ...], names: tuple[str, ...] = (), name: str = "f"
) -> Graph:
    """The graph of a function of float32 values."""
    inputs = tuple(Value(ArrayType(F32, shape)) for shape in shapes)
    with recording(Builder()) as builder:
        outputs = function(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return Graph(name, inputs, tuple(builder.calls), outputs, names)


def returning(*arrays: Any) -> Graph:
    """A graph that returns constants."""
    return Graph("f", (), (), tuple(map(Constant, arrays)))


def with_params(**params: Param) -> Graph:
    """A graph with one call that has parameters of no op: it prints, but `parse` refuses its types."""
    value = Value(ArrayType(F32, ()))
    return Graph("f", (value,), (Call("sin", (value,), params, (Value(value.type),)),), (value,))


def read_back(graph: Graph) -> Graph:
    return parse(str(graph), graph_constants(graph), graph_functions(graph))


# ---- what it looks like ----------------------------------------------------------------------------


def test_a_graph_prints_as_short_typed_python() -> None:
    def loss(w: Value, x: Value) -> Value:
        return sum_(multiply(dot(x, w, ((1,), (0,))), 0.5), (0, 1))

    graph = graph_of(loss, (784, 10), (16, 784), names=("w", "x"), name="loss")
    assert str(graph) == (
        "# tracemill ir 1\n"
        "def loss(w: f32[784, 10], x: f32[16, 784]) -> f32[]:\n"
        "    dot_1: f32[16, 10] = dot(x, w, contract_x=(1,), contract_y=(0,))\n"
        "    multiply_1: f32[16, 10] = multiply(dot_1, f32(0.5))\n"
        "    sum_1: f32[] = sum(multiply_1, axes=(0, 1))\n"
        "    return sum_1"
    )
    assert f"{HEADER}{graph.code}" == str(graph)


def test_several_outputs_and_none_are_shown_in_the_signature() -> None:
    assert to_code(graph_of(lambda x: (x, sin(x)), (2,))) == (
        "def f(x0: f32[2]) -> (f32[2], f32[2]):\n    sin_1: f32[2] = sin(x0)\n    return x0, sin_1"
    )
    assert to_code(Graph("f", (), (), ())) == "def f() -> ():\n    return ()"


def test_a_call_with_several_outputs_names_each() -> None:
    graph = graph_of(lambda x: bind_all("top_k", x, k=2, axis=0), (5,))
    assert "top_k_1: f32[2], top_k_2: i64[2] = top_k(x0, k=2, axis=0)" in graph.code
    assert read_back(graph) == graph


def test_source_lines_appear_where_they_change_and_are_aligned() -> None:
    first, second = (
        Location("/home/me/train.py", 14, "h = np.sin(x)"),
        Location("train.py", 15, "return h + 1"),
    )

    def function(x: Value) -> Value:
        with recording(Builder()) as builder:
            builder.location = first
            h = cos(sin(x))
            builder.location = second
            total = add(h, 1)
        calls.extend(builder.calls)
        return total

    calls: list[Call] = []
    x = Value(ArrayType(F32, ()))
    total = function(x)
    graph = Graph("f", (x,), tuple(calls), (total,))
    assert to_code(graph) == (
        "def f(x0: f32[]) -> f32[]:\n"
        "    sin_1: f32[] = sin(x0)               # train.py:14  h = np.sin(x)\n"
        "    cos_1: f32[] = cos(sin_1)\n"
        "    add_1: f32[] = add(cos_1, f32(1.0))  # train.py:15  return h + 1\n"
        "    return add_1"
    )
    again = parse(str(graph))
    assert str(again) == str(graph)
    assert [call.location.line for call in again.calls if call.location] == [14, 14, 15]
    assert "#" not in to_code(graph, locations=False)


def test_a_source_line_stays_a_comment_whatever_is_in_it() -> None:
    location = Location("a\nb.py", 3, 'x = "\n\r\x00\u2028 # ' + "y" * 1000)
    x, y = Value(ArrayType(F32, ())), Value(ArrayType(F32, ()))
    graph = Graph("f", (x,), (Call("sin", (x,), {}, (y,), location),), (y,))
    assert len(str(graph).splitlines()) == 4
    assert max(map(len, str(graph).splitlines())) < 250
    assert str(parse(str(graph))) == str(graph)


def test_names_of_inputs_become_different_identifiers() -> None:
    given = ("x", "x", "lambda", "layers[0].w", "2nd", "", "α", "x_2")
    graph = graph_of(lambda *xs: xs[0], *[()] * len(given), names=given, name="<lambda>")
    assert graph.name == "lambda_"
    assert graph.input_names == ("x", "x_3", "lambda_", "layers_0_w", "_2nd", "_", "α", "x_2")
    assert read_back(graph) == graph


def test_made_names_avoid_those_of_the_inputs() -> None:
    graph = graph_of(lambda x, y: sin(sin(x)), (), (), names=("sin_1", "sin_3"))
    assert "sin_2: f32[] = sin(sin_1)" in graph.code
    assert "sin_4: f32[] = sin(sin_2)" in graph.code
    assert read_back(graph) == graph


def test_a_nested_graph_is_a_definition_before_its_call() -> None:
    inner = graph_of(sin, (3,), names=("c",), name="body")
    graph = graph_of(lambda x: bind("call", x, graph=inner), (3,))
    assert to_code(graph) == (
        "def f(x0: f32[3]) -> f32[3]:\n"
        "    def body(c: f32[3]) -> f32[3]:\n"
        "        sin_1: f32[3] = sin(c)\n"
        "        return sin_1\n"
        "    call_1: f32[3] = call(x0, graph=body)\n"
        "    return call_1"
    )
    assert read_back(graph) == graph


def test_nested_graphs_of_one_name_stay_apart_and_equal_ones_are_shared() -> None:
    sine, cosine, f32 = (
        graph_of(op, (3,), name=name) for op, name in ((sin, "body"), (cos, "body"), (exp, "f32"))
    )

    def function(x: Value) -> Value:
        for inner in (sine, cosine, sine, f32):
            x = bind("call", x, graph=inner)
        return x

    graph = graph_of(function, (3,))
    assert re.findall(r"def (\w+)", str(graph)) == ["f", "body", "body_2", "f32_2"]
    assert re.findall(r"graph=(\w+)", str(graph)) == ["body", "body_2", "body", "f32_2"]
    assert read_back(graph) == graph
    assert str(read_back(graph)) == str(graph)


def test_graphs_that_differ_hash_differently_and_equal_ones_alike() -> None:
    def nest(function: Callable[..., Any], name: str = "body") -> Graph:
        return graph_of(lambda x: bind("call", x, graph=graph_of(function, (3,), name=name)), (3,))

    different = [
        nest(lambda x: add(add(x, constant(1.0, F32)), x)),
        nest(lambda x: add(add(x, constant(2.0, F32)), x)),
        nest(lambda x: add(add(x, x), x)),
        nest(lambda x: add(x, add(x, x))),
        nest(lambda x: bind("cumsum", sin(x), axis=0, reverse=False)),
        nest(lambda x: bind("cumsum", sin(x), axis=0, reverse=True)),
    ]
    assert len({hash(graph) for graph in different}) == len(different)
    assert hash(nest(sin)) == hash(nest(sin, name="other"))


def test_graphs_nest_in_graphs() -> None:
    graph = graph_of(sin, (3,), name="g0")
    for depth in range(1, 20):
        inner = graph
        graph = graph_of(lambda x, inner=inner: bind("call", x, graph=inner), (3,), name=f"g{depth}")
    assert read_back(graph) == graph


def test_a_very_long_line_is_folded_after_commas_and_reads_back() -> None:
    graph = graph_of(
        lambda *xs: (bind("concatenate", *xs, axis=0), *xs),
        *[(1,)] * 3000,
        names=tuple(f"in{i}" for i in range(3000)),
    )
    assert max(map(len, str(graph).splitlines())) < 130
    assert read_back(graph) == graph


def test_a_folded_line_keeps_its_strings_whole() -> None:
    graph = with_params(**{f"p{i}": 'a, "b", c' for i in range(40)})
    lines = to_code(graph).splitlines()
    assert len(lines) > 5
    assert str(graph).count(r'"a, \"b\", c"') == 40


def test_parameters_print_as_literals() -> None:
    graph = with_params(
        a=None, b=True, c=-3, d=0.5, e="x\n\u2028", g=dtype_named("bf16"), h=(), i=((1,), "y", math.nan)
    )
    assert (
        r'sin(x0, a=None, b=True, c=-3, d=0.5, e="x\n\u2028", g=bf16, h=(), i=((1,), "y", nan))'
        in to_code(graph)
    )


def test_an_unfinished_graph_prints_too() -> None:
    stray = Value(ArrayType(F32, ()))
    assert "return undefined_1" in str(Graph("f", (), (), (stray,)))


# ---- constants -------------------------------------------------------------------------------------


def same_bits(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def constant_of(text: str) -> Array:
    (value,) = parse(text).outputs
    assert isinstance(value, Constant)
    return value.array


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.float32(0.5), "f32(0.5)"),
        (np.float32(0.1), "f32(0.1)"),
        (np.float64("nan"), "f64(nan)"),
        (np.float64("-inf"), "f64(-inf)"),
        (np.float64(-0.0), "f64(-0.0)"),
        (np.float16(1e-7), "f16(1e-07)"),
        (np.int64(3), "i64(3)"),
        (np.uint64(2**64 - 1), "u64(18446744073709551615)"),
        (np.int8(-128), "i8(-128)"),
        (np.bool_(True), "bool(True)"),
        (np.complex64(1 - 2j), "c64(1.0, -2.0)"),
        (np.complex128(complex(-0.0, math.nan)), "c128(-0.0, nan)"),
        (np.array(0xFFF8000000000000, "u8").view("f8"), "f64(0xfff8000000000000)"),
        (np.array(0x7F800001, "u4").view("f4"), "f32(0x7f800001)"),
    ],
)
def test_a_number_is_written_where_it_is_used(array: Any, shown: str) -> None:
    text = str(returning(array))
    assert f"return {shown}" in text
    assert same_bits(constant_of(text), np.asarray(array))


@pytest.mark.parametrize(
    "share", [pytest.param(0.1, id="some"), pytest.param(1.0, id="all", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_number_of_a_16_bit_dtype_reads_back_exactly(name: str, share: float) -> None:
    every = thinned(np.arange(2**16, dtype="u2").reshape(-1, 16), share)
    arrays = [row.view(dtype_named(name)) for row in every]
    graph = returning(*arrays)
    for value, array in zip(read_back(graph).outputs, arrays, strict=True):
        assert isinstance(value, Constant)
        assert same_bits(value.array, array)


@given(
    st.data(), st.sampled_from(sorted(dtype_names())), st.sampled_from([(), (3,), (2, 2), (1, 1, 4), (0, 3)])
)
def test_constants_of_every_dtype_read_back_exactly(
    data: st.DataObject, name: str, shape: tuple[int, ...]
) -> None:
    dtype = dtype_named(name)
    count = math.prod(shape) * dtype.itemsize
    content = data.draw(st.binary(min_size=count, max_size=count))
    array = np.frombuffer(content, "u1") % 2 == 1 if name == "bool" else np.frombuffer(content, dtype)
    assert same_bits(constant_of(str(returning(array.reshape(shape)))), array.reshape(shape))


def test_small_arrays_are_nested_lists_and_large_ones_digests() -> None:
    large = np.arange(20, dtype="f4").reshape(4, 5)
    graph = returning(np.arange(4).reshape(2, 2), np.array([1 + 2j]), np.zeros((0, 3)), large)
    digest = Constant(large).digest
    assert to_code(graph).splitlines()[1:] == [
        "    constant_1: i64[2, 2] = constant([[0, 1], [2, 3]])",
        "    constant_2: c128[1] = constant([(1.0, 2.0)])",
        "    constant_3: f64[0, 3] = constant([])",
        f'    constant_4: f32[4, 5] = constant("{digest}")',
        "    return constant_1, constant_2, constant_3, constant_4",
    ]
    assert list(graph_constants(graph)) == [digest]
    assert read_back(graph) == graph


def test_equal_constants_print_once_just_before_their_first_use() -> None:
    def function(x: Value) -> Value:
        x = sin(x)
        return add(add(x, constant([1, 2], F32)), constant([1, 2], F32))

    graph = graph_of(function, (2,))
    assert [line.split()[0] for line in graph.code.splitlines()] == [
        "def", "sin_1:", "constant_1:", "add_1:", "add_2:", "return"
    ]  # fmt: skip
    assert read_back(graph) == graph


def test_large_constants_of_nested_graphs_are_found_too() -> None:
    inner = graph_of(lambda x: add(x, constant(np.ones(20), F32)), (20,))
    graph = graph_of(lambda x: bind("call", x, graph=inner), (20,))
    assert len(graph_constants(graph)) == 1
    assert read_back(graph) == graph


def test_a_large_constant_must_be_given_as_what_its_digest_names() -> None:
    array = np.arange(20.0)
    text, digest = str(returning(array)), Constant(array).digest
    with pytest.raises(ParseError, match=r"line 3: expected the array 'sha256:.* in constants="):
        parse(text)
    with pytest.raises(ParseError, match=r"expected f64\[20\] in constants=, found int64\[20\]"):
        parse(text, {digest: np.arange(20)})
    with pytest.raises(ParseError, match=r"expected the array sha256:.* found sha256:"):
        parse(text, {digest: array + 1})


# ---- Python functions ------------------------------------------------------------------------------


def test_a_python_function_is_named_and_must_be_given_to_read_it_back() -> None:
    def twice(x: Array) -> Array:
        return x * 2

    def call(x: Value, function: Callable[..., Any]) -> Value:
        return bind("callback", x, function=function, types=((F32, ()),))

    other = eval("lambda x: x", {"__name__": __name__})
    third = eval("lambda x: -x", {"__name__": __name__})
    graph = graph_of(lambda x: call(call(call(call(x, twice), other), third), np.sin), ())
    functions = graph_functions(graph)
    assert list(functions.values()) == [twice, other, third, np.sin]
    assert len({name for name in functions if "<lambda>" in name}) == 2
    assert "test_text:test_a_python_function" in str(graph)
    with pytest.raises(ParseError, match=r"expected the Python function .* in functions="):
        parse(str(graph))
    assert parse(str(graph), functions=functions) == graph


# ---- reading ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(graphs())
def test_random_graphs_read_back_and_pass_the_verifier(graph: Graph) -> None:
    graph.lint()
    again = read_back(graph)
    assert again == graph
    assert hash(again) == hash(graph)
    assert str(again) == str(graph)


@pytest.mark.slow
def test_the_samples_of_all_ops_read_back_and_pass_the_verifier() -> None:
    for sample in SAMPLES:
        graph = sample.graph()
        graph.lint()
        assert read_back(graph) == graph, sample.id


WORDS = "def return nan -inf 99999999999999999999 0x7f 1e999 f32 sin callable None lambda axes= sha256: f32["
PIECES = (*WORDS.split(), *'()[],:=#"\\.\n\x00\ud800λ²', "->", "    ", "def g() -> ():")


@st.composite
def damaged_texts(draw: st.DrawFn) -> tuple[str, Mapping[str, Array]]:
    graph = draw(graphs())
    text = to_text(graph)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 12)))
        new = draw(st.sampled_from(PIECES) | st.sampled_from(text.split()) | st.text(max_size=3))
        text = text[:start] + new + text[stop:]
    return text, graph_constants(graph)


@pytest.mark.slow
@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(damaged_texts())
def test_a_damaged_text_is_a_graph_or_a_parse_error(damaged: tuple[str, Mapping[str, Array]]) -> None:
    text, constants = damaged
    graph, message = parsed_or_refused(text, constants)
    if graph is None:
        assert re.match(r"line \d+: ", message)
    else:
        graph.lint()
        assert read_back(graph) == graph


def parsed_or_refused(text: str, constants: Mapping[str, Array]) -> tuple[Graph | None, str]:
    try:
        return parse(text, constants), ""
    except ParseError as error:
        return None, str(error)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_other_text_is_a_parse_error(text: str) -> None:
    for prefix in ("", HEADER, HEADER + "def f() -> ():\n    "):
        with pytest.raises(ParseError):
            parse(prefix + text + "\n)")


BODY = HEADER + "def f(x: f32[3]) -> f32[3]:\n    "


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1: expected '# tracemill ir 1'"),
        ("# tracemill ir 2\ndef f() -> ():\n    return ()", "line 1: expected '# tracemill ir 1', found"),
        (HEADER, "line 1: expected a definition after it, found the end of the text"),
        (HEADER + "  def f() -> ():", "line 2: expected 'def' without indentation"),
        (HEADER + "def f() -> ():", "line 2: expected 'return' after it"),
        (HEADER + "def f() -> ():\n  return ()", "line 3: expected an indentation of 4, found 2"),
        (HEADER + "def f() -> ():\n    return ()\nx", "line 4: expected the end of the text, found x"),
        (HEADER + "def if() -> ():", "line 2: expected the name of the graph, found if"),
        (HEADER + "def f(x: f32[], x: f32[]) -> ():", "line 2: x is made twice"),
        (HEADER + "def f(x: f33[]) -> ():", r"line 2: expected a dtype \(bool.*found f33"),
        (HEADER + "def f(x: f32[-1]) -> ():", "expected a dimension from 0 to 2"),
        (HEADER + f"def f(x: f32[{2**48}]) -> ():", "a dimension is an int from 0 to 2"),
        (HEADER + f"def f(x: f32[{'1, ' * 64}1]) -> ():", "at most 64 axes, not 65"),
        (HEADER + f"def f(x: f32[{'9' * 5000}]) -> ():", "expected a dimension"),
        (HEADER + "#" * 70000, "line 2: expected at most 65536 characters, found 70000"),
        (BODY + "sin_1: f32[3] = sin(y)", "line 3: expected a value that is made before, found y"),
        (BODY + "sin_1: f32[3] = sine(x)", "line 3: expected the name of an op, found sine"),
        (BODY + "sin_1: f32[4] = sin(x)", r"line 3: expected f32\[3\] as the result of sin, found f32\[4\]"),
        (BODY + "sin_1: f32[3] = sin(", "line 3: expected a value, found the end of the line"),
        (BODY + "sin_1: f32[3] = sin(x, x)", "line 3: expected what sin takes: "),
        (BODY + "sin_1: f32[3] = sin(x, axis=0)", "line 3: expected what sin takes: "),
        (BODY + "sum_1: f32[] = sum(x, axes=(0))", "line 3: expected ',', found"),
        (BODY + "sum_1: f32[] = sum(x, axes=0)", "line 3: expected what sum takes: "),
        (BODY + "sum_1: f32[] = sum(x, axes=g)", "a number, a string, a dtype or a nested graph, found g"),
        (BODY + "sum_1: f32[] = sum(x, axes=(), axes=())", "line 3: parameter axes is given twice"),
        (BODY + "sum_1: f32[] = sum(axes=(), x)", "line 3: expected a parameter"),
        (BODY + f"sum_1: f32[] = sum(x, axes={'(' * 99})", "line 3: tuples are nested more than 32 deep"),
        (BODY + f"sum_1: f32[] = sum(x, axes={'9' * 5000})", "a decimal number of at most 400 digits"),
        (BODY + f"sum_1: f32[] = sum(x, axes={'9' * 400})", "an integer of at most 1024 bits"),
        (BODY + 'sum_1: f32[] = sum(x, axes="\\q")', "line 3: expected a string as in JSON"),
        (BODY + "sum_1: f32[] = sum(x, axes=;)", "line 3: expected a name, .* or symbol, found ';'"),
        (BODY + "x: f32[3] = sin(x)", "line 3: x is made twice"),
        (BODY + "c: f32[17] = constant([1.0])", "line 3: expected a digest"),
        (BODY + "c: f32[2] = constant([1.0])", "line 3: expected ',', found ]"),
        (BODY + "c: f32[1] = constant([1e39])", "line 3: .*1e39 does not fit f32"),
        (BODY + "c: i8[1] = constant([128])", "line 3: .*128 does not fit i8"),
        (BODY + "c: i8[1] = constant([1.5])", "line 3: expected numbers of the dtype int8"),
        (BODY + "c: bool[1] = constant([1])", "line 3: .*1 is neither True nor False"),
        (BODY + "c: f32[1] = constant([0x7f8000001])", "line 3: .*does not fit f32"),
        (BODY + "return x, x", r"line 3: expected values of the types f32\[3\], found f32\[3\], f32\[3\]"),
        (BODY + "return ()", r"line 3: expected values of the types f32\[3\], found none"),
        (BODY + "return x,", "line 3: expected a value, found the end of the line"),
        (BODY + "def nan() -> ():\n        return ()", "a nested graph cannot be called nan here"),
    ],
)  # fmt: skip
def test_a_wrong_text_is_refused_with_its_line_and_what_was_expected(text: str, error: str) -> None:
    with pytest.raises(ParseError, match=error):
        parse(text)


def test_definitions_nested_too_deep_are_refused() -> None:
    text = HEADER + "\n".join("    " * depth + "def g() -> ():" for depth in range(5000))
    with pytest.raises(ParseError, match="nested more than 32 deep"):
        parse(text)


def test_empty_lines_comments_and_carriage_returns_do_not_count() -> None:
    text = HEADER + "\n# a comment\r\ndef f(x: f32[]) -> f32[]:\r\n\n    # x:1  y\n    return x   # done\n\n"
    assert to_code(parse(text)) == "def f(x: f32[]) -> f32[]:\n    return x"


# ---- equality --------------------------------------------------------------------------------------


def test_graphs_differ_by_ops_parameters_constants_types_and_connections() -> None:
    def different(function: Callable[..., Any]) -> Graph:
        return graph_of(function, (3,), (3,))

    graph = different(lambda x, y: add(sin(x), 1))
    assert graph == different(lambda x, y: add(sin(x), 1))
    assert graph != different(lambda x, y: add(sin(y), 1))
    assert graph != different(lambda x, y: add(cos(x), 1))
    assert graph != different(lambda x, y: add(sin(x), 2))
    assert graph != different(lambda x, y: add(1, sin(x)))
    assert returning(np.float64(0.0)) != returning(np.float64(-0.0))
    assert with_params(p=1) != with_params(p=True)
    assert with_params(p=(0.0,)) != with_params(p=(-0.0,))
    assert with_params(p=math.nan) == with_params(p=float("nan"))
