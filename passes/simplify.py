"""Algebra that keeps every value: each rule has a name and is one function from a call to what replaces it.

Rules are exact for NaN, infinities and −0. Only the sign and payload of a NaN may change, which IEEE 754
leaves open for arithmetic, and the order in which a product of matrices is summed.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..compiler.dtypes import DType, is_integer, kind
from ..compiler.functions import (
    add,
    broadcast_to,
    constant,
    convert,
    dot,
    flip,
    multiply,
    negative,
    reshape,
    slice_,
    square,
    subtract,
    sum_,
    transpose,
    where,
)
from ..compiler.ir import ArrayType, Call, Constant, Graph, Param, Shape, Value
from ..compiler.op import lookup
from ..compiler.trace import bind
from .remove_dead_code import remove_dead_code
from .rewrite import Rewriter
from .simplify_control_flow import RULES as CONTROL_FLOW


def simplify(graph: Graph, *, fired: list[str] | None = None) -> Graph:
    """Apply the rules below until none fits; their names are appended to `fired`, in order.

    Before::

        broadcast_to_1: f64[3] = broadcast_to(1.0, shape=(3,))
        multiply_1: f64[3] = multiply(x, broadcast_to_1)
        negative_1: f64[3] = negative(multiply_1)
        add_1: f64[3] = add(y, negative_1)

    after::

        subtract_1: f64[3] = subtract(y, x)
    """
    names: list[str] = [] if fired is None else fired
    while True:
        before = len(names)
        graph = remove_dead_code(_Simplifier(graph, names).run())
        if len(names) == before:  # no rule fits; almost always in the second walk
            return graph


# ---- what a rule sees -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Site:
    """A call that a rule may replace, and the calls that make its inputs."""

    op: str
    inputs: tuple[Value, ...]
    params: Mapping[str, Any]
    producer: Mapping[Value, Call]
    uses: Mapping[Value, int]

    @property
    def type(self) -> ArrayType:
        """The type of the (first) output."""
        types = lookup(self.op).type(*[value.type for value in self.inputs], **self.params)
        return types if isinstance(types, ArrayType) else types[0]

    def made_by(self, value: Value, *ops: str) -> Call | None:
        """The call that makes `value`, if it is of one of these ops."""
        call = self.producer.get(value)
        return call if call is not None and call.op in ops else None

    def used_once(self, value: Value) -> bool:
        return self.uses.get(value, 0) <= 1


Rule: TypeAlias = Callable[[Site], Value | None]

RULES: dict[str, list[tuple[str, Rule]]] = {}
"""Per op: the rules that may replace its calls, with their names, in the order in which they are tried."""


def rule(name: str, *ops: str) -> Callable[[Rule], Rule]:
    """Enter a function into the table as the rule `name` for calls of `ops`."""

    def enter(function: Rule) -> Rule:
        for op in ops:
            RULES.setdefault(op, []).append((name, function))
        return function

    return enter


def rules_for(op: str) -> list[tuple[str, Rule]]:
    """The rules that are tried on calls of `op`, in order."""
    return RULES.get(op, []) + (EVERY_ELEMENTWISE if lookup(op).spelling else [])


class _Simplifier(Rewriter):
    def __init__(self, graph: Graph, fired: list[str]) -> None:
        super().__init__(graph)
        self.fired = fired
        self.uses = Counter(value for call in graph.calls for value in call.inputs)
        self.uses.update(graph.outputs)

    def nested(self, graph: Graph) -> Graph:
        return simplify(graph, fired=self.fired)

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        self.uses.update(inputs)
        return super().emit(op, inputs, params)

    def stands_for(self, new: Value, old: Value) -> None:
        self.uses[new] += self.uses[old]

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        for name, replace in CONTROL_FLOW.get(op, ()):
            results = replace(inputs, params)
            if results is not None:
                self.fired.append(name)
                return results
        site = Site(op, inputs, params, self.producer, self.uses)
        for name, function in rules_for(op):
            found = function(site)
            if found is not None:
                self.fired.append(name)
                return (found,)
        return None


# ---- constants --------------------------------------------------------------------------------------


def uniform(value: Value) -> Any:
    """The one number that a constant holds, as a 0-d array, or None; −0 is not 0."""
    if not isinstance(value, Constant) or value.array.size == 0:
        return None
    if value.array.size == 1:
        return value.array.reshape(())
    first = value.array.reshape(-1)[0]
    bits = np.frombuffer(value.array.tobytes(), f"V{value.dtype.itemsize}")
    return np.asarray(first) if bool((bits == bits[0]).all()) else None


def is_number(value: Value, number: float) -> bool:
    """Whether a constant holds `number` everywhere, with its sign of zero."""
    found = uniform(value)
    if found is None or found.dtype.kind == "c" or found != number:
        return False
    return kind(found.dtype) != "f" or math.copysign(1, float(found)) == math.copysign(1, number)


def either_number(site: Site, number: float) -> Value | None:
    """The other operand of a binary call of which one operand is `number` everywhere, in the call's shape."""
    x, y = site.inputs
    for number_operand, other in ((y, x), (x, y)):
        if is_number(number_operand, number):
            return broadcast_to(other, site.type.shape)
    return None


