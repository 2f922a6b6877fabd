"""The gradient of a program means central differences."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import tracemill as tm
from programs.checks.outcomes import leaves, named, outcome
from programs.program import Arguments, Program

DIFFERENCE = 1e-6  # the step, in each direction


Weights: TypeAlias = list[Any]


def weighted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function's floating-point results, summed with weights; a weight of None leaves one out."""

    def objective(weights: Weights, *arguments: Any) -> Any:
        total = 0.0
        for weight, leaf in zip(weights, leaves(function(*arguments)), strict=True):
            if weight is not None:
                total = total + np.sum(weight * leaf)
        return total

    return objective


def is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f"


def weights_for(result: Any) -> Weights:
    """A weight for each number in the floating-point results."""
    return [
        np.cos(np.arange(np.size(x)) + 1.0).reshape(np.shape(x)) if is_float(x) else None
        for x in leaves(result)
    ]


def smooth_cases(program: Program) -> list[tuple[int, Arguments, Weights]]:
    """The cases where there is a derivative, with their numbers and weights for their results."""
    assert program.gradient is not None
    found = []
    for number, arguments in enumerate(program.cases()):
        if number in program.kinks or not all(is_float(arguments[k]) for k in program.gradient):
            continue
        plain = outcome(program.function, arguments)
        weights = weights_for(plain.result)
        if plain.raised is None and all(
            np.isfinite(x).all()
            for x, weight in zip(leaves(plain.result), weights, strict=True)
            if weight is not None
        ):
            found.append((number, arguments, weights))
    return found


def moved(arguments: Arguments, position: int, direction: Any, step: float) -> Arguments:
    """A copy of the arguments, one of them a step away."""
    new = list(copy.deepcopy(arguments))
    new[position] = new[position] + step * direction
    return tuple(new)


def check_differentiated(program: Program, backend: str | None) -> None:
    """`grad` means central differences, along one direction for each argument; uncompiled if the backend is None."""
    assert program.gradient is not None
    objective = weighted(program.function)
    gradient = tm.grad(objective, argnums=tuple(1 + k for k in program.gradient))
    if backend is not None:
        gradient = tm.compile(gradient, backend=backend, on_recompile="ignore")
    for number, arguments, weights in smooth_cases(program):
        with named(f"case {number}"):
            for position, slope in zip(
                program.gradient, gradient(weights, *copy.deepcopy(arguments)), strict=True
            ):
                direction = np.random.default_rng(position).uniform(-1, 1, np.shape(arguments[position]))
                above = objective(weights, *moved(arguments, position, direction, DIFFERENCE))
                below = objective(weights, *moved(arguments, position, direction, -DIFFERENCE))
                expected = (above - below) / (2 * DIFFERENCE)
                np.testing.assert_allclose(np.sum(slope * direction), expected, 1e-4, 1e-5)
