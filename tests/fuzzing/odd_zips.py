"""Zip files written by hand, so that each field can be wrong."""

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .mutation import TEXTS, Mutator

NAMES: Final = (
    *("graph.txt", "manifest.json", "consts/0.npy", "../graph.txt", "/graph.txt", "consts/", "GRAPH.TXT"),
    *("c:\\x.txt", "graph.txt\0.exe", "consts/../graph.txt", "a/b/c.txt", "con", "größe.txt", "x" * 60000),
)
ZIP64: Final = struct.pack("<HHQQQL", 1, 28, 2**62, 2**62, 2**62, 0)
TIMES: Final = struct.pack("<HHBL", 0x5455, 5, 1, 0)


@dataclass
class Entry:
    """A member, as its local header and the directory describe it."""

    name: bytes
    content: bytes
    """The compressed bytes."""
    directory: dict[str, int] = field(default_factory=dict[str, int])
    local: dict[str, int] = field(default_factory=dict[str, int])
    extra: bytes = b""
    local_extra: bytes = b""
    comment: bytes = b""
    behind: bytes = b""


_FIELDS: Final = {"version": 20, "flags": 0, "method": 0, "time": 0, "date": 33}
_LOCAL: Final = (*_FIELDS, "crc", "packed", "size", "name_length", "extra_length")
_DIRECTORY: Final = (*_LOCAL, "comment_length", "disk", "internal", "external", "offset")
_END: Final = ("disk", "first", "here", "count", "length", "start", "comment_length")


