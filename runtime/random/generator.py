"""`Generator`: NumPy's random generator, with a state that is part of a traced program."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...compiler.arguments.option_checks import flag, integer
from ...compiler.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from ...compiler.nesting import shown
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import located, wrap
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import constant
from ..eager.by_reference import ByReference
from ..eager.mapped_axes import update_in_step
from ..eager.pytrees import register_pytree
from ..eager.run import overwrite
from . import continuous, counts, discrete, gammas, permutations
from .arguments import as_array, float_dtype, known, real, size_of, whole_size
from .seeding import key_from
from .source import Source, written

_RANGES: dict[str, dict[str, float]] = {
    "a": {"above": 0},
    "b": {"above": 0},
    "df": {"above": 0},
    "dfden": {"above": 0},
    "dfnum": {"above": 0},
    "lam": {"at_least": 0},
    "n": {"at_least": 0},
    "p": {"at_least": 0, "at_most": 1},
    "scale": {"at_least": 0},
    "shape": {"at_least": 0},
    "sigma": {"at_least": 0},
}
"""The valid ranges of parameters with these names."""
_COUNTED: dict[str, dict[str, Any]] = {
    name: {**_RANGES[name], "is_nan_allowed": False} for name in ("lam", "n", "p")
}
_COUNTED["lam"]["at_most"] = 9.2e18
"""The same if the draw is an integer, which cannot be NaN; a count has 63 bits."""
_TRIED = {name: {**_COUNTED[name], "above": 0} for name in ("n", "p")}
"""The same if trials continue until some succeed."""


class Generator(ByReference):
    """A source of random numbers. Made by `default_rng`; its methods and their parameters are NumPy's.

    Draws are float64 by default; ``dtype=np.float32`` is the alternative. Each method returns an array of shape
    `size`, or of the shape to which its parameters broadcast; a NumPy scalar if that has no axes. Errors:
    `ArgumentValueError` for parameters out of range, if they are known while tracing; `ShapeError` if parameters and
    `size` do not broadcast; `DTypeError` for an unsupported dtype; `RandomnessError` inside a `vmap` without
    `randomness=`.

    >>> rng = default_rng(3)
    >>> rng.integers(6, size=5)
    array([...])
    >>> rng.state["counter"]
    3
    """

    __slots__ = ("_counter", "_key")

    def __init__(self, key: Any, counter: Any) -> None:
        self._key = key
        self._counter = counter

    def __repr__(self) -> str:
        if is_traced(self._counter) or is_traced(self._key):
            return "Generator(traced)"
        return f"Generator(key={np.asarray(self._key).tolist()}, counter={int(self._counter)})"

    def __reduce__(self) -> Any:
        return Generator, (self._key, self._counter)

    # ---- the state ---------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """A copy of the key and the counter. Assign one to restore the state."""
        key, counter = as_array(self._key), as_array(self._counter)
        return {"key": key.copy(), "counter": +counter if is_traced(counter) else int(counter)}

    @state.setter
    def state(self, new: dict[str, Any]) -> None:
        located(self._go_back, new)

    def _go_back(self, new: Any) -> None:
        if not isinstance(new, dict) or set(new) != {"key", "counter"}:
            raise ArgumentTypeError(
                f"a generator's state is a dict of 'key' and 'counter', as rng.state gives it, not {shown(new)}"
            )
        key, counter = _words("key", new["key"], (2,), 32), _words("counter", new["counter"], (), 64)
        written(self._key)[...] = key
        written(self._counter)[...] = counter

    def spawn(self, n_children: int) -> "list[Generator]":
        """New generators, whose numbers are independent of each other's and of this one's later numbers.

        >>> left, right = default_rng(0).spawn(2)
        >>> bool(left.random() == right.random())
        False
        """
        return located(self._spawned, n_children)  # type: ignore[no-any-return]

    def _spawned(self, n_children: int) -> "list[Generator]":
        count = integer("spawn: n_children", n_children)
        if count < 0:
            raise ArgumentValueError(f"spawn: n_children must not be negative, but is {count}")
        keys = self._source("spawn").bits((count, 2), np.uint32)
        return [_starting_with(keys[i].copy()) for i in range(count)]

    def _source(self, method: str) -> Source:
        return Source(method, self._key, self._counter)

    def _sample(self, sampler: Callable[..., Any], size: Any, dtype: Any, **parameters: Any) -> Any:
        """Draw real numbers of a distribution."""
        return located(self._sampled, sampler, size, dtype, _RANGES, parameters)

    def _count(
        self, sampler: Callable[..., Any], size: Any, ranges: dict[str, Any] = _COUNTED, **parameters: Any
    ) -> Any:
        """Draw integers of a distribution with real parameters."""
        return located(self._sampled, sampler, size, np.float64, ranges, parameters)

    def _sampled(
        self,
        sampler: Callable[..., Any],
        size: Any,
        dtype: Any,
        ranges: dict[str, Any],
        parameters: dict[str, Any],
    ) -> Any:
        method = sampler.__name__
        dtype = float_dtype(method, dtype)
        values = [real(method, name, x, dtype, **ranges.get(name, {})) for name, x in parameters.items()]
        shape = size_of(method, size, *values)
        with np.errstate(all="ignore"):
            return _returned(sampler(self._source(method), shape, dtype, *values))

    # ---- real numbers ------------------------------------------------------------------------------------

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [0, 1): multiples of 2⁻⁵³, or of 2⁻²⁴ for float32."""
        return self._sample(continuous.random, size, dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [low, high)."""
        return self._sample(continuous.uniform, size, dtype, low=low, high=high)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal with mean 0 and standard deviation 1."""
        return self._sample(continuous.standard_normal, size, dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal with mean `loc` and standard deviation `scale`."""
        return self._sample(continuous.normal, size, dtype, loc=loc, scale=scale)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """The exponential of a normal number with this mean and standard deviation."""
        return self._sample(continuous.lognormal, size, dtype, mean=mean, sigma=sigma)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, dtype: Any = np.float64, method: str = "cholesky"
    ) -> Any:
        """Normal vectors along the last axis, with this mean f[…, d] and covariance f[…, d, d].

        Args:
            mean, cov: the leading axes broadcast.
            size: the shape without the last axis.
            method: the factor of `cov`: "cholesky", which must be positive definite and has derivatives everywhere;
                "eigh", or "svd" as by default in NumPy, for which it may be singular. Compiled or not the vectors agree
                up to the rounding of matrix products.
        """
        return located(self._multivariate_normal, mean, cov, size, dtype, method)

    def _multivariate_normal(self, mean: Any, cov: Any, size: Any, dtype: Any, method: str) -> Any:
        name = "multivariate_normal"
        dtype = float_dtype(name, dtype)
        center, spread = real(name, "mean", mean, dtype), real(name, "cov", cov, dtype)
        count = center.shape[-1:]
        if count in ((), (0,)) or spread.shape[-2:] != (*count, *count):
            raise ShapeError(
                f"{name}: mean of shape {center.shape} and cov of shape {spread.shape} do not fit"
            )
        factor = continuous.factor_of(spread, method)
        shape = size_of(name, size, center[..., 0], spread[..., 0, 0])
        noise = continuous.standard_normal(self._source(name), (*shape, *count), dtype)
        return center + (factor @ noise[..., None])[..., 0]

    def truncated_normal(
        self,
        low: Any,
        high: Any,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        dtype: Any = np.float64,
    ) -> Any:
        """Normal, conditioned on [low, high], which may be arbitrarily far out, or infinite."""
        return self._sample(
            continuous.truncated_normal, size, dtype, low=low, high=high, loc=loc, scale=scale
        )

    def standard_exponential(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Exponential with mean 1."""
        return self._sample(continuous.standard_exponential, size, dtype)

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Exponential with mean `scale`."""
        return self._sample(continuous.exponential, size, dtype, scale=scale)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """The extreme value distribution exp(−exp(−(x − loc) / scale))."""
        return self._sample(continuous.gumbel, size, dtype, loc=loc, scale=scale)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Exponential on both sides of `loc`."""
        return self._sample(continuous.laplace, size, dtype, loc=loc, scale=scale)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """The distribution function is the sigmoid of (x − loc) / scale."""
        return self._sample(continuous.logistic, size, dtype, loc=loc, scale=scale)

    def standard_cauchy(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """The quotient of two normal numbers."""
        return self._sample(continuous.standard_cauchy, size, dtype)

    def cauchy(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """``loc + scale * standard_cauchy()``."""
        return self._sample(continuous.cauchy, size, dtype, loc=loc, scale=scale)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """The length of a vector of two normal numbers."""
        return self._sample(continuous.rayleigh, size, dtype, scale=scale)

    def weibull(self, a: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """An exponential number to the power 1 / a."""
        return self._sample(continuous.weibull, size, dtype, a=a)

    def pareto(self, a: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """Lomax: the density is proportional to (1 + x)⁻ᵃ⁻¹."""
        return self._sample(continuous.pareto, size, dtype, a=a)

    def power(self, a: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """In [0, 1], with a density proportional to xᵃ⁻¹."""
        return self._sample(continuous.power, size, dtype, a=a)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """Gamma with scale 1. Derivatives in `shape` are those of the distribution function (Figurnov et al. 2018)."""
        return self._sample(gammas.standard_gamma, size, dtype, shape=shape)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """The density is proportional to x^(shape − 1) exp(−x / scale)."""
        return self._sample(gammas.gamma, size, dtype, shape=shape, scale=scale)

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """In [0, 1], with a density proportional to xᵃ⁻¹ (1 − x)ᵇ⁻¹."""
        return self._sample(gammas.beta, size, dtype, a=a, b=b)

    def chisquare(self, df: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """The sum of the squares of `df` normal numbers."""
        return self._sample(gammas.chisquare, size, dtype, df=df)

    def f(self, dfnum: Any, dfden: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """The quotient of two means of squares of `dfnum` and `dfden` normal numbers."""
        return self._sample(gammas.f, size, dtype, dfnum=dfnum, dfden=dfden)

    def standard_t(self, df: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """Student's t with `df` degrees of freedom."""
        return self._sample(gammas.standard_t, size, dtype, df=df)

    def dirichlet(self, alpha: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """Positive numbers along the last axis that add up to 1; `size` is the shape without that axis."""
        return located(self._dirichlet, alpha, size, dtype)

    def _dirichlet(self, alpha: Any, size: Any, dtype: Any) -> Any:
        dtype = float_dtype("dirichlet", dtype)
        array = real("dirichlet", "alpha", alpha, dtype, above=0)
        permutations.categories_of("dirichlet", array, -1)
        shape = size_of("dirichlet", size, array[..., 0])
        with np.errstate(all="ignore"):
            return gammas.dirichlet(self._source("dirichlet"), shape, dtype, array)

    # ---- whole numbers -----------------------------------------------------------------------------------

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Integers from `low` to `high`, which is included with `endpoint`; from 0 to `low` if `high` is None.

        All are equally probable up to a relative error of 2⁻³² for ranges of at most 2³², and 2⁻⁶⁴ for larger ones.
        """
        return located(self._integers, low, high, size, dtype, endpoint)

    def _integers(self, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
        first, last = (0, low) if high is None else (low, high)
        start, count, small = discrete.range_of(first, last, dtype, flag("integers: endpoint", endpoint))
        shape = size_of("integers", size, start, count)
        with np.errstate(over="ignore"):
            drawn = discrete.integers_between(
                self._source("integers"), shape, start, count, dtype, small=small
            )
        return _returned(drawn)

    def bernoulli(self, p: Any = 0.5, size: Any = None) -> Any:
        """True with probability `p`."""
        return self._count(discrete.bernoulli, size, p=p)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """The number of trials up to the first that succeeds, each with probability `p`: int64."""
        return self._count(discrete.geometric, size, _TRIED, p=p)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """The number of events where `lam` are expected: int64."""
        return self._count(counts.poisson, size, lam=lam)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """The number of successes in `n` trials, each with probability `p`: int64."""
        return self._count(counts.binomial, size, n=n, p=p)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """The number of failures before `n` successes, each with probability `p`: int64."""
        return self._count(counts.negative_binomial, size, _TRIED, n=n, p=p)

    def categorical(self, logits: Any, size: Any = None, axis: int = -1) -> Any:
        """Positions along `axis`, with probabilities ``softmax(logits, axis)``: int64.

        Args:
            logits: unnormalised logarithms of probabilities.
            size: a shape to which that of `logits` without `axis` broadcasts; that shape if None.
            axis: the axis of the categories.
        """
        return located(self._categorical, logits, size, axis)

    def _categorical(self, logits: Any, size: Any, axis: int) -> Any:
        array = real("categorical", "logits", logits, np.float64)
        last = np.moveaxis(array, permutations.categories_of("categorical", array, axis), -1)
        shape = size_of("categorical", size, last[..., 0])
        return _returned(discrete.categorical(self._source("categorical"), shape, np.float64, last))

    # ---- orders and choices ------------------------------------------------------------------------------

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """The slices of `x` along `axis` in random order, or the integers below `x`."""
        return located(self._permutation, x, axis)

    def _permutation(self, x: Any, axis: int) -> Any:
        things = permutations.items("permutation", x)
        if isinstance(things, int):
            return permutations.order(self._source("permutation"), things)
        place = permutations.axis_of("permutation", things, axis)
        return permutations.permutation(self._source("permutation"), things, place)

    def permuted(self, x: Any, axis: int | None = None) -> Any:
        """`x` with its elements in random order along `axis`, each line separately; None for all elements."""
        return located(self._permuted, x, axis)

    def _permuted(self, x: Any, axis: int | None) -> Any:
        array = as_array(x)
        place = None if axis is None else permutations.axis_of("permuted", array, axis)
        return permutations.permuted(self._source("permuted"), array, place)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of `x` along `axis` in random order, in place."""
        located(self._shuffle, x, axis)

    def _shuffle(self, x: Any, axis: int) -> None:
        if not isinstance(x, np.ndarray):
            raise ArgumentTypeError(f"shuffle: only arrays are shuffled in place, not {type(x).__name__}")
        place = permutations.axis_of("shuffle", x, axis)
        overwrite(x, permutations.permutation(self._source("shuffle"), as_array(x), place))

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Slices of `a` along `axis`, or integers below `a`, chosen at random.

        Args:
            a: an array, or an int.
            size: how many, as a shape; None for one.
            replace: whether one can be chosen again.
            p: the probability of each; None for equal ones.
            axis: the axis of `a` to choose along.
            shuffle: whether the order is random, too, without replacement. Here it always is.
        """
        return located(self._choice, a, size, replace, p, axis)

    def _choice(self, a: Any, size: Any, replace: bool, p: Any, axis: int) -> Any:
        things = permutations.items("choice", a)
        place = 0 if isinstance(things, int) else permutations.axis_of("choice", things, axis)
        count = things if isinstance(things, int) else things.shape[place]
        shape = () if size is None else whole_size("choice", size)
        replace = flag("choice: replace", replace)
        if p is not None:
            p = permutations.probabilities(p, count, 1 if replace else prod(shape))
        with np.errstate(all="ignore"):
            chosen = permutations.chosen(self._source("choice"), count, shape, p, replace=replace)
        if isinstance(things, int):
            return _returned(chosen)
        return _returned(np.take(things, chosen, axis=place))


def default_rng(seed: Any = None) -> Generator:
    """A new generator.

    Args:
        seed: an integer of at least 0, of any size; a sequence of such; a traced integer; None for one that the
            operating system gives, which cannot be had while tracing; or a `Generator`, which is returned as it is.
            Different seeds give unrelated numbers, also if they differ by one bit.

    Raises:
        ArgumentTypeError: (a TypeError) `seed` is something else.
        ArgumentValueError: (a ValueError) `seed` is negative.
        RandomStateError: (a RuntimeError) there is no seed while tracing.

    >>> default_rng(0).random() == default_rng(0).random()
    np.True_
    """
    if isinstance(seed, Generator):
        return seed
    return _starting_with(located(key_from, seed))


def _starting_with(key: Any) -> Generator:
    """A generator that has drawn nothing. If it is made inside a trace, it is part of the trace."""
    counter = np.zeros((), np.uint64)
    if current_trace() is None:
        return Generator(key, counter)
    return Generator(key if is_traced(key) else wrap(constant(key)), wrap(constant(counter), is_scalar=False))


def _words(name: str, given: Any, shape: tuple[int, ...], bits: int) -> Any:
    """A part of a state: unsigned integers with this many bits."""
    array = as_array(given)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"the {name} of a generator is integers of shape {shape} and {bits} bits, not {shown(given)}"
        )
    values = known(given, array)
    if values is not None and (np.any(values < 0) or np.any(values >= 2**bits)):
        raise ArgumentValueError(f"the {name} of a generator has {bits} bits, and is not {shown(given)}")
    return array


def _returned(drawn: Any) -> Any:
    """A draw in NumPy's form: without axes, a scalar."""
    if is_traced(drawn):
        return drawn if drawn.ndim else wrap(drawn.value)
    return drawn[()] if isinstance(drawn, np.ndarray) and not drawn.ndim else drawn


def _children(generator: Generator) -> tuple[tuple[Any, Any], None]:
    """A function that receives the generator may draw from it, where enclosing `vmap`s cannot see whose counter it
    is."""
    if isinstance(generator._counter, (np.ndarray, ForeignMemory)):
        update_in_step(generator._counter)
    return (generator._key, generator._counter), None


register_pytree(Generator, _children, lambda _, children: Generator(*children))
