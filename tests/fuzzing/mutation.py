"""`Mutator`: small random changes of bytes, texts and JSON documents, which the random numbers determine."""

import re
import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

DEEP: Final = "@deep"
"""Marks a text in a document that becomes deeply nested brackets in its JSON. Documents here cannot nest that
deeply."""

CODE: Final = "__import__('os').system('exit 1')"
SIZES: Final = (0, 1, 2, 3, 7, 64, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32)
HUGE: Final = (2**47, 2**48 - 1, 2**48, 2**53 + 1, 2**56, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**19, 10**300)
NUMBERS: Final = (*SIZES, *HUGE)
TEXTS: Final = ("", "x", "é", "ｎｐ", "\ud800", "\0", "../x.txt", "/etc/passwd", CODE, "a" * 300, "λ" * 300)
ODD: Final[tuple[Any, ...]] = (
    *NUMBERS,
    *(-x for x in NUMBERS if x),
    *TEXTS,
    *("class", "np", "*/", '"""', "\\", "\n", "\u202e", "sha256:", "f32", "array", "1e999", DEEP),
    *(None, True, False, float("nan"), float("inf"), -0.0, 1e308, 0.5, 1.0),
    *([], {}, [[]], [None], {"": None}, [0] * 70, {"leaf": "array"}, {"int": "1"}, {"tuple": []}),
)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|->|-?[0-9][0-9.e+-]*|\n *|.', re.DOTALL)


