"""Printed modules leave inputs alone, share no memory, work in threads, and run on their own."""

import contextvars
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.matrix_graphs import matrix_graphs
from samples.table import SAMPLES
from support.printed_graphs import assert_formatted, compiled, run_and_check
from support.recording import assert_same, drawn, recorded
from support.threading_together import run_in_threads
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.dtypes import FLOAT64, Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Constant, Graph, Location, Value
from tracemill.passes.lowering.decompose import decompose_composites
from tracemill.passes.simplification.simplify import simplify

# ---- random programs, large enough for the arena ----------------------------------------------------


@settings(deadline=None)
@given(graph=matrix_graphs(), fortran=st.booleans(), simplified=st.booleans())
def test_views_and_writes_in_place_never_show(graph: Graph, fortran: bool, simplified: bool) -> None:
    inputs = drawn(graph, "real")
    if fortran:
        inputs = [np.asfortranarray(x) for x in inputs]
    run_and_check(simplify(graph) if simplified else graph, inputs)


# ---- outputs and inputs -----------------------------------------------------------------------------


def test_inputs_and_constants_that_are_returned_are_copied() -> None:
    constant = fn.constant(np.arange(3.0))
    graph = recorded(lambda x: (x, x, constant, constant, fn.transpose(x, (1, 0))), "f64[2, 3]")
    run_and_check(graph, [np.ones((2, 3))])


def test_an_output_that_is_a_part_does_not_keep_the_whole() -> None:
    graph = recorded(lambda x: fn.slice_axis(fn.sin(x), 0, 2, 0), "f64[1000]")
    (part,) = run_and_check(graph, [np.ones(1000)])
    assert part.base is None


def test_outputs_without_axes_are_numbers_of_numpy() -> None:
    def f(x: Value, y: Value) -> tuple[Value, ...]:
        return x, fn.sum_(y, (0,)), fn.reshape(fn.slice_axis(y, 1, 2, 0), ()), fn.constant(np.float16(2))

    outputs = run_and_check(
        recorded(f, "f32[]", "f32[3]"), [np.array(2, np.float32), np.arange(3, dtype=np.float32)]
    )
    assert [type(x) for x in outputs] == [np.float32, np.float32, np.float32, np.float16]


@pytest.mark.parametrize("number", [np.array(3.0), np.float64(3.0)])
def test_inputs_without_axes_may_be_arrays_or_numbers(number: Any) -> None:
    graph = recorded(lambda x: (fn.multiply(x, x), fn.divide(x, 0), fn.exp(x), fn.negative(x)), "f64[]")
    assert_same(compiled(graph)(number), [9.0, np.inf, np.exp(3.0), -3.0])


def test_a_graph_may_have_no_inputs_no_calls_and_no_outputs() -> None:
    assert compiled(Graph("f", (), (), ()))() == ()
    run_and_check(recorded(lambda: fn.iota(3, FLOAT64)), [])


def test_what_depends_on_constants_alone_is_made_once_and_never_written_to() -> None:
    def f(x: Value) -> tuple[Value, ...]:
        numbers = fn.reshape(fn.iota(4096, FLOAT64), (64, 64))
        return fn.sin(numbers), fn.add(x, numbers), numbers

    graph = recorded(f, "f64[64, 64]")
    assert "known_iota_1 = np.arange(4096" in print_module(graph, NUMPY)
    run_and_check(graph, [np.ones((64, 64))])


# ---- constants, names, text -------------------------------------------------------------------------

ODD_NAN = np.array(0x7FC01234, np.uint32).view(np.float32)