# ---- arithmetic -------------------------------------------------------------------------------------


@rule("x * 1 → x", "multiply")
def _multiply_one(site: Site) -> Value | None:
    return either_number(site, 1)  # not complex: infinity · (1 + 0j) has NaN in it


@rule("x / 1 → x, x ** 1 → x, x // 1 → x", "divide", "power", "floor_divide")
def _divide_one(site: Site) -> Value | None:
    x, y = site.inputs
    if not is_number(y, 1) or (site.op == "floor_divide" and not is_integer(x.dtype)):
        return None
    return broadcast_to(x, site.type.shape)


@rule("x + (−0) → x", "add")
def _add_zero(site: Site) -> Value | None:
    """−0 + 0 is 0, so that only −0 is neutral for floating-point numbers."""
    return either_number(site, 0 if kind(site.inputs[0].dtype) in "biu" else -0.0)


@rule("x − 0 → x", "subtract")
def _subtract_zero(site: Site) -> Value | None:
    x, y = site.inputs
    return broadcast_to(x, site.type.shape) if is_number(y, 0.0) else None


@rule("n * 0 → 0 for integers", "multiply")
def _multiply_zero(site: Site) -> Value | None:
    x, y = site.inputs
    if x.dtype.kind not in "biu" or not (is_number(x, 0) or is_number(y, 0)):
        return None
    return broadcast_to(constant(0, x.dtype), site.type.shape)


@rule("x * (−1) → −x", "multiply")
def _multiply_minus_one(site: Site) -> Value | None:
    found = either_number(site, -1) if site.inputs[0].dtype.kind != "u" else None
    return None if found is None else negative(found)


@rule("x ** 2 → x²", "power")
def _power_two(site: Site) -> Value | None:
    """NumPy squares, too, where the exponent is one number; an array of exponents it hands to `pow`."""
    x, y = site.inputs
    if x.dtype.kind == "c" or y.type.size != 1 or not is_number(y, 2):
        return None
    return broadcast_to(square(x), site.type.shape)


@rule("x * x → x²", "multiply")
def _square(site: Site) -> Value | None:
    x, y = site.inputs
    return square(x) if x is y and kind(x.dtype) in "iuf" else None


@rule("x / 2ⁿ → x * 2⁻ⁿ", "divide")
def _divide_power_of_two(site: Site) -> Value | None:
    """Exact: both round the same real number once, as long as 2⁻ⁿ is itself a normal number."""
    x, y = site.inputs
    divisor = uniform(y)
    if divisor is None or y.dtype.name not in ("float32", "float64"):
        return None
    fraction, exponent = math.frexp(float(divisor))
    if abs(fraction) != 0.5 or abs(exponent - 1) > -np.finfo(y.dtype).minexp:
        return None
    return multiply(x, constant(np.broadcast_to(1 / divisor, y.shape), y.dtype))


@rule("−(−x) → x", "negative")
@rule("conj(conj(x)) → x", "conjugate")
@rule("not not x → x", "logical_not", "invert")
def _undone(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], site.op)
    return None if inner is None else inner.inputs[0]


@rule("x + (−y) → x − y", "add")
def _add_negative(site: Site) -> Value | None:
    x, y = site.inputs
    if inner := site.made_by(y, "negative"):
        return subtract(x, inner.inputs[0])
    if inner := site.made_by(x, "negative"):
        return subtract(y, inner.inputs[0])
    return None


@rule("x − (−y) → x + y", "subtract")
def _subtract_negative(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[1], "negative")
    return None if inner is None else add(site.inputs[0], inner.inputs[0])