class Mutator:
    """Changes inputs at random places."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def sometimes(self, share: float) -> bool:
        return self.random.random() < share

    def number(self) -> int:
        """A number near a limit."""
        return self.random.choice(NUMBERS) + self.random.choice((0, 0, 0, 1, -1))

    def bytes(self, content: bytes) -> bytes:
        """Make one change, or a few."""
        changed = bytearray(content)
        for _ in range(self.random.choice((1, 1, 1, 2, 4, 16))):
            self._bytes(changed)
        return bytes(changed)

    def _bytes(self, content: bytearray) -> None:
        at = self.random.randrange(len(content) + 1)
        length = self.random.choice((1, 1, 2, 4, 8, 30, 200))
        match self.random.randrange(8):
            case 0 if at < len(content):
                content[at] ^= 1 << self.random.randrange(8)
            case 1 if at < len(content):
                content[at] = self.random.randrange(256)
            case 2:
                del content[at : at + length]
            case 3:
                content[at:at] = content[at : at + length]
            case 4:
                content[at:at] = self.random.randbytes(length)
            case 5:
                del content[at:]
            case 6:
                size, code = self.random.choice(((2, "<H"), (4, "<L"), (8, "<Q")))
                content[at : at + size] = struct.pack(code, self.number() % (1 << 8 * size))
            case _:
                other = self.random.randrange(len(content) + 1)
                content[at : at + length] = content[other : other + length]

    def text(self, text: str, words: Sequence[str] = ()) -> str:
        """Change, move or remove a few tokens or lines of a text."""
        tokens = _TOKEN.findall(self.everywhere(text) if self.sometimes(0.2) else text)
        if self.sometimes(0.1):
            return "".join(tokens)
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 6))):
            if not tokens:
                break
            self._tokens(tokens, words)
        changed = "".join(tokens)
        if self.sometimes(0.05):
            at = self.random.randrange(len(changed) + 1)
            changed = changed[:at] + self.random.choice(TEXTS) + changed[at:]
        return changed

    def everywhere(self, text: str) -> str:
        """Replace a number, type or name everywhere in a text, so that it may still be valid."""
        found = re.findall(r"\[[0-9, ]*\]|\b[0-9]+\b|\b[a-z_0-9]+\b", text)
        if not found:
            return text
        old = self.random.choice(found)
        dims = self.random.choice(
            (("2",) * 40, ("1",) * 64, (str(2**47),), ("0", str(2**47)), ("3", "3", "3"), ())
        )
        new = f"[{', '.join(dims)}]" if old[0] == "[" else self.random.choice((str(self.number()), *found))
        return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)

    def _tokens(self, tokens: list[str], words: Sequence[str]) -> None:
        at = self.random.randrange(len(tokens))
        match self.random.randrange(9):
            case 0 | 1:
                same = [i for i, x in enumerate(tokens) if x.lstrip("-")[:1].isdigit()]
                if same:
                    tokens[self.random.choice(same)] = self._number_text()
            case 2 | 3:
                tokens[at] = self.random.choice(tokens)
            case 4 if words:
                tokens[at] = self.random.choice(words)
            case 5:
                del tokens[at : at + self.random.choice((1, 1, 2, 5, 20))]
            case 6:
                other = self.random.randrange(len(tokens))
                tokens[at:at] = tokens[other : other + self.random.choice((1, 2, 5, 20))]
            case 7:
                name = self.random.choice([x for x in tokens if x[:1].isalpha()] or ["x"])
                if tokens[at][:1].isalpha():
                    tokens[at] = name
            case _:
                depth = self.random.choice((3, 33, 40, 500, 20000))
                bracket = self.random.choice("([")
                tokens[at] = bracket * depth + tokens[at] + {"(": ")", "[": "]"}[bracket] * depth

    def _number_text(self) -> str:
        kinds: tuple[Callable[[], str], ...] = (
            lambda: str(self.number()),
            lambda: str(self.random.randrange(-3, 9)),
            lambda: f"-{self.number()}",
            lambda: self.random.choice(
                ("1e999999999", "1e-400", "0x7f", "0.5", "inf", "nan", "True", "None")
            ),
            lambda: "9" * self.random.choice((50, 309, 399, 401, 5000, 70000)),
        )
        return self.random.choices(kinds, (8, 8, 2, 2, 1))[0]()

    def document(self, document: Any) -> Any:
        """A copy of a JSON document with a few parts changed."""
        changed = _copied(document)
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            changed = self._document(changed)
        return changed

    def _document(self, document: Any) -> Any:
        places = list(_places(document))
        if not places or self.sometimes(0.01):
            return self.random.choice(ODD)
        inside, key = self.random.choice(places)
        other, name = self.random.choice(places)
        match self.random.randrange(8):
            case 0 | 1 | 2:
                inside[key] = self._like(inside[key])
            case 3:
                inside[key] = _copied(self.random.choice(ODD))
            case 4:
                inside[key] = _copied(other[name])
            case 5:
                del inside[key]
            case 6 if isinstance(inside, list):
                inside.insert(key, _copied(other[name]))
            case 6:
                inside[self.random.choice(TEXTS) if self.sometimes(0.5) else str(name)] = inside.pop(key)
            case _:
                inside[key] = self.random.choice(
                    ([inside[key]], {"tuple": [inside[key]]}, {"list": [inside[key]]})
                )
        return document

    def _like(self, found: Any) -> Any:
        """Another value of the same kind."""
        if isinstance(found, bool):
            return not found
        if isinstance(found, int):
            return self.random.choice(
                (found + 1, found - 1, -found, self.number(), self.random.randrange(-2, 9))
            )
        if isinstance(found, float):
            return self.random.choice((-found, 0.0, 1e308, float("nan"), float("inf"), found * 2))
        if isinstance(found, str):
            return self.text(found, TEXTS) if found and self.sometimes(0.7) else self.random.choice(TEXTS)
        if isinstance(found, list):
            return found * 2 if len(found) < 100 else found[1:]
        return found


def _copied(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _copied(part) for key, part in document.items()}
    return [_copied(part) for part in document] if isinstance(document, list) else document


def _places(document: Any) -> list[tuple[Any, Any]]:
    """All places of a document, as containers and keys."""
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict | list):
            keys = found.keys() if isinstance(found, dict) else range(len(found))
            places += [(found, key) for key in keys]
            waiting += [found[key] for key in keys]
    return places
