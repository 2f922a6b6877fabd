"""The library of a module has one C function for all calls that it can compute."""

from dataclasses import replace
from functools import partial

from graphs.loop_steps import FOUR, peak, total
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.library import CLibrary
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.backends.python.text import Names
from tracemill.compiler.builder import bind_all
from tracemill.compiler.ir import Call, Graph, Value

OPS = ("call", "checkpoint", "linear_call", "scan", "sort", "scatter", "switch", "while_loop")


def library() -> CLibrary:
    return CLibrary(partial(print_function, options=COptions()))


def elsewhere(call: Call) -> Call:
    """The same call of other values."""
    inputs, outputs = (tuple(Value(value.type) for value in values) for values in (call.inputs, call.outputs))
    return replace(call, inputs=inputs, outputs=outputs, location=None)


ONE_CALL = SAMPLES.where(lambda sample: sample.op in OPS and len(sample.graph().calls) == 1)


@of_each_sample(ONE_CALL)
def test_equal_calls_share_a_function(sample: Sample) -> None:
    found, names = library(), Names()
    (call,) = sample.graph().calls
    (again,) = sample.graph().calls
    functions = [found.function_of(c, names) for c in (call, elsewhere(call), again)]
    assert functions[0] is functions[1] is functions[2]
    assert len(found.functions) == (functions[0] is not None)


def scan(length: int, type: str = FOUR, step: str = "total") -> Call:
    form = {"total": total, "peak": peak}[step]
    body = recorded(lambda a: (form(a),), type)
    graph = recorded(lambda a: bind_all("scan", a, graph=body, counts=(0, 1), length=length), type)
    return graph.calls[0]


def test_calls_that_differ_in_a_parameter_a_type_or_a_graph_have_functions_of_their_own() -> None:
    found, names = library(), Names()
    calls = [scan(3), scan(4), scan(3, "f32[4]"), scan(3, step="peak"), scan(3)]
    functions = [found.function_of(call, names) for call in calls]
    assert functions[0] is functions[-1]
    assert found.functions == functions[:4]


def block(length: int) -> Graph:
    """This many equal steps, in a call of a graph of them."""

    def steps(x: Value) -> Value:
        for _ in range(length):
            x = fn.add(total(x), x)
        return x

    inner = recorded(steps, FOUR)
    return recorded(lambda x: bind_all("checkpoint", x, graph=inner), FOUR)


def test_equal_calls_in_a_graph_share_a_function_of_its() -> None:
    functions = [print_function(block(length).calls[0], "f", COptions()) for length in (2, 8)]
    few, many = (function.text.count("static void") for function in functions if function)
    assert few == many


def test_where_a_name_is_taken_a_function_is_printed_once_under_another() -> None:
    asked: list[str] = []

    def printed(call: Call, name: str) -> CFunction | None:
        asked.append(name)
        return print_function(call, name, COptions())

    found = CLibrary(printed)
    function = found.function_of(scan(3), Names(["c_scan_1"]))
    assert function is not None
    assert asked == [function.name] == ["c_scan_1_"]