@rule("(−x) * (−y) → x * y", "multiply", "divide")
def _two_signs(site: Site) -> Value | None:
    first, second = (site.made_by(value, "negative") for value in site.inputs)
    if first is None or second is None or site.inputs[0].dtype.kind == "c":
        return None
    return bind(site.op, first.inputs[0], second.inputs[0])


@rule("|−x| → |x|", "absolute", "square")
def _even(site: Site) -> Value | None:
    (x,) = site.inputs
    inner = site.made_by(x, "negative") or (site.made_by(x, "absolute") if x.dtype.kind != "c" else None)
    if inner is None or inner.inputs[0].dtype != x.dtype:
        return None
    return bind(site.op, inner.inputs[0])


@rule(
    "max(x, x) → x",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_or",
)
def _twice_the_same(site: Site) -> Value | None:
    return site.inputs[0] if site.inputs[0] is site.inputs[1] else None


# ---- choosing and logic -----------------------------------------------------------------------------


@rule("x by a name → x", "checkpoint_name")
def _unnamed(site: Site) -> Value | None:
    """Names are for the derivative, which has been taken."""
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


# ---- dtypes and complex numbers ---------------------------------------------------------------------


_FLOATS = {"float16": (11, 5), "bfloat16": (8, 8), "float32": (24, 8), "float64": (53, 11)}
"""Bits of the significand and of the exponent."""


def holds(dtype: DType, other: DType) -> bool:
    """Whether every value of `other` is exactly a value of `dtype`."""
    if other.kind == "c":
        return dtype.kind == "c" and dtype.itemsize >= other.itemsize
    if dtype.kind == "c":
        return holds(np.dtype(f"f{dtype.itemsize // 2}"), other)
    if other.kind == "b":
        return True
    if is_integer(other):
        bits = 8 * other.itemsize - (other.kind == "i")
        if dtype.kind == "b" or (dtype.kind == "u" and other.kind == "i"):
            return False
        if is_integer(dtype):
            return 8 * dtype.itemsize - (dtype.kind == "i") >= bits
        return _FLOATS[dtype.name][0] >= bits
    return dtype.name in _FLOATS and all(
        a >= b for a, b in zip(_FLOATS[dtype.name], _FLOATS[other.name], strict=True)
    )


@rule("x as its own dtype → x", "convert", "bitcast")
def _same_dtype(site: Site) -> Value | None:
    return site.inputs[0] if site.params["dtype"] == site.inputs[0].dtype else None


@rule("x as wider as narrower → x as narrower", "convert")
def _through_wider(site: Site) -> Value | None:
    """Not where a floating-point number becomes an integer: what is out of range depends on the width."""
    (x,), dtype = site.inputs, site.params["dtype"]
    inner = site.made_by(x, "convert")
    if inner is None or not holds(x.dtype, inner.inputs[0].dtype):
        return None
    if is_integer(dtype) and inner.inputs[0].dtype.kind not in "biu":
        return None
    if is_integer(dtype) and not is_integer(x.dtype):
        return None
    return convert(inner.inputs[0], dtype)


@rule("bits of bits of x → bits of x", "bitcast")
def _bits_of_bits(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "bitcast")
    return None if inner is None else bind("bitcast", inner.inputs[0], dtype=site.params["dtype"])


@rule("real(complex(x, y)) → x", "real", "imag")
def _part_of_complex(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "complex")
    return None if inner is None else broadcast_to(inner.inputs[site.op == "imag"], site.type.shape)


@rule("real(conj(x)) → real(x)", "real", "imag")
def _part_of_conjugate(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "conjugate")
    if inner is None:
        return None
    part = bind(site.op, inner.inputs[0])
    return part if site.op == "real" else negative(part)


@rule("complex(real(x), imag(x)) → x", "complex")
def _parts_joined(site: Site) -> Value | None:
    re, im = site.made_by(site.inputs[0], "real"), site.made_by(site.inputs[1], "imag")
    return re.inputs[0] if re is not None and im is not None and re.inputs[0] is im.inputs[0] else None


# ---- moving elements --------------------------------------------------------------------------------


@rule("reshape to its own shape → x", "reshape", "broadcast_to")
def _same_shape(site: Site) -> Value | None:
    return site.inputs[0] if site.params["shape"] == site.inputs[0].shape else None


