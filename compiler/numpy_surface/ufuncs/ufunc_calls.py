"""ufuncs on traced arrays: NumPy's choice of a loop, ``out=``, ``where=``, ``dtype=``, ``casting=``, ``signature=``."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...builder import bind, bind_all
from ...dtypes import BOOL, DType, is_supported
from ...errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, UnsupportedFunctionError
from ...errors.tracemill_error import text_of
from ...ir import ArrayType, Shape, Value
from ...memory_layout.layout import Layout, dense_layout, layout_of, row_major
from ...memory_layout.result_layouts import direct_layout, elementwise_layout, joint_questions
from ...nesting import shown
from ...op import all_ops
from ...symbolic_size import SymbolicSize, is_empty, is_known, is_one, joint_shape, same_shape
from ...tracing.array_values import PYTHON_NUMBERS, as_value
from ...tracing.exceptions.huge_arrays import refuse_huge
from ...tracing.foreign_memory import ForeignMemory
from ...tracing.outside.adoption import adopt_for_write
from ...tracing.registry import REFUSED, UFUNCS
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray, array_on, wrap
from ...tracing.traced_memory import is_numpy_array, is_traced
from ...value_ops import broadcast_to, convert, full, reshape, where
from .mixed_numbers import is_exact, with_fraction
from .powers import is_root
from .repeated_calls import repeated
from .value_checks import refuse_unfit

_OP_OF = {"fabs": "absolute", "true_divide": "divide", "float_power": "power"}
"""ufuncs that are an op with another name, once their operands have the loop's dtype."""

_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})

_POWERS = frozenset({"power", "pow", "float_power"})

METHODS_OF_UFUNCS: dict[str, Callable[..., Any]] = {}
"""Name of a ufunc's method (``reduce``, ``at`` …) -> what it does."""

BY_NAME: dict[str, Callable[..., Any]] = {}
"""Functions for ufuncs of other packages, which need not be imported, by the ufunc's name."""


