"""`gradcheck` and `gradgradcheck`: compare derivatives with central differences."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, TypeAlias

import numpy as np
import optree

from ...compiler.arguments.leaves import argument_names, flatten_arguments, is_array_like, path_names
from ...compiler.callers.function_names import describe
from ...compiler.callers.user_code import users_level
from ...compiler.dtypes import Array, dtype_name, is_complex, is_inexact, real_dtype
from ...compiler.errors import GradcheckError, LowPrecisionWarning, TransformArgumentError
from ...compiler.nesting import shown
from ...compiler.tracing.traced_memory import is_traced
from ..batching.vmap import vmap
from ..derivatives.jvp_vjp import jvp, vjp
from ..eager.run import require_function
from ..tracebacks import with_users_frames
from ..trees import flatten
from .variable import detach

_MOST: Final = float(np.finfo(np.float64).max)
"""The differences are computed in double precision."""


@with_users_frames
def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    check_forward: bool = True,
    check_batched: bool = True,
    fast: bool = False,
) -> bool:
    """Compare the derivatives of `func` with central differences: reverse and forward mode, and both mapped.

    Args:
        func: a function of arrays and pytrees of them that returns arrays or pytrees of them.
        inputs: a tuple of its arguments, or the only one. All floating arrays and floats are differentiated;
            complex ones by their real and imaginary parts.
        eps: the step of the differences, which are computed in double precision.
        atol, rtol: the derivative may differ by ``atol + rtol * |difference|``.
        raise_exception: False to return False instead.
        check_forward: check `jvp`, too.
        check_batched: check that `vmap` of the derivatives gives the same.
        fast: compare along one random direction instead of entry by entry.

    Returns:
        True.

    Raises:
        GradcheckError: (an AssertionError) shows the derivative that is wrong, and the differences.
        TransformArgumentError: (a ValueError) there is nothing to differentiate, or `eps`, `atol` or `rtol` is no
            size of a step or of an error.

    Warns:
        LowPrecisionWarning: for inputs of less than double precision.

    >>> import numpy as np
    >>> gradcheck(np.sin, np.array([0.5, 1.0]))
    True
    """
    check = _Check("gradcheck", func, inputs)
    check.warn_of_low_precision()
    return check.passes(_Options(eps, atol, rtol, raise_exception, check_forward, check_batched, fast))


@with_users_frames
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    check_forward: bool = True,
    check_batched: bool = True,
    fast: bool = False,
) -> bool:
    """`gradcheck` of the derivative of `func`: of its `vjp`, as a function of the inputs and the cotangents.

    Args:
        grad_outputs: the cotangents, one for each floating array of the output, of its shape; random numbers by
            default.
        Others as of `gradcheck`.

    >>> import numpy as np
    >>> gradgradcheck(np.sin, np.array([0.5, 1.0]))
    True
    """
    check = _Check("gradgradcheck", func, inputs)
    check.warn_of_low_precision()
    count = len(check.primals)
    rng = np.random.default_rng(0)
    outputs = check.at(check.primals)
    given = [_random(y, rng) for y in outputs] if grad_outputs is None else _leaves(grad_outputs)
    if list(map(np.shape, given)) != [y.shape for y in outputs]:
        raise TransformArgumentError(
            f"{check.where}: grad_outputs must have an array for each floating array of the output, of shape "
            f"{', '.join(str(y.shape) for y in outputs)}, not {', '.join(str(np.shape(y)) for y in given) or 'none'}"
        )

    def gradient(*both: Any) -> Any:
        return vjp(check.flat, *both[:count])[1](list(both[count:]))

    gradient.__name__ = f"the gradient of {describe(func)}"
    options = _Options(eps, atol, rtol, raise_exception, check_forward, check_batched, fast)
    return _Check("gradgradcheck", gradient, (*check.primals, *given)).passes(options)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of `gradcheck` and `gradgradcheck`."""

    eps: float
    atol: float
    rtol: float
    raise_exception: bool
    check_forward: bool
    check_batched: bool
    fast: bool

    def require_sizes(self, where: str) -> None:
        """Raises `TransformArgumentError` unless the step and the tolerances are finite numbers that are not
        negative."""
        sizes: dict[str, Any] = {"eps": self.eps, "atol": self.atol, "rtol": self.rtol}
        for name, given in sizes.items():
            is_number = isinstance(given, (int, float, np.integer, np.floating)) and 0 <= given <= _MOST
            if not is_number or (given == 0 and name == "eps"):
                kind = "positive number" if name == "eps" else "number that is not negative"
                raise TransformArgumentError(f"{where}: {name} must be a {kind}, not {shown(given)}")


