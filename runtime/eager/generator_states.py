"""The states of random generators: as numbers, of which draws are a pure function, and to be restored."""

import pickle
import random
import sys
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


# ---- restoring states ---------------------------------------------------------------------------------


def state_of(generator: Any) -> bytes:
    """The state of a generator, or of bits, that can be compared and restored."""
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, np.random.RandomState):
        return pickle.dumps(generator.get_state())
    bits = getattr(generator, "bit_generator", generator)
    return pickle.dumps((bits.state, getattr(bits.seed_seq, "n_children_spawned", 0)))


def restore(generator: Any, state: bytes) -> bool:
    """Restore a state. False if that is impossible, because the generator has spawned others."""
    found = pickle.loads(state)
    if isinstance(generator, random.Random):
        generator.setstate(found)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(found)
    else:
        getattr(generator, "bit_generator", generator).state = found[0]
    return state_of(generator) == state


class DrawnFrom:
    """The generators from which a call has drawn, with the states that they had before."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[Any, bytes]] = {}

    def note(self, generator: Any) -> None:
        """Note a generator that is about to draw."""
        if id(generator) not in self._before:
            self._before[id(generator)] = generator, state_of(generator)

    def restore(self) -> bool:
        """Restore all states. False if that is impossible for some."""
        restored = [restore(generator, state) for generator, state in self._before.values()]
        return all(restored)


def generator_of(method: Any) -> Any:
    """The generator whose method or function of `np.random` this is, if it draws; else None."""
    owner = getattr(method, "__self__", None)
    if isinstance(owner, random.Random):
        return owner
    if "numpy.random" not in sys.modules:
        return None
    return owner if isinstance(owner, np.random.Generator | np.random.RandomState) else None
