"""Numbers, arrays and parameters as Python expressions with the same bits."""

import base64
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...dtypes import Array, DType, dtype_name, is_inexact, is_supported
from ...errors import InternalError
from .text import WIDTH, tuple_text


def dtype_text(dtype: DType) -> str:
    """``np.float32``."""
    if dtype.name == "bfloat16":
        return "ml_dtypes.bfloat16"
    return "np.bool_" if dtype.kind == "b" else f"np.{dtype.name}"


def param_text(param: Any) -> str:
    """A parameter of a call."""
    if isinstance(param, np.dtype):
        return dtype_text(param)
    if isinstance(param, tuple):
        return tuple_text([param_text(item) for item in param])
    if isinstance(param, float):
        return _float_text(param)
    if isinstance(param, str):
        return '"' + repr(param)[1:-1].replace('"', '\\"') + '"'
    if param is None or isinstance(param, bool | int):
        return repr(param)
    raise InternalError(f"a parameter {param!r} cannot be written as Python")


def value_text(value: Any) -> str | None:
    """A setting as an expression that gives an equal one: a string, number, dtype, or tuple of these; None for
    others."""
    if value is None or value is ... or type(value) in (bool, int):
        return "..." if value is ... else repr(value)
    if type(value) is float:
        return _float_text(value)
    if type(value) is complex:
        return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
    if type(value) is str:
        text = repr(value)
        return text if '"' in value or text[0] == '"' else f'"{text[1:-1]}"'
    if type(value) is tuple:
        texts = [value_text(item) for item in value]
        return None if None in texts else tuple_text(texts)
    return _of_numpy(value)


def _of_numpy(value: Any) -> str | None:
    """A dtype, its class, or a number of it."""
    if isinstance(value, np.dtype):
        return f"np.dtype({dtype_text(value)})" if is_supported(value) else None
    if isinstance(value, np.generic):
        text = number_text(np.asarray(value)) if is_supported(value.dtype) else None
        return text and f"{dtype_text(value.dtype)}({text})"
    is_class = isinstance(value, type) and issubclass(value, np.generic)
    name = value.__name__ if is_class else ""
    return f"np.{name}" if name and getattr(np, name, None) is value else None


def number_text(array: Array) -> str | None:
    """The number in a 0-d array as a Python number that converts to the same bits; None if there is none."""
    dtype = array.dtype
    if not is_inexact(dtype) or (dtype == np.float64 and np.isfinite(array)):
        return repr(array.item())
    if dtype.kind == "c":
        parts = [number_text(np.asarray(part)) for part in (np.real(array), np.imag(array))]
        text = f"complex({parts[0]}, {parts[1]})" if None not in parts else None
    else:
        exact = float(array)
        short = str(array[()])
        text = _float_text(float(short) if _same_bits(float(short), array) else exact)
    return text if text is not None and _same_bits(_value(text), array) else None


def _float_text(number: float) -> str:
    if math.isnan(number):
        return "np.nan"
    if math.isinf(number):
        return "np.inf" if number > 0 else "-np.inf"
    return repr(number)


def _value(text: str) -> Any:
    return eval(text, {"np": np, "complex": complex})  # generated text, a few characters long


def _same_bits(number: Any, array: Array) -> bool:
    with np.errstate(all="ignore"):
        return np.array(number).astype(array.dtype).tobytes() == array.tobytes()


def array_text(array: Array) -> str | None:
    """An array as an expression on one line; None if it would not fit or would lose bits."""
    if array.size > WIDTH:
        return _full_text(array)
    texts = [number_text(np.asarray(item)) for item in array.reshape(-1)]
    if not texts and array.ndim != 1:
        return f"np.zeros({tuple_text(array.shape)}, {dtype_text(array.dtype)})"
    if None in texts:
        return None
    text = f"np.array({_nested(texts, array.shape)}, {dtype_text(array.dtype)})"
    return text if len(text) < WIDTH - 20 else _full_text(array)


def _full_text(array: Array) -> str | None:
    first = np.asarray(array.reshape(-1)[0])
    if array.tobytes() != first.tobytes() * array.size or (text := number_text(first)) is None:
        return None
    return f"np.full({tuple_text(array.shape)}, {text}, {dtype_text(array.dtype)})"


def _nested(texts: list[Any], shape: tuple[int, ...]) -> str:
    if not shape:
        return str(texts[0])
    step = len(texts) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))}]"


def packed_text(array: Array) -> list[str]:
    """The bytes of an array in base 64, little-endian, in lines."""
    swapped = array if array.dtype.name == "bfloat16" else array.astype(array.dtype.newbyteorder("<"))
    text = base64.b64encode(swapped.tobytes()).decode()
    return [text[i : i + WIDTH - 10] for i in range(0, len(text), WIDTH - 10)]


def unpacking_text(name: str, array: Array) -> str:
    """An expression that reads what `packed_text` wrote into the variable `name`."""
    dtype = array.dtype
    stored = "<u2" if dtype.name == "bfloat16" else dtype.newbyteorder("<").str
    read = f'np.frombuffer(base64.b64decode({name}), "{stored}")'
    native = f".view({dtype_text(dtype)})" if dtype.name == "bfloat16" else f".astype({dtype_text(dtype)})"
    return f"{read}{native}.reshape({tuple_text(array.shape)})"


def number_name(array: Array) -> str:
    """An identifier with dtype and number: ``f32_0_5``, ``i64_minus_1``, ``f64_1e_minus_05``."""
    text = number_text(array) or "nan"
    if is_inexact(array.dtype) and array.dtype.kind != "c" and len(text) > 12:
        text = f"{float(array):.6g}"
    for found, put in (("complex", ""), ("np.", ""), ("e-", "e_minus_"), ("-", "minus_"), ("e+", "e_")):
        text = text.replace(found, put)
    words = re.sub(r"\W+", "_", re.sub(r"\.0(?!\d)", "", text)).strip("_")
    return f"{dtype_name(array.dtype)}_{words.lower()}"


def keywords(params: Mapping[str, Any]) -> list[str]:
    """``name=value`` for each parameter."""
    return [f"{name}={param_text(param)}" for name, param in params.items()]
