"""`vmap` in chunks, by number or by memory, and `chunk_vmap`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.memory import peak_of
from support.random_arrays import numbers, same
from tracemill.compiler.errors import TransformArgumentError


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) * np.cos(w[0])


def runs(f: Callable[..., Any]) -> tuple[Callable[..., Any], list[tuple[int, ...]]]:
    """`f` as opaque Python, and the shapes of what it is called with when it runs."""
    calls: list[tuple[int, ...]] = []

    def called(x: Any) -> Any:
        calls.append(x.shape)
        return f(x)

    return called, calls


as_it_is_and_compiled = pytest.mark.parametrize(
    "wrap", [lambda f: f, tm.compile], ids=["as it is", "compiled"]
)
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@pytest.mark.parametrize("chunk_size", [0, -1, 2.0, "2", True])
def test_a_wrong_chunk_size_is_an_error_when_wrapping(chunk_size: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=r"vmap\(layer\): chunk_size must be a positive int, not"
    ):
        tm.vmap(layer, chunk_size=chunk_size)
    assert issubclass(TransformArgumentError, ValueError)


@as_it_is_and_compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_any_chunk_size_gives_the_same(wrap: Wrap, dtype: Any, chunk_size: int) -> None:
    x, w = numbers(3, 4, dtype=dtype), numbers(4, 2, dtype=dtype)
    same(wrap(tm.vmap(layer, (0, None), chunk_size=chunk_size))(x, w), tm.vmap(layer, (0, None))(x, w))


def test_three_examples_in_chunks_of_two_run_two_and_then_one() -> None:
    lowered = tm.compile(tm.vmap(np.sin, chunk_size=2)).lower(np.ones((3, 5))).graph
    (loop,) = (call for call in lowered.calls if call.op == "scan")
    assert (loop.params["length"], [str(v.type) for v in loop.outputs]) == (1, ["f64[1, 2, 5]"])
    assert [str(call.outputs[0].type) for call in lowered.calls if call.op == "sin"] == ["f64[1, 5]"]


def test_a_graph_holds_one_chunk_however_many_there_are() -> None:
    graphs = [tm.compile(tm.vmap(layer, (0, None), chunk_size=2)).lower(np.ones((n, 4)), np.ones((4, 2))).graph
              for n in (6, 600)]  # fmt: skip
    assert len(graphs[0].calls) == len(graphs[1].calls)


@as_it_is_and_compiled
def test_each_argument_and_output_has_its_own_axis(wrap: Wrap) -> None:
    x, y = numbers(4, 5, 2), numbers(5, 4)

    def f(x: Any, y: Any) -> Any:
        return np.outer(x[:, 0], y), {"sum": y + x[:, 1]}

    expected = tm.vmap(f, (1, 0), (2, {"sum": -1}))(x, y)
    got = wrap(tm.vmap(f, (1, 0), (2, {"sum": -1}), chunk_size=2))(x, y)
    same(got[0], expected[0])
    same(got[1]["sum"], expected[1]["sum"])


def test_what_does_not_depend_on_the_batch_is_computed_once() -> None:
    expensive, calls = runs(np.linalg.inv)
    w, x = numbers(3, 3), numbers(7, 3)

    def f(x: Any, w: Any) -> Any:
        return tm.pure_callback(expensive, w, w) @ x

    same(tm.vmap(f, (0, None), chunk_size=2)(x, w), np.einsum("ij,bj->bi", np.linalg.inv(w), x))
    assert calls == [(3, 3)]


@as_it_is_and_compiled
def test_what_is_not_mapped_comes_out_once(wrap: Wrap) -> None:
    x, w = numbers(5, 2), numbers(3)
    f = tm.vmap(lambda x: (x * 2, np.sum(w), "text", None), out_dims=(0, None, 0, 0), chunk_size=2)
    doubled, total, text, none = wrap(f)(x)
    same(doubled, x * 2)
    same(total, np.sum(w))
    assert (text, none) == ("text", None)


def test_an_unmapped_array_is_repeated_over_the_whole_batch() -> None:
    w = numbers(3)
    _, repeated = tm.vmap(lambda x: (x, w), out_dims=(0, 1), chunk_size=2)(numbers(5))
    same(repeated, np.stack([w] * 5, 1))


@as_it_is_and_compiled
def test_an_empty_batch_is_as_without_chunks(wrap: Wrap) -> None:
    got = wrap(tm.vmap(layer, (0, None), chunk_size=2))(np.ones((0, 4)), np.ones((4, 2)))
    same(got, np.ones((0, 2)))
    assert tm.vmap(layer, (0, None), memory_limit=8)(np.ones((0, 4)), np.ones((4, 2))).shape == (0, 2)


@as_it_is_and_compiled
@pytest.mark.parametrize("chunks", [1, 2, 3, 5, 9])
def test_any_number_of_chunks_gives_the_same(wrap: Wrap, chunks: int) -> None:
    x, w = numbers(5, 4), numbers(4, 2)
    same(wrap(tm.chunk_vmap(layer, (0, None), 1, chunks=chunks))(x, w), tm.vmap(layer, (0, None), 1)(x, w))


def test_the_pieces_have_the_rounded_up_size() -> None:
    graph = tm.compile(tm.chunk_vmap(np.sin, chunks=3)).lower(np.ones(7)).graph
    (loop,) = (call for call in graph.calls if call.op == "scan")
    assert [str(v.type) for v in loop.outputs] == ["f64[2, 3]"]  # 3, 3 and 1
    assert "scan" not in {
        c.op for c in tm.compile(tm.chunk_vmap(np.sin, chunks=1)).lower(np.ones(7)).graph.calls
    }


@pytest.mark.parametrize("chunks", [0, -2, 1.5, None])
def test_a_wrong_number_of_chunks_is_an_error_when_wrapping(chunks: Any) -> None:
    with pytest.raises(TransformArgumentError, match=r"chunk_vmap\(layer\): chunks must be a positive int"):
        tm.chunk_vmap(layer, chunks=chunks)


def wide(x: Any) -> Any:
    """Needs 100 times what it returns."""
    return np.sum(np.outer(x, np.ones(100)), axis=1)


def test_the_peak_is_the_result_and_one_chunk() -> None:
    x = numbers(1000, 50)
    result, chunk = x.nbytes, 10 * 50 * 100 * 8
    assert peak_of(tm.vmap(wide), x) > 100 * result
    buffers = 200_000  # of NumPy, and the objects of the graph
    assert peak_of(tm.vmap(wide, chunk_size=10), x) < result + chunk + buffers
    # A chunk that is its own result, too: no second copy of the whole is ever made.
    assert peak_of(tm.vmap(np.sin, chunk_size=10), x) < 1.1 * result + 20_000


@pytest.mark.parametrize("limit", ["2MB", "0.01GB", np.int64(30_000_000)])
def test_the_peak_stays_below_the_limit_and_uses_it(limit: Any) -> None:
    x = numbers(1000, 50)
    f = tm.vmap(wide, memory_limit=limit)
    same(f(x), tm.vmap(wide)(x))
    allowed = {"2MB": 2e6, "0.01GB": 1e7}.get(str(limit), 3e7)
    assert 0.9 * allowed < peak_of(f, x) < allowed + 200_000  # the objects of the graph, and buffers of NumPy


def test_a_limit_above_what_all_need_makes_no_chunks() -> None:
    graph = tm.compile(tm.vmap(wide, memory_limit="1GiB")).lower(np.ones((20, 50))).graph
    assert "scan" not in {call.op for call in graph.calls}
    limited = tm.compile(tm.vmap(wide, memory_limit="500kB")).lower(np.ones((20, 50))).graph
    assert "scan" in {call.op for call in limited.calls}


def test_an_impossible_limit_says_what_is_needed_at_least() -> None:
    x = numbers(1000, 50)
    with pytest.raises(
        TransformArgumentError, match=r"vmap\(wide\): memory_limit leaves 1 kB, but .* needs (\d+) bytes"
    ) as found:
        tm.vmap(wide, memory_limit="1kB")(x)
    least = int(str(found.value).split("needs ")[1].split()[0])
    same(tm.vmap(wide, memory_limit=least)(x), tm.vmap(wide)(x))
    with pytest.raises(TransformArgumentError, match="needs"):
        tm.vmap(wide, memory_limit=least - 1)(x)


@pytest.mark.parametrize("limit", [0, -5, "many", "5 apples", 1.5, "512"])
def test_a_wrong_limit_is_an_error_when_wrapping(limit: Any) -> None:
    with pytest.raises(TransformArgumentError, match=r"memory_limit must be a positive number of bytes"):
        tm.vmap(wide, memory_limit=limit)


def test_a_limit_beside_a_chunk_size_is_an_error() -> None:
    with pytest.raises(TransformArgumentError, match="exclude each other"):
        tm.vmap(wide, memory_limit="1MB", chunk_size=2)


# ---- together with the rest ------------------------------------------------------------------------------


@as_it_is_and_compiled
@pytest.mark.parametrize("chunk_size", [1, 2, 5])
def test_writes_to_mapped_arguments_reach_the_caller_from_every_chunk(wrap: Wrap, chunk_size: int) -> None:
    def f(x: Any, y: Any) -> Any:
        x[0] += y
        return x.sum()

    x, y = numbers(2, 5), numbers(5)
    expected_x, got_x = x.copy(), x.copy()
    expected = tm.vmap(f, (1, 0))(expected_x, y)
    same(wrap(tm.vmap(f, (1, 0), chunk_size=chunk_size))(got_x, y), expected)
    same(got_x, expected_x)


@as_it_is_and_compiled
def test_chunks_are_differentiated_from_inside_and_outside(wrap: Wrap) -> None:
    x, w = numbers(5, 4), numbers(4, 2)

    def loss(w: Any) -> Any:
        return np.sum(tm.vmap(layer, (0, None), chunk_size=2)(x, w) ** 2)

    whole = tm.grad(lambda w: np.sum(tm.vmap(layer, (0, None))(x, w) ** 2))(w)
    same(wrap(tm.grad(loss))(w), whole)
    one = tm.grad(lambda x, w: np.sum(layer(x, w)))
    same(wrap(tm.vmap(one, (0, None), chunk_size=2))(x, w), tm.vmap(one, (0, None))(x, w))


@as_it_is_and_compiled
def test_chunks_nest(wrap: Wrap) -> None:
    x, y = numbers(3, 4), numbers(5, 4)
    inner = tm.vmap(np.dot, (None, 0), chunk_size=2)
    same(wrap(tm.vmap(inner, (0, None), chunk_size=2))(x, y), x @ y.T)


def test_the_gradient_of_a_loss_in_chunks_holds_one_loop_each_way() -> None:
    def loss(x: Any) -> Any:
        return np.sum(tm.vmap(wide, chunk_size=2)(x))

    graph = tm.compile(tm.grad(loss)).lower(np.ones((600, 3))).graph
    assert sum(call.op == "scan" for call in graph.calls) == 2
    assert len(graph.calls) < 100
