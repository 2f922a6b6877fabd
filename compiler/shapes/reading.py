"""Reads dims and constraints: comparisons, or texts in a strict grammar, which are not evaluated."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ..errors import ContradictoryConstraintsError, DimSpecError
from ..nesting import shown
from .dim import Comparison, Dim, Extent, Sign, compared, named_size, of_size
from .spelling import spelled_facts
from .terms import sizes_in

LONGEST_TEXT = 1000
LONGEST_NUMBER = 15
DEEPEST = 32

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|\.\.|//|[=!<>]=|[-+*%(),<>]")
_RANGE = re.compile(r"\s*([A-Za-z_]\w*)\s+in\s+([0-9]+)\s*\.\.\s*([0-9]*)\s*", re.ASCII)
_MULTIPLE = re.compile(r"\s*([A-Za-z_]\w*)\s*%\s*([0-9]+)\s*==\s*0\s*", re.ASCII)
_SIGNS: dict[str, Sign] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_HINT = 'write "2*K + 1", "B in 1..4096", "B % 16 == 0" or "A <= B"'

Sizes = dict[str, Dim]
"""Dims by their names; readers add new ones."""


def read_dim(text: str, sizes: Sizes) -> Extent:
    """A size such as ``2*K + 1``; names that `sizes` lacks are added to it.

    >>> sizes = {}
    >>> read_dim("2*K + 1", sizes), sizes
    (2*K + 1, {'K': K})
    """
    reader = _Reader(text, sizes)
    found = reader.sum(0)
    reader.end()
    return found


def read_constraint(text: str, sizes: Sizes) -> Comparison | bool:
    """A comparison such as ``A <= B``; a bool if it needs no size.

    >>> read_constraint("2*A <= B", {})
    2*A <= B
    """
    reader = _Reader(text, sizes)
    left = reader.sum(0)
    sign = _SIGNS.get(reader.token)
    if sign is None:
        raise reader.expected("a comparison such as <=")
    reader.advance()
    found = compared(sign, left, reader.sum(0))
    reader.end()
    return found


def read_conjunction(text: str, sizes: Sizes) -> tuple[Comparison | bool, ...]:
    """Comparisons with ``and`` between them."""
    return tuple(read_constraint(part, sizes) for part in _bounded(text).split(" and "))


def read_declarations(
    texts: Iterable[str], known: Sizes | None = None
) -> tuple[Sizes, tuple[Comparison | bool, ...]]:
    """Dims by name, and comparisons of them; ``B in 1..4096`` and ``B % 16 == 0`` become part of the dim.

    A text may hold several, separated by ``and`` or commas, as they are printed. `known` are dims by name with their
    own limits: statements about these become comparisons.

    >>> sizes, relations = read_declarations(["B in 1..4096", "B % 16 == 0", "A <= B"])
    >>> sizes["B"] % 16, relations
    (0, (A <= B,))
    """
    limits: dict[str, dict[str, Any]] = {}
    others: list[str] = []
    known = known or {}
    for text in chain.from_iterable(map(_parts, texts)):
        found = _RANGE.fullmatch(text)
        if found and found[1] in known:
            name, low, high = found.groups()
            others += [f"{name} >= {low}", *([f"{name} <= {high}"] if high else [])]
        elif found:
            name, low, high = found.groups()
            _declare(limits, name, "min", _whole(low, text), text)
            _declare(limits, name, "max", _whole(high, text) if high else None, text)
        elif (found := _MULTIPLE.fullmatch(text)) and found[1] not in known:
            _declare(limits, found[1], "multiple_of", _whole(found[2], text), text)
        else:
            others.append(text)
    sizes = known | {name: named_size(name, **facts) for name, facts in limits.items()}
    return sizes, tuple(_holding_for_some(text, sizes) for text in others)


def _holding_for_some(text: str, sizes: Sizes) -> Comparison | bool:
    found = read_constraint(text, sizes)
    if found is False:
        facts = [
            fact for dim in sizes.values() for size in sizes_in(dim.terms) for fact in spelled_facts(size)
        ]
        known = f", with {', '.join(facts)}" if facts else ""
        raise ContradictoryConstraintsError(f"the constraint {text!r} holds for no size{known}")
    return found


def read_constraints(given: Any, dims: Iterable[Dim] = ()) -> tuple[Sizes, tuple[Comparison | bool, ...]]:
    """Dims by name, and comparisons of them, from texts as in `read_declarations`, from comparisons, or lists of both.

    `dims` are given elsewhere. They and those in comparisons have their own limits.

    >>> B = Dim("B", max=64)
    >>> sizes, relations = read_constraints([Dim("A") <= B, "B in 1..", "C in 0..9"])
    >>> sorted(sizes), relations, sizes["B"].sizes == (B,)
    (['A', 'B', 'C'], (A <= B, B >= 1), True)
    """
    if isinstance(given, str | Comparison):
        given = (given,)
    if not isinstance(given, Iterable):
        raise _no_constraint("constraints are", given)
    texts: list[str] = []
    comparisons: list[Comparison] = []
    for one in given:
        if isinstance(one, str):
            texts.append(one)
        elif isinstance(one, Comparison):
            comparisons.append(one)
        else:
            raise _no_constraint("a constraint is", one)
    known: Sizes = {}
    compared_sizes = (of_size(size) for one in comparisons for size in sizes_in(one.terms))
    for dim in chain(dims, compared_sizes):
        if known.setdefault(repr(dim), dim) is not dim:
            raise ContradictoryConstraintsError(f"two dims with different limits are called {dim!r}")
    sizes, relations = read_declarations(texts, known)
    return sizes, (*comparisons, *relations)


def _no_constraint(what: str, given: Any) -> DimSpecError:
    described = shown(given)
    if isinstance(given, bool):  # of numbers, or of one dim with itself
        described = f"{given}, which says nothing of dims"
    elif isinstance(given, Dim) and given.size is not None:
        described = f"the dim {given!r} itself: write {f'{given!r} in 1..4096'!r}"
    return DimSpecError(
        f"{what} a text such as 'A <= B', a comparison of dims, or a list of these, not {described}"
    )


def split_sizes(text: str) -> list[str]:
    """The texts between commas, as in a shape: ``2*K, max(A, B)``."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts] if text.strip() else []


