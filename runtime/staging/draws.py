"""Draws from generators that the function seeds itself, in branches and loops that depend on values.

In such a block, the state of the generator is a variable, and each run of the program calls NumPy's method: the numbers
are NumPy's, in NumPy's order. Outside, the numbers are known while tracing.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from ...compiler.arguments.leaves import is_array_like
from ...compiler.builder import bind_all
from ...compiler.callers.user_code import user_location
from ...compiler.errors import RandomStateError
from ...compiler.ops.control.control import METHODS
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.trace import require_trace
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import contains_traced, is_traced
from ..branching.python_numbers import as_python_number
from ..branching.slots import GeneratorState
from ..branching.slots_outside import NoteAtReturn
from ..branching.watching import is_watched, watch_stream
from ..eager.generator_states import Draw, kind_of, numbers_of

_MODULE: Final = "numpy.random"
"""Stands for NumPy's global generator, which ``np.random.seed`` seeds."""
_SCALED: Final[dict[str, tuple[str, tuple[tuple[str, float], ...], Callable[..., Any]]]] = {
    "normal": ("standard_normal", (("loc", 0.0), ("scale", 1.0)), lambda z, loc, scale: loc + scale * z),
    "uniform": ("random_sample", (("low", 0.0), ("high", 1.0)), lambda u, low, high: low + (high - low) * u),
    "exponential": ("standard_exponential", (("scale", 1.0),), lambda z, scale: scale * z),
    "lognormal": (
        "standard_normal",
        (("mean", 0.0), ("sigma", 1.0)),
        lambda z, mean, sigma: np.exp(mean + sigma * z),
    ),
}
"""Draws that are computed from other draws, so that they have derivatives: their parameters, and the formula."""
_GUESSES: Final = (1, 0.5, 1_000_003, 0)
"""Parameters of a trial draw, which shows the shape and dtype of the result."""


class _Seeded(NoteAtReturn):
    """A generator that the function has made from a seed, or NumPy's global one."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator
        self.known = numbers_of(generator)
        """The state of the generator when the program begins to draw."""
        self.held = (GeneratorState(self.known),)

    @property
    def stream(self) -> GeneratorState:
        """The current state, which may be traced."""
        stream: GeneratorState = self.held[0]
        return stream

    def look(self) -> None:
        """Update the state after draws while tracing."""
        if not is_traced(self.stream.state):
            now = numbers_of(self.generator)
            if not np.array_equal(now, self.known):
                self.stream.state = self.known = now

    def __call__(self) -> None:
        if is_traced(self.stream.state) and not np.array_equal(numbers_of(self.generator), self.known):
            raise RandomStateError(
                "a library draws from a generator after a draw that depends on values: give the library another "
                "generator",
                user_location(),
            )


def seeded(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a class or a function for a known seed. Generators are noted as the function's own."""
    seeds = (*given, *named.values())
    if (
        function is np.random.RandomState
        and seeds
        and not isinstance(seeds[0], np.random.BitGenerator | None)
    ):
        return _noted(_old_generator(seeds[0]), seeds)
    return _noted(function(*given, **named), seeds)


def _old_generator(seed: Any) -> np.random.RandomState:
    """``np.random.RandomState(seed)``, without reading entropy before it is seeded."""
    generator = np.random.RandomState(np.random.MT19937(0))
    generator.seed(seed)
    return generator


def _noted(made: Any, given: tuple[Any, ...]) -> Any:
    notes = require_trace().outermost().at_return
    if isinstance(made, np.random.BitGenerator):
        notes[id(made), "bits"] = _Bits(made)
    elif isinstance(made, np.random.RandomState | np.random.Generator) and given:
        if isinstance(given[0], np.random.BitGenerator):
            is_made = (id(given[0]), "bits") in notes
        else:
            is_made = given[0] is not None and given[0] is not made
        if is_made:
            notes[id(made), "generator"] = _Seeded(made)
    return made


class _Bits(NoteAtReturn):
    def __init__(self, bits: Any) -> None:
        self.held = (bits,)

    def __call__(self) -> None:
        pass


def draw_method(function: Any) -> "Callable[..., Any] | None":
    """The function to call for a method of a generator or a function of ``np.random``; None for any other function."""
    own, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    notes = require_trace().outermost().at_return
    if _is_of_module(function, name):
        if name == "seed":
            return _seed
        note = notes.get((_MODULE, "generator"))
    else:
        note = notes.get((id(own), "generator"))
    if not isinstance(note, _Seeded):
        return None
    return partial(_draw, note, name)


def _is_of_module(function: Any, name: str) -> bool:
    """Whether it is a function of ``np.random`` that draws from NumPy's global generator or sets its state."""
    if "numpy.random" not in sys.modules or isinstance(function, type) or name == "default_rng":
        return False
    return vars(np.random).get(name) is function