@rule("reshape of reshape → reshape", "reshape", "broadcast_to")
def _shape_of_shape(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], site.op)
    return None if inner is None else bind(site.op, inner.inputs[0], shape=site.params["shape"])


@rule("broadcast that repeats nothing → reshape", "broadcast_to")
def _repeats_nothing(site: Site) -> Value | None:
    (x,), shape = site.inputs, site.params["shape"]
    return reshape(x, shape) if x.type.size == math.prod(shape) else None


@rule("repeated number, moved → repeated number", "reshape", "transpose", "slice", "flip")
def _moved_number(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "broadcast_to")
    if inner is None or inner.inputs[0].ndim:
        return None
    return broadcast_to(inner.inputs[0], site.type.shape)


@rule("transpose that moves nothing → x", "transpose")
def _moves_nothing(site: Site) -> Value | None:
    axes = site.params["axes"]
    return site.inputs[0] if axes == tuple(range(len(axes))) else None


@rule("transpose of transpose → transpose", "transpose")
def _transpose_twice(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "transpose")
    if inner is None:
        return None
    first: Any = inner.params["axes"]
    return transpose(inner.inputs[0], [first[axis] for axis in site.params["axes"]])


@rule("transpose of axes of length 1 → reshape", "transpose")
def _moves_only_ones(site: Site) -> Value | None:
    shape = site.inputs[0].shape
    long = [axis for axis in site.params["axes"] if shape[axis] != 1]
    return reshape(site.inputs[0], site.type.shape) if long == sorted(long) else None


@rule("flip of flip → flip", "flip")
def _flip_twice(site: Site) -> Value | None:
    (x,), axes = site.inputs, site.params["axes"]
    if all(x.shape[axis] == 1 for axis in axes):
        return x
    inner = site.made_by(x, "flip")
    if inner is None:
        return None
    first: Any = inner.params["axes"]
    return flip(inner.inputs[0], sorted({*axes} ^ {*first}))


@rule("slice of all → x", "slice")
def _slice_all(site: Site) -> Value | None:
    return site.inputs[0] if site.type.shape == site.inputs[0].shape else None


@rule("slice of slice → slice", "slice")
def _slice_of_slice(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "slice")
    if inner is None or 0 in site.type.shape:
        return None
    first: Any = inner.params
    start = [a + b * s for a, b, s in zip(first["start"], site.params["start"], first["step"], strict=True)]
    step = [s * t for s, t in zip(first["step"], site.params["step"], strict=True)]
    return slice_(inner.inputs[0], start, _stops(start, site.type.shape, step), step)


def _stops(start: Any, shape: Shape, step: Any) -> list[int]:
    """Where slices of this length end, just behind their last element."""
    return [a + (n - 1) * s + 1 for a, n, s in zip(start, shape, step, strict=True)]


@rule("slice of concatenate → slice of a part", "slice")
def _slice_of_concatenate(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "concatenate")
    if inner is None:
        return None
    axis: Any = inner.params["axis"]
    start, stop = list(site.params["start"]), list(site.params["stop"])
    begin = 0
    for part in inner.inputs:
        end = begin + part.shape[axis]
        if begin <= start[axis] and stop[axis] <= end and start[axis] < stop[axis]:
            start[axis] -= begin
            stop[axis] -= begin
            return slice_(part, start, stop, site.params["step"])
        begin = end
    return None


@rule("slice of pad → slice", "slice")
def _slice_of_pad(site: Site) -> Value | None:
    """Where the slice lies within what was padded."""
    inner = site.made_by(site.inputs[0], "pad")
    if inner is None or any(gap for gap in _axes(inner, "interior")):
        return None
    x, low = inner.inputs[0], _axes(inner, "low")
    start = [a - b for a, b in zip(site.params["start"], low, strict=True)]
    stop = [a - b for a, b in zip(site.params["stop"], low, strict=True)]
    if any(a < 0 or b > dim for a, b, dim in zip(start, stop, x.shape, strict=True)):
        return None
    return slice_(x, start, stop, site.params["step"])


def _axes(call: Call, name: str) -> tuple[int, ...]:
    found: Any = call.params[name]
    return tuple(found)


@rule("slice at a known place → slice", "dynamic_slice")
def _known_slice(site: Site) -> Value | None:
    x, *starts = site.inputs
    start = _known_window(x.shape, starts, site.params["sizes"])
    if start is None:
        return None
    return slice_(x, start, [a + n for a, n in zip(start, site.params["sizes"], strict=True)])


