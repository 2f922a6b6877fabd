"""Functions of an exported file that check arguments by name."""

from collections.abc import Mapping
from typing import Final

CHECKS: Final[Mapping[str, str]] = {
    "array": '''\
def array(name, x, dtype, shape):
    """`x`, if it is an array of this dtype and shape."""
    if type(x) is not np.ndarray and type(x) is not np.memmap:
        raise TypeError(f"{name}: expected an array of NumPy, found {type(x).__name__}")
    if x.dtype != dtype:
        raise TypeError(f"{name}: expected an array of {np.dtype(dtype)}, found {x.dtype}")
    if x.shape != shape:
        raise ValueError(f"{name}: expected an array of shape {shape}, found {x.shape}")
    return x
''',
    "sized": '''\
def sized(name, x, dtype, shape):
    """`x`, if it is an array of this dtype and shape; any length will do where that is None."""
    if type(x) is not np.ndarray and type(x) is not np.memmap:
        raise TypeError(f"{name}: expected an array of NumPy, found {type(x).__name__}")
    if x.dtype != dtype:
        raise TypeError(f"{name}: expected an array of {np.dtype(dtype)}, found {x.dtype}")
    if x.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, x.shape)):
        raise ValueError(f"{name}: expected an array of shape {shape}, found {x.shape}")
    return x
''',
    "fact": '''\
def fact(text, holds, **sizes):
    """Refuse arrays of sizes for which this file was not made."""
    if not holds:
        found = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise ValueError(f"expected arrays with {text}, found {found or 'others'}")
''',
    "raised": '''\
def raised(records, *errors):
    """Raise the first exception that a check of the program found."""
    records = np.ravel(records)
    for record, kind, text, line, *values in errors:
        if records[record] != np.iinfo(np.int64).min:
            text = text.format(*(shown(records, *value) for value in values))
            error = kind(text) if text else kind()
            error.add_note(f"raised at {line}")
            raise error
''',
    "shown": '''\
def shown(records, start, dtype, shape, how, form, field):
    """The text of a value in the message of an exception, from its bits."""
    bits = records[start : start + int(np.prod(shape))]
    value = (bits.view(np.float64) if np.dtype(dtype).kind == "f" else bits).astype(dtype).reshape(shape)[()]
    if dtype in ("float", "int", "bool"):
        value = value.item()
    if how == "%":
        text = f"%{form}" % (value,)
    elif how == "!":
        text = repr(value) if form == "r" else str(value)
    else:
        text = format(value, form)
    return format(text, field)
''',
    "number": '''\
def number(name, x, kind, dtype):
    """A number of Python's as NumPy's; an int will do for a float, and a float for a complex."""
    kinds = (int, float, complex)[: (int, float, complex).index(kind) + 1]
    if isinstance(x, (bool, np.generic)) or not isinstance(x, kinds):
        raise TypeError(f"{name}: expected a Python {kind.__name__}, found {type(x).__name__}")
    try:
        return dtype(x)
    except OverflowError:
        raise ValueError(f"{name}: {x} is too large for {dtype.__name__}") from None
''',
    "scalar": '''\
def scalar(name, x, dtype):
    """`x`, if it is a number of NumPy's of this dtype."""
    if dtype is np.bool_ and isinstance(x, bool):
        return dtype(x)
    if not isinstance(x, np.generic) or x.dtype != dtype:
        raise TypeError(f"{name}: expected a number {np.dtype(dtype)} of NumPy, found {type(x).__name__}")
    return x
''',
    "sequence": '''\
def sequence(name, x, kind, length):
    """Refuse what is no such container of this length."""
    if not isinstance(x, kind):
        raise TypeError(f"{name}: expected a {kind.__name__}, found {type(x).__name__}")
    if len(x) != length:
        raise ValueError(f"{name}: expected {length} items, found {len(x)}")
''',
    "mapping": '''\
def mapping(name, x, keys):
    """Refuse what is not a dict with these keys."""
    if not isinstance(x, dict):
        raise TypeError(f"{name}: expected a dict, found {type(x).__name__}")
    if x.keys() != keys:
        missing, unknown = sorted(keys - x.keys(), key=repr), sorted(x.keys() - keys, key=repr)
        raise ValueError(f"{name}: missing keys {missing}, unknown keys {unknown}")
''',
    "setting": '''\
def setting(name, x, value):
    """Refuse another value than that of the export, which the statements rely on."""
    if repr(x) != repr(value):
        raise ValueError(f"{name}: this file was made for {value!r}, found {x!r:.60}")
''',
    "written": '''\
def written(name, x, others):
    """Refuse to write to an array that is read-only, or that has memory in common with another argument."""
    if not x.flags.writeable:
        raise ValueError(f"{name}: the function writes to it, and it is read-only")
    for other, y in others:
        if np.may_share_memory(x, y):
            raise ValueError(f"{name}: the function writes to it, and {other} shares its memory: pass a copy")
''',
    "in_c_order": '''\
def in_c_order(name, x):
    """Refuse an array in another memory order, for which other views and copies would be made."""
    if not x.flags.c_contiguous:
        raise ValueError(f"{name}: the function writes through views that need C order: pass np.ascontiguousarray")
''',
}
"""By name; a user's parameter may have the same name."""
