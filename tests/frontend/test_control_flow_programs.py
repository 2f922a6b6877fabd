"""Compiled random programs of branches, loops, jumps and writes match Python, or are refused with a named error."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.control_flow_programs import RESULT, arguments, difference, fresh, functions
from tracemill.compiler.errors import TracemillError

pytestmark = pytest.mark.usefixtures("lightly_optimised")

QUICK = (20_014, 20_015, 20_016, 20_018, 20_022, 20_023)
LONG = (20_000, 20_001, 20_002, 20_003)
"""These take seconds each."""
OTHERS = tuple(seed for seed in range(20_000, 20_024) if seed not in QUICK + LONG)

quick_and_long = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(QUICK, id="quick"),
        pytest.param(LONG, id="long", marks=pytest.mark.slow),
        pytest.param(OTHERS, id="others", marks=pytest.mark.exhaustive),
    ],
)


def the_functions(more: int, seeds: Sequence[int], *, raises: bool = False) -> dict[int, Callable[..., Any]]:
    """Those of some seeds; with ``--more``, of as many times the number."""
    return functions([seed + 100 * n for n in range(more) for seed in seeds], raises=raises)


@quick_and_long
@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_random_programs_match_python(backend: str, seeds: Sequence[int], more: int) -> None:
    found = {
        seed: difference(function, seed, backend)
        for seed, function in the_functions(more, seeds, raises=True).items()
    }
    assert not {seed: text for seed, text in found.items() if text and not text.startswith("refused")}
    assert sum(not text for text in found.values()) > len(found) / 2  # most are traced


@pytest.mark.parametrize(
    "seed",
    [
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in (30259, 31824)),
        *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (30366, 30520, 31670, 31788, 60450)),
    ],
)
def test_programs_that_are_made_for_the_path_of_a_call_match_python(seed: int) -> None:
    """These have branches that a program cannot hold, after loops that write and raise errors on other paths."""
    found = difference(functions([seed])[seed], seed, "numpy")
    assert not found or found.startswith("refused: SharedMemoryError")


@pytest.mark.parametrize("seed", [402739, pytest.param(402298, marks=pytest.mark.slow)])
def test_comparisons_of_sizes_decide_the_tests_of_loops(seed: int) -> None:
    """Only one of the operands of `or` is a comparison of sizes alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEMILL_CHECK", "1")  # no program for each size where one for many cannot be made
        assert not difference(functions([seed])[seed], seed, "numpy")


@pytest.mark.slow
def test_a_loop_that_is_found_again_gets_what_only_its_results_need() -> None:
    """Of unrolled iterations that become a loop, the last values are computed from operands that nothing else reads."""
    assert not difference(functions([30690])[30690], 30690, "numpy")


@pytest.mark.slow
@quick_and_long
def test_random_programs_match_a_loop_in_a_batch(seeds: Sequence[int], more: int) -> None:
    right, programs = 0, the_functions(more, seeds)
    for seed, function in programs.items():
        calls = [fresh(args) for args in arguments(seed)]
        expected = [function(*fresh(tuple(args))) for args in calls]
        stacked = [np.stack([np.asarray(args[place]) for args in calls]) for place in range(len(calls[0]))]
        try:
            found = tm.vmap(function)(*stacked)
        except TracemillError:
            continue
        for name, ours, theirs in zip(RESULT.split(", "), found, zip(*expected, strict=True), strict=True):
            np.testing.assert_allclose(ours, np.stack(theirs), rtol=1e-9, err_msg=f"{seed}: {name}")
        right += 1
    assert right >= len(programs) / 4


def gradients_agree(seed: int, function: Callable[..., Any]) -> int:
    """Of how many calls the compiled gradient is that of the path taken; others are refused."""

    def total(x: Any, y: Any, args: Any) -> Any:
        i, j, _, _, a, b = args
        result = function(i, j, x, y, a.copy(), b.copy())
        return result[0] + 2 * result[1] + np.sum(result[4]) + np.sum(result[5] * 3)

    gradient, right = tm.grad(total, (0, 1)), 0
    for args in arguments(seed)[:2]:
        try:
            found = tm.compile(gradient, on_recompile="ignore")(args[2], args[3], fresh(args))
            expected = gradient(args[2], args[3], fresh(args))
        except TracemillError:
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=str(seed))
        right += 1
    return right


@pytest.mark.slow
def test_compiled_gradients_of_random_programs_match_those_of_the_path_taken(more: int) -> None:
    """Compiled functions trace all paths. Uncompiled, Python takes the path of the values."""
    programs = the_functions(more, QUICK)
    right = sum(gradients_agree(seed, function) for seed, function in programs.items())
    assert right >= len(programs) / 3


@pytest.mark.slow
def test_gradients_of_a_program_for_one_path_rely_on_numbers_of_the_signature() -> None:
    assert gradients_agree(70060, functions([70060])[70060]) == 2
