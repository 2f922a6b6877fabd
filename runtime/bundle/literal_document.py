"""Settings as exact JSON: None, bools, numbers, strings, dtypes, and tuples of these."""

import re
from typing import Any, Final

import numpy as np

from ...compiler.dtypes import dtype_name, dtype_named, dtype_names, is_supported
from ...compiler.nesting import shown

DEEPEST: Final = 16
_WHOLE: Final = re.compile(r"-?[0-9]{1,300}")
_REAL: Final = re.compile(r"-?(?:0x[01]\.[0-9a-f]{0,13}p[+-][0-9]{1,4}|inf|nan)")


def literal_document(value: Any, depth: int = 0) -> Any:
    """A value in a form that JSON can hold; ValueError if it has none.

    >>> literal_document((1, -0.0, "x", None))
    {'tuple': [{'int': '1'}, {'float': '-0x0.0p+0'}, 'x', None]}
    """
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int and value.bit_length() < 960:
        return {"int": str(value)}
    if type(value) is float:
        return {"float": value.hex()}
    if type(value) is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if type(value) is tuple and depth < DEEPEST:
        return {"tuple": [literal_document(item, depth + 1) for item in value]}
    if isinstance(value, np.dtype) and is_supported(value):
        return {"dtype": dtype_name(value)}
    if isinstance(value, type) and issubclass(value, np.generic) and is_supported(np.dtype(value)):
        return {"scalar type": dtype_name(np.dtype(value))}
    raise ValueError(f"{type(value).__name__} {shown(value)}")


def literal_of(document: Any, depth: int = 0) -> Any:
    """The value in a document of `literal_document`; ValueError for others.

    >>> literal_of({"tuple": [{"int": "1"}, "x"]})
    (1, 'x')
    """
    if document is None or isinstance(document, bool | str):
        return document
    if not isinstance(document, dict) or len(document) != 1 or depth > DEEPEST:
        raise ValueError(f"{shown(document)} describes no value")
    ((kind, content),) = document.items()
    if kind == "tuple" and isinstance(content, list):
        return tuple(literal_of(item, depth + 1) for item in content)
    if kind == "int" and isinstance(content, str) and _WHOLE.fullmatch(content):
        return int(content)
    if kind == "float":
        return _real(content)
    if kind == "complex" and isinstance(content, list) and len(content) == 2:
        return complex(_real(content[0]), _real(content[1]))
    if kind in ("dtype", "scalar type") and content in dtype_names():
        dtype = dtype_named(content)
        return dtype if kind == "dtype" else dtype.type
    raise ValueError(f"{shown(document)} describes no value")


def _real(content: Any) -> float:
    if not isinstance(content, str) or not _REAL.fullmatch(content):
        raise ValueError(f"{shown(content)} is not a number")
    return float.fromhex(content)
