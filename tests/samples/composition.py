"""Transforms that nest in any order, each as a step from one `Case` to the next, and what each must give.

By induction: every transform is compared with the plain loop, with differences, or with the function itself, on
the function inside, which was compared in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pytest

import tracemill as tm
from samples.differences import STEP, pairing, random_like
from samples.sample import Sample
from tracemill.compiler.dtypes import Array, dtype_name, is_inexact
from tracemill.compiler.errors import NotDifferentiableError, TransformArgumentError
from tracemill.compiler.ir import ArrayType
from tracemill.runtime.eager.run import run

Arrays: TypeAlias = Sequence[Any]
Function: TypeAlias = Callable[..., list[Any]]
BATCH = 2


@dataclass(frozen=True)
class Case:
    """A function from arrays to a list of arrays, what to call it with, and which of these have derivatives."""

    function: Function
    draw: Callable[[int], list[Array]]
    """Fresh arguments for a seed."""
    wrt: tuple[bool, ...]

    def of_differentiated(self, args: Arrays) -> Callable[..., list[Any]]:
        """The floating outputs as a function of the differentiated arguments alone."""

        def function(*moving: Any) -> list[Any]:
            rest = iter(moving)
            return floating(
                self.function(*(next(rest) if m else x for x, m in zip(args, self.wrt, strict=True)))
            )

        return function

    def differentiated(self, args: Arrays) -> list[Any]:
        return [x for x, m in zip(args, self.wrt, strict=True) if m]

    def after(self, name: str) -> "Case":
        """A transform of it: one for all compositions that begin with the same transforms."""
        if name not in self._after:
            self._after[name] = TRANSFORMS[name](self)
        return self._after[name]

    @cached_property
    def _after(self) -> dict[str, "Case"]:
        return {}

    @cached_property
    def outputs(self) -> list[Any]:
        """What the function gives for the arguments of seed 0."""
        return self.function(*self.draw(0))

    def drawn_directions(self, seed: int) -> list[Array]:
        """Where the differentiated arguments may move. The arguments of a `jvp` contain such directions, and move
        elsewhere."""
        return random_like(self.differentiated(self.draw(seed)), 1000 * seed + 90 + len(self.wrt))

    @cached_property
    def directions(self) -> list[Array]:
        return self.drawn_directions(0)

    @cached_property
    def rates(self) -> list[Array]:
        """The derivatives of the floating outputs in these directions, by central differences of fourth order."""
        args = self.draw(0)
        function, moving = self.of_differentiated(args), self.differentiated(args)

        def at(distance: float) -> list[Any]:
            steps = zip(moving, self.directions, strict=True)
            return function(*(np.asarray(x + distance * d) for x, d in steps))

        values = zip(at(STEP), at(-STEP), at(2 * STEP), at(-2 * STEP), strict=True)
        return [np.asarray((8 * (a - b) - (c - d)) / (12 * STEP)) for a, b, c, d in values]


def case_of(sample: Sample) -> Case:
    """The call of a sample."""
    graph = sample.measured()
    return Case(lambda *arrays: run(graph, arrays), sample.arrays, sample.differentiated)


def floating(outputs: Arrays) -> list[Any]:
    return [x for x in outputs if is_inexact(x.dtype)]


# ---- the transforms ------------------------------------------------------------------------------------


def compiled(case: Case) -> Case:
    return Case(tm.compile(case.function), case.draw, case.wrt)


def checkpointed(case: Case) -> Case:
    return Case(tm.checkpoint(case.function), case.draw, case.wrt)


def mapped(case: Case) -> Case:
    def draw(seed: int) -> list[Array]:
        rows = [case.draw(BATCH * seed + i) for i in range(BATCH)]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return Case(tm.vmap(case.function), draw, case.wrt)


def pushed(case: Case) -> Case:
    """``(*args, *tangents) -> (*floating outputs, *their tangents)``."""
    count = len(case.wrt)

    def function(*args: Any) -> list[Any]:
        primals, tangents = args[:count], args[count:]
        moving = tuple(case.differentiated(primals))
        out, tangents_out = tm.jvp(case.of_differentiated(primals), moving, tangents)
        return [*out, *tangents_out]

    def draw(seed: int) -> list[Array]:
        return [*case.draw(seed), *case.drawn_directions(seed)]

    return Case(function, draw, (*case.wrt, *(True for m in case.wrt if m)))


def pulled(case: Case) -> Case:
    """``(*args, *cotangents) -> (*floating outputs, *cotangents of the differentiated arguments)``."""
    count = len(case.wrt)

    def function(*args: Any) -> list[Any]:
        primals, cotangents = args[:count], args[count:]
        out, pull = tm.vjp(case.of_differentiated(primals), *case.differentiated(primals))
        return [*out, *pull(list(cotangents))]

    def draw(seed: int) -> list[Array]:
        args = case.draw(seed)
        return [*args, *random_like(floating(case.function(*args)), seed + 70)]

    return Case(function, draw, (*case.wrt, *(True for _ in floating(case.outputs))))


def weighted(outputs: Arrays) -> Any:
    """One real number, to which every output contributes differently."""
    total: Any = 0.0
    for x in outputs:
        weights = np.cos(1.0 + np.arange(x.size)).reshape(x.shape).astype(x.dtype)
        total = total + np.sum(np.real(weights * x), dtype=np.float64)
    return total


def graded(case: Case) -> Case:
    def function(*args: Any) -> list[Any]:
        moving = case.differentiated(args)
        loss = case.of_differentiated(args)
        return list(tm.grad(lambda *m: weighted(loss(*m)), argnums=tuple(range(len(moving))))(*moving))

    return Case(function, case.draw, case.wrt)


def jacobians(case: Case) -> Case:
    def function(*args: Any) -> list[Any]:
        moving = case.differentiated(args)
        rows = tm.jacfwd(case.of_differentiated(args), argnums=tuple(range(len(moving))))(*moving)
        return [block for row in rows for block in row]

    return Case(function, case.draw, case.wrt)


TRANSFORMS: dict[str, Callable[[Case], Case]] = {
    "vmap": mapped,
    "grad": graded,
    "jvp": pushed,
    "vjp": pulled,
    "jacfwd": jacobians,
    "compile": compiled,
    "checkpoint": checkpointed,
}
DIFFERENTIATING = frozenset({"grad", "jvp", "vjp", "jacfwd"})


# ---- what they must give -----------------------------------------------------------------------------------


def same(found: Arrays, expected: Arrays, tolerance: float = 1e-10) -> None:
    """Equal in number, shape and dtype, and in value but for rounding."""
    assert [(np.shape(x), np.asarray(x).dtype) for x in found] == [
        (np.shape(x), np.asarray(x).dtype) for x in expected
    ]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), tolerance, tolerance)


def refusal(name: str, case: Case) -> type[Exception] | None:
    """The error that a transform of this case must raise: where nothing has a derivative, or only a complex one."""
    if name not in DIFFERENTIATING:
        return None
    if not any(case.wrt):
        return TransformArgumentError
    outputs = floating(case.outputs)
    if name in {"vjp", "jacfwd"} and not outputs:
        return NotDifferentiableError
    is_complex = any(x.dtype.kind == "c" for x in (*case.directions, *outputs))
    return NotDifferentiableError if name == "jacfwd" and is_complex else None


def check(names: Sequence[str], case: Case) -> bool:
    """That the transforms, innermost last, of a case give what they must; False if one refuses, as it must."""
    *inner, outermost = reversed(names)
    for name in inner:
        if (error := refusal(name, case)) is not None:
            return _check_refusal(name, case, error)
        case = case.after(name)
    if (error := refusal(outermost, case)) is not None:
        return _check_refusal(outermost, case, error)
    after = case.after(outermost)
    CHECKS[outermost](case, after.draw(0), after.outputs)
    return True


def composed(names: Sequence[str], case: Case) -> Case | None:
    """The transforms, innermost last, of a case; None if one of them refuses."""
    for name in reversed(names):
        if refusal(name, case) is not None:
            return None
        case = case.after(name)
    return case


def check_narrow(names: Sequence[str], sample: Sample) -> bool:
    """That a composition on f32 and c64 gives what it gives on f64 and c128, but for rounding; False if refused."""
    narrow, wide = case_of(sample), case_of(replace(sample, dtypes=tuple(map(_wider, sample.types))))
    for name in reversed(names):
        if refusal(name, wide) is not None:
            return False
        narrow, wide = TRANSFORMS[name](narrow), TRANSFORMS[name](wide)
    args = narrow.draw(0)
    found, expected = narrow.function(*args), wide.function(*map(_widened, args))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, NARROW.get(theirs.dtype.name, theirs.dtype))
        scale = 1 + np.max(np.abs(theirs), initial=0)
        np.testing.assert_allclose(ours / scale, theirs / scale, atol=1e-4)
    return True


NARROW = {"float64": np.dtype("f4"), "complex128": np.dtype("c8")}


def _wider(type: ArrayType) -> str:
    return {"float32": "f64", "complex64": "c128"}.get(type.dtype.name, dtype_name(type.dtype))


def _widened(x: Array) -> Array:
    return x.astype({"float32": "f8", "complex64": "c16"}.get(x.dtype.name, x.dtype))


def _check_refusal(name: str, case: Case, error: type[Exception]) -> bool:
    def attempt() -> None:
        after = TRANSFORMS[name](case)
        after.function(*after.draw(0))

    with pytest.raises(error, match=name):
        attempt()
    return False


def _check_itself(case: Case, _args: Arrays, found: Arrays) -> None:
    same(found, case.outputs)


def _check_loop(case: Case, args: Arrays, found: Arrays) -> None:
    rows = [case.function(*(x[i] for x in args)) for i in range(BATCH)]
    same(found, [np.stack(column) for column in zip(*rows, strict=True)])


def _check_push(case: Case, _args: Arrays, found: Arrays) -> None:
    same(found, [*floating(case.outputs), *case.rates], 1e-5)


def _check_pull(case: Case, args: Arrays, found: Arrays) -> None:
    cotangents, outputs = args[len(case.wrt) :], floating(case.outputs)
    same(found[: len(outputs)], outputs)
    back = found[len(outputs) :]
    assert [(x.dtype, x.shape) for x in back] == [(x.dtype, x.shape) for x in case.directions]
    expected = pairing([np.conj(x) for x in cotangents], case.rates)
    close(pairing([np.conj(x) for x in back], case.directions), expected)


def _check_gradient(case: Case, _args: Arrays, found: Arrays) -> None:
    assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in case.directions]
    close(pairing([np.conj(x) for x in found], case.directions), float(weighted(case.rates)))


def _check_jacobians(case: Case, _args: Arrays, found: Arrays) -> None:
    blocks = iter(found)
    for rate in case.rates:
        parts = [np.tensordot(next(blocks), d, np.ndim(d)) for d in case.directions]
        same([np.asarray(sum(parts))], [rate], 1e-5)


def close(found: float, expected: float) -> None:
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


CHECKS: dict[str, Callable[[Case, Arrays, Arrays], None]] = {
    "vmap": _check_loop,
    "grad": _check_gradient,
    "jvp": _check_push,
    "vjp": _check_pull,
    "jacfwd": _check_jacobians,
    "compile": _check_itself,
    "checkpoint": _check_itself,
}
