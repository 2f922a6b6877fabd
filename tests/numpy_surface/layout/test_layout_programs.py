"""Random programs of views, copies and writes do what they do in NumPy, with arguments in any memory layout.

``python tests/numpy_surface/layout/layout_programs.py --help`` runs more of them and shrinks those that fail.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.layout.layout_programs import (
    ANY,
    ANY_SIZE,
    DIFFERENTIABLE,
    IN_C_ORDER,
    LARGE,
    SMOOTH_ARGUMENTS,
    Draft,
    Finding,
    Found,
    Program,
    compared,
    different_values,
    error_finding,
    examine,
    quiet,
    refusals,
    shrunk,
    survey,
)
from tracemill.runtime.machine.toolchain import Toolchain

REFUSED = 0.05
"""The share of programs that may be refused by a named error."""


def assert_agree(
    count: int, draft: Draft, run: str, check: Callable[[Program], Finding | None], first: int = 0
) -> None:
    """The programs of `count` seeds do what NumPy does, and few of them are refused."""
    found = survey(range(first, first + count), draft, check)
    failing = [x for x in found if not x.finding.refused]
    texts = [smallest(x, run, check) for x in failing[:3]]
    assert not failing, f"{len(failing)} of {count} programs differ\n\n" + "\n\n".join(texts)
    assert len(found) <= max(2, REFUSED * count), "\n".join(["refused are", *refusals(found)])


def smallest(found: Found, run: str, check: Callable[[Program], Finding | None]) -> str:
    """A failing program with as few statements as fail in the same way."""

    def fails(program: Program) -> bool:
        again = check(program)
        return again is not None and again.kind == found.finding.kind

    program = shrunk(found.program, fails)
    finding = check(program) or found.finding
    return f"# seed {found.seed}: {finding.kind}\n{program.script(run)}\n{finding.text}"


def test_c_programs_give_numpys_values_in_numpys_memory_order(more: int, c_toolchain: Toolchain) -> None:
    assert_agree(2 * more, ANY, "c", lambda program: examine(program, "c"))


@pytest.mark.slow
def test_programs_are_numpys_under_a_transform_without_compilation(more: int) -> None:
    assert_agree(80 * more, SMOOTH_ARGUMENTS, "jvp", lambda program: examine(program, "jvp", order=False))


def test_programs_on_large_arrays_give_numpys_values_in_numpys_memory_order(more: int) -> None:
    assert_agree(2 * more, LARGE, "numpy", lambda program: examine(program, "numpy"))


@pytest.mark.slow
def test_many_programs_give_numpys_values_in_numpys_memory_order(more: int) -> None:
    assert_agree(40 * more, ANY, "numpy", lambda program: examine(program, "numpy"), first=1_000_000)


@pytest.mark.slow
def test_many_programs_are_numpys_under_a_transform_without_compilation(more: int) -> None:
    assert_agree(
        60 * more, SMOOTH_ARGUMENTS, "jvp", lambda program: examine(program, "jvp", order=False), 1_000_000
    )


@pytest.mark.slow
def test_many_c_programs_give_numpys_values_in_numpys_memory_order(more: int, c_toolchain: Toolchain) -> None:
    assert_agree(8 * more, ANY, "c", lambda program: examine(program, "c"), first=1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_many_programs_on_large_arrays_give_numpys_values(
    backend: str, more: int, c_toolchain: Toolchain
) -> None:
    assert_agree(4 * more, LARGE, backend, lambda program: examine(program, backend), first=1_000_000)


# ---- Strides -------------------------------------------------------------------------------------------


def strides_finding(program: Program) -> Finding | None:
    """How strides and flags, as the program sees them, differ from NumPy's, axes of a single entry included."""
    seen = "({0}.strides, {0}.flags.c_contiguous, {0}.flags.f_contiguous, {0}.flags.writeable)"
    function, arguments = replace(program, returned=tuple(map(seen.format, program.returned))).defined()
    with quiet():
        expected = function(*arguments()[0])
        try:
            found = tm.compile(function, backend="numpy")(*arguments()[0])
        except Exception as error:
            return error_finding(program, error)
    for name, ours, theirs in zip(program.returned, found, expected, strict=True):
        if ours != theirs:
            return Finding("strides", f"{name}: strides, C, F, writeable {ours} instead of {theirs}")
    return None


def test_arrays_in_programs_have_numpys_strides(more: int) -> None:
    assert_agree(20 * more, ANY, "numpy", strides_finding)


@pytest.mark.slow
def test_arrays_in_many_programs_have_numpys_strides(more: int) -> None:
    assert_agree(40 * more, ANY, "numpy", strides_finding, first=1_000_000)


# ---- Derivatives ---------------------------------------------------------------------------------------


def generic(x: Any, seed: int) -> Any:
    """Numbers of that shape between -1 and 1 that are the same in each run."""
    return np.random.default_rng(seed).uniform(-1, 1, x.shape)


