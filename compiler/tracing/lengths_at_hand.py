"""`LengthsAtHand`: the computed lengths of a program, in the call that is being traced."""

from collections.abc import Iterable
from typing import Final, cast

import numpy as np

from ..builder import bind
from ..dtypes import INT64
from ..shapes.dim import Comparison, Dim, of_terms
from ..value_ops import constant
from .at_hand import expect, record_in, size_at_hand, sizes_of_arguments
from .trace import current_trace, require_trace

_OPS: Final = {"==": "equal", "!=": "not_equal", ">=": "greater_equal"}


class LengthsAtHand:
    """Answers questions about computed lengths from the call that is being traced."""

    def lengths(self, names: Iterable[str]) -> dict[str, int] | None:
        """The sizes of these names; None if one is not known."""
        trace, known = current_trace(), sizes_of_arguments()
        found = {} if trace is None else {name: size_at_hand(trace, name, known) for name in names}
        complete = {name: size for name, size in found.items() if size is not None}
        return complete if found and len(complete) == len(found) else None

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
        left, right = bind("size", of=cast("int", size)), constant(0, INT64)
        holds = bind(_OPS[comparison.relation], left, right)
        expect(trace, holds, np.asarray(True), repr(comparison))