@pytest.mark.parametrize(
    "array",
    [
        np.array(0.1, np.float32),
        np.array(-0.0),
        np.array(np.nan),
        ODD_NAN,
        np.array([np.inf, -np.inf, np.nan, -0.0], np.float16),
        np.array(complex(np.nan, -0.0), np.complex64),
        np.array([[1 + 2j, -1j]]),
        np.array([[True, False]]),
        np.array(np.iinfo(np.int64).min),
        np.array([np.iinfo(np.uint64).max], np.uint64),
        np.zeros((2, 0, 3)),
        np.full((40, 50), -1, np.int8),
        np.random.default_rng(0).standard_normal((30, 40)),
        np.random.default_rng(0).integers(0, 2**32, 100, np.uint32).view(np.float32),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_constants_keep_every_bit(array: Array) -> None:
    graph = recorded(lambda: (Constant(array), fn.reshape(Constant(array), array.shape)))
    for output in compiled(graph)():
        assert np.asarray(output).dtype == array.dtype
        assert np.asarray(output).tobytes() == array.tobytes()


def test_bfloat16_constants_keep_every_bit() -> None:
    import ml_dtypes

    for count in (5, 3000):
        array = np.arange(16000, 16000 + count).astype(np.uint16).view(ml_dtypes.bfloat16)
        (output,) = compiled(recorded(lambda array=array: fn.constant(array)))()
        assert output.tobytes() == array.tobytes()


NAMES = ("np", "t0", "idle", "class", "sin_1", "statements", "x", "x", "params['w'][0]", "max", "mine", "")


def test_names_of_the_user_never_collide_with_those_of_the_module() -> None:
    def f(*inputs: Value) -> Value:
        total = inputs[0]
        for value in inputs[1:]:
            total = fn.sin(fn.add(total, value))
        return bind("cumsum", total, axis=0, reverse=True)

    for name in ("np", "workspace", "cumsum", "<lambda>", "grad(f)", "zip", "reference"):
        graph = recorded(f, *["f64[2100]"] * len(NAMES), name=name, names=NAMES)
        run_and_check(graph, drawn(graph, "real"))


def located(function: Callable[..., Any]) -> Graph:
    """The graph of a function of a 4 × 4 matrix, with a line of source per call."""
    graph = recorded(function, "f32[4, 4]", name="loss", names=("x",))
    lines = ["h = np.tanh(x)", "h = np.tanh(x)", "return h.sum()\n# two lines"]
    calls = tuple(
        type(call)(call.op, call.inputs, call.params, call.outputs, Location("dir/train.py", 3, line))
        for call, line in zip(graph.calls, lines, strict=False)
    )
    return Graph(graph.name, graph.inputs, calls, graph.outputs, graph.input_names)


def test_statements_say_the_line_of_source_that_they_come_from() -> None:
    source = print_module(located(lambda x: fn.sum_(fn.square(fn.sin(x)), (0, 1))), NUMPY)
    body = source.split("def statements(mine, x):\n")[1].split("\n\n")[0]
    assert body == (
        "    # train.py:3  h = np.tanh(x)\n"
        "    sin_1 = np.sin(x)\n"
        "    square_1 = np.square(sin_1, out=sin_1)\n"
        "    # train.py:3  return h.sum() # two lines\n"
        "    sum_1 = np.add.reduce(square_1, axis=(0, 1))\n"
        "    return (sum_1,)"
    )


@pytest.mark.slow
def test_the_same_graph_gives_the_same_text_in_every_process() -> None:
    script = (
        "import hashlib, sys; sys.path[:0] = ['tests', 'tests/.root']\n"
        "from samples.table import SAMPLES\n"
        "from tracemill.compiler.backends.numpy.writer import NUMPY\n"
        "from tracemill.compiler.backends.python.printer import print_module\n"
        "from tracemill.passes.lowering.decompose import decompose_composites\n"
        "graphs = [decompose_composites(sample.graph()) for sample in SAMPLES[::40]]\n"
        "text = ''.join(print_module(graph, NUMPY) for graph in graphs)\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    root = Path(__file__).parents[4]
    digests = {
        subprocess.run([sys.executable, "-c", script], cwd=root, env={"PYTHONHASHSEED": seed}, check=True,
                       capture_output=True, text=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1


def test_generated_text_is_what_the_formatter_would_write(tmp_path: Path) -> None:
    shown: set[str] = set()
    for sample in SAMPLES:
        if sample.op not in shown:
            shown.add(sample.op)
            (tmp_path / f"{sample.op}.py").write_text(
                print_module(decompose_composites(sample.graph()), NUMPY)
            )
    wide = recorded(lambda *x: tuple(fn.sin(v) for v in x), *["f64[64, 64]"] * 30)
    (tmp_path / "wide.py").write_text(print_module(wide, NUMPY))
    assert_formatted(tmp_path)


# ---- warnings, threads, errors, Python functions ----------------------------------------------------


def test_floating_point_errors_are_silent_whatever_the_caller_has_set() -> None:
    graph = recorded(
        lambda x: (fn.divide(x, 0), fn.exp(fn.multiply(x, 1e9)), fn.log(fn.sum_(x, (0,)))), "f64[3]"
    )
    function = compiled(graph)
    with np.errstate(all="raise"):
        outputs = function(np.array([-1.0, 0.0, 1.0]))
        assert np.geterr()["over"] == "raise"
    assert_same(outputs, [[-np.inf, np.nan, np.inf], [0, 1, np.inf], np.float64(-np.inf)])


def test_threads_run_the_same_function_at_the_same_time() -> None:
    def f(x: Value) -> Value:
        for _ in range(10):
            x = fn.add(fn.sin(x), fn.transpose(x, (1, 0)))
        return x

    graph = recorded(f, "f64[64, 64]")
    function = compiled(graph)
    wrong: list[int] = []

    def work(seed: int) -> None:
        (x,) = drawn(graph, "real", seed)
        expected = evaluate(graph, x)[0]
        wrong.extend(seed for _ in range(20) if not np.array_equal(function(x)[0], expected))

    run_in_threads(work, 4)
    assert not wrong


def test_settings_of_numpy_are_the_callers_afterwards() -> None:
    function = compiled(recorded(fn.exp, "f64[64, 64]"))
    before = np.getbufsize(), np.geterr()
    function(np.full((64, 64), 1e4))
    assert (np.getbufsize(), np.geterr()) == before


def with_callback(function: Callable[..., Any]) -> Graph:
    """``sin(x) + function(cos(x))`` on a matrix for the arena."""

    def f(x: Value) -> Value:
        sine = fn.sin(x)
        (answer,) = bind_all("callback", fn.cos(x), function=function, types=((FLOAT64, (64, 64)),))
        return fn.add(fn.add(sine, answer), sine)

    return recorded(f, "f64[64, 64]")


def test_a_function_may_call_itself_while_it_runs() -> None:
    inside: list[Any] = []

    def again(x: Array) -> Array:
        if not inside:
            inside.append(x)
            inside.append(recursive(x))
        return x

    graph = with_callback(again)
    recursive = compiled(graph)
    x = np.linspace(0, 1, 4096).reshape(64, 64)
    outputs = recursive(x)
    y = np.cos(x)
    assert_same(outputs, [(np.sin(x) + np.cos(x)) + np.sin(x)])
    assert_same(inside[1], [(np.sin(y) + np.cos(y)) + np.sin(y)])


def test_what_a_python_function_keeps_of_its_arguments_does_not_change_later() -> None:
    kept: list[Array] = []

    def keep(x: Array) -> Array:
        kept.append(x)
        return np.zeros((64, 64))

    function = compiled(with_callback(keep))
    function(np.zeros((64, 64)))
    function(np.ones((64, 64)))
    assert_same(kept, [np.ones((64, 64)), np.full((64, 64), np.cos(1.0))])


def test_a_python_function_runs_in_the_context_of_the_caller() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    seen: list[Any] = []

    def look(x: Array) -> Array:
        seen.append((variable.get(), np.geterr()["over"]))
        return x

    function = compiled(with_callback(look))
    variable.set(7)
    with np.errstate(over="raise"):
        function(np.zeros((64, 64)))
    assert seen == [(7, "raise")]


def test_after_an_error_the_function_works_as_before() -> None:
    def refuse(x: Array) -> Array:
        if x[0, 0] < 1:
            raise KeyError("no")
        return x

    function = compiled(with_callback(refuse))
    for _ in range(2):
        with pytest.raises(KeyError):
            function(np.ones((64, 64)))
        assert_same(function(np.zeros((64, 64))), [np.ones((64, 64))])


def test_calls_of_graphs_are_functions_that_call_each_other() -> None:
    inner = recorded(lambda x: (fn.sin(x), x, fn.reshape(x, (4096,))), "f64[64, 64]", name="inner")
    outer = recorded(lambda x: bind_all("call", fn.exp(x), graph=inner), "f64[64, 64]", name="outer")
    graph = recorded(
        lambda x: (*bind_all("call", x, graph=outer), *bind_all("call", x, graph=inner)), "f64[64, 64]"
    )
    source = print_module(graph, NUMPY)
    assert source.count("def inner(") == 1
    run_and_check(graph, drawn(graph, "real"))


# ---- on their own -----------------------------------------------------------------------------------


def run_alone(source: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    file = folder / "module.py"
    file.write_text(source, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", "-W", "error", str(file)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_module_checks_and_times_itself(tmp_path: Path) -> None:
    def loss(w: Value, x: Value) -> tuple[Value, ...]:
        h = fn.elementwise("tanh", fn.dot(x, w, ((1,), (0,))))
        return fn.sum_(h, (1,)), fn.log(h), bind("argmax", h, axis=0), fn.convert(h, np.dtype(np.complex64))

    source = print_module(recorded(loss, "f32[20, 30]", "f32[200, 20]", name="loss"), NUMPY)
    run = run_alone(source, tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("ok: max difference ")
    assert run.stdout.endswith(" µs per call\n")
    wrong = run_alone(source.replace("np.tanh(dot_1, out=dot_1)", "np.sin(dot_1, out=dot_1)"), tmp_path)
    assert wrong.returncode == 1
    assert wrong.stdout.startswith("wrong: output 0 differs by ")


def test_a_module_needs_numpy_alone() -> None:
    graph = recorded(fn.sin, "f64[3]")
    imports = [
        line for line in print_module(graph, NUMPY).splitlines() if line.startswith(("import", "from"))
    ]
    assert imports == ["import contextvars", "import sys", "import time", "import numpy as np"]
    assert "reference" not in print_module(graph, NUMPY, check=False)
