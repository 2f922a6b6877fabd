"""Every decomposition gives what its op gives: to the bit where it can, else within a few roundings."""

from typing import Any

import numpy as np
import pytest

from samples.sample import Sample
from samples.table import samples_of
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import Array, is_inexact
from tracemill.compiler.errors import BackendError, InternalError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.compiler.ops.composite import COMPOSITES
from tracemill.compiler.ops.decompositions import decomposable, decomposition, register_decomposition
from tracemill.passes.lowering.decompose import decompose, decompose_composites, decompose_without
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.linearity import nonlinear_call
from tracemill.passes.transforms.transpose import transpose

ROUNDED = {"exp2", "log2", "log10", "tan", "hypot", "logaddexp", "logaddexp2", "absolute",
           "cumsum", "cumprod", "cumlogsumexp"}  # fmt: skip
"""All others are exact."""


def ulps(actual: Array, expected: Array) -> float:
    """The largest difference in units of the last place of the expected number, or of a normal one."""
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(expected), np.finfo(expected.dtype).tiny))
        distance = np.abs(actual - expected) / unit
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return float(np.max(np.where(same, 0, distance), initial=0))


@pytest.mark.parametrize("op", sorted(decomposable()))
def test_a_decomposition_agrees_with_its_op_on_every_sample(op: str) -> None:
    left = list(map(check, samples_of(op)))
    assert len(left) > sum(left), f"{op} is never decomposed"


def check(sample: Sample) -> bool:
    """Compare; whether the call was left as it is."""
    before = sample.graph()
    after = decompose(before, ops={sample.op})
    after.lint()
    if after is before:
        return True
    assert sample.op not in ops(after)
    arrays = sample.arrays()
    for actual, expected in zip(evaluate(after, *arrays), evaluate(before, *arrays), strict=True):
        if sample.op not in ROUNDED or not is_inexact(expected.dtype):
            assert_same([actual], [expected])
            continue
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        if expected.dtype.name == "bfloat16":
            np.testing.assert_allclose(actual.astype(float), expected.astype(float), rtol=0.1)
        else:
            assert ulps(actual, expected) <= 8, sample.id
    return False


def test_decompositions_are_decomposed_in_turn() -> None:
    graph = recorded(lambda x, y: fn.elementwise("logaddexp2", x, y), "f64[3]", "f64[3]")
    assert "exp2" in ops(decompose(graph, ops={"logaddexp2"}))
    assert "exp2" not in ops(decompose(graph, ops={"logaddexp2", "exp2"}))


def test_what_is_not_asked_for_stays() -> None:
    graph = recorded(lambda x: fn.square(fn.reciprocal(x)), "f64[3]")
    assert ops(decompose(graph, ops={"reciprocal"})) == ["divide", "square"]
    assert decompose(graph, ops=set()) is graph
    assert decompose(graph, ops={"clip"}) is graph


def test_nested_graphs_are_decomposed_too() -> None:
    inner = recorded(fn.square, "f64[]")
    (call,) = decompose(recorded(lambda x: bind("call", x, graph=inner), "f64[]"), ops={"square"}).calls
    assert isinstance(call.params["graph"], Graph)
    assert ops(call.params["graph"]) == ["multiply"]


def test_composites_are_taken_apart_down_to_ops_that_targets_have() -> None:
    inner = recorded(lambda x: bind("silu", x), "f64[3]")
    graph = recorded(lambda x: (bind("call", x, graph=inner), bind("softmax", x, axis=0)), "f64[3]")
    after = decompose_composites(graph)
    nested = after.calls[0].params["graph"]
    assert isinstance(nested, Graph)
    assert not COMPOSITES & {*ops(after), *ops(nested)}
    plain = recorded(fn.sin, "f64[3]")
    assert decompose_composites(plain) is plain


def test_a_transform_takes_apart_what_has_no_rule_of_its_own() -> None:
    graph = recorded(lambda x: bind("softmax", bind("relu", x), axis=0), "f64[3]")
    assert ops(decompose_without(graph, lambda op: op.jvp)) == ["less_equal", "where", "softmax"]
    assert decompose_without(graph, lambda op: op.batch) is graph
    assert "softmax_backward" in ops(jvp(graph))


def test_what_is_linear_in_a_cotangent_is_transposed_by_its_decomposition() -> None:
    params: dict[str, Any] = {"normalized_shape": (3,), "weight": False, "wanted": (True, False, False)}
    graph = recorded(
        lambda *inputs: bind("layer_norm_backward", *inputs, **params),
        "f64[2, 3]", "f64[2, 3]", "f64[2, 1]", "f64[2, 1]",
    )  # fmt: skip
    linear = [True, False, False, False]
    assert nonlinear_call(graph, linear=linear) is None
    ct, x, mean, rstd = drawn(graph, "real")
    back = np.random.default_rng(1).normal(size=(2, 3))
    (pulled,) = evaluate(transpose(graph, linear=linear), x, mean, rstd, back)
    (pushed,) = evaluate(graph, ct, x, mean, rstd)
    np.testing.assert_allclose(np.sum(pulled * ct), np.sum(pushed * back), rtol=1e-12)


def test_an_op_without_a_decomposition_is_refused_by_name() -> None:
    with pytest.raises(BackendError, match="no decomposition is known for sin"):
        decompose(recorded(fn.sin, "f64[]"), ops={"sin", "square"})


def test_an_op_has_one_decomposition() -> None:
    with pytest.raises(InternalError, match="'square' has two decompositions"):
        register_decomposition("square")(decomposition("clip"))
