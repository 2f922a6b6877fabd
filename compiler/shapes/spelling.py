"""Sums and comparisons as text in Python's syntax: ``2*K + 1``, ``B*N // 4``, ``A <= B``."""

from collections.abc import Mapping
from math import gcd, lcm

from .terms import Atom, Monomial, Size, Terms, constant_part, number, scale

Names = Mapping[str, str]
"""Replacements for the names of sizes."""


def spelled(terms: Terms, names: Names | None = None) -> str:
    """The sum as text that can be parsed again, and that Python can evaluate."""
    text = ""
    for monomial, count in terms:
        product = _product(monomial, abs(count), names or {}, is_bare=count > 0 or bool(text))
        if not text:
            text = f"-{product}" if count < 0 else product
        else:
            text += f" - {product}" if count < 0 else f" + {product}"
    return text or "0"


def spelled_operation(op: str, args: tuple[Terms, ...], names: Names | None = None) -> str:
    """``(N + 1) // 2``, ``min(N, 5)``."""
    texts = [spelled(arg, names) for arg in args]
    if op in ("min", "max"):
        return f"{op}({', '.join(texts)})"
    left, right = texts
    is_operation = " " in left and args[0][0][1] == len(args[0][0][0]) == 1
    if len(args[0]) > 1 or left.startswith("-") or is_operation:
        left = f"({left})"
    right = f"({right})" if not (right.isidentifier() or right.isdigit()) else right
    return f"{left} {op} {right}"


def _product(monomial: Monomial, count: int, names: Names, *, is_bare: bool) -> str:
    parts: list[str] = []
    for found in monomial:
        if isinstance(found, Size):
            name = names.get(found.text, found.text)
            whole = gcd(count, found.multiple_of)
            count //= whole
            parts.append(name if whole == found.multiple_of else f"({name} // {found.multiple_of // whole})")
        else:
            text = _operation_text(found, names)
            parts.append(text if found.op in ("min", "max") else f"({text})")
    if count != 1 or not parts:
        parts.insert(0, str(count))
    if len(parts) == 1 and parts[0].startswith("(") and is_bare:
        return parts[0][1:-1]
    return "*".join(parts)


def _operation_text(found: Atom, names: Names) -> str:
    if isinstance(found, Size) or not names:
        return found.text
    return spelled_operation(found.op, found.args, names)


def spelled_comparison(terms: Terms, relation: str, names: Names | None = None) -> str:
    """``terms relation 0`` with subtracted terms on the other side, and the first term on the left."""
    left, relation, right = sides(terms, relation)
    return f"{spelled(left, names)} {relation} {spelled(right, names)}"


def sides(terms: Terms, relation: str) -> tuple[Terms, str, Terms]:
    """The two sides, and the relation."""
    terms = scale(terms, lcm(*(_missing(monomial, count) for monomial, count in terms)))
    constant = constant_part(terms)
    moving = terms[:-1] if constant else terms
    ours, theirs = tuple(t for t in moving if t[1] > 0), scale(tuple(t for t in moving if t[1] < 0), -1)
    if theirs and (not ours or moving[0][1] < 0):
        ours, theirs, constant = theirs, ours, -constant
        relation = {">=": "<="}.get(relation, relation)
    elif relation in ("==", "!=") and _is_size(theirs) and not _is_size(ours):
        ours, theirs, constant = theirs, ours, -constant
    # Now it reads: ours + constant relation theirs, or for <=: ours <= theirs + constant.
    strict = {">=": (">", -1), "<=": ("<", 1)}.get(relation)
    if strict and theirs and constant == strict[1]:
        relation, constant = strict[0], 0
    if not theirs:
        right = number(-constant)
    elif constant > 0:
        ours, right = (*ours, ((), constant)), theirs
    else:
        right = (*theirs, ((), -constant)) if constant else theirs
    return ours, relation, right


def _missing(monomial: Monomial, count: int) -> int:
    """The factor that gives a size the coefficient 1."""
    if len(monomial) != 1 or not isinstance(monomial[0], Size):
        return 1
    return monomial[0].multiple_of // gcd(count, monomial[0].multiple_of)


def _is_size(terms: Terms) -> bool:
    if len(terms) != 1 or len(terms[0][0]) != 1:
        return False
    ((found,), count) = terms[0]
    return isinstance(found, Size) and count == found.multiple_of


def spelled_facts(size: Size, name: str | None = None) -> list[str]:
    """What is known about a size alone: ``["N in 1..4096", "N % 16 == 0"]``."""
    name = name or size.text
    facts = [f"{name} in {size.min}..{'' if size.max is None else size.max}"]
    if size.min == 0 and size.max is None:
        facts = []
    return [*facts, f"{name} % {size.multiple_of} == 0"] if size.multiple_of > 1 else facts
