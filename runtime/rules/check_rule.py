"""`check_rule`: whether the rules of a function agree with it and with each other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import is_array_like, path_names
from ...compiler.arguments.option_checks import number
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import is_inexact
from ...compiler.errors import NotDifferentiableError, RuleCheckError, TransformTypeError
from ..batching.vmap import vmap
from ..derivatives.jvp_vjp import jvp, vjp
from ..eager.run import require_function
from ..tracebacks import with_users_frames
from ..trees import flatten

EXAMPLES = 3
STEP = 1e-6


@with_users_frames
def check_rule(function: Callable[..., Any], *args: Any, rtol: float = 1e-4, atol: float = 1e-6) -> None:
    """Verify the rules of a function at `args`; meant for tests.

    In double precision, it compares: the values that each mode computes with the function's own, the derivative of
    forward mode with central differences, that of reverse mode with forward mode by the dot test, ``⟨ct, J t⟩ = ⟨Jᵀ
    ct, t⟩``, and a batch of three with a loop. In the dtypes of `args`, it checks the shapes and dtypes of values,
    tangents and cotangents. Without forward mode, reverse mode is compared with differences.

    Args:
        function: with rules (see `custom_rule`) or without.
        args: arrays, numbers and pytrees of them at which the function is smooth. What is not a floating number or
            array stays as it is.
        rtol, atol: how far two sides may be apart, relative to their size and absolutely.

    Raises:
        RuleCheckError: (an AssertionError) two sides differ; the message shows both.
        CustomRuleError: a rule returned what it must not.
        TransformTypeError: (a TypeError) there is no floating argument.

    >>> import numpy as np, tracemill as tm
    >>> @tm.custom_rule
    ... def cube(x):
    ...     return x**3
    >>> _ = cube.jvp(lambda primals, tangents: (cube(*primals), 3 * primals[0] ** 2 * tangents[0]))
    >>> tm.check_rule(cube, np.array([1.0, 2.0]))
    """
    require_function("check_rule", function)
    rtol, atol = number("rtol", rtol), number("atol", atol)
    given = _Flat(function, args, widened=False)
    if not given.point:
        raise TransformTypeError(
            f"check_rule({describe(function)}): no argument is a floating array or number"
        )
    _Check(given, rtol, atol).types()
    check = _Check(_Flat(function, args, widened=True), rtol, atol)
    check.derivatives()
    check.batch()


class _Flat:
    """A function as one from a list of floating-point arrays to a list of floating-point arrays."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], *, widened: bool) -> None:
        self.name = describe(function)
        self._function = function
        leaves, self._tree = flatten(args)
        self._leaves = leaves
        names = path_names(self._tree, "args")
        self.places = [place for place, leaf in enumerate(leaves) if _is_floating(leaf)]
        self.names = [names[place] for place in self.places]
        self.point = [_array(leaves[place], widened=widened) for place in self.places]
        self.out_names: list[str] = []

    def __call__(self, *point: Any) -> list[Any]:
        leaves = list(self._leaves)
        for place, x in zip(self.places, point, strict=True):
            leaves[place] = x
        result = self._function(*optree.tree_unflatten(self._tree, leaves))
        outputs, tree = flatten(result)
        kept = [_is_floating(leaf) for leaf in outputs]
        self.out_names = [n for n, keep in zip(path_names(tree, "output"), kept, strict=True) if keep]
        return [leaf for leaf, keep in zip(outputs, kept, strict=True) if keep]


