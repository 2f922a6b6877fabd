"""ufuncs on traced arrays: NumPy's promotion, ``out=``, ``where=``, ``dtype=``, ``casting=``, and their methods."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..dtypes import BOOL, DType, is_complex, is_supported
from ..errors import ArgumentTypeError, DTypeError, UnsupportedFunctionError
from ..functions import broadcast_to, convert, full, where
from ..ir import Value
from ..op import all_ops
from ..trace import bind
from ..traced_array import PYTHON_NUMBERS, TracedArray, as_value, index_items, is_traced, wrap
from ..tracing import require_trace
from .registry import UFUNCS, implements_ufunc

_OP_OF = {"absolute": "absolute", "fabs": "absolute", "divide": "divide", "true_divide": "divide"}


def call_ufunc(ufunc: Any, method_name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``__array_ufunc__`` of traced arrays."""
    if method_name == "__call__":
        return apply(ufunc, *inputs, **kwargs)
    return _METHODS[method_name](ufunc, *inputs, **kwargs)


UFUNCS["call"] = call_ufunc


def apply(
    ufunc: Any,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    signature: Any = None,
    **gufunc: Any,
) -> Any:
    """``ufunc(*inputs)``: one op of the ufunc's name, or a function registered for it."""
    if ufunc.signature is not None:
        return _into(out, True, UFUNCS[ufunc](*inputs, **gufunc)) if ufunc in UFUNCS else _refuse(ufunc)
    function = UFUNCS.get(ufunc)
    if function is not None:
        operands = [as_array(x) if isinstance(x, (list, tuple)) else x for x in inputs]
        return _into(out, where, function(*operands), dtype, casting)
    op = _OP_OF.get(ufunc.__name__, ufunc.__name__)
    if op not in all_ops():
        return _refuse(ufunc)
    operands = promote(ufunc, inputs, dtype, casting)
    return _into(out, where, wrap(_bind_conjugate(op, operands)), dtype, casting)


def _bind_conjugate(op: str, operands: list[Value]) -> Value:
    """`conjugate` of a real array is the array."""
    return operands[0] if op == "conjugate" and not is_complex(operands[0].dtype) else bind(op, *operands)


def _refuse(ufunc: Any) -> Any:
    from_numpy = getattr(np, ufunc.__name__, None) is ufunc
    raise UnsupportedFunctionError(f"{'np.' if from_numpy else ''}{ufunc.__name__} cannot be traced")


def as_array(x: Any) -> TracedArray:
    """Anything array-like as a traced array."""
    return x if is_traced(x) else wrap(as_value(x))


def promote(ufunc: Any, inputs: Sequence[Any], dtype: Any = None, casting: str = "same_kind") -> list[Value]:
    """The operands converted to the dtypes of the loop that NumPy would choose."""
    values = [None if _is_weak(x) else as_value(x) for x in inputs]
    given = tuple(_weak_type(x) if v is None else v.dtype for x, v in zip(inputs, values, strict=True))
    chosen = loop_dtypes(ufunc, given, None if dtype is None else np.dtype(dtype), casting)
    return [as_value(x, d) if v is None else convert(v, d) for x, v, d in zip(inputs, values, chosen, strict=False)]


def _is_weak(x: Any) -> bool:
    return (is_traced(x) and x.weak is not None) or (isinstance(x, PYTHON_NUMBERS) and not isinstance(x, (bool, np.generic)))


def _weak_type(x: Any) -> Any:
    return x.weak if is_traced(x) else type(x)


@lru_cache(maxsize=4096)
def loop_dtypes(ufunc: Any, given: tuple[Any, ...], dtype: DType | None, casting: str) -> tuple[DType, ...]:
    """The dtypes of inputs and outputs by NumPy's own rules; a Python type stands for a weak number."""
    if all(isinstance(d, type) for d in given):  # all weak: NumPy has its default integer, float64, complex128
        given = tuple(np.dtype(d) for d in given)
    wanted = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)}
    try:
        dtypes = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout), casting=casting, **wanted)
    except TypeError as error:
        raise DTypeError(f"{ufunc.__name__} is not defined for ({', '.join(map(_name, given))}): {error}") from None
    if not all(map(is_supported, dtypes)):
        raise DTypeError(f"{ufunc.__name__} of ({', '.join(map(_name, given))}) gives {dtypes[-1]}, which cannot be traced")
    return tuple(dtypes)


