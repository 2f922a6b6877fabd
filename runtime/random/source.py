"""`Source`: the random numbers of a distribution: each draw takes the next part of a generator's stream."""

from math import prod
from typing import Any

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ArgumentValueError, RandomnessError
from ...compiler.locks import reentrant_lock
from ...compiler.symbolic_size import SymbolicSize, is_known
from ...compiler.tracing.outside.adoption import adopt
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..eager.mapped_axes import mapped_axes, update_in_step
from .arguments import as_array
from .stream import Size, Stream, bits_of, blocks

_taking = reentrant_lock()
"""Two threads that draw from one generator outside a trace get different numbers."""


def written(state: Any) -> Any:
    """A generator's key or counter before a write to it in a trace. It is from outside the trace, as the generator is,
    which is not searched for arrays."""
    return adopt(state) if is_numpy_array(state) and current_trace() is not None else as_array(state)


class Source:
    """The state of a generator, and the method that draws from it."""

    def __init__(self, method: str, key: Any, counter: Any) -> None:
        self.method = method
        self._key, self._counter = key, counter
        self._index = _index(method)

    def stream(self, taken: int) -> Stream:
        """The stream at the counter, which advances by this many blocks."""
        if is_traced(self._counter) or current_trace() is not None:
            update_in_step(self._counter)
            counter = written(self._counter)
            start = +counter
            counter += taken.as_number() if isinstance(taken, SymbolicSize) else np.uint64(taken)
        else:
            blocks_taken = np.uint64(taken)
            with _taking:  # no calls between these steps: a signal handler could draw there
                start = self._counter[()]
                self._counter += blocks_taken
        return Stream(as_array(self._key), start, self._index)

    def attempts(self, shape: Size, dtype: Any, numbers: int) -> Stream:
        """The stream for rejection samplers: this many numbers of random bits per element, in each attempt."""
        return self.stream(blocks(numbers * prod(shape), bits_of(dtype)))

    def bits(self, shape: Size, dtype: Any) -> Any:
        """Random bits: u32 or u64."""
        return self.stream(blocks(prod(shape), dtype)).bits(shape, dtype)

    def uniform(self, shape: Size, dtype: Any) -> Any:
        """Multiples of 2⁻⁵³, or of 2⁻²⁴ for float32, in [0, 1)."""
        return self.attempts(shape, dtype, 1).uniform(shape, dtype)

    def between(self, shape: Size, dtype: Any) -> Any:
        """The midpoints of 2⁵² intervals, or of 2²³ for float32: in (0, 1), symmetric about 1/2."""
        return self.attempts(shape, dtype, 1).between(shape, dtype)


def _index(method: str) -> Any:
    """The index of the example of a draw, from 1; 0 if all examples draw the same."""
    axes = mapped_axes()
    for axis in axes:
        if axis.randomness == "error":
            raise RandomnessError(
                f"{method}: a random draw inside {axis.where}: is it one for all examples, or one for each? Say "
                'randomness="same", or randomness="different"',
                user_location(),
            )
    different = [axis for axis in axes if axis.randomness == "different"]
    if not different:
        return 0
    if is_known(prod(axis.size for axis in different) >= 2**32):
        raise ArgumentValueError(f"{method}: at most 2³² - 1 examples have random numbers of their own")
    number: Any = 0
    for axis in different:
        number = number * axis.size + axis.index
    return number + 1