class _Check:
    """A function of the differentiated arrays, which returns a list of the floating-point arrays of its result."""

    def __init__(self, where: str, func: Callable[..., Any], inputs: Any) -> None:
        require_function(where, func)
        self.where, self.func = f"{where}({describe(func)})", func
        args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        leaves, self._tree = flatten_arguments(args, {})
        self._leaves = [detach(leaf) if is_traced(leaf) else leaf for leaf in leaves]
        names = argument_names(self._tree)
        self._places = [i for i, leaf in enumerate(self._leaves) if _is_floating(leaf)]
        self.paths = [names[place] for place in self._places]
        self.primals = [np.asarray(self._leaves[place]) for place in self._places]
        if not self.primals:
            raise TransformArgumentError(
                f"{self.where}: no input is a floating array: there is nothing to differentiate"
            )

    def warn_of_low_precision(self) -> None:
        """A `LowPrecisionWarning` at the user's call for each input below double precision."""
        for array, path in zip(self.primals, self.paths, strict=True):
            if real_dtype(array.dtype).itemsize < 8:
                warnings.warn(
                    f"{self.where}: {path} has dtype {dtype_name(array.dtype)}: its derivative has few digits. "
                    "Check in double precision",
                    LowPrecisionWarning,
                    stacklevel=users_level(),
                )

    def passes(self, options: _Options) -> bool:
        """True if the derivatives are right; otherwise False, or a `GradcheckError`, according to `options`."""
        options.require_sizes(self.where)
        directions = _directions(self, fast=options.fast)
        changes = _differences(self, directions, options.eps)
        found = _compare(
            self, directions, changes, forward=options.check_forward, batched=options.check_batched
        )
        for mode, output, place, derivative, difference in found:
            if not np.allclose(derivative, difference, options.rtol, options.atol, equal_nan=True):
                if not options.raise_exception:
                    return False
                raise GradcheckError(self.message(mode, output, place, derivative, difference))
        return True

    def flat(self, *primals: Any) -> list[Any]:
        """The floating-point outputs for these arrays, which may be overwritten."""
        leaves = list(self._leaves)
        for place, primal in zip(self._places, primals, strict=True):
            leaves[place] = primal
        args, _ = optree.tree_unflatten(self._tree, leaves)
        return [leaf for leaf in _leaves(self.func(*args)) if _is_floating(leaf)]

    @cached_property
    def outputs(self) -> list[Array]:
        """The result at the point, in double precision."""
        return self.at(self.doubles)

    @cached_property
    def output_paths(self) -> list[str]:
        """Their paths."""
        args, _ = optree.tree_unflatten(self._tree, [_own(leaf) for leaf in self._leaves])
        with np.errstate(all="ignore"):
            result: Any = self.func(*args)
        leaves, tree = flatten(result)
        paths = path_names(tree, "output")
        return [path for path, leaf in zip(paths, leaves, strict=True) if _is_floating(leaf)]

    @property
    def doubles(self) -> list[Array]:
        return [x.astype(np.complex128 if is_complex(x.dtype) else np.float64) for x in self.primals]

    def at(self, primals: Sequence[Array]) -> list[Array]:
        """The result at a point; the arrays belong to the caller."""
        with np.errstate(all="ignore"):
            outputs = [np.array(detach(y)) for y in self.flat(*(x.copy() for x in primals))]
        if not outputs:
            raise TransformArgumentError(
                f"{self.where}: the function returns no floating array: there is nothing to differentiate"
            )
        return outputs

    def message(self, mode: str, output: int, place: int, derivative: Array, difference: Array) -> str:
        """The error message, with both Jacobians."""
        parts = any(is_complex(x.dtype) for x in (self.outputs[output], self.primals[place]))
        note = ", real parts before imaginary ones" if parts else ""
        return (
            f"{self.where}: the derivative of output {output} ({self.output_paths[output]}) with respect to "
            f"input {place} ({self.paths[place]}) is wrong in {mode}. A row per entry of the output, a "
            f"column per entry of the input{note}\nby {mode}:\n{derivative}\nby differences:\n{difference}"
        )


@dataclass(frozen=True, slots=True)
class _Directions:
    """The directions along which derivatives are compared: all entries, or one random direction in each array."""

    steps: list[Array]
    """For each input, its directions, stacked."""
    seeds: list[Array]
    """The same for the outputs."""


def _directions(check: _Check, *, fast: bool) -> _Directions:
    along = partial(_random_direction, rng=np.random.default_rng(0)) if fast else _entries
    return _Directions(list(map(along, check.primals)), list(map(along, check.outputs)))


Changes: TypeAlias = list[list[Array]]
"""For each input and each output: a matrix with a column per direction in the input."""


