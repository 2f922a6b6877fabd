"""Functions of an exported file that check torch tensors by name."""

from collections.abc import Mapping
from typing import Final

CHECKS: Final[Mapping[str, str]] = {
    "array": '''\
def array(name, x, dtype, shape):
    """`x`, if it is a tensor of this dtype and shape."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a tensor of torch, found {type(x).__name__}")
    if x.dtype != dtype:
        raise TypeError(f"{name}: expected a tensor of {dtype}, found {x.dtype}")
    if tuple(x.shape) != shape:
        raise ValueError(f"{name}: expected a tensor of shape {shape}, found {tuple(x.shape)}")
    return x
''',
    "number": '''\
def number(name, x, kind, dtype):
    """A number of Python's as a tensor; an int will do for a float, and a float for a complex."""
    kinds = (int, float, complex)[: (int, float, complex).index(kind) + 1]
    if isinstance(x, bool) or not isinstance(x, kinds):
        raise TypeError(f"{name}: expected a Python {kind.__name__}, found {type(x).__name__}")
    try:
        return torch.tensor(x, dtype=dtype)
    except (OverflowError, RuntimeError):
        raise ValueError(f"{name}: {x} is too large for {dtype}") from None
''',
    "scalar": '''\
def scalar(name, x, dtype):
    """`x`, if it is a tensor of this dtype that has no axes."""
    return array(name, x, dtype, ())
''',
    "written": '''\
def written(name, x, others):
    """Refuse to write to a tensor that has memory in common with another argument."""
    for other, y in others:
        if x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr():
            raise ValueError(f"{name}: the function writes to it; {other} shares its memory: pass a clone")
''',
}
"""Replacements for the functions with the same names that check NumPy arrays."""
