"""`computed_size`: a symbolic size as a number of the program, from numbers for its named sizes."""

from collections.abc import Mapping
from typing import Any

from ...compiler.builder import bind
from ...compiler.dtypes import INT64
from ...compiler.ir import Value
from ...compiler.shapes.dim import of_size, terms_of
from ...compiler.shapes.terms import Atom, Size, Terms
from ...compiler.value_ops import add, constant, elementwise, maximum, minimum, multiply


def computed_size(size: Any, counts: Mapping[str, Value]) -> Value:
    """The value i64[] of a size, with these values i64[] of some named sizes; the program knows the others.

    A divisor of 0 counts as 1.
    """
    return _sum(terms_of(size), counts)


def _sum(terms: Terms, counts: Mapping[str, Value]) -> Value:
    total: Value | None = None
    for atoms, factor in terms:
        product: Value | None = None
        for atom in atoms:
            one = _atom(atom, counts)
            product = one if product is None else multiply(product, one)
            if isinstance(atom, Size) and atom.multiple_of != 1:
                product = elementwise("floor_divide", product, atom.multiple_of)
        if product is None:
            product = constant(factor, INT64)
        elif factor != 1:
            product = multiply(product, factor)
        total = product if total is None else add(total, product)
    return constant(0, INT64) if total is None else total


def _atom(atom: Atom, counts: Mapping[str, Value]) -> Value:
    if isinstance(atom, Size):
        return counts[atom.text] if atom.text in counts else bind("size", of=of_size(atom))  # type: ignore[arg-type]
    first, *others = (_sum(arg, counts) for arg in atom.args)
    for other in others:
        if atom.op in ("min", "max"):
            first = minimum(first, other) if atom.op == "min" else maximum(first, other)
        else:
            first = elementwise(_DIVISIONS[atom.op], first, maximum(other, 1))
    return first


_DIVISIONS = {"//": "floor_divide", "%": "remainder"}
