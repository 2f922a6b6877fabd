"""The lines and tokens of a graph's text."""

import re
from collections.abc import Collection, Iterator
from keyword import iskeyword
from typing import TypeAlias

from ..errors import ParseError

LONGEST_LINE = 64 * 1024
MOST_TOKENS = 256 * 1024
"""The tokens of a line and its continuation lines."""

Token: TypeAlias = tuple[str, str]  # the kind and the text

_TOKEN = re.compile(
    r"""(?P<space>\ +)
    | (?P<name>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)
    | (?P<number>-?(?:0x[0-9a-f]+|[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|inf\b))
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<symbol>->|//|[-+*%()\[\]:,=])
    | (?P<comment>\#.*)
    | (?P<other>.)""",
    re.VERBOSE,
)


class Line:
    """The tokens of a line and its continuation lines; can report what was expected."""

    def __init__(self, number: int, indent: int, tokens: list[Token], comment: str) -> None:
        self.number = number
        self.indent = indent
        self.tokens = [*tokens, ("end", "the end of the line")]
        self.comment = comment
        self.position = 0

    def at(self, text: str) -> bool:
        """Whether the next token is this name or symbol."""
        kind, found = self.tokens[self.position]
        return found == text and kind in ("name", "symbol")

    def at_keyword(self) -> bool:
        """Whether the next tokens are a name and ``=``."""
        return self.tokens[self.position][0] == "name" and self.tokens[self.position + 1][1] == "="

    def accept(self, text: str) -> bool:
        """Take the next token if it is this name or symbol."""
        found = self.at(text)
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.expected(repr(text))

    def take(self, kind: str, what: str) -> str:
        """Take the next token, which must be of this kind."""
        found, text = self.tokens[self.position]
        if found != kind:
            raise self.expected(what)
        self.position += 1
        return text

    def take_identifier(self, what: str) -> str:
        name = self.take("name", what)
        if iskeyword(name) or not name.isidentifier():
            self.position -= 1
            raise self.expected(what)
        return name

    def at_size(self, sizes: Collection[str]) -> bool:
        """Whether the next tokens are an expression of named sizes, rather than a number, word or tuple."""
        start = self.position
        size = self.take_size() if sizes else []
        self.position = start
        names = {word for word in size if word[0] == "_" or word[0].isalpha()} - {"min", "max"}
        if not names or not names.issubset(sizes):
            return False
        return not _opens_tuple(size) and "=" not in size

    def take_size(self) -> list[str]:
        """Take everything up to the comma or bracket that does not belong to it."""
        words: list[str] = []
        depth = 0
        while self.tokens[self.position][0] in ("name", "number", "symbol"):
            word = self.tokens[self.position][1]
            depth += (word == "(") - (word == ")")
            if depth < 0 or (depth == 0 and word in (",", "]")):
                break
            words.append(word)
            self.position += 1
        return words

    def expected(self, what: str) -> ParseError:
        """The error that the next token is not the expected one."""
        return self.error(f"expected {what}, found {self.tokens[self.position][1][:40]}")

    def error(self, problem: str) -> ParseError:
        return ParseError(f"line {self.number}: {problem}")


def _opens_tuple(words: list[str]) -> bool:
    """Whether the bracket at the start of the words, if any, contains a comma of its own."""
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 or (depth == 1 and word == ","):
            return depth == 1
    return False


def lines(text: str) -> Iterator[Line]:
    """The lines with code. A line that ends in a comma continues in the next one."""
    pending: Line | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        tokens, comment = _tokens(line.removesuffix("\r"), number)
        if pending is not None:
            pending.tokens[-1:] = [*tokens, pending.tokens[-1]]
            pending.comment = comment or pending.comment
            if len(pending.tokens) > MOST_TOKENS:
                raise pending.error(f"expected at most {MOST_TOKENS} words and signs")
        elif tokens:
            pending = Line(number, len(line) - len(line.lstrip(" ")), tokens, comment)
        if pending is not None and not (tokens and tokens[-1] == ("symbol", ",")):
            yield pending
            pending = None
    if pending is not None:
        yield pending


def _tokens(line: str, number: int) -> tuple[list[Token], str]:
    """The tokens of one line, and its comment."""
    if len(line) > LONGEST_LINE:
        raise ParseError(f"line {number}: expected at most {LONGEST_LINE} characters, found {len(line)}")
    tokens: list[Token] = []
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup or ""
        if kind == "comment":
            return tokens, match.group()
        if kind == "other":
            found = match.group()
            raise ParseError(f"line {number}: expected a name, number, string or symbol, found {found!r}")
        if kind != "space":
            tokens.append((kind, match.group()))
    return tokens, ""
