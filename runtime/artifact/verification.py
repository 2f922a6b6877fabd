"""Checks of whole artifacts: those of reading them, and of what they compute."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from ...compiler.errors import ArtifactError, DimSpecError, TracemillError
from ...compiler.frontend.program import ArrayOutput
from ...compiler.interpreter import evaluate
from ...compiler.op import has_effect
from ...compiler.text.units import show_bytes
from ...passes.lowering.fix_sizes import fix_sizes
from ...passes.lowering.limit_steps import limit_steps
from ..gpu_programs.agreement import agree
from ..gpu_programs.random_inputs import random_inputs
from ..trees import flatten
from ..variants.signature import ArraySpec, NumberSpec
from .artifact import Artifact
from .loading import USUAL, Reading, load_artifact
from .rounding_noise import rounding_noise


@dataclass(frozen=True, slots=True)
class Check:
    """One check of an artifact."""

    name: str
    is_good: bool
    found: str
    """The finding, in words."""


def verified(path: str | os.PathLike[str], reading: Reading = USUAL) -> Iterator[Check]:
    """The checks of a file, one after another; it stops at a failure that makes the rest meaningless.

    `reading` are the arguments of `load` for the file.
    """
    try:
        artifact = load_artifact(path, reading)
    except ArtifactError as error:
        yield Check("file", False, error.message)
        return
    size = os.path.getsize(path)
    yield Check("file", True, f"{show_bytes(size)}, digests and manifest as they were written")
    graph = artifact.graph
    yield Check("graph", True, f"{artifact}, {len(graph.calls)} calls, well formed")
    for target, files in artifact.code.items():
        yield Check(target, True, f"{len(files)} files, machine code and parameters as the manifest says")
    with np.errstate(all="ignore"):  # in a stricter state the compiled program would not run
        run = _run(artifact)
    yield run


def _run(artifact: Artifact) -> Check:
    """Compiled and run on random inputs, compared with the NumPy definitions of the ops."""
    name = "run"
    if any(has_effect(call) for call in artifact.graph.calls):
        return Check(name, True, "left out, as it would print")
    try:
        sizes = artifact.likely_sizes
    except DimSpecError as error:
        return Check(name, True, f"left out: {error.message}")
    graph = fix_sizes(artifact.graph, sizes) if sizes else artifact.graph
    if artifact.max_steps is not None:
        graph = limit_steps(graph, artifact.max_steps)
    arrays = random_inputs([value.type for value in graph.inputs], positive=True)
    try:
        expected = evaluate(graph, *(array.copy() for array in arrays))
    except np.linalg.LinAlgError as error:  # for example for a matrix that is not positive definite
        return Check(name, True, f"left out, as NumPy says of random inputs: {error}")
    except (TracemillError, ArithmeticError, ValueError, MemoryError) as error:
        return Check(name, False, _reason(error))
    try:
        given = [array.copy() for array in arrays]
        args, kwargs = _call(artifact, given)
        result = artifact.function()(*args, **kwargs)
    except (TracemillError, ArithmeticError, ValueError, MemoryError) as error:
        return Check(name, False, _reason(error))
    program = artifact.program
    leaves = flatten(result)[0]
    made = {
        leaf.index: x
        for leaf, x in zip(program.out_leaves, leaves, strict=True)
        if isinstance(leaf, ArrayOutput)
    }
    made |= {output: given[index] for index, output in program.mutated}
    found = [
        np.asarray(made[index]).astype(wanted.dtype, copy=False) for index, wanted in enumerate(expected)
    ]
    if not all(map(agree, found, expected)):
        noise = rounding_noise(graph, arrays, expected)  # takes some runs, and is rarely needed
        for index, is_good in enumerate(map(agree, found, expected, noise)):
            if not is_good:
                return Check(
                    name, False, f"output {index} is not what the NumPy definitions of the operations give"
                )
    outputs = "the output agrees" if len(expected) == 1 else f"{len(expected)} outputs agree"
    shown = "".join(f", {name} = {size}" for name, size in sizes.items())
    return Check(
        name, True, f"{outputs} with the NumPy definitions of the operations, on random inputs{shown}"
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _call(artifact: Artifact, arrays: list[Any]) -> Any:
    rest = iter(arrays)
    leaves = [_leaf(spec, rest) for spec in artifact.signature.specs]
    return optree.tree_unflatten(artifact.signature.tree, leaves)


def _leaf(spec: Any, rest: Iterator[Any]) -> Any:
    if isinstance(spec, ArraySpec):
        return next(rest)
    if isinstance(spec, NumberSpec):
        array = next(rest)
        return array[()] if spec.type is np.generic else array.item()
    return spec.value