def weighted_sum(results: Iterable[Any]) -> Any:
    """One number that depends on every element of the results that are real numbers."""
    smooth = [x for x in results if x.dtype == np.float64]
    return sum((np.sum(generic(x, i) * x) for i, x in enumerate(smooth)), start=np.float64(0.0))


def gradient_finding(program: Program) -> Finding | None:
    """How `tm.grad` of the weighted sum of results differs from central differences of the NumPy program."""
    function, arguments = program.defined()
    args, _ = arguments()
    places = tuple(range(len(args)))

    def loss(*values: Any) -> Any:
        return weighted_sum(function(*values))

    def moved(step: float) -> tuple[Any, Any]:
        """The arguments in their own layouts, moved along one direction."""
        values, bases = arguments()
        for seed, base in enumerate(bases):
            base += 0.3 * generic(base, seed) + step * generic(base, seed + 10)
        return values, bases

    def along(gradients: Any) -> float:
        """The derivative along that direction."""
        ahead, behind = moved(0.5)[0], moved(-0.5)[0]
        return sum(float(np.sum(g * (a - b))) for g, a, b in zip(gradients, ahead, behind, strict=True))

    with quiet():
        step = 1e-5
        expected = (loss(*moved(step)[0]) - loss(*moved(-step)[0])) / (2 * step)
        scale = max(1.0, abs(expected), abs(loss(*moved(0.0)[0])))
        ways: dict[str, Callable[..., Any]] = {
            "grad": tm.grad(loss, argnums=places),
            "compiled grad": tm.compile(tm.grad(loss, argnums=places)),
        }
        for name, differentiated in ways.items():
            try:
                gradients = differentiated(*moved(0.0)[0])
            except Exception as error:
                return error_finding(program, error)
            if not abs(along(gradients) - expected) <= 1e-5 * scale:
                return Finding(name, f"{along(gradients)} along a direction instead of {expected}")
    return None


@pytest.mark.slow
def test_gradients_of_many_programs_are_central_differences_of_numpy(more: int) -> None:
    assert_agree(20 * more, DIFFERENTIABLE, "numpy", gradient_finding, first=1_000_000)


# ---- Batches -------------------------------------------------------------------------------------------


def batch_finding(program: Program) -> Finding | None:
    """How `tm.vmap` of the program differs from a loop over the examples, in results and in arguments."""
    function, arguments = program.defined()
    if any(not argument.shape for argument in program.arguments):
        return None  # an example of it would be a NumPy scalar, not an array
    examples = [arguments()[0] for _ in range(3)]
    for i, example in enumerate(examples):
        for x in example:
            x += i
    stacked = [np.stack(values) for values in zip(*examples, strict=True)]
    with quiet():
        expected = [function(*example) for example in examples]
        try:
            results = tm.vmap(function)(*stacked)
        except Exception as error:
            return error_finding(program, error)
    for name, ours, *theirs in zip(program.returned, results, *expected, strict=True):
        loop = np.stack(theirs)
        if (ours.dtype, ours.shape) != (loop.dtype, loop.shape):
            return Finding("type", f"{name}: {ours.dtype}{ours.shape} instead of {loop.dtype}{loop.shape}")
        if different_values(ours, loop):
            return Finding("values", f"{name}: expected\n{loop}\nfound\n{ours}")
    for argument, ours, *theirs in zip(program.arguments, stacked, *examples, strict=True):
        if different_values(ours, np.stack(theirs)):
            return Finding("argument", f"{argument.name}: expected\n{np.stack(theirs)}\nfound\n{ours}")
    return None


def test_a_batch_of_programs_is_the_loop_over_its_examples(more: int) -> None:
    assert_agree(60 * more, IN_C_ORDER, "numpy", batch_finding)


@pytest.mark.slow
def test_a_batch_of_many_programs_is_the_loop_over_its_examples(more: int) -> None:
    assert_agree(35 * more, IN_C_ORDER, "numpy", batch_finding, first=1_000_000)


# ---- Many sizes ----------------------------------------------------------------------------------------


def enlarged(program: Program) -> Program:
    """The program for arguments that are longer by two along every axis of more than one element."""
    return replace(
        program,
        arguments=tuple(
            replace(argument, shape=tuple(n + 2 if n > 1 else n for n in argument.shape))
            for argument in program.arguments
        ),
    )


def many_sizes_finding(program: Program) -> Finding | None:
    """How a program that is compiled once for many sizes differs from NumPy at two of them."""
    dynamic = tm.compile(program.defined()[0], backend="numpy", dynamic=True)
    for sized in (program, enlarged(program), program.relaid()):
        if finding := compared(sized, dynamic, "numpy", order=True):
            return finding
    return None


def test_programs_for_many_sizes_give_numpys_values_in_numpys_memory_order(more: int) -> None:
    assert_agree(10 * more, ANY_SIZE, "numpy", many_sizes_finding)


@pytest.mark.slow
def test_many_programs_for_many_sizes_give_numpys_values_in_numpys_memory_order(more: int) -> None:
    assert_agree(15 * more, ANY_SIZE, "numpy", many_sizes_finding, first=1_000_000)