class _Check:
    def __init__(self, flat: _Flat, rtol: float, atol: float) -> None:
        self.flat, self.rtol, self.atol = flat, rtol, atol
        self.rng = np.random.default_rng(0)
        self.values = list(map(np.asarray, flat(*flat.point)))

    def types(self) -> None:
        """Check that values, tangents and cotangents have the right shapes and dtypes."""
        flat = self.flat
        outputs, pull = vjp(flat, *flat.point)
        self._same_types("the value", outputs, self.values, flat.out_names)
        self._same_types("the cotangent", pull(self._random(outputs)), flat.point, flat.names)
        _, pushed = self._pushed(flat.point, self._random(flat.point))
        if pushed is not None:
            self._same_types("the tangent", pushed, self.values, flat.out_names)

    def derivatives(self) -> None:
        """Forward mode against differences, and reverse mode against forward mode, or differences."""
        flat = self.flat
        direction = self._random(flat.point)
        differences = self._differences(direction)
        values, pushed = self._pushed(flat.point, direction)
        if pushed is not None:
            self._same_values("forward", values)
            for name, ours, theirs in zip(flat.out_names, pushed, differences, strict=True):
                self._close(f"the derivative of {name} by the rule", ours, "by differences", theirs)
        rates = differences if pushed is None else pushed
        source = "by differences" if pushed is None else "by forward mode"
        values, pull = vjp(flat, *flat.point)
        self._same_values("reverse", values)
        for index, name in enumerate(flat.out_names):
            cotangents = self._random(self.values)
            one = [ct if i == index else np.zeros_like(ct) for i, ct in enumerate(cotangents)]
            self._close(
                f"⟨Jᵀ ct, t⟩ for {name} by reverse mode",
                _paired(pull(one), direction),
                f"⟨ct, J t⟩ {source}",
                _paired(one, rates),
            )

    def batch(self) -> None:
        """A batch against the loop."""
        flat = self.flat
        examples = [
            [x + 0.01 * i * (1 + abs(x)) for x in flat.point] for i in range(EXAMPLES)
        ]  # fmt: skip
        stacked = [np.stack(column) for column in zip(*examples, strict=True)]
        mapped = vmap(flat)(*stacked)
        loop = [np.stack(column) for column in zip(*(flat(*example) for example in examples), strict=True)]
        self._same_types("the batch", mapped, loop, flat.out_names)
        for name, ours, theirs in zip(flat.out_names, mapped, loop, strict=True):
            self._close(f"{name} of a batch", ours, "by the loop", theirs)

    def _pushed(self, point: Sequence[Any], direction: Sequence[Any]) -> Any:
        """The values and the tangents; None for both without forward mode."""
        try:
            return jvp(self.flat, tuple(point), tuple(direction))
        except NotDifferentiableError:
            return None, None

    def _differences(self, direction: Sequence[Any]) -> list[Any]:
        flat = self.flat
        ahead = flat(*(x + STEP * t for x, t in zip(flat.point, direction, strict=True)))
        behind = flat(*(x - STEP * t for x, t in zip(flat.point, direction, strict=True)))
        return [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]

    def _random(self, like: Sequence[Any]) -> list[Any]:
        found = []
        for x in map(np.asarray, like):
            entries = self.rng.normal(size=x.shape)
            if x.dtype.kind == "c":
                entries = entries + 1j * self.rng.normal(size=x.shape)
            found.append(np.asarray(entries).astype(x.dtype))
        return found

    def _same_types(
        self, what: str, found: Sequence[Any], wanted: Sequence[Any], names: Sequence[str]
    ) -> None:
        for ours, theirs, name in zip(map(np.asarray, found), map(np.asarray, wanted), names, strict=True):
            if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
                raise self._failure(
                    f"{what} of {name} is {ours.dtype}{list(ours.shape)}, expected {theirs.dtype}{list(theirs.shape)}"
                )

    def _same_values(self, mode: str, found: Sequence[Any]) -> None:
        """A rule computes the values, too."""
        for name, ours, theirs in zip(self.flat.out_names, found, self.values, strict=True):
            self._close(f"{name} in {mode} mode", ours, "of the function", theirs)

    def _close(self, left: str, ours: Any, right: str, theirs: Any) -> None:
        if not np.allclose(ours, theirs, self.rtol, self.atol * (1 + np.max(np.abs(theirs), initial=0))):
            shown = (np.array2string(np.asarray(x), threshold=20, precision=8) for x in (ours, theirs))
            raise self._failure(f"{left} is\n{next(shown)}\nand {right}\n{next(shown)}")

    def _failure(self, problem: str) -> RuleCheckError:
        return RuleCheckError(f"check_rule({self.flat.name}): {problem}")


def _is_floating(leaf: Any) -> bool:
    return is_array_like(leaf) and is_inexact(
        np.result_type(leaf) if not hasattr(leaf, "dtype") else leaf.dtype
    )


def _array(leaf: Any, *, widened: bool) -> Any:
    array = np.array(leaf)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64) if widened else array


def _paired(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """``Re Σ conj(x) y``, the convention of complex cotangents."""
    return sum(float(np.real(np.sum(np.conj(a) * b))) for a, b in zip(x, y, strict=True))