def _name(dtype: Any) -> str:
    return dtype.__name__ if isinstance(dtype, type) else str(dtype)


def _into(out: Any, mask: Any, result: Any, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Write `result` into ``out=`` where the mask of ``where=`` holds."""
    if isinstance(result, tuple):
        outs = out if isinstance(out, tuple) else (None,) * len(result)
        return tuple(_into(o, mask, r, dtype, casting) for o, r in zip(outs, result, strict=True))
    if isinstance(out, tuple):
        (out,) = out
    result = as_array(result)
    if dtype is not None and result.dtype != np.dtype(dtype) and result.dtype != BOOL:
        result = wrap(convert(result.value, np.dtype(dtype)))
    if out is None:
        if mask is True:
            return result
        condition = as_value(mask)
        return wrap(where(condition, result.value, full(result.shape, 0, result.dtype)))
    return write_out(out, result, mask, casting)


def write_out(out: Any, result: TracedArray, mask: Any = True, casting: str = "same_kind") -> TracedArray:
    """``out[...] = result`` with a check of the cast; returns `out` as a traced array."""
    target = out if is_traced(out) else captured(out)
    if not np.can_cast(result.dtype, target.dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(f"cannot cast the result from {result.dtype} to {target.dtype} with casting rule {casting!r}")
    value = result.value
    if len(value.shape) > target.ndim or np.broadcast_shapes(value.shape, target.shape) != target.shape:
        raise ArgumentTypeError(f"out has shape {target.shape}, the result {value.shape}")
    value = broadcast_to(convert(value, target.dtype), target.shape)
    if mask is not True:
        value = where(as_value(mask), value, target.value)
    target.write(value)
    return target


def captured(array: Any) -> TracedArray:
    """A NumPy array that the function closes over, as a traced array that shares its memory."""
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(f"out must be an array, not {type(array).__name__}")
    storage = require_trace().storage_of_array(array)
    return TracedArray(storage, storage.value.type)


# ---- methods of ufuncs -------------------------------------------------------------------------------


def _outer(ufunc: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    x, y = as_array(x), as_array(y)
    return apply(ufunc, x.reshape((*x.shape, *(1,) * y.ndim)), y, **kwargs)


def _at(ufunc: Any, target: Any, index: Any, operand: Any = None) -> None:
    """Unbuffered in-place update: repeated indices count each time, for add, multiply, maximum and minimum."""
    target = target if is_traced(target) else captured(target)
    items = index_items(index)
    modes = {"add": "add", "subtract": "add", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum"}
    mode = modes.get(ufunc.__name__)
    if mode is None:
        target[index] = apply(ufunc, target[index]) if operand is None else apply(ufunc, target[index], operand)
        return
    update = as_value(operand, target.dtype)
    target.at_index(items, bind("negative", update) if ufunc is np.subtract else update, mode)


def _reduce(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
            initial: Any = np._NoValue, where: Any = True) -> Any:  # type: ignore[attr-defined]  # fmt: skip
    function = _REDUCTIONS.get(ufunc.__name__)
    array = as_array(array)
    kwargs: dict[str, Any] = {"axis": axis, "out": out, "keepdims": keepdims, "where": where}
    if initial is not np._NoValue and ufunc.__name__ not in ("logical_and", "logical_or"):  # type: ignore[attr-defined]
        kwargs["initial"] = initial
    if dtype is not None and ufunc in (np.add, np.multiply):
        kwargs["dtype"] = dtype
    if function is not None:
        return function(array, **kwargs)
    return _fold(ufunc, array, axis, keepdims)


_REDUCTIONS: dict[str, Any] = {
    "add": np.sum,
    "multiply": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "logical_and": np.all,
    "logical_or": np.any,
}


def _fold(ufunc: Any, array: TracedArray, axis: Any, keepdims: bool) -> Any:
    """Any other binary ufunc, one entry at a time from the left, as NumPy defines it."""
    moved = np.moveaxis(array, axis, 0)  # type: ignore[call-overload]
    if not len(moved):
        raise ArgumentTypeError(f"{ufunc.__name__}.reduce of an empty axis: it has no identity")
    result = moved[0]
    for i in range(1, len(moved)):
        result = apply(ufunc, result, moved[i])
    return np.expand_dims(result, axis) if keepdims else result


def _accumulate(ufunc: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    array = as_array(array)
    if ufunc in (np.add, np.multiply):
        function = np.cumsum if ufunc is np.add else np.cumprod
        return function(array, axis=axis, dtype=dtype, out=out)
    if ufunc in (np.maximum, np.minimum):
        name = "cummax" if ufunc is np.maximum else "cummin"
        return _into(out, True, wrap(bind(name, array.value, axis=axis % array.ndim, reverse=False)))
    moved = np.moveaxis(array, axis, 0)  # type: ignore[call-overload]
    rows = [moved[0]] if len(moved) else []
    for i in range(1, len(moved)):
        rows.append(apply(ufunc, rows[-1], moved[i]))
    return _into(out, True, np.stack(rows, axis=axis))


def _reduceat(ufunc: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """Reduce the pieces between consecutive `indices`, which must be known while tracing."""
    array = as_array(array)
    bounds = [int(i) for i in np.asarray(indices)]
    moved = np.moveaxis(array, axis, 0)  # type: ignore[call-overload]
    ends = [*bounds[1:], len(moved)]
    pieces = [
        _reduce(ufunc, moved[a:b], axis=0, dtype=dtype) if a < b else moved[a] for a, b in zip(bounds, ends, strict=True)
    ]
    return _into(out, True, np.stack(pieces, axis=axis))


_METHODS: dict[str, Any] = {
    "outer": _outer,
    "at": _at,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
}


# ---- ufuncs that are more than one op ----------------------------------------------------------------


@implements_ufunc(np.positive)
def positive(x: Any) -> Any:
    return wrap(as_value(x))


@implements_ufunc(np.float_power)
def float_power(x: Any, y: Any) -> Any:
    dtypes = loop_dtypes(np.float_power, tuple(as_value(v).dtype for v in (x, y)), None, "same_kind")
    return wrap(bind("power", *[convert(as_value(v), d) for v, d in zip((x, y), dtypes, strict=False)]))


@implements_ufunc(np.degrees, np.rad2deg)
def degrees(x: Any) -> Any:
    return _float(np.degrees, x) * (180.0 / np.pi)


@implements_ufunc(np.radians, np.deg2rad)
def radians(x: Any) -> Any:
    return _float(np.radians, x) * (np.pi / 180.0)


def _float(ufunc: Any, x: Any) -> Any:
    """The operand in the floating dtype that the ufunc computes in."""
    return wrap(promote(ufunc, (x,))[0])


@implements_ufunc(np.divmod)
def divmod_(x: Any, y: Any) -> Any:
    return np.floor_divide(x, y), np.remainder(x, y)


@implements_ufunc(np.modf)
def modf(x: Any) -> Any:
    x = _float(np.modf, x)
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole).astype(x.dtype), x), whole


@implements_ufunc(np.ldexp)
def ldexp(x: Any, exponent: Any) -> Any:
    """x · 2^exponent in two steps, so that neither power overflows before the product does."""
    x = _float(np.sqrt, x)
    e = as_array(exponent)
    half = e // 2
    two = np.asarray(2.0, x.dtype)[()]
    return x * two ** half.astype(x.dtype) * two ** (e - half).astype(x.dtype)


@implements_ufunc(np.frexp)
def frexp(x: Any) -> Any:
    """Mantissa in [0.5, 1) and exponent, exactly: the exponent is read off log2 and corrected."""
    x = _float(np.sqrt, x)
    usable = np.isfinite(x) & (x != 0)
    safe = np.where(usable, np.abs(x), 1.0).astype(x.dtype)
    exponent = np.floor(np.log2(safe)).astype(np.int32) + 1
    mantissa = ldexp(safe, -exponent)
    up = (mantissa >= 1).astype(np.int32) - (mantissa < 0.5).astype(np.int32)
    exponent = exponent + up
    mantissa = np.copysign(ldexp(safe, -exponent), x)
    return np.where(usable, mantissa, x), np.where(usable, exponent, np.int32(0)).astype(np.int32)


def _logical(ufunc: Any, op: str) -> None:
    """Truth of numbers: compare with zero first."""

    @implements_ufunc(ufunc)
    def logical(*operands: Any) -> Any:
        return wrap(bind(op, *[truth(as_value(x)) for x in operands]))


def truth(x: Value) -> Value:
    """``x != 0`` as bool."""
    return x if x.dtype == BOOL else bind("not_equal", x, full((), 0, x.dtype))


for _ufunc in (np.logical_and, np.logical_or, np.logical_xor, np.logical_not):
    _logical(_ufunc, _ufunc.__name__)


@implements_ufunc(np.isnan)
def isnan(x: Any) -> Any:
    return _test("isnan", x)


@implements_ufunc(np.isinf)
def isinf(x: Any) -> Any:
    return _test("isinf", x)


@implements_ufunc(np.isfinite)
def isfinite(x: Any) -> Any:
    return _test("isfinite", x)


def _test(op: str, x: Any) -> Any:
    return wrap(bind(op, as_value(x)))


# ---- operators ---------------------------------------------------------------------------------------

_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SUPPORTED_OPERANDS = (TracedArray, np.ndarray, np.generic, *PYTHON_NUMBERS, list, tuple)


def operate(ufunc: Any, x: Any, y: Any) -> Any:
    """A binary operator. Python numbers among themselves stay weak, as they would outside."""
    if not (isinstance(x, _SUPPORTED_OPERANDS) and isinstance(y, _SUPPORTED_OPERANDS)):
        return NotImplemented
    if ufunc is np.power and isinstance(y, (int, float)) and not isinstance(y, bool) and not _is_weak(x):
        fast = _fast_power(x, y)
        if fast is not None:
            return fast
    result = ufunc(x, y)
    if _is_weak(x) and _is_weak(y) and result.dtype != BOOL:
        kinds = {"i": int, "f": float, "c": complex}
        return wrap(result.value, weak=kinds[result.dtype.kind])
    return result


def _fast_power(x: Any, exponent: float) -> Any:
    """ndarray's own shortcuts for ``x ** 2`` and the like, which give other roundings than `np.power`."""
    if not is_traced(x) or x.dtype.kind not in "fc":
        return np.square(x) if is_traced(x) and x.dtype.kind in "iu" and exponent == 2 and isinstance(exponent, int) else None
    shortcuts = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
    function = shortcuts.get(exponent)
    return None if function is None else function(x)


def _install_operators() -> None:
    for name, ufunc in _OPERATORS.items():
        setattr(TracedArray, f"__{name}__", lambda self, other, u=ufunc: operate(u, self, other))
        setattr(TracedArray, f"__r{name}__", lambda self, other, u=ufunc: operate(u, other, self))
        setattr(TracedArray, f"__i{name}__", lambda self, other, u=ufunc: _in_place(u, self, other))
    for name, ufunc in _COMPARISONS.items():
        setattr(TracedArray, f"__{name}__", lambda self, other, u=ufunc: operate(u, self, other))
    TracedArray.__neg__ = lambda self: _unary(np.negative, self)  # type: ignore[attr-defined]
    TracedArray.__pos__ = lambda self: _unary(np.positive, self)  # type: ignore[attr-defined]
    TracedArray.__abs__ = lambda self: _unary(np.absolute, self)  # type: ignore[attr-defined]
    TracedArray.__invert__ = lambda self: np.invert(self)  # type: ignore[attr-defined]
    TracedArray.__contains__ = lambda self, item: bool(np.any(self == item))  # type: ignore[attr-defined]
    TracedArray.__divmod__ = lambda self, other: np.divmod(self, other)  # type: ignore[attr-defined]
    TracedArray.__rdivmod__ = lambda self, other: np.divmod(other, self)  # type: ignore[attr-defined]


def _unary(ufunc: Any, x: TracedArray) -> TracedArray:
    result: TracedArray = ufunc(x)
    return wrap(result.value, weak=x.weak) if x.weak is not None else result


def _in_place(ufunc: Any, x: TracedArray, other: Any) -> Any:
    """``x += y`` writes through the views of x; a scalar is rebound instead, as NumPy's are."""
    if x.is_scalar:
        return operate(ufunc, x, other)
    if not isinstance(other, _SUPPORTED_OPERANDS):
        return NotImplemented
    return ufunc(x, other, out=(x,))


_install_operators()
