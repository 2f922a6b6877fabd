"""Reads lock files: nothing in them is executed, and an error names its line."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from ...compiler.backends.triton.choice import Choice, choice_of
from ...compiler.backends.triton.kernels.kernel_key import DIGITS, key_of_text
from ...compiler.errors import ArgumentValueError, LockFileError
from ...compiler.errors.tracemill_error import text_of
from ...compiler.nesting import shown
from .lock_entry import Entries, LockEntry, Measured
from .lock_text import FORMAT

LARGEST: Final = 1 << 26
"""Maximum bytes of a file."""

_DEEPEST: Final = 16
_LONGEST_INT: Final = 64
"""Bits of a TOML integer."""

_TARGET: Final = re.compile(r"sm_\d{2,3}|gfx[0-9a-f]{3,4}")
_KEY: Final = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
_NAME: Final = re.compile(r"[\w-]+")
_LINE: Final = re.compile(r"at line (\d+)")


def entries_in(content: bytes, path: Path) -> Entries:
    """The entries of a lock file with this content.

    Raises:
        LockFileError: it does not say what it should.
    """
    return _Reader(path, content).entries()


class _Reader:
    """A file, and the lines of its entries."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content
        self.headers: dict[str, int] = {}
        """The lines of targets, and of their entries."""
        for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
            for name in (" ".join(_NAME.findall(line)[:2]), *_NAME.findall(line)[:1]):
                self.headers.setdefault(name, number)

    def entries(self) -> Entries:
        if len(self.content) > LARGEST:
            self.refuse(1, f"it has {len(self.content)} bytes, more than {LARGEST}: that is not a lock file")
        try:
            document = tomllib.loads(self.content.decode())
        except UnicodeDecodeError as error:
            self.refuse(self.content[: error.start].count(b"\n") + 1, "this is not UTF-8")
        except tomllib.TOMLDecodeError as error:
            at = _LINE.search(str(error))
            line = int(at[1]) if at else self.content.count(b"\n") + 1
            self.refuse(line, f"this is not TOML: {error}")
        except RecursionError:
            self.refuse(1, "its values are nested too deeply")
        except ValueError as error:
            self.refuse(1, f"a number in it cannot be read: {error}")
        if problem := _problem_of(document):
            self.refuse(1, problem)
        found = document.pop("format", None)
        if found != FORMAT or isinstance(found, bool):
            self.refuse(
                self.headers.get("format", 1),
                f"the format is {found!r}, and this version of Tracemill reads format = {FORMAT}",
            )
        return dict(self._entries(document))

    def _entries(self, document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], LockEntry]]:
        for target, kernels in document.items():
            if not _TARGET.fullmatch(target) or not isinstance(kernels, dict):
                self.refuse(
                    self.headers.get(target, 1),
                    f"{target!r} is not a target, such as sm_90 or gfx942, with entries [sm_90.KEY]",
                )
            for key, fields in kernels.items():
                yield (target, key), self._entry(target, key, fields)

    def _entry(self, target: str, key: str, fields: Any) -> LockEntry:
        line = self.headers.get(f"{target} {key}", self.headers.get(target, 1))
        if not _KEY.fullmatch(key):
            self.refuse(line, f"{key!r} is not a key: it has {DIGITS} hexadecimal digits")
        entry = _Table(self, line, f"the entry of {key}", fields)
        graph = entry.take("graph", str).removesuffix("\n")
        fast_math = entry.take("fast_math", bool) if "fast_math" in entry.fields else False
        own = key_of_text(graph, fast_math=fast_math)
        if own != key:
            self.refuse(line, f"the graph is not that of its key: its own is {own}")
        made = LockEntry(
            target,
            key,
            entry.choice("choice"),
            tuple(self._measured(line, x) for x in entry.take("measured", list)),
            entry.take("device", str),
            entry.texts("versions"),
            graph,
            fast_math,
            line,
        )
        entry.end()
        return made

    def _measured(self, line: int, fields: Any) -> Measured:
        table = _Table(self, line, "what is measured", fields)
        milliseconds = table.fields.pop("milliseconds", None)
        refused = table.fields.pop("refused", None)
        is_number = isinstance(milliseconds, float | int) and not isinstance(milliseconds, bool)
        is_time = is_number and 0 <= milliseconds < math.inf
        if not (is_time and refused is None) and not (milliseconds is None and isinstance(refused, str)):
            self.refuse(line, "what is measured has either milliseconds or a text why it is refused")
        return Measured(table.as_choice(), None if milliseconds is None else float(milliseconds), refused)

    def refuse(self, line: int, why: str) -> NoReturn:
        raise LockFileError(
            f"{self.path}:{line}: {why}. Delete this entry, and its kernel is tuned again; or take the file from your"
            " version control"
        )


@dataclass(slots=True)
class _Table:
    """The fields of a table that have not been read yet."""

    reader: _Reader
    line: int
    what: str
    given: Any
    fields: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.given, dict):
            self.reader.refuse(self.line, f"{self.what} is {shown(self.given)}, and should be a table")
        self.fields = dict(self.given)

    def take(self, name: str, wanted: type) -> Any:
        if name not in self.fields:
            self.reader.refuse(self.line, f"{self.what} has no {name}")
        found = self.fields.pop(name)
        if not isinstance(found, wanted):
            self.reader.refuse(
                self.line, f"{name} of {self.what} is {shown(found)}, and should be {_KINDS[wanted]}"
            )
        return found

    def texts(self, name: str) -> dict[str, str]:
        """A table of strings."""
        table = _Table(self.reader, self.line, f"{name} of {self.what}", self.take(name, dict))
        return {key: table.take(key, str) for key in tuple(table.fields)}

    def choice(self, name: str) -> Choice:
        return _Table(self.reader, self.line, f"{name} of {self.what}", self.take(name, dict)).as_choice()

    def as_choice(self) -> Choice:
        try:
            return choice_of(self.fields)
        except ArgumentValueError as error:
            self.reader.refuse(self.line, f"{self.what}: {text_of(error)}")

    def end(self) -> None:
        if self.fields:
            self.reader.refuse(self.line, f"{self.what} has {min(self.fields)!r}, which is unknown")


def _problem_of(document: Any) -> str | None:
    """Values that no entry has, and that could not even be shown: numbers of many digits, and deeply nested values."""
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        level = [
            part
            for outer in level
            if isinstance(outer, dict | list)
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if any(isinstance(part, int) and part.bit_length() > _LONGEST_INT for part in level):
            return f"it has a whole number of more than {_LONGEST_INT} bits"
    return f"its values are nested more than {_DEEPEST} deep" if level else None


_KINDS: Final[Mapping[type, str]] = {
    bool: "true or false",
    str: "a text",
    list: "a list",
    dict: "a table",
}