def call_ufunc(ufunc: Any, method_name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``__array_ufunc__`` of traced arrays."""
    if ufunc.__name__ in REFUSED:
        raise UnsupportedFunctionError(f"{ufunc_name(ufunc)} cannot be traced: {REFUSED[ufunc.__name__]}")
    if method_name == "__call__":
        if len(inputs) == 2 and any(map(is_exact, inputs)):
            inputs = with_fraction(ufunc, *inputs, is_operator=False) or inputs
        if kwargs:
            return apply(ufunc, *inputs, **kwargs)
        if _depends_on_types(ufunc):
            result = repeated(_without_options, ufunc, *inputs)
        else:
            result = _without_options(ufunc, *inputs)
        _refuse_huge_result(result, inputs)
        return result
    result = METHODS_OF_UFUNCS[method_name](ufunc, *inputs, **kwargs)
    if method_name == "outer":
        _refuse_huge_result(result, inputs)
    return result


UFUNCS["call"] = call_ufunc


@lru_cache(maxsize=1024)
def _depends_on_types(ufunc: Any) -> bool:
    """Whether what a ufunc of arrays records does not depend on known elements, as for the exponents of powers."""
    is_one_op = ufunc is np.matmul or ufunc not in UFUNCS
    return is_one_op and _has_one_result(ufunc) and _is_numpys(ufunc) and ufunc.__name__ not in _POWERS


def _refuse_huge_result(result: Any, inputs: Sequence[Any]) -> None:
    """Raise NumPy's error where arrays that are broadcast give one that no machine can hold. Computed together with
    what reads it, it would need no memory, but endless time."""
    if is_traced(result) and not any(same_shape(result.shape, getattr(x, "shape", ())) for x in inputs):
        refuse_huge(ArrayType(result.dtype, result.shape))


def _without_options(ufunc: Any, *inputs: Any) -> Any:
    """The result for these operands alone."""
    if _has_one_result(ufunc) and all(map(_is_in_rows, inputs)):
        return _computed_in_rows(ufunc, inputs)
    return apply(ufunc, *inputs)


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
    computed: Callable[..., Any] | None = None,
    **gufunc_options: Any,
) -> Any:
    """``ufunc(*inputs)``: one op with the name of the ufunc, or the function registered for it, or `computed`."""
    if _calls_python(ufunc):
        raise UnsupportedFunctionError(
            f"{ufunc_name(ufunc)} cannot be traced: it calls Python for every element; "
            "write it with NumPy functions of whole arrays"
        )
    outs = out if isinstance(out, tuple) else (out,) * ufunc.nout
    if out is not None:  # before operands on the same memory are read
        list(map(adopt_for_write, filter(is_numpy_array, outs)))
    operands, dtypes = resolve(ufunc, inputs, loop_signature(ufunc, dtype, signature), casting)
    for target, found in zip(outs, dtypes[ufunc.nin :], strict=True):
        if target is not None:
            is_array = is_traced(target) or isinstance(target, (np.ndarray, ForeignMemory))
            _refuse_cast(found, (target if is_array else target_of(target)).dtype, casting)
    if where is not True and ufunc.signature is None:
        where = wrap(as_mask(where))
        operands = _harmless_elsewhere(ufunc, operands, where.value)
    result: Any = computed(*map(wrap, operands)) if computed else _computed(ufunc, operands, gufunc_options)
    if isinstance(result, Value):
        result = wrap(result)
    results: tuple[Any, ...] = result if ufunc.nout > 1 else (result,)
    if ufunc.signature is not None and "?" in ufunc.signature and outs[0] is not None:
        results = (_without_leading_axes(as_array(result), target_of(outs[0]).ndim),)
    if ufunc.signature is None or order in ("A", "a"):
        layouts = layouts_of(inputs, least_axes=1 if order in ("A", "a") else 2)
    else:
        layouts = _layouts_of_stacks(ufunc, inputs, gufunc_options)
    is_direct = where is True and ufunc.nout == 1 and are_direct(inputs, dtypes, layouts)
    done = tuple(
        _delivered(as_array(r).value, d, o, where, casting, layouts, order, is_direct)
        for r, d, o in zip(results, dtypes[ufunc.nin :], outs, strict=True)
    )
    return done if ufunc.nout > 1 else done[0]


@lru_cache(maxsize=1024)
def _calls_python(ufunc: Any) -> bool:
    """Whether all loops of a ufunc take objects, as those of `np.frompyfunc` do."""
    return bool(ufunc.types) and all(set(loop) <= set("O->") for loop in ufunc.types)


@lru_cache(maxsize=1024)
def _has_one_result(ufunc: Any) -> bool:
    """Whether a ufunc gives one array, whose axes lie in the order of those of its operands."""
    return ufunc.nout == 1 and (ufunc.signature is None or ufunc is np.matmul) and not _calls_python(ufunc)


def _is_in_rows(x: Any) -> bool:
    """Whether an operand is a number, or an array in C order that is not a view. Most are, and so is the result."""
    if type(x) is not TracedArray:
        return type(x) in PYTHON_NUMBERS
    return not x._views and ((layout := x._storage.layout) is None or layout.is_row_major)


def _computed_in_rows(ufunc: Any, inputs: tuple[Any, ...]) -> TracedArray:
    """What `apply` gives for these operands without options."""
    operands, dtypes = resolve(ufunc, inputs, None, "same_kind")
    found = _computed(ufunc, operands, {})
    value = convert(found if isinstance(found, Value) else as_array(found).value, dtypes[-1])
    if len(value.type.shape) < 2:
        return wrap(value)
    matrices = [x._storage.layout for x in inputs if type(x) is TracedArray and len(x.type.shape) > 1]
    asked = joint_questions([layout for layout in matrices if layout is not None])
    return wrap(value, layout=row_major(value.type.shape, asked) if asked else None)


def _computed(ufunc: Any, operands: Sequence[Value], gufunc_options: Mapping[str, Any]) -> Any:
    """The result, or a tuple of them; the value of one op."""
    if ufunc.signature is not None:
        return _generalized(ufunc, operands, **gufunc_options)
    if ufunc in UFUNCS:
        return UFUNCS[ufunc](*map(wrap, operands))
    if _is_left_to_scipy(ufunc, operands[0].dtype.kind == "c" or operands[-1].dtype.kind == "c"):
        found = bind_all("scipy_special", *operands, name=ufunc.__name__)
        return found[0] if len(found) == 1 else found
    if ufunc.__name__ in BY_NAME and not _is_numpys(ufunc):
        return BY_NAME[ufunc.__name__](*map(wrap, operands))
    return _one_op(ufunc, operands)


_REAL = frozenset("erf erfc erfcx gamma loggamma log_ndtr ndtr psi digamma rgamma xlog1py xlogy".split())
"""Functions of `scipy.special` whose ops are for real numbers, while SciPy's take complex ones."""


@lru_cache(maxsize=1024)
def _is_left_to_scipy(ufunc: Any, is_complex: bool) -> bool:
    """Whether a ufunc is one of `scipy.special` for which Tracemill has no op of its own."""
    name = ufunc.__name__
    if (name in BY_NAME or name in all_ops()) and not (is_complex and name in _REAL):
        return False
    private: Any = sys.modules.get("scipy.special._ufuncs")
    return getattr(private, name, None) is ufunc


def _harmless_elsewhere(ufunc: Any, operands: Sequence[Value], mask: Value) -> list[Value]:
    """Operands in which numbers are replaced where NumPy computes nothing.

    There, no floating-point error occurs, and no slope is infinite.
    """
    return [where(mask, x, full((), _harmless_number(ufunc, x.dtype), x.dtype)) for x in operands]


def _harmless_number(ufunc: Any, dtype: DType) -> float:
    """A number at which the ufunc and its derivatives are finite."""
    if dtype.kind not in "fc":
        return 1
    return 2 if ufunc is np.arccosh else 0.5


def _one_op(ufunc: Any, operands: Sequence[Value]) -> Value:
    name: str = ufunc.__name__
    op = _OP_OF.get(name, name)
    if op in _COMPARISONS:
        return compared(op, *operands)
    if op not in all_ops():
        raise UnsupportedFunctionError(f"{ufunc_name(ufunc)} cannot be traced: Tracemill does not know it")
    if op == "power":
        if is_root(*operands):
            return bind("sqrt", operands[0])
        _refuse_negative_power(*operands)
    return bind(op, *operands)


def ufunc_name(ufunc: Any) -> str:
    """The user's spelling of the ufunc, if it can be found."""
    return f"np.{ufunc.__name__}" if _is_numpys(ufunc) else f"the ufunc {ufunc.__name__}"


def _is_numpys(ufunc: Any) -> bool:
    return getattr(np, ufunc.__name__, None) is ufunc


def _refuse_negative_power(x: Value, y: Value) -> None:
    if x.dtype.kind != "i" or is_empty(x.shape) or is_empty(y.shape):
        return
    known = require_trace().concrete(y)
    if known is not None and (known < 0).any():
        raise ArgumentValueError("Integers to negative integer powers are not allowed.")


def compared(op: str, x: Value, y: Value) -> Value:
    """A comparison. Between int64 and uint64 it is exact, as in NumPy: a negative number is less than all others."""
    if x.dtype == y.dtype:
        return bind(op, x, y)
    if x.dtype.kind == "u":
        mirrored = {
            "less": "greater",
            "greater": "less",
            "less_equal": "greater_equal",
            "greater_equal": "less_equal",
        }
        return compared(mirrored.get(op, op), y, x)
    negative = bind("less", x, full((), 0, x.dtype))
    outcome = op in ("less", "less_equal", "not_equal")
    return where(negative, full((), outcome, BOOL), bind(op, convert(x, y.dtype), y))


# ---- operands ----------------------------------------------------------------------------------------


def as_array(x: Any) -> TracedArray:
    """Any array-like object as a traced array."""
    if is_traced(x):
        return x  # type: ignore[no-any-return]
    is_row_major = not is_numpy_array(x) or x.flags.c_contiguous
    return wrap(as_value(x), layout=None if is_row_major else layout_of(x))


def resolve(
    ufunc: Any, inputs: Sequence[Any], signature: tuple[Any, ...] | None, casting: str
) -> tuple[list[Value], tuple[DType, ...]]:
    """The operands in the dtypes of NumPy's loop, and all dtypes of the loop, including results."""
    if ufunc.__name__ in _COMPARISONS:
        inputs = _widened_for_comparison(inputs)
    values = [None if is_weak(x) else as_value(x) for x in inputs]
    given = tuple(_weak_type(x) if v is None else v.dtype for x, v in zip(inputs, values, strict=True))
    dtypes, is_exact, takes_bools, takes_ints = _loop(ufunc, given, signature, casting)
    if takes_bools:
        _refuse_long_integers(inputs)
    if takes_ints:
        for x, dtype in zip(inputs, dtypes, strict=False):
            refuse_unfit(x, dtype)
    if is_exact:
        pairs = zip(inputs, values, dtypes, strict=False)
        return [as_value(x, d) if v is None else v for x, v, d in pairs], dtypes
    with np.errstate(all="ignore"):  # a number that is too large for f32 is infinite there
        pairs = zip(inputs, values, dtypes, strict=False)
        return [as_value(x, d) if v is None else convert(v, d) for x, v, d in pairs], dtypes


@lru_cache(maxsize=4096)
def _loop(
    ufunc: Any, given: tuple[Any, ...], signature: tuple[Any, ...] | None, casting: str
) -> tuple[tuple[DType, ...], bool, bool, bool]:
    """The dtypes of the loop, whether the operands have them (a Python number may), whether one is bool there, and
    whether one is a Python int."""
    dtypes = loop_dtypes(ufunc, given, signature, casting)
    operands = dtypes[: ufunc.nin]
    return dtypes, given == operands, BOOL in operands, any(one is int for one in given)


def _refuse_long_integers(inputs: Sequence[Any]) -> None:
    """Truth values of Python integers pass through int64 in NumPy, whose OverflowError this raises."""
    for x in inputs:
        if type(x) is int:
            np.int64(x)


def _widened_for_comparison(inputs: Sequence[Any]) -> Sequence[Any]:
    """Comparisons are exact between integers of any size, also with Python numbers that the dtype cannot hold."""
    if len(inputs) != 2 or not any(map(is_weak, inputs)):
        return inputs
    return [_as_wide_integer(x, inputs[1 - place]) for place, x in enumerate(inputs)]


def _as_wide_integer(x: Any, other: Any) -> Any:
    if not is_weak(x) or _weak_type(x) is not int or is_weak(other):
        return x
    dtype = as_value(other).dtype
    if dtype.kind not in "iu":
        return x
    if is_traced(x) or isinstance(x, SymbolicSize):
        return wrap(as_value(x))
    limits = np.iinfo(dtype)
    if limits.min <= x <= limits.max:
        return x
    if np.iinfo(np.int64).min <= x <= np.iinfo(np.int64).max:
        return np.int64(x)
    if 0 < x <= np.iinfo(np.uint64).max:
        return np.uint64(x)
    return np.float64(np.inf if x > 0 else -np.inf)  # beyond all integers; the number itself would be rounded


def is_weak(x: Any) -> bool:
    """Whether an operand is a Python number, which takes the dtype of the array that it is combined with; no bool."""
    if is_traced(x):
        return x.weak is not None and x.weak is not bool
    if isinstance(x, SymbolicSize):
        return True
    return isinstance(x, PYTHON_NUMBERS) and not isinstance(x, (bool, np.generic))


def _weak_type(x: Any) -> Any:
    if is_traced(x):
        return x.weak
    if isinstance(x, SymbolicSize):
        return int
    return next(kind for kind in (int, float, complex) if isinstance(x, kind))


def loop_signature(ufunc: Any, dtype: Any, signature: Any) -> tuple[Any, ...] | None:
    """``dtype=`` and ``signature=`` as a tuple with one entry per operand and result; None means unspecified."""
    if signature is None and dtype is None:
        return None
    if signature is not None and dtype is not None:
        raise ArgumentTypeError("cannot specify both 'signature' and 'dtype'")
    count = ufunc.nin + ufunc.nout
    if isinstance(signature, str):
        letters = signature.replace("->", "")
        signature = tuple(letters) if len(letters) == count else signature
    if signature is None or isinstance(signature, (str, np.dtype, type)):
        single = np.dtype(signature if dtype is None else dtype)
        return (*(None,) * ufunc.nin, *(single,) * ufunc.nout)
    if len(signature) != count:
        raise ArgumentValueError(
            f"signature= of {ufunc.__name__} must name {count} dtypes, not {len(signature)}"
        )
    return tuple(None if one is None else np.dtype(one) for one in signature)


@lru_cache(maxsize=4096)
def loop_dtypes(
    ufunc: Any, given: tuple[Any, ...], signature: tuple[Any, ...] | None, casting: str
) -> tuple[DType, ...]:
    """The dtypes of inputs and outputs by NumPy's own rules; a Python type stands for a weak number."""
    if all(
        isinstance(d, type) for d in given
    ):  # all weak: NumPy has its default integer, float64, complex128
        given = tuple(np.dtype(d) for d in given)
    wanted = {} if signature is None else {"signature": signature}
    names = ", ".join(d.__name__ if isinstance(d, type) else str(d) for d in given)
    try:
        dtypes = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout), casting=casting, **wanted)
    except TypeError as error:
        raise DTypeError(f"{ufunc.__name__} is not defined for ({names}): {text_of(error)}") from None
    if not all(map(is_supported, dtypes)):
        raise DTypeError(
            f"{ufunc.__name__} of ({names}) needs {dtypes[-1]}, which cannot be traced: convert first"
        )
    return tuple(dtypes)


