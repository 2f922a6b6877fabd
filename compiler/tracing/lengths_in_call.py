"""`LengthsInCall`: the computed lengths of a program in the call that is being traced, and these lengths as values."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import numpy as np

from ..builder import bind, recording
from ..dtypes import INT64
from ..ir import Value
from ..shapes.dim import Comparison, Dim, of_size, of_terms, terms_of
from ..shapes.terms import Atom, Size, Terms
from ..value_ops import add, constant, elementwise, maximum, minimum, multiply
from .trace import Trace, current_trace, require_trace
from .values_in_call import binding, expect, record_in, size_in_call, sizes_of_arguments

_OPS: Final = {"==": "equal", "!=": "not_equal", ">=": "greater_equal"}


class LengthsInCall:
    """Answers questions about computed lengths from the call that is being traced."""

    def lengths(self, names: Iterable[str]) -> dict[str, int] | None:
        """The sizes of these names; None if one is not known."""
        trace, known = current_trace(), sizes_of_arguments()
        found = {} if trace is None else {name: size_in_call(trace, name, known) for name in names}
        complete = {name: size for name, size in found.items() if size is not None}
        return complete if found and len(complete) == len(found) else None

    def trace(self) -> Trace | None:
        """The outermost trace at work, which the lengths belong to; None after tracing."""
        trace = current_trace()
        return None if trace is None else trace.outermost()

    def expect(self, comparison: Comparison) -> None:
        """Restrict the program to calls in which a comparison of such lengths holds."""
        trace = require_trace()
        outermost, size = trace.outermost(), of_terms(comparison.terms)
        names = {str(one) for one in size.sizes} if isinstance(size, Dim) else set[str]()
        if trace is outermost or all(
            name in outermost.bound_sizes or name in sizes_of_arguments() for name in names
        ):
            record_in(
                outermost, trace.where(), "expect_size", dim=cast("int", size), relation=comparison.relation
            )
            return
        owner = next(one for one in trace.enclosing() if any(name in one.bound_sizes for name in names))
        counts = {name: call.inputs[0] for name in names if (call := binding(owner, name)) is not None}
        with recording(owner):  # compare the values: assumptions about the lengths must not decide
            holds = bind(_OPS[comparison.relation], computed_size(size, counts), constant(0, INT64))
        expect(owner, holds, np.asarray(True), repr(comparison))


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