def entry_of(name: str, content: bytes, *, deflated: bool) -> Entry:
    """A correct member."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush() if deflated else content
    said = {
        "method": 8 if deflated else 0,
        "crc": zlib.crc32(content),
        "packed": len(packed),
        "size": len(content),
    }
    return Entry(name.encode("utf-8", "surrogatepass"), packed, dict(said), dict(said))


def zip_of(entries: list[Entry], end: Mapping[str, int], comment: bytes = b"", gap: bytes = b"") -> bytes:
    """The file."""
    body, directory = b"", b""
    for entry in entries:
        given = {"name_length": len(entry.name), "comment_length": len(entry.comment), "offset": len(body)}
        given |= _FIELDS | {"disk": 0, "internal": 0, "external": 0o644 << 16}
        local = given | {"extra_length": len(entry.local_extra)} | entry.local
        said = given | {"extra_length": len(entry.extra)} | entry.directory
        body += b"PK\3\4" + _packed("HHHHHLLLHH", local, _LOCAL) + entry.name + entry.local_extra
        body += entry.content + entry.behind
        directory += b"PK\1\2\x14\3" + _packed("HHHHHLLLHHHHHLL", said, _DIRECTORY)
        directory += entry.name + entry.extra + entry.comment
    body += gap
    given = {"disk": 0, "first": 0, "here": len(entries), "count": len(entries)}
    given |= {"length": len(directory), "start": len(body), "comment_length": len(comment)}
    return body + directory + b"PK\5\6" + _packed("HHHHLLH", {**given, **end}, _END) + comment


def _packed(code: str, given: Mapping[str, int], names: tuple[str, ...]) -> bytes:
    """Pack numbers by name, each truncated to its size. The code has a letter for each."""
    bits = {"H": 16, "L": 32}
    numbers = (given[name] % (1 << bits[letter]) for name, letter in zip(names, code, strict=True))
    return struct.pack(f"<{code}", *numbers)


def odd_zip(members: Mapping[str, bytes], mutator: Mutator) -> bytes:
    """The members in a file with one odd field, or a few."""
    draft = _Draft(members, mutator)
    for _ in range(mutator.random.choice((1, 1, 1, 2, 3))):
        mutator.random.choice(_WAYS)(draft, mutator.random.choice(draft.entries))
    return zip_of(draft.entries, draft.end, draft.comment, draft.gap)


class _Draft:
    """A zip file that is being written, and the possible errors in it."""

    def __init__(self, members: Mapping[str, bytes], mutator: Mutator) -> None:
        self.mutator, self.random = mutator, mutator.random
        self.entries = [
            entry_of(name, content, deflated=mutator.sometimes(0.5)) for name, content in members.items()
        ]
        self.end: dict[str, int] = {}
        self.comment = self.gap = b""

    def lie_in_directory(self, entry: Entry) -> None:
        entry.directory[self.random.choice(_DIRECTORY)] = self.mutator.number()

    def lie_in_front(self, entry: Entry) -> None:
        entry.local[self.random.choice(_LOCAL)] = self.mutator.number()

    def lie_twice(self, entry: Entry) -> None:
        name = self.random.choice(_LOCAL)
        entry.directory[name] = entry.local[name] = self.mutator.number()

    def lie_at_the_end(self, entry: Entry) -> None:
        self.end[self.random.choice(_END)] = self.mutator.number()

    def rename(self, entry: Entry) -> None:
        entry.name = self.random.choice((*NAMES, *TEXTS)).encode("utf-8", "surrogatepass")

    def repeat(self, entry: Entry) -> None:
        self.entries.insert(self.random.randrange(len(self.entries) + 1), entry)

    def overlap(self, entry: Entry) -> None:
        entry.directory["offset"] = self.random.randrange(4000)

    def be_a_link(self, entry: Entry) -> None:
        """A link, a folder or a device."""
        entry.directory["external"] = self.random.choice((0o120777, 0o040755, 0o060644)) << 16 | 0x10

    def be_huge(self, entry: Entry) -> None:
        """Sizes in fields of zip64."""
        entry.extra = self.random.choice((ZIP64, TIMES, ZIP64[:9], b"\1\0\xff\xff"))
        entry.directory[self.random.choice(("packed", "size", "offset"))] = 2**32 - 1

    def have_flags(self, entry: Entry) -> None:
        """Flags: encrypted, UTF-8, or followed by a descriptor."""
        flags = self.random.choice((1, 8, 0x800, 0x41, 0x2000))
        entry.directory["flags"] = entry.local["flags"] = flags
        said = (entry.local[name] % 2**32 for name in ("crc", "packed", "size"))
        entry.behind = struct.pack("<4L", 0x08074B50, *said)

    def comment_on_it(self, entry: Entry) -> None:
        self.comment = bytes(self.random.choice((1, 22, 65535)))
        entry.comment = bytes(self.random.choice((0, 9, 60000)))

    def leave_a_gap(self, entry: Entry) -> None:
        self.gap = self.random.randbytes(self.random.choice((1, 22, 100)))

    def hold_other_bytes(self, entry: Entry) -> None:
        entry.content = self.mutator.bytes(entry.content)
        if self.mutator.sometimes(0.5):
            entry.directory["packed"] = entry.local["packed"] = len(entry.content)

    def be_a_bomb(self, entry: Entry) -> None:
        zeros = entry_of("x", bytes(self.random.choice((10**5, 10**6))), deflated=True)
        entry.content = zeros.content
        entry.directory |= zeros.directory | {"size": self.random.choice((10**5, 99, 2**31, 2**32 - 1))}
        entry.local |= zeros.local


_WAYS: Final[tuple[Callable[[_Draft, Entry], None], ...]] = (
    *(_Draft.lie_in_directory, _Draft.lie_in_directory, _Draft.lie_in_front, _Draft.lie_in_front),
    *(_Draft.lie_twice, _Draft.lie_at_the_end, _Draft.rename, _Draft.repeat, _Draft.overlap),
    *(_Draft.be_a_link, _Draft.be_huge, _Draft.have_flags, _Draft.comment_on_it, _Draft.leave_a_gap),
    *(_Draft.hold_other_bytes, _Draft.be_a_bomb),
)
