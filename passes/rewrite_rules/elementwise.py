"""Rules for all elementwise ops: they can run before elements are repeated or reshaped."""

from ...compiler.builder import bind
from ...compiler.ir import Constant, Value
from ...compiler.params import ints_param
from ...compiler.symbolic_size import same_shape
from ...compiler.value_ops import broadcast_to, constant, reshape
from .constants import uniform
from .rule import Rule, Site


def _sink_broadcasts(site: Site) -> Value | None:
    """Compute on the operands before they were repeated. Repeat the result if the other operands do not do so
    anyway."""
    plain = [_unrepeated(site, value) for value in site.inputs]
    if all(a is b for a, b in zip(plain, site.inputs, strict=True)):
        return None
    return broadcast_to(bind(site.op, *plain, **site.params), site.type.shape)


def _unrepeated(site: Site, value: Value) -> Value:
    """The array that an operand repeats, without leading axes of length 1, which broadcasting adds anyway."""
    if isinstance(value, Constant) and value.ndim and site.op != "power":  # as for `x ** 2 → x²`
        number = uniform(value)
        return value if number is None else constant(number, value.dtype)
    if inner := site.made_by(value, "broadcast_to"):
        return inner.inputs[0]
    if inner := site.made_by(value, "reshape"):
        (x,) = inner.inputs
        lead = value.ndim - x.ndim
        aligned = any(other is not value and other.ndim >= value.ndim for other in site.inputs)
        if aligned and lead > 0 and same_shape(value.shape, (1,) * lead + x.shape):
            return x
    return value


def _sink_reshapes(site: Site) -> Value | None:
    """Compute in the original shape if all operands that are not numbers were reshaped in the same way."""
    if site.op == "bitcast":
        return None
    arrays = [value for value in site.inputs if value.ndim]
    inner = [site.made_by(value, "reshape") for value in arrays]
    sources = {call.inputs[0].shape for call in inner if call is not None}
    targets = {value.shape for value in arrays}
    if not arrays or None in inner or len(sources) != 1 or len(targets) != 1:
        return None
    before = iter(call.inputs[0] for call in inner if call is not None)
    plain = [next(before) if value.ndim else value for value in site.inputs]
    return reshape(bind(site.op, *plain, **site.params), site.type.shape)


def _sink_transposes(site: Site) -> Value | None:
    """Compute in the original order of axes if all operands that are not numbers were transposed in the same way.
    This is the memory order, and often the transpose then cancels with another."""
    if site.op == "bitcast":
        return None
    inner = [site.made_by(value, "transpose") for value in site.inputs if value.ndim]
    orders = {ints_param(call, "axes") if call is not None else None for call in inner}
    if None in orders or len(orders) != 1:
        return None
    if len({call.inputs[0].shape for call in inner if call is not None}) != 1:
        return None
    (axes,) = orders
    before = iter(call.inputs[0] for call in inner if call is not None)
    plain = [next(before) if value.ndim else value for value in site.inputs]
    return bind("transpose", bind(site.op, *plain, **site.params), axes=axes)


EVERY_ELEMENTWISE: list[tuple[str, Rule]] = [
    ("f(repeated x) → repeated f(x)", _sink_broadcasts),
    ("f(reshaped x) → reshaped f(x)", _sink_reshapes),
    ("f(transposed x) → transposed f(x)", _sink_transposes),
]
