"""The state of a NumPy generator as numbers, and draws as a pure function of it."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.dtypes import Array

_LOW = 2**64 - 1
_scratch = threading.local()
"""Holds, as `made`, the generators of a thread whose state is set before drawing."""


def numbers_of(generator: Any) -> Array:
    """The state of a generator: words of 64 bits."""
    return np.array([word for leaf in _leaves(_state(generator)) for word in _words(leaf)], np.uint64)


def set_numbers(generator: Any, numbers: Array) -> None:
    """Set a generator to the state given by numbers of its kind."""
    words = iter(numbers.tolist())
    filled = _filled(_state(generator), words)
    if isinstance(generator, np.random.RandomState):
        generator.set_state(filled)
    else:
        generator.bit_generator.state = filled


@dataclass(frozen=True, repr=False)
class Draw:
    """A call of a method of a generator: from its state and arrays to the drawn numbers and the new state.

    States and arrays may be those of a batch: then each has additional leading axes.
    """

    kind: tuple[type, type]
    """The classes of the generator and of its bit generator."""
    method: str
    call: Callable[..., Any]
    """Calls the method, which it receives with the arrays."""
    ranks: tuple[int, ...]
    """The number of axes of each array for one draw."""

    def __repr__(self) -> str:
        return self.method

    def __call__(self, state: Array, *arrays: Array) -> tuple[Array, Array]:
        lead = state.shape[:-1]
        states, drawn = np.empty(state.shape, np.uint64), []
        for place in np.ndindex(*lead):
            given = [x[place].copy() for x in arrays]
            found, states[place] = self.once(state[place], *given)
            drawn.append(np.asarray(found))
        return states, np.stack(drawn).reshape(lead + drawn[0].shape)

    def once(self, state: Array, *arrays: Any) -> tuple[Any, Array]:
        """The result of one draw, as from NumPy, and the new state."""
        generator = _scratch_generator(self.kind)
        set_numbers(generator, state)
        found = self.call(getattr(generator, self.method), *arrays)
        return found, numbers_of(generator)


def kind_of(generator: Any) -> tuple[type, type]:
    bits = getattr(generator, "bit_generator", None) or generator._bit_generator
    return type(generator), type(bits)


def _scratch_generator(kind: tuple[type, type]) -> Any:
    made: dict[Any, Any] = vars(_scratch).setdefault("made", {})
    if kind not in made:
        own, bits = kind
        made[kind] = own(bits(0))
    return made[kind]


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, dict):
        for one in state.values():
            yield from _leaves(one)
    else:
        yield state


def _words(leaf: Any) -> list[int]:
    if isinstance(leaf, str):
        return []
    if isinstance(leaf, np.ndarray):
        return [int(word) for word in leaf]
    if isinstance(leaf, float):
        return [int(np.float64(leaf).view(np.uint64))]
    return [leaf & _LOW, leaf >> 64]


def _filled(template: Any, words: Iterator[int]) -> Any:
    if isinstance(template, dict):
        return {name: _filled(one, words) for name, one in template.items()}
    if isinstance(template, str):
        return template
    if isinstance(template, np.ndarray):
        return np.array([next(words) for _ in template], template.dtype)
    if isinstance(template, float):
        return float(np.uint64(next(words)).view(np.float64))
    low, high = next(words), next(words)
    return low | high << 64
