"""`Marks`: a number for each line of the user's program, which links everything that it became in a page."""

from collections.abc import Iterable

from ...compiler.ir import Location
from ...compiler.text.printer import location_text
from .escaped import escaped


class Marks:
    """The lines in `locations`, numbered by file, then by line."""

    def __init__(self, locations: Iterable[Location]) -> None:
        found = {(location.file, location.line): location for location in locations}
        self.files: dict[str, dict[int, Location]] = {file: {} for file, _ in found}
        """The lines of each file, ascending, as they were when they were traced."""
        for (file, line), location in sorted(found.items(), key=lambda item: item[0]):
            self.files[file][line] = location
        ordered = [(file, line) for file, lines in self.files.items() for line in lines]
        self._numbers = {place: number for number, place in enumerate(ordered, 1)}
        self._by_text: dict[str, int] = {}
        for place, number in self._numbers.items():
            self._by_text.setdefault(location_text(found[place]), number)

    def number(self, location: Location | None) -> int | None:
        """The number of a line; None if it belongs to none."""
        return None if location is None else self._numbers.get((location.file, location.line))

    def number_of_text(self, text: str) -> int | None:
        """The number of the line in a comment of generated code: the first, if several are equal."""
        return self._by_text.get(text)

    def link(self, location: Location | None) -> str:
        """A link to a line of the source; ∂ marks the derivative of the line."""
        number = self.number(location)
        if location is None or number is None:
            return ""
        label = f"{file_name(location.file)}:{location.line}" if len(self.files) > 1 else f"{location.line}"
        derivative = "∂ " if location.is_derivative else ""
        return f"<a href=#l{number}>{derivative}{escaped(label)}</a>"


def file_name(path: str) -> str:
    """The last part of a path, of any system."""
    return path.replace("\\", "/").rpartition("/")[2]


def marked(*numbers: int | None) -> str:
    """The attribute of elements that belong to lines."""
    known = [str(number) for number in numbers if number is not None]
    if len(known) == 1:
        return f" data-l={known[0]}"
    return f' data-l="{" ".join(known)}"' if known else ""


def indented(line: str) -> str:
    """The attribute that indents a line like its text, so that continuation lines are indented, too."""
    wide = line.expandtabs(4)
    depth = len(wide) - len(wide.lstrip())
    return f" style=--d:{depth}" if depth else ""
