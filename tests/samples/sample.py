"""`Sample`: a call of one op with the arrays to run it on; `Failure`: a call that must be refused."""

import inspect
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import tracemill.compiler.ops  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the table of ops)
from samples.linalg.matrix_domains import MATRICES
from tracemill.compiler.builder import Builder, bind_all, inline, recording
from tracemill.compiler.dtypes import (
    Array,
    DType,
    dtype_name,
    dtype_named,
    is_inexact,
    is_supported,
    real_dtype,
)
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value

# ---- where the entries of an input come from --------------------------------------------------------


class Interval(NamedTuple):
    """Random numbers from `low` to `high`; for complex numbers, both parts."""

    low: float
    high: float


class Points(tuple[complex, ...]):
    """These numbers in this order, repeated to fill the shape: ``Points((0, 1, 2))``."""

    __slots__ = ()


Domain: TypeAlias = str | Interval | Points
"""An interval, fixed points, or one of the names that `entries` knows."""

INTERVALS = {
    "real": Interval(-2.5, 2.5),
    "unit": Interval(-0.9, 0.9),
    "positive": Interval(0.3, 3.0),
    "probability": Interval(0.05, 0.95),
    "above_one": Interval(1.2, 4.0),
}


def _limits(dtype: DType) -> tuple[float, float, float]:
    """The smallest normal, the smallest and the largest finite number."""
    if dtype.name == "bfloat16":
        return 2.0**-126, 2.0**-133, (2 - 2.0**-7) * 2.0**127
    info = np.finfo(dtype)
    return float(info.tiny), float(info.smallest_subnormal), float(info.max)


def special_values(dtype: DType) -> Array:
    """Where functions go wrong: NaN, infinities, zeros, denormals, the largest; the ends of the integers."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wanted = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1, -1, -2, -7]
        return np.array([v for v in wanted if limits.min <= v <= limits.max], dtype)
    if dtype.kind == "c":
        parts = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5]
        return np.array([complex(re, im) for re, im in product(parts, parts)], dtype)
    tiny, smallest, largest = _limits(dtype)
    sizes = (np.inf, 0.0, smallest, largest, 1.0, 0.5, 3.0, tiny)
    values = [np.nan, *(sign * size for size in sizes for sign in (1, -1))]
    return np.array(values).astype(dtype)


def _drawn(domain: Interval | str, rng: np.random.Generator, shape: Shape) -> Array:
    """Float64 entries of a random domain."""
    size = math.prod(shape)
    if isinstance(domain, Interval) or domain in INTERVALS:
        low, high = domain if isinstance(domain, Interval) else INTERVALS[domain]
        return np.asarray(rng.uniform(low, high, shape))
    if domain == "integers":
        return rng.integers(1, 6, shape).astype(float)
    if domain == "away_from_zero":
        signs: Array = rng.choice([-1.0, 1.0], shape)
        return signs * rng.uniform(0.4, 2.5, shape)
    if domain == "away_from_integers":
        return rng.integers(-4, 4, shape) + rng.uniform(0.2, 0.8, shape)
    if domain == "away_from_ties":  # no two entries are closer than 0.1, nor is one near 0
        return (rng.permutation(size) * 0.5 - size * 0.2 + rng.uniform(0.05, 0.25, size)).reshape(shape)
    raise ValueError(f"no domain is called {domain!r}")


def entries(domain: Domain, dtype: DType, shape: Shape, rng: np.random.Generator) -> Array:
    """An array of the domain's entries."""
    if isinstance(domain, str) and domain in MATRICES:
        return MATRICES[domain](rng, dtype, shape)
    if isinstance(domain, Points):
        return np.resize(np.array(domain).astype(dtype), shape)
    if domain == "special":
        return np.resize(special_values(dtype), shape)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype.kind in "iu":
        low, high = (0, 7) if dtype.kind == "u" else (-6, 7)
        return (
            _drawn(domain, rng, shape) if domain == "integers" else rng.integers(low, high, shape)
        ).astype(dtype)
    drawn = _drawn(domain, rng, shape)
    if dtype.kind == "c":
        out = np.empty(shape, dtype)
        out.real, out.imag = drawn, _drawn(domain, rng, shape)
        return out
    return np.asarray(drawn).astype(dtype)


# ---- how an input lies in memory --------------------------------------------------------------------


def _reversed(x: Array) -> Array:
    return np.asarray(np.flip(np.flip(x).copy()))


def _strided(x: Array) -> Array:
    view: Array = np.zeros([2 * dim for dim in x.shape], x.dtype)
    for axis in range(x.ndim):
        view = np.moveaxis(np.moveaxis(view, axis, 0)[::2], 0, axis)
    view[...] = x
    return view


LAYOUTS: Mapping[str, Callable[[Array], Array]] = {
    "contiguous": lambda x: x,
    "fortran": lambda x: x.copy(order="F"),
    "reversed": _reversed,  # negative strides
    "strided": _strided,  # gaps between entries
}