def _seed(seed: Any = None) -> None:
    if seed is None or is_watched():
        raise RandomStateError(
            "np.random.seed is called without a seed, or where values decide: seed once, at the beginning of the "
            "function, or make a generator, np.random.default_rng(seed)",
            user_location(),
        )
    known = np.asarray(seed) if not is_traced(seed) else seed.__index__()
    require_trace().outermost().at_return[_MODULE, "generator"] = _Seeded(_old_generator(known))


def _draw(note: _Seeded, name: str, *given: Any, **named: Any) -> Any:
    stream, generator = note.stream, note.generator
    note.look()
    watch_stream("the random generator", stream)
    if name in _SCALED and contains_traced([*given, *named.values()]):
        return _scaled(note, name, given, named)
    if name == "shuffle":
        return _shuffle(note, *given, **named)
    if name in ("permutation", "permuted", "choice") and given and is_traced(given[0]) and given[0].ndim:
        order = _draw(note, name, given[0].shape[0], *given[1:], **named)
        return given[0][order]
    traced: dict[Any, Any] = {place: x for place, x in enumerate(given) if is_traced(x)}
    traced |= {key: x for key, x in named.items() if is_traced(x)}
    is_known = not traced and not is_traced(stream.state) and not is_watched()
    if is_known:
        return getattr(generator, name)(*given, **named)
    call = _Call(given, tuple(named.items()), tuple(traced))
    return _recorded(note, name, call, list(traced.values()))


def _recorded(note: _Seeded, name: str, call: "_Call", traced: list[Any]) -> Any:
    draw = Draw(kind_of(note.generator), name, call, tuple(x.ndim for x in traced))
    sample = _sample(draw, note, traced)
    kind, array = type(sample), np.asarray(sample)
    state: Any = note.stream.state
    new, found = bind_all(
        "callback",
        as_value(state),
        *map(as_value, traced),
        function=draw,
        types=((np.dtype(np.uint64), (np.size(numbers_of(note.generator)),)), (array.dtype, array.shape)),
        method=METHODS[2],
    )
    note.stream.state = wrap(new)
    drawn = wrap(found)
    return as_python_number(drawn, kind) if kind in (bool, int, float) else drawn[()]


def _sample(draw: Draw, note: _Seeded, traced: list[Any]) -> Any:
    """A trial draw, for its shape and dtype."""
    state = numbers_of(note.generator)
    if not traced:
        return draw.once(state)[0]
    for guess in _GUESSES:
        with suppress(ValueError, TypeError, OverflowError):
            return draw.once(state, *[np.full(x.shape, guess, x.dtype) for x in traced])[0]
    raise RandomStateError(
        f"{draw.method} is drawn with parameters that values decide, and which shape and dtype it gives could not be "
        "found out: draw with parameters that are known",
        user_location(),
    )


@dataclass(frozen=True)
class _Call:
    """Calls a method with fixed arguments and with arrays that are passed to it."""

    given: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    places: tuple[Any, ...]

    def __call__(self, method: Any, *arrays: Any) -> Any:
        filled = dict(zip(self.places, arrays, strict=True))
        given = [filled.get(place, x) for place, x in enumerate(self.given)]
        return method(*given, **{key: filled.get(key, x) for key, x in self.named})

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _scaled(note: _Seeded, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A draw with traced parameters, computed from a draw without parameters."""
    standard, parameters, meaning = _SCALED[name]
    names = [*(one for one, _ in parameters), "size"]
    options = dict(parameters) | dict(zip(names, given, strict=False)) | named
    size = options.pop("size", None)
    values = [options[one] for one, _ in parameters]
    shape = np.broadcast_shapes(*map(np.shape, values)) if size is None else size
    if standard == "random_sample" and isinstance(note.generator, np.random.Generator):
        standard = "random"
    drawn = _draw(note, standard, **({} if shape == () else {"size": shape}))
    return meaning(drawn, *values)


def _shuffle(note: _Seeded, x: Any, axis: int = 0) -> None:
    """Shuffle in place. The order does not depend on the kind of entries."""
    if not (is_traced(x) or is_watched() or is_traced(note.stream.state) or isinstance(x, list)):
        note.generator.shuffle(x, **({"axis": axis} if axis else {}))
        return
    order = _draw(note, "permutation", len(x))
    if isinstance(x, list):
        x[:] = [x[int(place)] for place in order] if not is_traced(order) else _listed(x, order)
    else:
        x[...] = np.take(x, order, axis)


def _listed(x: list[Any], order: Any) -> list[Any]:
    if not all(map(is_array_like, x)):
        raise RandomStateError(
            "a shuffle that depends on values can only be of numbers: shuffle the positions of the items, np.arange(n)",
            user_location(),
        )
    return list(np.stack(x)[order])
