"""Scattered sums come last: they change a few elements of a computed array in place.

Gradients of ``x[rows, labels]`` are such sums. As in all sums, the order of the terms is not fixed.
"""

from ...compiler.builder import bind
from ...compiler.ir import Call, Value, same_type
from ...compiler.ops.arrays.index_arrays import other_axes
from ...compiler.params import ints_param, text_param
from ...compiler.symbolic_size import is_known
from ...compiler.value_ops import add, broadcast_to, scatter, sum_, zeros_like
from .constants import is_number
from .ranges import bounds
from .rule import Site, rule


@rule("sum of x with scattered sums → sum of x + sums scattered into zeros", "sum")
def _sum_of_scatter(site: Site) -> Value | None:
    """Over indexed axes, if other axes remain and if no write along them is dropped because of its index.

    Loops over x need not be interrupted by a scatter into zeros: it can be done before.
    """
    (x,), axes = site.inputs, ints_param(site, "axes")
    inner = _scattered_sum(site, x)
    if inner is None or x.dtype != site.type.dtype:
        return None
    base, updates, *indices = inner.inputs
    indexed = ints_param(inner, "axes")
    places = dict(zip(indexed, indices, strict=True))
    if not set(axes) < set(places):
        return None
    known = {axis: bounds(site, places[axis]) for axis in axes}
    if not all(
        found and is_known(found[0] >= 0) and is_known(found[1] < x.shape[axis])
        for axis, found in known.items()
    ):
        return None
    shape = updates.shape[: updates.ndim - x.ndim + len(places)]
    left = {axis: at for at, axis in enumerate(other_axes(x.ndim, axes)) if axis in places}
    rest = [broadcast_to(places[axis], shape) for axis in left]
    scattered = scatter(zeros_like(site.type), updates, rest, tuple(left.values()), "add")
    return scattered if _is_zero(site, base) else add(sum_(base, axes), scattered)


@rule("x with scattered sums + y → x + y with scattered sums", "add")
def _add_to_scatter(site: Site) -> Value | None:
    """Unless x is zeros."""
    for x, y in (site.inputs, site.inputs[::-1]):
        inner = _scattered_sum(site, x)
        if inner is None or not site.used_once(x) or not same_type(x.type, site.type):
            continue
        base, *rest = inner.inputs
        if not _is_zero(site, base):
            return bind("scatter", add(base, y), *rest, **inner.params)
    return None


def _scattered_sum(site: Site, value: Value) -> Call | None:
    call = site.made_by(value, "scatter")
    return call if call is not None and text_param(call, "mode") == "add" else None


def _is_zero(site: Site, value: Value) -> bool:
    """Whether all elements are known to be 0."""
    inner = site.made_by(value, "broadcast_to")
    return is_number(value if inner is None else inner.inputs[0], 0)
