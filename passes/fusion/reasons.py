"""Why a call and a call that uses its result are not in the same kernel."""

from dataclasses import dataclass, field
from enum import Enum

from ...compiler.ir import Call, Value


class Reason(Enum):
    """The set is closed: every decision against fusing two calls has one of these reasons. The text says what the
    number counts."""

    LIBRARY_CALL = "one of the two is not a loop: {0} bytes are handed over"
    """How many bytes. Matrix products, LAPACK, FFT, sorting, control flow and calls with effects are not loops."""
    RECOMPUTED = "its result would be computed {0} times instead of once"
    """How often each element would be computed, if the consumer recomputed it for each of its own elements."""
    SERIAL = "it would leave {0} parallel iterations of a large loop"
    """How many outer iterations there would be; the inner loops are too large for one thread."""
    STRIDED = "it sums over axes that are not the last: its loops are of another order, over {0} elements"
    """The number of elements that the reduction combines."""
    NOT_ALIGNED = "its result is needed outside too, and not by the same outer index: {0} elements"
    """How many elements would have to be stored in an order other than that in which they are computed."""
    STORED = "its result is stored for others anyway: reading it again costs {0} bytes"
    """How many bytes are read instead of computed."""
    MORE_BYTES = "computing it in every consumer would read {0} bytes more than storing it"
    """How many calls."""
    COSTLY = "computing it in every consumer would take {0} ns more than storing it"
    """How many nanoseconds."""
    MEMORY = "what it is computed from would stay in memory for longer: {0} bytes more than its result"
    """How many bytes stay in memory while a library call runs in between."""
    STAGES = "{0} sums, each depending on the one before, would run one after another in one kernel"
    """How many sums. Each recomputes what those before it do."""
    OVERWRITTEN = "what it reads is overwritten by then: {0} bytes are stored before"
    """The bytes of its result."""
    NOT_BY_TILES = (
        "a product is computed in tiles, and this is not made of its elements one by one: {0} elements"
    )
    """How many elements are computed from it."""
    TWO_PRODUCTS = "the kernel computes another product: {0} bytes are handed over"
    """The bytes of the product."""
    TOO_LARGE = "the kernel would have {0} statements"
    """How many. A call has one for each index with which an element of its result is read."""
    REGISTERS = "the kernel would need {0} registers for numbers that are used later"
    """How many registers, of four bytes, for each element."""
    NUMBERS = "single numbers are computed faster without a kernel: {0} operations"
    """How many additions take as long as all connected calls."""
    CHOSEN = (
        "a maximum or a comparison needs every copy of it equal to the bit: {0} elements are computed once"
    )
    """How many elements the result has."""
    VIEW = "it is a view, which costs nothing where it is: {0} elements"
    """How many elements the view has."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason with its number."""

    reason: Reason
    number: float

    def __str__(self) -> str:
        return self.reason.value.format(_shown(self.number))


def _shown(number: float) -> str:
    """An integer from a thousand on; otherwise four digits."""
    return f"{round(number):_}" if abs(number) >= 1000 else f"{number:.4g}"


@dataclass(frozen=True, slots=True)
class NotFused:
    """Two calls, named by their results, that are not in the same kernel although one uses the other."""

    producer: str
    consumer: str
    reason: Reason
    number: float
    value: Value = field(compare=False, repr=False)
    """The value that is passed."""
    user: Call = field(compare=False, repr=False)
    """The call that uses it."""

    def __str__(self) -> str:
        text = Refusal(self.reason, self.number)
        return f"{self.producer} → {self.consumer}: {self.reason.name.lower()}: {text}"
