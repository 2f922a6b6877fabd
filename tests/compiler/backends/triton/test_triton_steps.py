"""Triton functions of what is not a loop nest compute what the calls mean, as Triton's interpreter runs them."""

from importlib.util import find_spec

import numpy as np
import pytest

from graphs.step_graphs import STEPS, attending
from samples.grouping import Case, cases_of, in_groups
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.recording import drawn
from tracemill.compiler.backends.triton.kernels.kernel import TritonKernel
from tracemill.compiler.backends.triton.planning.module import Module
from tracemill.compiler.backends.triton.steps import step_kernel
from tracemill.compiler.dtypes import dtype_name, is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.triton_interpreter import run

Array = np.ndarray

TOLERANCES = {2: 1e-2, 4: 3e-6, 8: 1e-12}
"""By bytes per number: the tolerance against the NumPy definition, because the order of sums differs."""


def kernel_of(graph: Graph) -> TritonKernel | None:
    return step_kernel(graph.calls[0], "step") if len(graph.calls) == 1 else None


def covered() -> list[Case]:
    """The samples that have such a function."""
    samples = SAMPLES.where(lambda sample: kernel_of(sample.graph()) is not None)
    return cases_of(samples, slow=some_of(samples, share=0.1))


def assert_means_the_same(graph: Graph, inputs: list[Array], *, signed_zeros: bool = True) -> None:
    kernel = kernel_of(graph)
    assert kernel is not None
    found = run(kernel, inputs)
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for ours, wanted in zip(found, expected, strict=True):
        assert ours.dtype == wanted.dtype
        if is_inexact(wanted.dtype):
            tolerance, numbers = TOLERANCES[wanted.dtype.itemsize], wanted.astype(np.float64)
            largest = np.max(np.abs(numbers), where=np.isfinite(numbers), initial=1)
            np.testing.assert_allclose(ours.astype(np.float64), numbers, tolerance, tolerance * largest)
            zeros = (wanted == 0) & signed_zeros
            np.testing.assert_array_equal(np.signbit(ours)[zeros], np.signbit(wanted)[zeros])
        else:
            np.testing.assert_array_equal(ours, wanted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@in_groups(covered, values=1)
def test_samples_give_what_they_mean(sample: Sample) -> None:
    assert_means_the_same(sample.graph(), sample.arrays(), signed_zeros=sample.signed_zeros)


@pytest.mark.sampled(slow=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", STEPS)
def test_steps_of_several_programs_give_what_they_mean(name: str) -> None:
    assert_means_the_same(STEPS[name], drawn(STEPS[name], "real"))


def test_sums_of_floats_are_the_same_in_every_run_and_whole_numbers_are_added_at_once() -> None:
    floats, integers = kernel_of(STEPS["sums of rows"]), kernel_of(STEPS["counts"])
    assert floats is not None
    assert integers is not None
    assert "atomic" not in floats.text
    assert "tl.atomic_add(" in integers.text


def test_functions_that_run_several_times_are_in_a_program_once() -> None:
    (call,) = STEPS["long rows by two keys"].calls
    module = Module()
    kernel = module.kernel(call)
    assert kernel is not None
    runs = [launch.function for launch in kernel.launches]
    assert len(set(runs)) < len(runs)
    assert [module.text("sorted").count(f"def {title}(") for title in set(runs)] == [1] * len(set(runs))


def attended(query: Array, key: Array, value: Array, *mask: Array) -> None:
    types = [f"{dtype_name(x.dtype)}[{', '.join(map(str, x.shape))}]" for x in (query, key, value, *mask)]
    assert_means_the_same(attending(*types), [query, key, value, *mask], signed_zeros=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("place", ["query", "key", "value"])
def test_attention_keeps_nans(place: str) -> None:
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(37, 16)) for name in ("query", "key", "value")}
    arrays[place][:4, 0] = np.nan, np.inf, -np.inf, 1e200
    attended(*arrays.values())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_queries_that_see_no_key_give_zeros() -> None:
    rng = np.random.default_rng(0)
    query, key, value = (rng.normal(size=(70, 16)).astype(np.float32) for _ in range(3))
    seen = rng.random((70, 70)) < 0.2
    seen[3] = seen[:, :40] = False
    attended(query, key, value, seen)
    bias = np.where(seen, rng.normal(size=seen.shape), -np.inf).astype(np.float32)
    bias[5], bias[6, 3] = np.finfo(np.float32).min, np.nan
    attended(query, key, value, bias)
    blind = np.full((70, 16), -1e30, np.float32)
    attended(-blind, blind, value)
