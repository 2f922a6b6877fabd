"""The parts of a result that tiles compute: the record of an op says which parts of operands they need."""

import numpy as np
import pytest

from graphs.layout_ops_by_record import SAMPLES as BY_RECORD
from graphs.layout_ops_by_record import registered
from samples.sample import Sample
from samples.table import SAMPLES
from support.recording import assert_same
from tracemill.compiler.analysis.source_axes import axes_in_operands
from tracemill.compiler.analysis.tiling_axes import params_of_part
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.op import is_move, lookup
from tracemill.compiler.symbolic_size import is_known


def split_axes(sample: Sample) -> int:
    """Checks a part along each axis that can be split; how many can."""
    (call,), arrays = sample.graph().calls, sample.arrays()
    (whole,) = evaluate(sample.graph(), *arrays)
    found = 0
    for axis in range(whole.ndim):
        axes = axes_in_operands(call, axis)
        if axes is None or whole.shape[axis] < 2:
            continue
        found += 1
        part = [x if at is None else np.take(x, [0, 1], at) for x, at in zip(arrays, axes, strict=True)]
        computed = lookup(call.op).numpy(*part, **params_of_part(call, axis, 2))
        assert_same([computed], [np.take(whole, [0, 1], axis)])
    return found


def test_a_part_of_the_result_is_that_of_parts_of_the_operands() -> None:
    moving = [
        sample
        for sample in SAMPLES
        if lookup(sample.op).moves and is_known(sample.graph().outputs[0].type.size > 1)
    ]
    assert sum(map(split_axes, moving)) > 50


@pytest.mark.parametrize("sample", BY_RECORD, ids=lambda sample: sample.id)
def test_an_op_that_only_has_a_record_is_split_in_the_same_way(sample: Sample) -> None:
    with registered():
        assert all(map(is_move, sample.graph().calls))
        assert (
            split_axes(sample)
            == {"rotate": 1, "reverse_axes": 3, "copies": 3, "interleave": 1, "with_first": 1}[sample.op]
        )