# ---- results -----------------------------------------------------------------------------------------


def _delivered(
    value: Value,
    dtype: DType,
    out: Any,
    mask: Any,
    casting: str,
    operands: Sequence[Layout],
    order: str,
    is_direct: bool,
) -> TracedArray:
    """A result in the loop's dtype, written to ``out=`` where the mask of ``where=`` is true."""
    value = convert(value, dtype)
    if out is not None:
        return write_out(out, wrap(value), mask, casting)
    if mask is not True:
        value = where(as_mask(mask), value, full((), 0, dtype))
    return wrap(value, layout=ufunc_layout(value.shape, operands, order, is_direct=is_direct))


def ufunc_layout(
    shape: Shape, operands: Sequence[Layout], order: str, *, is_direct: bool = False
) -> Layout | None:
    """The layout of a ufunc's result for ``order=``. `is_direct` means that operands need no conversion."""
    if order in ("K", "k"):
        return (direct_layout if is_direct else elementwise_layout)(shape, operands)
    if order in ("A", "a"):
        in_columns = bool(operands) and all(x.is_contiguous("F") for x in operands)
        in_rows = is_direct and in_columns and all(x.is_contiguous("C") for x in operands)
        order = "F" if in_columns and not in_rows else "C"
    axes = tuple(range(len(shape)))[:: -1 if order in ("F", "f") else 1]
    return dense_layout(shape, axes, joint_questions(operands))