@rule("update at a known place → update", "dynamic_update_slice")
def _known_update(site: Site) -> Value | None:
    x, y, *starts = site.inputs
    start = _known_window(x.shape, starts, y.shape)
    if start is None:
        return None
    stop = tuple(a + n for a, n in zip(start, y.shape, strict=True))
    return bind("update_slice", x, y, start=start, stop=stop, step=(1,) * x.ndim)


def _known_window(shape: Shape, starts: Sequence[Value], sizes: Shape) -> tuple[int, ...] | None:
    """Where the window begins after it was moved so that it fits, if all starts are constants that matter."""
    window: list[int] = []
    for dim, start, size in zip(shape, starts, sizes, strict=True):
        if size == dim:
            window.append(0)
        elif isinstance(start, Constant):
            window.append(min(max(int(start.array), 0), dim - size))
        else:
            return None
    return tuple(window)


@rule("slice of update → the update", "slice")
def _slice_of_update(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "update_slice")
    return inner.inputs[1] if inner is not None and dict(inner.params) == dict(site.params) else None


@rule("update of all → the update", "update_slice")
def _update_all(site: Site) -> Value | None:
    x, y = site.inputs
    return y if x.shape == y.shape else None


@rule("update over an update → the last", "update_slice")
def _update_twice(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "update_slice")
    if inner is None or dict(inner.params) != dict(site.params):
        return None
    return bind("update_slice", inner.inputs[0], site.inputs[1], **site.params)


@rule("update with what is there → x", "update_slice")
def _update_with_itself(site: Site) -> Value | None:
    x, part = site.inputs
    inner = site.made_by(part, "slice")
    is_same = inner is not None and inner.inputs[0] is x and dict(inner.params) == dict(site.params)
    return x if is_same else None


@rule("pad with nothing → x", "pad")
def _pad_nothing(site: Site) -> Value | None:
    return site.inputs[0] if site.type.shape == site.inputs[0].shape else None


@rule("pad of pad → pad", "pad")
def _pad_of_pad(site: Site) -> Value | None:
    """With the same number, and no gaps."""
    x, fill = site.inputs
    inner = site.made_by(x, "pad")
    if inner is None or any((*site.params["interior"], *_axes(inner, "interior"))):
        return None
    first, second = uniform(inner.inputs[1]), uniform(fill)
    if first is None or second is None or first.tobytes() != second.tobytes():
        return None
    low = [a + b for a, b in zip(site.params["low"], _axes(inner, "low"), strict=True)]
    high = [a + b for a, b in zip(site.params["high"], _axes(inner, "high"), strict=True)]
    return bind("pad", inner.inputs[0], fill, low=tuple(low), high=tuple(high), interior=(0,) * x.ndim)


@rule("concatenate without empty parts", "concatenate")
def _concatenate_nonempty(site: Site) -> Value | None:
    axis = site.params["axis"]
    parts = [part for part in site.inputs if part.shape[axis]]
    if len(parts) == len(site.inputs) > 1:
        return None
    return bind("concatenate", *parts, axis=axis) if len(parts) > 1 else (parts or site.inputs)[0]


# ---- sums -------------------------------------------------------------------------------------------


@rule("sum over axes of length 1 → reshape", "sum")
def _sum_of_one(site: Site) -> Value | None:
    """NumPy's sum of −0 is 0, hence the + 0 where no other axis is summed."""
    (x,), axes = site.inputs, site.params["axes"]
    ones = [axis for axis in axes if x.shape[axis] == 1]
    if not ones:
        return None
    kept = [axis for axis in range(x.ndim) if axis not in ones]
    rest = [kept.index(axis) for axis in axes if axis not in ones]
    dropped = reshape(x, tuple(x.shape[axis] for axis in kept))
    return sum_(dropped, rest) if rest else add(dropped, 0)


@rule("max over axes of length 1 → reshape", "prod", "max", "min", "any", "all")
def _extremum_of_one(site: Site) -> Value | None:
    (x,), axes = site.inputs, site.params["axes"]
    return reshape(x, site.type.shape) if all(x.shape[axis] == 1 for axis in axes) else None


# ---- products of matrices ---------------------------------------------------------------------------