# ---- samples ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """``op(*arrays, **params)`` on arrays of these shapes, dtypes (by short name) and domains.

    Shape ``()`` is a scalar. A single dtype or domain applies to all inputs.
    """

    op: str
    shapes: tuple[Shape, ...]
    dtypes: str | tuple[str, ...] = "f64"
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    domain: Domain | tuple[Domain, ...] = "real"
    layout: str = "contiguous"
    reference: Callable[..., Any] | None = None
    """Another way to compute the value, called like the op's NumPy definition. None: NumPy's function with the op's
    name."""
    widened: bool = True
    """The reference is evaluated on longdouble arrays and then rounded; else on the arrays themselves."""
    ulps: float = 2
    """The allowed distance of the value from the reference, in units in the last place of the result."""
    signed_zeros: bool = True
    """The sign of a zero result counts; False where NumPy leaves it open."""
    wrt: tuple[bool, ...] | None = None
    """The inputs with a derivative: all floating ones unless given; asking for another must raise."""
    invariant: Callable[..., tuple[Value, ...]] | None = None
    """What of the outputs, given as values, has a derivative of its own; else all of them. Vectors may have any
    phase, so only what does not depend on it can be compared with differences."""
    coupled: bool = False
    """The examples of a batch compute together, as the first input numbers them. A loop over them, or a pairing of
    one alone, does not hold then; tests/compiler/ops/test_collectives.py says what does."""
    single: bool = False
    """It is for one example: a batch rule refuses by name, since each example would have a length of its own."""
    found: Mapping[str, int] = field(default_factory=dict)
    """The lengths that it finds out, by name."""
    label: str = ""
    """Tells apart samples that look the same otherwise."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        one = not isinstance(self.domain, tuple) or isinstance(self.domain, Interval | Points)
        return (self.domain,) * len(self.shapes) if one else self.domain  # type: ignore[return-value]

    @cached_property
    def types(self) -> tuple[ArrayType, ...]:
        names = (self.dtypes,) * len(self.shapes) if isinstance(self.dtypes, str) else self.dtypes
        return tuple(ArrayType(dtype_named(n), shape) for n, shape in zip(names, self.shapes, strict=True))

    @cached_property
    def floating(self) -> tuple[bool, ...]:
        """Which inputs are floating."""
        return tuple(is_inexact(t.dtype) for t in self.types)

    @property
    def differentiated(self) -> tuple[bool, ...]:
        """Which inputs have a derivative."""
        return self.floating if self.wrt is None else self.wrt

    @property
    def generic(self) -> bool:
        """Whether the floating entries avoid points where a function jumps or has a kink."""
        pairs = zip(self.types, self.domains, strict=True)
        domains = [domain for t, domain in pairs if is_inexact(t.dtype)]
        return not any(isinstance(domain, Points) or domain in {"special", "integers"} for domain in domains)

    @cached_property
    def smooth(self) -> bool:
        """Whether differences can tell the derivative: at generic points, in f64 or c128 throughout."""
        types = [t for t in (*self.types, *(v.type for v in self.measured().outputs)) if is_inexact(t.dtype)]
        return self.generic and all(real_dtype(t.dtype).itemsize == 8 for t in types)

    @cached_property
    def id(self) -> str:
        """The sample's name in a test report."""
        params = ",".join(f"{name}={_shown(param)}" for name, param in self.params.items())
        domains = self.domains if len(set(self.domains)) > 1 else self.domains[:1]
        where = ",".join(
            d if isinstance(d, str) else "points" if isinstance(d, Points) else f"{d[0]}..{d[1]}"
            for d in domains
        )
        layout = "" if self.layout == "contiguous" else self.layout
        parts = (f"({', '.join(map(str, self.types))})", params, where, layout, self.label)
        return self.op + "-".join(part for part in parts if part)

    def arrays(self, seed: int = 0) -> list[Array]:
        """Fresh input arrays: the same for the same seed."""
        rng = np.random.default_rng([seed, zlib.crc32(self.id.encode())])
        place = LAYOUTS[self.layout]
        pairs = zip(self.types, self.domains, strict=True)
        return [place(np.asarray(entries(domain, t.dtype, t.shape, rng))) for t, domain in pairs]

    def graph(self) -> Graph:
        """A graph with this one call, always the same."""
        return self._graph

    @cached_property
    def _graph(self) -> Graph:
        inputs = tuple(map(Value, self.types))
        with recording(Builder()) as builder:
            outputs = bind_all(self.op, *inputs, **self.params)
        return Graph(self.op, inputs, tuple(builder.calls), outputs)

    def measured(self) -> Graph:
        """The graph that is differentiated and compared with finite differences: the invariant parts of the call."""
        graph = self.graph()
        if self.invariant is None:
            return graph
        with recording(Builder()) as builder:
            outputs = self.invariant(*inline(graph, graph.inputs))
        return Graph(self.op, graph.inputs, tuple(builder.calls), outputs)


@dataclass(frozen=True, eq=False)
class Failure:
    """A misuse: making the call, or the transform of it, raises `error`; the message matches `match`."""

    op: str
    shapes: tuple[Shape, ...]
    dtypes: str | tuple[str, ...]
    error: type[Exception]
    match: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    transform: str = "build"
    """"build", or "jvp"."""

    @property
    def sample(self) -> Sample:
        """The call that must fail."""
        return Sample(self.op, self.shapes, self.dtypes, self.params)

    @property
    def id(self) -> str:
        return f"{self.sample.id}-{self.transform}"


def _shown(param: Any) -> str:
    if isinstance(param, np.dtype):
        return dtype_name(param) if is_supported(param) else str(param)
    if isinstance(param, Graph):
        return param.name
    if isinstance(param, tuple) and any(isinstance(item, Graph) for item in param):
        return "+".join(map(_shown, param))
    return param.__name__ if inspect.isfunction(param) else str(param)
