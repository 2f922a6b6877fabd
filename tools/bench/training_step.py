"""The cost of a training step, compiled and written by hand."""

from collections.abc import Iterator
from functools import partial

from ...runtime.compilation.compile import compile
from ...runtime.derivatives.grad import value_and_grad
from ..demo.digit_network import initial_parameters, loss, loss_and_gradients_by_hand, targets_of
from ..demo.digits import load_digits
from .timing import Measurement, seconds_in_turn

BATCHES = (64, 1024)
CALLS = 20
ABOUT: str = "Loss and gradients of the demo's network, f32: made by Tracemill, and NumPy by hand"


def measure(rounds: int) -> Iterator[Measurement]:
    """The loss and gradients of the demo's network, per batch size: compiled, by hand, and their ratio."""
    digits = load_digits()
    parameters = initial_parameters(0)
    for batch in BATCHES:
        rows = digits.train[:batch]
        args = (parameters, digits.images[rows], targets_of(digits.labels[rows]))
        pair = (partial(compile(value_and_grad(loss)), *args), partial(loss_and_gradients_by_hand, *args))
        compiled, by_hand = seconds_in_turn(pair, rounds=rounds, calls=CALLS)
        yield Measurement("step", f"batch {batch}, compiled", 1e6 * compiled, "µs")
        yield Measurement("step", f"batch {batch}, by hand", 1e6 * by_hand, "µs")
        yield Measurement("step", f"batch {batch}, ratio", compiled / by_hand, "×", "less is faster")