def are_direct(inputs: Sequence[Any], dtypes: Sequence[DType], layouts: Sequence[Layout]) -> bool:
    """Whether operands are numbers, and arrays of one shape and of the dtypes of the loop.

    Then NumPy runs over all elements at once if they are contiguous. This only matters if there are axes with a
    single entry, whose position differs in a result of its iterator; without such axes this is False.
    """
    if not layouts or not any(is_one(dim) for dim in layouts[0].shape):
        return False
    if not all(same_shape(layout.shape, layouts[0].shape) for layout in layouts):
        return False
    arrays = [(as_value(x), dtype) for x, dtype in zip(inputs, dtypes, strict=False) if np.ndim(x)]
    return all(x.ndim == len(layouts[0].shape) and x.dtype == dtype for x, dtype in arrays)


def _layouts_of_stacks(ufunc: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> list[Layout]:
    """The layout for the stack axes of a generalized ufunc's result; its other axes come last."""
    if options:
        return []
    inner, outer = _core_axes(ufunc.signature)
    return [
        layout.front(len(layout.shape) - count, outer)
        for x, count in zip(inputs, inner, strict=False)
        for layout in layouts_of([x])
    ]


def layouts_of(arrays: Sequence[Any], least_axes: int = 2) -> list[Layout]:
    """The layouts of arrays with at least `least_axes` axes. Vectors rarely determine the order of a result."""
    traced = [x.layout for x in arrays if is_traced(x) and len(x.type.shape) >= least_axes]
    return traced + [layout_of(x) for x in arrays if is_numpy_array(x) and x.ndim >= least_axes]


def as_mask(mask: Any) -> Value:
    """The boolean array of ``where=``."""
    value = as_value(mask)
    if value.dtype != BOOL:
        raise DTypeError(f"where= must be boolean, not {value.dtype}")
    return value


def write_out(out: Any, result: TracedArray, mask: Any = True, casting: str = "same_kind") -> TracedArray:
    """``out[...] = result`` with a check of the cast; returns `out` as a traced array."""
    if isinstance(out, tuple):
        (out,) = out
    target = target_of(out)
    _refuse_cast(result.dtype, target.dtype, casting)
    value = result.value
    joint = joint_shape(value.shape, target.shape)
    if len(value.shape) > target.ndim or joint is None or joint != target.shape:
        raise ShapeError(
            f"out= has shape {target.shape}, which the result of shape {value.shape} does not fit"
        )
    value = broadcast_to(convert(value, target.dtype), target.shape)
    if mask is not True:
        value = where(as_mask(mask), value, target.value)
    target.write(value)
    return target


def _refuse_cast(found: DType, target: DType, casting: str) -> None:
    if not np.can_cast(found, target, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"cannot cast the result from {found} to {target} with casting rule {shown(casting)}"
        )


def target_of(x: Any) -> TracedArray:
    """The target of a write: a traced array, or a NumPy array that the function closes over, sharing its memory."""
    if is_traced(x):
        return x  # type: ignore[no-any-return]
    if not isinstance(x, (np.ndarray, ForeignMemory)):
        raise ArgumentTypeError(f"the target of a write must be an array, not {type(x).__name__}: {shown(x)}")
    if is_numpy_array(x):
        return adopt_for_write(x)
    storage = require_trace().storage_of_array(x)
    return array_on(storage, storage.value.type)


# ---- generalized ufuncs ------------------------------------------------------------------------------


def _generalized(
    ufunc: Any, operands: Sequence[Value], axes: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """A ufunc of vectors and matrices, such as matmul: its function expects them in the last axes."""
    function = UFUNCS.get(ufunc)
    if function is None:
        raise UnsupportedFunctionError(f"{ufunc_name(ufunc)} cannot be traced: Tracemill does not know it")
    inner, outer = _core_axes(ufunc.signature)
    arrays: list[Any] = list(map(wrap, operands))
    if axes is None and axis is None:
        result = function(*arrays)
        return np.expand_dims(result, -1) if keepdims else result
    if axes is None:
        axes = [axis] * len(inner)
    axes = [one if isinstance(one, tuple) else (one,) for one in axes]
    if len(axes) == len(inner):
        axes.append(axes[0] if keepdims else (-1,) * outer)
    for place, count in enumerate(inner):
        if len(axes[place]) != count:
            raise ArgumentValueError(
                f"axes= of {ufunc.__name__}: operand {place} needs {count} axes, not {axes[place]}"
            )
        arrays[place] = np.moveaxis(arrays[place], axes[place], tuple(range(-count, 0)))
    result = function(*arrays)
    if keepdims:
        return np.moveaxis(np.expand_dims(result, -1), -1, axes[-1][0])
    return np.moveaxis(result, tuple(range(-outer, 0)), axes[-1]) if outer else result


def _without_leading_axes(result: TracedArray, ndim: int) -> TracedArray:
    """The result in the form for an `out=` with `ndim` axes, which may lack leading axes of length 1."""
    value = result.value
    while value.ndim > ndim and is_known(value.shape[0] == 1):
        value = reshape(value, value.shape[1:])
    return wrap(value)


@cache
def _core_axes(signature: str) -> tuple[tuple[int, ...], int]:
    """The number of axes of each operand and of the result of a gufunc: ``(n,k),(k,m)->(n,m)`` is (2, 2) and 2."""
    left, right = signature.split("->")
    operands = [part.strip("()") for part in left.split("),")]
    return tuple(len(part.split(",")) for part in operands), len(
        [n for n in right.strip("()").split(",") if n]
    )
