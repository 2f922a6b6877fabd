"""Known choices, and logic with constants."""

from ...compiler.builder import bind
from ...compiler.ir import Value
from ...compiler.op import is_natural_power, lookup
from ...compiler.value_ops import broadcast_to, constant, where
from .constants import either_number, is_number, uniform
from .rule import Site, rule


@rule("x by a name → x", "checkpoint_name")
def _unnamed(site: Site) -> Value | None:
    """Names are only for derivatives, which have been taken."""
    return site.inputs[0]


@rule("where(c, x, x) → x", "where")
def _where_same(site: Site) -> Value | None:
    _, x, y = site.inputs
    return broadcast_to(x, site.type.shape) if x is y else None


@rule("where(True, x, y) → x", "where")
def _where_known(site: Site) -> Value | None:
    condition, x, y = site.inputs
    known = uniform(condition)
    return None if known is None else broadcast_to(x if known else y, site.type.shape)


@rule("where(not c, x, y) → where(c, y, x)", "where")
def _where_not(site: Site) -> Value | None:
    condition, x, y = site.inputs
    inner = site.made_by(condition, "logical_not")
    return None if inner is None else where(inner.inputs[0], y, x)


@rule("where(c, f(where(c, x, n)), y) → where(c, f(x), y)", "where")
def _where_twice(site: Site) -> Value | None:
    """The inner choice kept slopes finite and floating-point errors away, which no longer matter here: its other side
    is not seen. Where it keeps negative exponents away from integers, it stays."""
    condition, chosen, other = site.inputs
    made = site.producer.get(chosen)
    if (
        made is None
        or not lookup(made.op).spelling
        or not is_natural_power(made)
        or not site.used_once(chosen)
    ):
        return None
    inner = [site.made_by(value, "where") for value in made.inputs]
    inputs = [
        value
        if call is None or call.inputs[0] is not condition
        else broadcast_to(call.inputs[1], value.shape)
        for value, call in zip(made.inputs, inner, strict=True)
    ]
    if all(a is b for a, b in zip(inputs, made.inputs, strict=True)):
        return None
    return where(condition, bind(made.op, *inputs, **made.params), other)


@rule("c and True → c, c or False → c", "logical_and", "logical_or")
def _logic_with_constant(site: Site) -> Value | None:
    neutral = site.op == "logical_and"
    if (found := either_number(site, neutral)) is not None:
        return found
    if any(is_number(value, not neutral) for value in site.inputs):
        return broadcast_to(constant(not neutral, site.inputs[0].dtype), site.type.shape)
    return None


@rule("not x = y → x ≠ y", "logical_not")
def _not_equal(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "equal", "not_equal")
    return None if inner is None else bind("not_equal" if inner.op == "equal" else "equal", *inner.inputs)
