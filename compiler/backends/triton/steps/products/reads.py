"""What the loop of a product reads where sizes are named: without masks for rows and columns, by pointers that move."""

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
    """The lines ahead of the loop of a function, and those at the end of each of its turns."""

    writer: Writer
    depth: int
    """So many products are added up in each turn."""
    ahead: list[str] = field(default_factory=list[str])
    moves: list[str] = field(default_factory=list[str])

    def inside(self, variable: Variable, loads: Sequence[Load]) -> Variable:
        """A variable for the values of one that runs beyond its range, with others of that range instead of those.

        What is read for them is never stored, and reading needs no mask in each turn. As many elements as are loaded
        at once stay neighbours. Where that is not known of rows that are, the compiler would take a column for what
        lies in memory, and not a row, and of quotients of what is chosen it knows nothing: then it is the variable
        itself, and has its mask.
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
        """Let what is loaded have a pointer that moves, given the values of `k` in the first turn.

        That is for places that are a sum of a multiple of `k` and of what is known ahead of the loop.
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
        """A line ahead of the loop."""
        self.ahead.append(f"{INDENT * (self.writer.depth - 1)}{text}")
