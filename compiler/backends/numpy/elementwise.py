"""NumPy statements of elementwise ops that are not ufuncs: selection, conversion, parts of complex numbers."""

import numpy as np

from ...analysis.divisions_by_shifts import shift_of
from ...ir import Call, Constant
from ...symbolic_size import same_shape, typical
from ..python.form import LARGE
from ..python.module import Scope
from ..python.text import assigned
from .form import form, write_ufunc

LONG = 1 << 16
"""From this many bytes on, calling a method is worth it if it takes less time per element."""


@form("where", into=True, overwrites=(1, 2))
def _where(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Large results bit by bit, since `np.where` branches at each element: that takes 20 times as long if the
    processor cannot predict the condition."""
    condition, x, y = call.inputs
    (output,) = call.outputs
    if output.ndim == 0:
        return [
            f"    {scope.name(call)} = {scope.scalar(x)} if {scope.scalar(condition)} else {scope.scalar(y)}"
        ]
    if (target is None and typical(output.type.nbytes) < LARGE) or output.dtype.itemsize > 8:
        operands = [scope.array(value) for value in call.inputs]
        if target is None:
            return assigned(scope.name(call), "np.where", operands)
        name = scope.name(call)  # of the target itself, which later statements may write to
        return [f"    {name} = {target}", f"    np.copyto({name}, np.where({', '.join(operands)}))"]
    dtype = f"np.int{8 * output.dtype.itemsize}"
    mask = f"np.negative({scope.array(condition)}.view(np.int8))"
    if target == scope.array(y):  # which is then read only once
        x, y, mask = y, x, f"np.subtract({scope.array(condition)}.view(np.int8), np.int8(1))"
    x_bits, y_bits = (f"{scope.array(value)}.view({dtype})" for value in (x, y))
    name, bits = scope.name(call), scope.names.numbered("bits")
    lines = [
        f"    {name} = {target or f'np.empty({scope.type(output.type)})'}",
        f"    {bits} = {name}.view({dtype})",
    ]
    if isinstance(y, Constant) and not any(y.array.tobytes()):
        return [*lines, f"    np.bitwise_and({x_bits}, {mask}, out={bits})"]
    return [
        *lines,
        f"    np.bitwise_xor({x_bits}, {y_bits}, out={bits})",
        f"    np.bitwise_and({bits}, {mask}, out={bits})",
        f"    np.bitwise_xor({bits}, {y_bits}, out={bits})",
    ]


@form("maximum", "minimum", into=True, overwrites=(0, 1))
def _extremum(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Large floats and a number by the method `clip`, which takes a quarter of the time: see `_clip`.

    Of two zeros, NumPy takes the second, and the method that of the array. The sum with 0 makes 0 of −0.
    """
    (output,) = call.outputs
    x, bound = call.inputs if isinstance(call.inputs[1], Constant) else reversed(call.inputs)
    number = float(bound.array) if isinstance(bound, Constant) and not bound.ndim else np.nan
    is_second = bound is call.inputs[1]
    if (
        output.dtype.name not in ("float32", "float64")
        or not same_shape(x.shape, output.shape)
        or typical(output.type.nbytes) < LONG
        or np.isnan(number)
        or (is_second and number == 0 and np.signbit(number))
    ):
        return write_ufunc(call, scope, target)
    other = Constant(np.array(np.inf if call.op == "maximum" else -np.inf, output.dtype))
    low, high = map(scope.array, (bound, other) if call.op == "maximum" else (other, bound))
    name = scope.name(call)
    lines = assigned(name, f"{scope.array(x)}.clip", [low, high, *([f"out={target}"] if target else [])])
    if is_second and number == 0:
        zero = scope.array(Constant(np.array(0, output.dtype)))
        lines.append(f"    np.add({name}, {zero}, out={name})")
    return lines


@form("sign", into=True, overwrites=(0,))
def _sign(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Large floats scaled until the smallest is 1, between −1 and 1: `np.sign` branches at each element, which takes 30
    times as long if the processor cannot predict the signs. The sum with 0 makes 0 of −0."""
    (x,), (output,) = call.inputs, call.outputs
    exponent = {"float32": 75, "float64": 537}.get(output.dtype.name)
    if exponent is None or (target is None and typical(output.type.nbytes) < LARGE):
        return write_ufunc(call, scope, target)
    scale, low, high, zero = (
        scope.array(Constant(np.array(number, output.dtype))) for number in (2.0**exponent, -1, 1, 0)
    )
    name = scope.name(call)
    return [
        *assigned(name, "np.multiply", [scope.array(x), scale, *([f"out={target}"] if target else [])]),
        f"    np.multiply({name}, {scale}, out={name})",
        f"    {name}.clip({low}, {high}, out={name})",
        f"    np.add({name}, {zero}, out={name})",
    ]


@form("floor_divide", "remainder", into=True, overwrites=(0, 1))
def _divided(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Bits, where the divisor is a power of two: remainders of integers take 50 times as long, and quotients twice.

    Single integers by Python's operators, which take a tenth of the time of the ufuncs.
    """
    is_known = all(isinstance(value, Constant) for value in call.inputs)
    if call.outputs[0].ndim == 0 and call.outputs[0].dtype.kind in "iu" and not (is_known or target):
        one, other = map(scope.number, call.inputs)
        return [f"    {scope.name(call)} = {one} {'%' if call.op == 'remainder' else '//'} {other}"]
    shift = shift_of(call)
    if shift is None:
        return write_ufunc(call, scope, target)
    x, divisor = call.inputs
    name, number = ("bitwise_and", 2**shift - 1) if call.op == "remainder" else ("right_shift", shift)
    operand = Constant(np.full(divisor.shape, number, divisor.dtype))
    arguments = [scope.array(x), scope.array(operand), *([f"out={target}"] if target else [])]
    return assigned(scope.name(call), f"np.{name}", arguments)


@form("power", into=True, overwrites=(0, 1))
def _power(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Single numbers by C's `pow`, as Python's and NumPy's own: the last bits of the ufunc's vectors may differ.

    The ufunc computes square roots.
    """
    x, y = call.inputs
    is_root = isinstance(y, Constant) and bool(np.any(y.array == 0.5))
    if call.outputs[0].ndim or x.dtype.kind != "f" or target or is_root:
        return write_ufunc(call, scope, target)
    base, exponent = scope.scalar(x), scope.scalar(y)
    power = f"{base}**{exponent}" if (base + exponent).isidentifier() else f"{base} ** {exponent}"
    if not isinstance(y, Constant):
        power = f"np.power({base}, {exponent}) if {exponent} == 0.5 else {power}"
    return [f"    {scope.name(call)} = {power}"]


@form("clip", into=True, overwrites=(0,))
def _clip(call: Call, scope: Scope, target: str | None) -> list[str]:
    """By the method if it gives the same bits: its loops are vectorised, but those of `np.maximum` with a number are
    not."""
    x, low, high = (scope.array(value) for value in call.inputs)
    name = scope.name(call)
    if _keeps_zeros(call):
        return assigned(name, f"{x}.clip", [low, high, *([f"out={target}"] if target else [])])
    if target is None:
        return assigned(name, "np.minimum", [high, f"np.maximum({low}, {x})"])
    return [
        *assigned(name, "np.maximum", [low, x, f"out={target}"]),
        f"    np.minimum({high}, {name}, out={name})",
    ]


def _keeps_zeros(call: Call) -> bool:
    """Whether the method keeps a −0 of `x` if a bound is 0: for arrays as bounds that depends on their strides."""
    x, low, high = call.inputs
    return x.dtype.kind in "iu" or x.dtype.name == "float16" or low.ndim == high.ndim == 0


@form("convert", into=True)
def _convert(call: Call, scope: Scope, target: str | None) -> list[str]:
    """`astype` to a real dtype drops imaginary parts with a warning, which taking the real part avoids."""
    (value,), (output,) = call.inputs, call.outputs
    x = scope.array(value)
    if value.dtype.kind == "c" and output.dtype.kind not in "cb":
        x += ".real"
    name = scope.name(call)
    if target is None:
        end = "[()]" if isinstance(value, Constant) and not output.ndim else ""
        return [f"    {name} = {x}.astype({scope.dtype(output.dtype)}){end}"]
    return [f"    {name} = {target}", f'    np.copyto({name}, {x}, casting="unsafe")']


@form("real", "imag")
def _part(call: Call, scope: Scope, target: str | None) -> list[str]:
    (x,) = map(scope.scalar if call.inputs[0].ndim == 0 else scope.array, call.inputs)
    return [f"    {scope.name(call)} = {x}.{call.op}"]


@form("complex", into=True)
def _complex(call: Call, scope: Scope, target: str | None) -> list[str]:
    (output,) = call.outputs
    if output.ndim == 0:
        re, im = map(scope.scalar, call.inputs)
        return [f"    {scope.name(call)} = {scope.dtype(output.dtype)}(complex({re}, {im}))"]
    re, im = map(scope.array, call.inputs)
    name = scope.name(call)
    memory = target or f"np.empty({scope.type(output.type)})"
    return [f"    {name} = {memory}", f"    {name}.real = {re}", f"    {name}.imag = {im}"]


@form("checkpoint_name", "stop_gradient")
def _same(call: Call, scope: Scope, target: str | None) -> list[str]:
    (x,) = map(scope.scalar if call.inputs[0].ndim == 0 else scope.array, call.inputs)
    return [f"    {scope.name(call)} = {x}"]
