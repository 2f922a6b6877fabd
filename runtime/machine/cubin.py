"""Reads a cubin's facts about its kernels: registers, memory, and the layout of their parameters.

A cubin is an ELF file. The numbers of its attributes are those shown by NVIDIA's binary tools.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ...compiler.errors import CubinError

_HEADER: Final = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_TEXT: Final = ".text."

_FLAGS: Final = 6
"""The index of the field in the header."""
_OLDEST: Final = 50
"""The first supported architecture."""

_SIZED: Final = 4
"""The format of attributes that contain their length; all others take four bytes."""
_THREADS, _FRAME, _PARAMETER, _REGISTERS = 0x10, 0x11, 0x17, 0x2F


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel of a cubin."""

    registers: int
    """Of a thread."""
    local_bytes: int
    """Memory of a thread outside registers: spilled values, and arrays."""
    shared_bytes: int
    """Memory of a block whose size is known at compile time."""
    threads: int
    """The number of threads of a block; 0 for any."""
    parameters: tuple[tuple[int, int], ...]
    """Offset and size of each, in order."""


def laid_out(sizes: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Offset and size of parameters with these sizes: each after the one before, aligned to its size.

    >>> laid_out([8, 4, 8])
    ((0, 8), (8, 4), (16, 8))
    """
    places: list[tuple[int, int]] = []
    end = 0
    for size in sizes:
        start = -(-end // size) * size
        places.append((start, size))
        end = start + size
    return tuple(places)


def kernels_in(cubin: bytes) -> Mapping[str, KernelFacts]:
    """The kernels of a cubin by name.

    Raises:
        CubinError: this is not a cubin, or it contradicts itself.
    """
    try:
        return _Elf(cubin).kernels()
    except (struct.error, IndexError, ValueError) as error:
        raise CubinError(f"these {len(cubin)} bytes cannot be read as a cubin: {error}") from error


def architecture_of(cubin: bytes) -> int:
    """The target of a cubin: 90 for sm_90. It is the lowest byte of the flags, or in a newer format the next one.

    Raises:
        CubinError: this is not a cubin.
    """
    if len(cubin) < _HEADER.size or cubin[:4] != b"\x7fELF":
        raise CubinError(f"these {len(cubin)} bytes cannot be read as a cubin: they are too few")
    flags: int = _HEADER.unpack_from(cubin)[_FLAGS]
    lowest = flags & 0xFF
    return lowest if lowest >= _OLDEST else flags >> 8 & 0xFF


@dataclass(frozen=True, slots=True)
class _Section:
    offset: int
    size: int
    link: int
    info: int


class _Elf:
    """The relevant parts of a 64-bit ELF file. All offsets are checked against the size of the file."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        if content[:4] != b"\x7fELF" or content[4] != 2:
            raise ValueError("they do not begin as a 64-bit ELF file does")
        *_, start, _, _, _, _, size, count, names = _HEADER.unpack_from(content)
        if size != _SECTION.size or start + size * count > len(content) or names >= count:
            raise ValueError("the table of sections is out of bounds")
        found: list[tuple[int, _Section]] = []
        for number in range(count):
            name, _, _, _, offset, length, link, info, _, _ = _SECTION.unpack_from(
                content, start + size * number
            )
            found.append((name, _Section(offset, length, link, info)))
        self.sections = [section for _, section in found]
        table = self.sections[names]
        self.named = {self.text(table, name): section for name, section in found}

    def text(self, table: _Section, place: int) -> str:
        """A string of a table of strings."""
        start, end = table.offset + place, table.offset + table.size
        if not table.offset <= start < end <= len(self.content):
            raise ValueError("a name is outside of its table")
        return self.content[start : self.content.index(b"\0", start, end)].decode("ascii")

    def attributes(self, name: str) -> Iterator[tuple[int, bytes]]:
        """The attributes in a section: their numbers and their bytes."""
        section = self.named.get(name)
        if section is None:
            return
        place, end = section.offset, section.offset + section.size
        if end > len(self.content):
            raise ValueError("a section ends outside")
        while place < end:
            form, attribute, length = struct.unpack_from("<BBH", self.content, place)
            place += 4
            if form == _SIZED:
                yield attribute, self.content[place : min(place + length, end)]
                place += length

    def symbols(self) -> list[str]:
        section = self.named.get(".symtab")
        if section is None:
            return []
        count = min(section.size, len(self.content)) // _SYMBOL.size
        places = (section.offset + number * _SYMBOL.size for number in range(count))
        return [
            self.text(self.sections[section.link], _SYMBOL.unpack_from(self.content, at)[0]) for at in places
        ]

    def kernels(self) -> Mapping[str, KernelFacts]:
        symbols = self.symbols()
        whole: dict[tuple[str, int], int] = {}
        for attribute, value in self.attributes(".nv.info"):
            if len(value) == 8:
                symbol, number = struct.unpack("<II", value)
                if symbol < len(symbols):
                    whole[symbols[symbol], attribute] = number
        names = [name.removeprefix(_TEXT) for name in self.named if name.startswith(_TEXT)]
        return {name: self.kernel(name, whole) for name in names}

    def kernel(self, name: str, whole: Mapping[tuple[str, int], int]) -> KernelFacts:
        threads, parameters = 0, list[tuple[int, int, int]]()
        for attribute, value in self.attributes(f".nv.info.{name}"):
            if attribute == _THREADS:
                x, y, z = struct.unpack_from("<III", value)
                threads = x * y * z
            elif attribute == _PARAMETER:
                _, number, offset, packed = struct.unpack_from("<IHHI", value)
                parameters.append((number, offset, packed >> 18))
        shared = self.named.get(f".nv.shared.{name}")
        return KernelFacts(
            registers=whole.get((name, _REGISTERS), self.named[_TEXT + name].info >> 24),
            local_bytes=whole.get((name, _FRAME), 0),
            shared_bytes=shared.size if shared else 0,
            threads=threads,
            parameters=tuple((offset, size) for _, offset, size in sorted(parameters)),
        )