def _parts(text: str) -> Iterator[str]:
    for part in _bounded(text).split(" and "):
        yield from split_sizes(part) or [part]


def _declare(limits: dict[str, dict[str, Any]], name: str, what: str, value: int | None, text: str) -> None:
    known = limits.setdefault(name, {})
    if what in known:
        raise DimSpecError(f"in {text!r}: {what} of dim {name} is given twice")
    known[what] = value


def _bounded(text: str) -> str:
    if not isinstance(text, str):
        raise DimSpecError(f"a constraint of dims is a text or a comparison, not {shown(text)}")
    if len(text) > LONGEST_TEXT:
        raise DimSpecError(f"a text of dims has at most {LONGEST_TEXT} characters, not {len(text)}")
    return text


def _whole(digits: str, text: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise DimSpecError(
            f"in {shown(text, 80)}: a size has at most {LONGEST_NUMBER} digits, not {len(digits)}"
        )
    return int(digits)


class _Reader:
    """Reads sums of products from left to right, as Python does."""

    def __init__(self, text: str, sizes: Sizes) -> None:
        self.text, self.sizes = _bounded(text), sizes
        self.tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            if text[position] == " ":
                position += 1
                continue
            found = _TOKEN.match(text, position)
            if found is None:
                raise DimSpecError(f"cannot read {text!r}: there is {text[position]!r}: {_HINT}")
            self.tokens.append(found.group())
            position = found.end()
        self.position = 0

    @property
    def token(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def advance(self) -> str:
        token = self.token
        self.position += 1
        return token

    def expected(self, what: str) -> DimSpecError:
        found = f"found {self.token!r}" if self.token else "the text ends"
        return DimSpecError(f"cannot read {self.text!r}: expected {what}, {found}: {_HINT}")

    def end(self) -> None:
        if self.token:
            raise self.expected("the end")

    def sum(self, depth: int) -> Extent:
        found = self.product(depth)
        while self.token in ("+", "-"):
            sign = self.advance()
            other = self.product(depth)
            found = found + other if sign == "+" else found - other
        return found

    def product(self, depth: int) -> Extent:
        found = self.factor(depth)
        while self.token in _PRODUCTS:
            compute = _PRODUCTS[self.advance()]
            try:
                found = compute(found, self.factor(depth))
            except ZeroDivisionError:
                raise DimSpecError(f"cannot read {self.text!r}: it divides by 0") from None
        return found

    def factor(self, depth: int) -> Extent:
        if depth > DEEPEST:
            raise DimSpecError(f"cannot read {shown(self.text, 80)}: it is nested more than {DEEPEST} deep")
        token = self.advance()
        if token == "-":
            return -self.factor(depth + 1)
        if token == "(":
            found = self.sum(depth + 1)
            self.close()
            return found
        if token in ("min", "max"):
            return self.extreme(token, depth)
        if token.isdigit():
            return _whole(token, self.text)
        if not token.isidentifier():
            self.position -= 1
            raise self.expected("a number, a name or '('")
        return self.sizes[token] if token in self.sizes else self.sizes.setdefault(token, named_size(token))

    def extreme(self, name: str, depth: int) -> Extent:
        if self.advance() != "(":
            self.position -= 1
            raise self.expected("'('")
        parts = [self.sum(depth + 1)]
        while self.token == ",":
            self.advance()
            parts.append(self.sum(depth + 1))
        self.close()
        return Dim.minimum(*parts) if name == "min" else Dim.maximum(*parts)

    def close(self) -> None:
        if self.token != ")":
            raise self.expected("')'")
        self.advance()


_PRODUCTS: Mapping[str, Callable[[Any, Any], Extent]] = {
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}