@rule("dot of transposes → dot along other axes", "dot")
def _dot_of_transpose(site: Site) -> Value | None:
    """Where the free axes stay in their order."""
    params = dict(site.params)
    inputs = list(site.inputs)
    for place, side in enumerate("xy"):
        inner = site.made_by(inputs[place], "transpose")
        if inner is None:
            continue
        axes: Any = inner.params["axes"]
        contract, batch = params[f"contract_{side}"], params.get(f"batch_{side}", ())
        free = [axes[axis] for axis in range(len(axes)) if axis not in contract and axis not in batch]
        if free == sorted(free):
            inputs[place] = inner.inputs[0]
            params[f"contract_{side}"] = tuple(axes[axis] for axis in contract)
            if batch:
                params[f"batch_{side}"] = tuple(axes[axis] for axis in batch)
    return None if tuple(inputs) == site.inputs else bind("dot", *inputs, **params)


@rule("dot of axes of length 1 → reshaped dot", "dot")
def _dot_without_ones(site: Site) -> Value | None:
    """Where a reshape has put axes of length 1 among the free ones."""
    params = {"batch_x": (), "batch_y": (), **site.params}
    inputs = list(site.inputs)
    for place, side in enumerate("xy"):
        value, taken = inputs[place], (*params[f"contract_{side}"], *params[f"batch_{side}"])
        inner = site.made_by(value, "reshape")
        kept = [axis for axis in range(value.ndim) if axis in taken or value.shape[axis] != 1]
        if inner is None or inner.inputs[0].shape != tuple(value.shape[axis] for axis in kept):
            continue
        if len(kept) < value.ndim:
            inputs[place] = inner.inputs[0]
            for role in (f"contract_{side}", f"batch_{side}"):
                params[role] = tuple(kept.index(axis) for axis in params[role])
    if tuple(inputs) == site.inputs:
        return None
    contract, batch = ((params[f"{role}_x"], params[f"{role}_y"]) for role in ("contract", "batch"))
    return reshape(dot(inputs[0], inputs[1], contract, batch), site.type.shape)


@rule("transpose of a dot → the dot the other way round", "transpose")
def _transpose_of_dot(site: Site) -> Value | None:
    (product,) = site.inputs
    inner = site.made_by(product, "dot")
    if inner is None or not site.used_once(product):
        return None
    (x, y), params = inner.inputs, inner.params
    axes: Any = {"batch_x": (), "batch_y": (), **params}
    batch = len(axes["batch_x"])
    free_x = x.ndim - len(axes["contract_x"]) - batch
    swapped = (*range(batch), *range(batch + free_x, product.ndim), *range(batch, batch + free_x))
    if site.params["axes"] != swapped:
        return None
    return dot(y, x, (axes["contract_y"], axes["contract_x"]), (axes["batch_y"], axes["batch_x"]))


# ---- what holds for every elementwise op ------------------------------------------------------------


def _sink_broadcasts(site: Site) -> Value | None:
    """Compute on what was repeated, and repeat the result where the other operands do not do so anyway."""
    plain = [_unrepeated(site, value) for value in site.inputs]
    if all(a is b for a, b in zip(plain, site.inputs, strict=True)):
        return None
    return broadcast_to(bind(site.op, *plain, **site.params), site.type.shape)


def _unrepeated(site: Site, value: Value) -> Value:
    """What an operand repeats; without leading axes of length 1, too, which broadcasting adds by itself."""
    if isinstance(value, Constant) and value.ndim and site.op != "power":  # as for `_power_two`
        number = uniform(value)
        return value if number is None else constant(number, value.dtype)
    if inner := site.made_by(value, "broadcast_to"):
        return inner.inputs[0]
    if inner := site.made_by(value, "reshape"):
        (x,) = inner.inputs
        lead = value.ndim - x.ndim
        aligned = any(other is not value and other.ndim >= value.ndim for other in site.inputs)
        if aligned and lead > 0 and value.shape == (1,) * lead + x.shape:
            return x
    return value


def _sink_reshapes(site: Site) -> Value | None:
    """Compute in the shape from before, if all operands that are no numbers were reshaped alike."""
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


EVERY_ELEMENTWISE: list[tuple[str, Rule]] = [
    ("f(repeated x) → repeated f(x)", _sink_broadcasts),
    ("f(reshaped x) → reshaped f(x)", _sink_reshapes),
]
