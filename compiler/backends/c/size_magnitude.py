"""Upper bounds of sums of sizes, as C in `double`: with them, no product of sizes overflows an integer."""

from collections.abc import Iterable

from ...shapes.terms import Atom, Monomial, Size, Terms, constant_of
from .size_spelling import c_name


def c_magnitude(sums: Iterable[Terms]) -> str:
    """A C expression in `double` that is an upper bound of the sums and of their intermediate results.

    No size is negative.

    >>> import tracemill as tm
    >>> B, N = tm.Dim("B"), tm.Dim("N")
    >>> c_magnitude([(4 * B * N - 1).terms, ((N + 1) // 2).terms])
    '4.0 * dim_B * dim_N + 1.0 + 1.0 * ((1.0 * dim_N + 1.0) / 2.0 + 1.0)'
    """
    largest: dict[Monomial, int] = {}
    for terms in sums:
        for monomial, count in terms:
            largest[monomial] = max(largest.get(monomial, 0), abs(count))
    return " + ".join(_product(monomial, count) for monomial, count in largest.items()) or "0.0"


def _product(monomial: Monomial, count: int) -> str:
    return " * ".join([f"{float(count)}", *map(_factor, monomial)])


def _factor(found: Atom) -> str:
    if isinstance(found, Size):
        return (
            c_name(found.text)
            if found.multiple_of == 1
            else f"({c_name(found.text)} / {found.multiple_of}.0)"
        )
    texts = [c_magnitude([arg]) for arg in found.args]
    if found.op == "%":
        return f"({texts[1]})"
    if found.op == "//":
        divisor = constant_of(found.args[1])
        return f"({texts[0]})" if divisor is None else f"(({texts[0]}) / {abs(divisor)}.0 + 1.0)"
    return f"({' + '.join(texts)})"
