"""A program under `vmap` means the loop over the batch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

import tracemill as tm
from programs.checks.outcomes import assert_same_outcome, leaves, outcome
from programs.program import Arguments, Program


def examples(program: Program) -> list[Arguments]:
    """The cases with mapped arguments of the same shapes as in the first case."""
    cases, in_dims = program.cases(), program.in_dims or ()

    def mapped_shapes(arguments: Arguments) -> Sequence[tuple[int, ...]]:
        return [np.shape(x) for x, dim in zip(arguments, in_dims, strict=False) if dim is not None]

    return [case for case in cases if mapped_shapes(case) == mapped_shapes(cases[0])]


def batched_arguments(program: Program) -> Arguments:
    """These cases as one call: mapped arguments stacked, the others those of the first case."""
    assert program.in_dims is not None
    batch = examples(program)
    return tuple(
        batch[0][k] if dim is None else np.stack([example[k] for example in batch], axis=dim)
        for k, dim in enumerate(program.in_dims)
    )


def looped(program: Program) -> Callable[..., Any]:
    """What `vmap` must equal: a loop over the slices, with stacked results."""
    assert program.in_dims is not None
    in_dims = program.in_dims

    def loop(*arguments: Any) -> Any:
        results = []
        for i in range(len(examples(program))):
            slices = [
                x if dim is None else np.moveaxis(x, dim, 0)[i]
                for x, dim in zip(arguments, in_dims, strict=True)
            ]
            results.append(program.function(*slices))
        stacked = [
            np.stack(column) for column in zip(*map(leaves, results), strict=True) if column[0] is not None
        ]
        return optree.tree_unflatten(optree.tree_structure(results[0]), stacked)

    return loop


def check_batched(program: Program, backend: str | None) -> None:
    """`vmap` means the loop, uncompiled if the backend is None."""
    batched = tm.vmap(program.function, in_dims=program.in_dims)
    if backend is not None:
        batched = tm.compile(batched, backend=backend, on_recompile="ignore")
    arguments = batched_arguments(program)
    expected = outcome(looped(program), arguments)
    if expected.raised is not None:
        raise expected.raised
    assert_same_outcome(outcome(batched, arguments), expected, program.rtol)
