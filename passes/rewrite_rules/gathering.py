"""Gather a few elements before computing with them: the others need not be computed or stored."""

from ...compiler.analysis.fusible_ops import is_elementwise
from ...compiler.analysis.rounding import is_rounded_by_loop
from ...compiler.builder import bind
from ...compiler.ir import Value
from ...compiler.params import ints_param
from ...compiler.symbolic_size import typical
from ...compiler.value_ops import gather, reshape
from .rule import Site, rule

FEW = 16
"""A fraction of the elements this small is cheap to compute once more."""


@rule("gather of f(x, y) → f(gather of x, gather of y)", "gather")
def _gather_first(site: Site) -> Value | None:
    """If nothing else needs f(x, y). Or if few elements are read, x and y are not results of such calls themselves, and
    an element that is computed once more is the same to the bit.

    If an operand is repeated along an axis, its only entry is the nearest one to every index.
    """
    (x, *indices), axes = site.inputs, ints_param(site, "axes")
    inner = site.producer.get(x)
    if inner is None or not is_elementwise(inner) or inner.op == "bitcast":
        return None
    if site.used_once(x):
        if typical(site.type.size) >= typical(x.type.size):
            return None
    elif (
        FEW * typical(site.type.size) > typical(x.type.size)
        or is_rounded_by_loop(inner)
        or any(_is_computed(site, value) for value in inner.inputs)
    ):
        return None

    def gathered(value: Value) -> Value:
        if not value.ndim:
            return value
        lead = (1,) * (x.ndim - value.ndim)
        return gather(reshape(value, (*lead, *value.shape)) if lead else value, indices, axes)

    return bind(inner.op, *map(gathered, inner.inputs), **inner.params)


def _is_computed(site: Site, value: Value) -> bool:
    inner = site.producer.get(value)
    return inner is not None and is_elementwise(inner)
