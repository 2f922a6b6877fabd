"""Loads in the loop of a product with named sizes: without masks for rows and columns, through moving pointers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .....affine import Affine, Variable, is_unit
from .....loops.nest import Load
from ...kernels.assumed import aligned_to
from ...kernels.elements import INDENT, ROW
from ...kernels.writer import Writer
from .product import WIDE


@dataclass(slots=True)
class Reads:
    """The lines before the loop of a function, and those at the end of each of its iterations."""

    writer: Writer
    depth: int
    """The number of products added in each iteration."""
    ahead: list[str] = field(default_factory=list[str])
    moves: list[str] = field(default_factory=list[str])

    def inside(self, variable: Variable, loads: Sequence[Load]) -> Variable:
        """A variable for values that run beyond its range, with others of that range instead.

        The results for these values are never stored, and the loads need no mask in each iteration. As many elements
        as are loaded at once stay adjacent. If rows are contiguous but that is not known, the compiler would mistake
        columns for the contiguous direction; and it knows nothing about quotients of selected values. In these cases
        it is the variable itself, with its mask.
        """
        writer = self.writer
        if variable not in writer.masks:
            return variable
        name, limit = writer.name_of(variable), writer.numbers.text(variable.extent)
        together, text = aligned_to(variable.extent), f"tl.minimum({name}, {limit} - 1)"
        for load in loads:
            factor, is_wide = load.place.factor(variable), together * load.dtype.itemsize >= WIDE
            if (factor is None and is_wide) or (is_unit(factor) and not is_wide and ROW in writer.axes[name]):
                return variable
            if is_unit(factor) and together > 1:
                text = f"tl.where({writer.masks[variable]}, {name}, {name} % {together})"
        inside = Variable(writer.claim(f"{name}_inside"), variable.low, variable.high)
        writer.names_of[inside], writer.axes[inside.name] = inside.name, writer.axes[name]
        self.line(f"{inside.name} = {text}")
        return inside

    def move(self, load: Load, k: Variable, first: str) -> None:
        """Use a moving pointer for a load, given the values of `k` in the first iteration.

        This is for offsets that are the sum of a multiple of `k` and of values known before the loop.
        """
        writer, step = self.writer, load.place.factor(k)
        is_ahead = all(variable in writer.names_of for variable in load.place.variables - {k})
        if step is None or k not in load.place.variables or not is_ahead:
            return
        if (load.buffer.name, load.place) in writer.pointers:
            return
        place = load.place.at(k, Affine(0, ((Variable(first, k.low, k.high), 1),)))
        name = writer.claim(f"{load.buffer.name}_at")
        self.line(f"{name} = {writer.pointer(load.buffer, place)}")
        self.moves.append(f"{name} += {writer.numbers.text(step * self.depth)}")
        writer.pointers[load.buffer.name, load.place] = name

    def line(self, text: str) -> None:
        """A line before the loop."""
        self.ahead.append(f"{INDENT * (self.writer.depth - 1)}{text}")
