"""The memory that a program is said to need is what it takes; once it has run, it allocates its results alone."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.runtime.inspection.lowered import Lowered

N = 256  # so few that no program computes tiles, which each thread has memory for
BUFFERS = 1 << 17
"""NumPy's own, in which it converts and gathers elements for a ufunc."""
X = np.random.default_rng(0).normal(size=(N, N))


def layers(x: Any) -> Any:
    for _ in range(4):
        x = np.tanh(x @ x * 0.01) + np.sin(x)
    return x


def normalised(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "chain": lambda x: np.sin(np.exp(np.cos(x))),
    "layers": layers,
    "gradient": tm.grad(lambda x: layers(x).sum()),
    "rows": normalised,
    "several results": lambda x: (x @ x, np.sin(x), (x * 2.0).sum()),
    "sorted": lambda x: np.cumsum(np.sort(np.sin(x), axis=0), axis=0),
}


def lowered(program: str) -> Lowered:
    return tm.compile(PROGRAMS[program], backend="numpy").lower(X)


def allocated(function: Callable[[], Any]) -> int:
    """The bytes that exist at most at one time, beyond those that existed before."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = function()
        del result
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.sampled("rows")
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_peak_is_what_a_first_call_takes(program: str) -> None:
    memory = lowered(program).memory
    function = lowered(program).compile().build.function
    measured = allocated(lambda: function(X))
    assert memory.arguments == X.nbytes
    assert memory.outputs + memory.temporaries == pytest.approx(measured, abs=BUFFERS)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("program", ["chain", "layers", "gradient"])
def test_later_calls_allocate_their_results_alone(program: str) -> None:
    function = lowered(program).compile().build.function
    function(X)
    assert allocated(lambda: function(X)) == pytest.approx(lowered(program).memory.outputs, abs=BUFFERS)


def test_what_lies_in_donated_memory_is_not_counted_again() -> None:
    f = tm.compile(PROGRAMS["chain"], donate_argnums=0, backend="numpy")
    assert f.lower(X).memory.peak == X.nbytes
    total, *table = str(f.lower(X).memory).splitlines()
    assert total == "524_288 bytes: arguments 524_288, outputs 0, temporaries 0"
    assert table == ["array    bytes  place     calls 0 to 2", "x      524_288  argument  ███"]


def test_kernels_of_c_overwrite_what_dies(c_compiler: str) -> None:
    """Beside its argument, one product lives at a time: both are overwritten by the kernel that reads them. The memory
    in which a product packs its operands is not counted."""
    memory = tm.compile(layers, donate_argnums=0, backend="c").lower(X).memory
    assert (memory.outputs, memory.temporaries) == (0, X.nbytes)
    lowered = tm.compile(layers, backend="c").lower(X)
    assert lowered.memory.temporaries == 2 * X.nbytes
    function = lowered.compile().build.function
    assert 3 * X.nbytes < allocated(lambda: function(X)) < 7 * X.nbytes


def test_what_fuse_does_is_shown() -> None:
    fusion = tm.compile(normalised).lower(X).fusion
    assert len(fusion.kernels) == 1
    assert fusion.bytes_after == 2 * X.nbytes


@pytest.mark.slow
def test_a_loop_over_a_range_keeps_no_list_of_its_numbers() -> None:
    def total(x: Any, end: int) -> Any:
        return tm.fori_loop(3, end, lambda i, c: c + i, x)

    found = [total(0.0, 5)]  # the first call keeps what it has converted
    assert allocated(lambda: found.append(total(0.0, 30_003))) < 8 * 30_000
    assert found == [3 + 4, sum(range(3, 30_003))]
    assert "[30000]" not in str(tm.compile(lambda x: total(x, 30_003)).lower(0.0).graph)
