"""Every op takes symbolic sizes, and so do its derivatives and batches, which then hold for all sizes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.grouping import of_each_sample
from samples.sample import Sample, entries
from samples.table import SAMPLES
from samples.thinning import some_of
from support.reverse_graphs import reverse_graph
from symbolic.sized_samples import Sized, allowed, fixed_sizes, sized
from tracemill.compiler.dtypes import Array, is_inexact
from tracemill.compiler.free_sizes import bound_sizes
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.compiler.op import all_ops
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.vmap import vmap
from tracemill.tools.coverage import SPECIALISES, coverage

FIXED = ("random_bits(u32[2],", "random_bits(u32[0, 2],", "conv(f64[1, 2, 1, 0],")
"""Samples of which the op fixes every size: how their ids begin."""
_LARGE = SAMPLES.where(
    lambda sample: (
        sample.layout not in ("fortran", "reversed")
        and any(dim > 1 for shape in sample.shapes for dim in shape)
    )
)
PLAIN = _LARGE.where(lambda sample: not sample.id.startswith(FIXED))
BATCH = {"Batch": 11}
Transform = Callable[[Graph], Graph]


def transforms(sample: Sample, batch: Any) -> dict[str, Transform]:
    """The derivatives that the sample has, and the batch along the first axis of all inputs that may have one."""
    in_axes = [None if sample.coupled and not place else 0 for place in range(len(sample.shapes))]
    found: dict[str, Transform] = {}
    if any(sample.differentiated):
        found["jvp"] = partial(jvp, wrt=sample.differentiated)
        found["vjp"] = partial(reverse_graph, wrt=sample.differentiated)
    if any(axis is not None for axis in in_axes) and not sample.single:
        count = len(sample.graph().outputs)
        found["vmap"] = lambda graph: vmap(graph, in_axes=in_axes, size=batch, out_axes=[0] * count)
    return found


def transformed(sample: Sample, symbolic: Sized) -> dict[str, tuple[Graph, Observed]]:
    """The graphs of the transforms for all sizes, and what each has asked."""
    found: dict[str, tuple[Graph, Observed]] = {}
    for name, transform in transforms(sample, tm.Dim("Batch", min=2)).items():
        scope = Observed({**symbolic.hints, **BATCH}, symbolic.assumptions)
        with answering(scope):
            graph = transform(symbolic.graph)
            graph.lint()
        found[name] = graph, scope
    return found


def arrays_for(sample: Sample, graph: Graph) -> list[Array]:
    """Inputs of a fixed graph: of the sample's domains, in batches of equal ones, then tangents or cotangents."""
    rng = np.random.default_rng(0)
    domains = (*sample.domains, *("real" for _ in graph.inputs[len(sample.shapes) :]))
    found: list[Array] = []
    for place, (value, domain) in enumerate(zip(graph.inputs, domains, strict=True)):
        is_batched = place < len(sample.shapes) and value.ndim > len(sample.shapes[place])
        shape = value.shape[is_batched:]
        array = np.asarray(entries(domain, value.dtype, shape, rng))
        found.append(np.broadcast_to(array, value.shape))
    return found


def assert_same_meaning(sample: Sample, found: Graph, expected: Graph) -> None:
    assert [v.type for v in found.outputs] == [v.type for v in expected.outputs]
    if found == expected:
        return
    arrays = arrays_for(sample, expected)
    for ours, theirs in zip(evaluate(found, *arrays), evaluate(expected, *arrays), strict=True):
        if is_inexact(ours.dtype) and ours.dtype.kind in "fc":
            narrow = ours.dtype.itemsize // (1 + (ours.dtype.kind == "c")) < 8
            np.testing.assert_allclose(ours, theirs, 1e-2 if narrow else 1e-11, 1e-2 if narrow else 1e-11)
        else:
            np.testing.assert_array_equal(ours, theirs)


def assert_free(op: str, symbolic: Sized, scope: Observed) -> None:
    """No size that was free is fixed, unless that is known of the op."""
    fixed = fixed_sizes(scope.assumptions, {**symbolic.hints, **BATCH})
    assert op in SPECIALISES or not fixed, scope.guards


def static_sizes(symbolic: Sized, scope: Observed) -> list[Mapping[str, int]]:
    lists = (symbolic.hints, *symbolic.others)
    return [sizes for sizes in ({**one, **BATCH} for one in lists) if allowed(scope.guards, sizes)]


@pytest.mark.slow
@of_each_sample(PLAIN, slow=some_of(PLAIN, share=0.1))
def test_the_type_rule_holds_for_all_sizes(sample: Sample) -> None:
    symbolic = sized(sample)
    with answering(Declared(symbolic.assumptions)):
        symbolic.graph.lint()
        assert "callable" in str(symbolic.graph) or tm.parse(str(symbolic.graph)) == symbolic.graph
    assert str(fix_sizes(symbolic.graph, symbolic.hints)) == str(sample.graph())
    for sizes in symbolic.others:
        assert str(fix_sizes(symbolic.graph, sizes)) == str(symbolic.at(sizes))


@pytest.mark.slow
@of_each_sample(PLAIN, slow=some_of(PLAIN, share=0))
def test_transforms_for_all_sizes_are_those_for_each(sample: Sample) -> None:
    symbolic = sized(sample)
    for name, (graph, scope) in transformed(sample, symbolic).items():
        assert_free(sample.op, symbolic, scope)
        for sizes in static_sizes(symbolic, scope):
            transform = transforms(sample, BATCH["Batch"])[name]
            expected = transform(symbolic.at(sizes))
            assert_same_meaning(sample, fix_sizes(graph, sizes), expected)


@pytest.mark.slow
def test_every_op_of_arrays_has_a_sample_with_free_sizes() -> None:
    """Or one that gives a size its value."""
    free = {sample.op for sample in PLAIN if sized(sample).hints}
    free |= {sample.op for sample in SAMPLES if bound_sizes(sample.graph())}
    assert {sample.op for sample in SAMPLES if sample.shapes} == free


def test_samples_that_are_left_out_have_no_free_size() -> None:
    left_out = [sample for sample in _LARGE if sample.id.startswith(FIXED)]
    assert len({sample.op for sample in left_out}) == 2
    for sample in left_out:
        with pytest.raises(ValueError, match="has no free size"):
            sized(sample)


@pytest.mark.parametrize("op", SPECIALISES)
def test_an_op_that_specialises_fixes_a_size(op: str) -> None:
    """So that what no longer does is taken off the list."""
    assert op in all_ops()
    for sample in (one for one in PLAIN if one.op == op):
        symbolic = sized(sample)
        scopes = [scope for _, scope in transformed(sample, symbolic).values()]
        if any(fixed_sizes(scope.assumptions, symbolic.hints) for scope in scopes):
            return
    raise AssertionError(f"{op} leaves all sizes free")


def test_the_matrix_says_which_ops_specialise() -> None:
    rules = {row.op: row.rules["symbolic"] for row in coverage()}
    assert rules["sin"] == rules["scan"] == "yes"
    assert {op for op, entry in rules.items() if entry != "yes"} == set(SPECIALISES)
