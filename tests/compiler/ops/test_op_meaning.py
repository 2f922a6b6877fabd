"""What ops compute: type rule and NumPy definition agree, values are right, misuse is refused."""

from typing import Any

import numpy as np
import pytest

from samples.grouping import of_each_sample
from samples.sample import Failure, Sample
from samples.table import FAILURES, SAMPLES
from tracemill.compiler.builder import as_tuple
from tracemill.compiler.dtypes import Array, is_inexact
from tracemill.compiler.ir import ArrayType
from tracemill.compiler.op import lookup
from tracemill.compiler.symbolic_size import SymbolicSize
from tracemill.passes.transforms.jvp import jvp

WIDE: dict[str, Any] = {"f": np.longdouble, "V": np.longdouble, "c": np.clongdouble}


def run(sample: Sample, arrays: list[Any]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        return as_tuple(lookup(sample.op).numpy(*arrays, **sample.params))


def reference(sample: Sample, arrays: list[Array]) -> tuple[Array, ...]:
    """The value by other means, on wider floating numbers where that makes sense."""
    function = sample.reference or getattr(np, sample.op)
    if sample.widened:
        arrays = [x.astype(WIDE[x.dtype.kind]) if is_inexact(x.dtype) else x for x in arrays]
    with np.errstate(all="ignore"):
        return tuple(map(np.asarray, as_tuple(function(*arrays, **sample.params))))


def assert_close(actual: Array, expected: Array, sample: Sample) -> None:
    """Equal up to the sample's units of the last place; NaN, infinities and signs of zeros equal."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(actual.dtype)
    if not is_inexact(actual.dtype) or not actual.size:
        np.testing.assert_array_equal(actual, rounded)
        return
    wide = WIDE[actual.dtype.kind]
    finite = np.isfinite(rounded) & np.isfinite(actual)
    np.testing.assert_array_equal(actual[~finite].astype(wide), rounded[~finite].astype(wide))
    if wide is np.longdouble and sample.signed_zeros:
        zero = (rounded == 0) & (actual == 0)
        np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(rounded[zero]))
    half = (
        np.maximum(np.abs(np.real(rounded)), np.abs(np.imag(rounded))) / 2
        if wide is np.clongdouble
        else abs(rounded) / 2
    )
    place = 2 * np.spacing(half[finite]).astype(np.longdouble)  # of the half, because the largest has no next
    error = np.abs(actual[finite].astype(wide) - expected[finite].astype(wide))
    assert np.all(error <= (sample.ulps + 1e-3) * place), (
        f"off by {np.max(error / place):.1f} ulp: {actual} for {rounded}"
    )


def shape_of(type: ArrayType, sample: Sample) -> tuple[int, ...]:
    """The shape, with the lengths that the sample finds out."""
    return tuple(size.at(sample.found) if isinstance(size, SymbolicSize) else size for size in type.shape)


@pytest.mark.slow
@of_each_sample(SAMPLES)
def test_the_meaning_has_the_type_and_the_value(sample: Sample) -> None:
    arrays = sample.arrays()
    outputs = run(sample, arrays)
    types = [v.type for v in sample.graph().outputs]
    assert [(out.dtype, out.shape) for out in outputs] == [(t.dtype, shape_of(t, sample)) for t in types]
    for output, expected in zip(outputs, reference(sample, arrays), strict=True):
        assert_close(np.asarray(output), expected, sample)


@pytest.mark.slow
@of_each_sample(SAMPLES)
def test_the_meaning_leaves_its_inputs_alone(sample: Sample) -> None:
    arrays = sample.arrays()
    before = [x.copy() for x in arrays]
    for x in arrays:
        x.flags.writeable = False
    outputs = run(sample, arrays)
    for x, copy in zip(arrays, before, strict=True):
        assert x.tobytes() == copy.tobytes()
    # Scalars may come as NumPy scalars, because ufuncs return those; nothing changes.
    again = run(sample, [x[()] for x in arrays])
    for scalar, array in zip(again, outputs, strict=True):
        assert (scalar.dtype, scalar.shape) == (array.dtype, array.shape)
        assert_close(np.asarray(scalar), np.asarray(array), sample)


@of_each_sample(FAILURES)
def test_misuse_raises_the_named_error(failure: Failure) -> None:
    def misuse() -> None:
        graph = failure.sample.graph()
        if failure.transform == "jvp":
            jvp(graph)

    with pytest.raises(failure.error, match=failure.match):
        misuse()
