"""Types with dims print in a graph's text, and read back with what is known about the sizes."""

import pytest

import tracemill as tm
from tracemill.compiler.dtypes import FLOAT32
from tracemill.compiler.errors import ParseError
from tracemill.compiler.ir import ArrayType, Call, Graph, Value

B, K = tm.Dim("B", min=1, max=4096, multiple_of=16), tm.Dim("K")


def graph_of(*shape: object) -> Graph:
    type = ArrayType(FLOAT32, shape)  # type: ignore[arg-type]  # dims compute as ints
    x, y = Value(type), Value(type)
    return Graph("f", (x,), (Call("sin", (x,), {}, (y,)),), (y,), ("x",))


TEXT = """\
# tracemill ir 1
def f(x: f32[B // 4, 2*K + 1, 784]) -> f32[B // 4, 2*K + 1, 784]:  # B in 1..4096, B % 16 == 0
    sin_1: f32[B // 4, 2*K + 1, 784] = sin(x)
    return sin_1"""


def test_a_graph_with_dims_prints_and_reads_back() -> None:
    graph = graph_of(B // 4, 2 * K + 1, 784)
    graph.lint()
    assert str(graph) == TEXT
    back = tm.parse(TEXT)
    assert back == graph
    assert back.inputs[0].shape[0] is B // 4


def test_operations_of_several_sizes_read_back() -> None:
    shape = (tm.Dim.minimum(K, 5, B), (K + 3) % 7, B * K - 1)
    graph = graph_of(*shape)
    back = tm.parse(str(graph)).inputs[0].shape
    assert all(found is dim for found, dim in zip(back, shape, strict=True))


def test_size_and_bytes_are_expressions() -> None:
    type = graph_of(B, K, 3).inputs[0].type
    assert (type.size, type.nbytes) == (3 * B * K, 12 * B * K)
    assert str(type) == "f32[B, K, 3]"


def test_other_comments_say_nothing_of_sizes() -> None:
    size = tm.parse(TEXT.replace("# B in 1..4096, B % 16 == 0", "# B is large")).inputs[0].shape[0]
    assert size is tm.Dim("B") // 4


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ("2*K + 1, 784]) ->", "2*K + , 784]) ->", "line 2: cannot read .* the text ends"),
        ("2*K + 1, 784]) ->", "2**K, 784]) ->", "line 2: cannot read"),
        ("2*K + 1, 784]) ->", "K // N, 784]) ->", "line 2: whether N == 0 is not known"),
        ("2*K + 1, 784]) ->", "1.5*K, 784]) ->", "line 2: cannot read"),
        ("2*K + 1, 784]) ->", "(K, 784]) ->", "line 2: "),
        ("2*K + 1, 784]) ->", '"K", 784]) ->', "line 2: expected a dimension"),
        ("in 1..4096", "in 1..0", "line 2: dim B: there is no size"),
        ("sin_1: f32[B // 4", "sin_1: f32[K", "line 3: whether B == 4\\*K is not known"),
        ("sin_1: f32[B // 4", "sin_1: f32[B // 4 + 1", "line 3: expected f32"),
        ("sin(x)", "constant([])", "line 3: a constant has no symbolic sizes"),
    ],
)
def test_texts_that_are_wrong_are_refused(before: str, after: str, match: str) -> None:
    assert before in TEXT
    with pytest.raises(ParseError, match=match):
        tm.parse(TEXT.replace(before, after))
