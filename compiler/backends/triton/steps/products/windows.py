"""The windows of a convolution as the columns of a matrix, which is never stored."""

import math
from dataclasses import dataclass

from .....affine import Affine, flattened, same, unflattened
from .....ir import Call, Shape
from .....loops.nest import Buffer, Load
from .....op import Between, Condition, Multiple
from .....ops.nn.convolution import LEAD, dilated
from .....params import ints_param, pairs_param
from .....symbolic_size import SymbolicSize, is_one


@dataclass(frozen=True, slots=True)
class Windows:
    """The matrices ``[groups, channels · taps, examples · places]`` of the entries that each window of a signal has."""

    call: Call
    number: int
    """Which input of the kernel is the signal."""

    @property
    def shape(self) -> Shape:
        """Groups, channels, taps, examples, places."""
        (x, w), (out,) = self.call.inputs, self.call.outputs
        return (x.shape[0], *w.shape[2:], x.shape[1], *out.shape[LEAD:])

    @property
    def are_points(self) -> bool:
        """Whether each window is one position of the signal, in the order of these."""
        taps = self.call.inputs[1].shape[LEAD:]
        steps = (*ints_param(self.call, "strides"), *ints_param(self.call, "input_dilation"), *taps)
        return all(is_one(step) for step in steps) and all(
            same(pad, 0) for pads in pairs_param(self.call, "padding") for pad in pads
        )

    def entry(self, place: Affine, signal: Buffer) -> tuple[Load, tuple[Condition, ...]]:
        """The entry at a position in row-major order, and the conditions without which it is a zero of the padding."""
        shape = self.call.inputs[0].shape
        if self.are_points and isinstance(points := math.prod(shape[LEAD:]), SymbolicSize):
            groups, examples, channels = shape[:LEAD]
            group, channel, example, point = unflattened(place, (groups, channels, examples, points))
            return Load(signal, flattened((group, example, channel, point), (*shape[:LEAD], points))), ()
        lengths = shape[LEAD:]
        group, channel, *others = unflattened(place, self.shape)
        taps, example, places = others[: len(lengths)], others[len(lengths)], others[len(lengths) + 1 :]
        conditions: list[Condition] = []
        index = [group, example, channel]
        padding = pairs_param(self.call, "padding")
        strides, apart_by, taps_apart = (
            ints_param(self.call, name) for name in ("strides", "input_dilation", "kernel_dilation")
        )
        for axis, (tap, at, length) in enumerate(zip(taps, places, lengths, strict=True)):
            low, _ = padding[axis]
            apart, size = apart_by[axis], dilated(length, apart_by[axis])
            entry = at * strides[axis] + tap * taps_apart[axis] - low
            if not entry.is_below(size):
                conditions.append(Between(entry, 0, size))
            if apart > 1:
                conditions.append(Multiple(entry, apart))
            index.append(entry // apart)
        return Load(signal, flattened(index, shape)), tuple(conditions)