def _differences(check: _Check, directions: _Directions, eps: float) -> Changes:
    def change(place: int, step: Array) -> list[Array]:
        both = []
        for sign in (1, -1):
            moved = check.doubles
            moved[place] = moved[place] + sign * float(eps) * step.astype(moved[place].dtype)
            both.append(check.at(moved))
        with np.errstate(all="ignore"):
            return [(after - before) / (2 * eps) for after, before in zip(*both, strict=True)]

    return [
        _columns([change(place, step) for step in steps], check.outputs)
        for place, steps in enumerate(directions.steps)
    ]


def _pushed(check: _Check, directions: _Directions, *, mapped: bool) -> Changes:
    """By forward mode."""

    def push(place: int, step: Any) -> Any:
        tangents = tuple(step if i == place else np.zeros_like(x) for i, x in enumerate(check.primals))
        return jvp(check.flat, tuple(check.primals), tangents)[1]

    changes: Changes = []
    for place, steps in enumerate(directions.steps):
        if mapped:
            found: Any = zip(*vmap(partial(push, place), randomness="same")(steps), strict=True)
        else:
            found = (push(place, step) for step in steps)
        changes.append(_columns(list(found), check.outputs))
    return changes


def _pulled(check: _Check, directions: _Directions, *, mapped: bool) -> list[list[Array]]:
    """By reverse mode: for each output and each input a matrix with a row per direction in the output."""
    outputs, pull = vjp(check.flat, *check.primals)
    rows: list[list[Array]] = []
    for place, seeds in enumerate(directions.seeds):
        seeds = seeds.astype(np.asarray(outputs[place]).dtype)
        only = partial(_only, place, len(outputs))
        if mapped:
            found: Any = zip(*pull(only(seeds), batched=True), strict=True)
        else:
            found = (pull(only(seed)) for seed in seeds)
        rows.append([column.T for column in _columns(list(found), check.primals)])
    return rows


def _only(place: int, count: int, cotangent: Any) -> list[Any]:
    return [cotangent if i == place else None for i in range(count)]


def _columns(changes: Sequence[Sequence[Any]], like: Sequence[Array]) -> list[Array]:
    """One list of arrays per direction, converted to one matrix per array with a column per direction."""
    return [
        np.array([_parts(change[i]) for change in changes]).reshape(len(changes), _parts(x).size).T
        for i, x in enumerate(like)
    ]


def _matrix(along: Array, like: Array) -> Array:
    """Stacked directions as the columns of a matrix."""
    return _columns([[direction] for direction in along], [like])[0]


def _compare(
    check: _Check, directions: _Directions, changes: Changes, *, forward: bool, batched: bool
) -> Iterator[tuple[str, int, int, Array, Array]]:
    """``(mode, output, input, derivative, difference)`` for each pair and each mode."""
    steps = [_matrix(along, x) for along, x in zip(directions.steps, check.primals, strict=True)]
    seeds = [_matrix(along, y).T for along, y in zip(directions.seeds, check.outputs, strict=True)]
    pairs = [(output, place) for output in range(len(seeds)) for place in range(len(steps))]
    for mapped in (False, True) if batched else (False,):
        suffix = " mapped by vmap" if mapped else ""
        pulled = _pulled(check, directions, mapped=mapped)
        for output, place in pairs:
            expected = seeds[output] @ changes[place][output]
            yield f"reverse mode{suffix}", output, place, pulled[output][place] @ steps[place], expected
        if forward:
            pushed = _pushed(check, directions, mapped=mapped)
            for output, place in pairs:
                expected = seeds[output] @ changes[place][output]
                yield f"forward mode{suffix}", output, place, seeds[output] @ pushed[place][output], expected


# ---- arrays and their parts --------------------------------------------------------------------------


def _entries(x: Array) -> Array:
    """The unit arrays of the shape of `x`, stacked; for complex ones, those of the imaginary parts follow."""
    units = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
    return np.concatenate([units, 1j * units]).astype(x.dtype) if is_complex(x.dtype) else units


def _random_direction(x: Array, rng: np.random.Generator) -> Array:
    """One random array of length 1."""
    found = _random(x, rng)
    return np.asarray(found / max(float(np.linalg.norm(found.reshape(-1))), 1e-300), x.dtype)[None]


def _random(x: Array, rng: np.random.Generator) -> Array:
    real = rng.normal(size=x.shape)
    return np.asarray(real + 1j * rng.normal(size=x.shape) if is_complex(x.dtype) else real, x.dtype)


def _parts(x: Any) -> Array:
    """An array as a flat real one: for a complex array all real parts, then all imaginary parts."""
    flat = np.asarray(x).reshape(-1)
    return np.concatenate([np.real(flat), np.imag(flat)]) if is_complex(flat.dtype) else flat


def _own(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _leaves(tree: Any) -> list[Any]:
    return flatten(tree)[0]


def _is_floating(leaf: Any) -> bool:
    return is_array_like(leaf) and is_inexact(leaf.dtype if is_traced(leaf) else np.asarray(leaf).dtype)
