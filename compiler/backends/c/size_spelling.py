"""Sums of sizes as C, in `long`: ``2 * dim_K + 1``, ``(dim_N + 63) / 64``."""

from math import gcd

from ...shapes.dim import Dim, of_terms
from ...shapes.terms import Monomial, Operation, Size, Terms
from ...symbolic_size import is_known


def c_spelled(terms: Terms) -> str:
    """The sum as a C expression, in which each named size is a variable `c_name`; sums have no parentheses."""
    text = ""
    for monomial, count in terms:
        product = _product(monomial, abs(count))
        if not text:
            text = f"-{product}" if count < 0 else product
        else:
            text += f" - {product}" if count < 0 else f" + {product}"
    return text or "0"


def c_name(size: str) -> str:
    """The variable for a size: no other name in the text begins with this prefix."""
    return f"dim_{size}"


def _product(monomial: Monomial, count: int) -> str:
    """As an operand of a sum."""
    parts: list[str] = []
    for found in monomial:
        if isinstance(found, Size):
            name, whole = c_name(found.text), gcd(count, found.multiple_of)
            count //= whole
            parts.append(name if whole == found.multiple_of else f"({name} / {found.multiple_of // whole})")
        else:
            parts.append(_operation(found))
    if count != 1 or not parts:
        parts.insert(0, str(count))
    if len(parts) == 1 and parts[0].startswith("("):
        return parts[0][1:-1]
    return " * ".join(parts)


def _operation(found: Operation) -> str:
    """As a factor. C rounds quotients towards 0, which is down because nothing is negative."""
    if found.op in ("min", "max"):
        text = c_spelled(found.args[0])
        for arg in found.args[1:]:
            text = f"tm_size_{found.op}({text}, {c_spelled(arg)})"
        return text
    left, right = found.args
    if is_known(_extent(left) >= 0) and is_known(_extent(right) >= 1):
        return f"({_operand(left)} {'/' if found.op == '//' else '%'} {_operand(right)})"
    name = "quotient" if found.op == "//" else "remainder"
    return f"tm_size_{name}({c_spelled(left)}, {c_spelled(right)})"


def _operand(terms: Terms) -> str:
    text = c_spelled(terms)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _extent(terms: Terms) -> Dim | int:
    return of_terms(terms)
