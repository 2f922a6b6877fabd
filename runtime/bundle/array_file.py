"""Arrays as ``.npy`` files in exactly one form, so that reading compares the header instead of trusting it."""

from typing import Final

import numpy as np

from ...compiler.dtypes import Array, DType
from ...compiler.ir import ArrayType

_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGNED: Final = 64


def array_file(array: Array) -> bytes:
    """An array in the format of ``np.save``: little-endian, in row-major order."""
    stored = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return _header(array.dtype, array.shape) + stored.tobytes()


def file_bytes(type: ArrayType) -> int:
    """The length of the file of an array with this type."""
    return len(_header(type.dtype, type.shape)) + type.nbytes


def array_in(content: bytes, type: ArrayType) -> Array:
    """The array in a file, which must have this type; ValueError if it does not."""
    header = _header(type.dtype, type.shape)
    if not content.startswith(header):
        raise ValueError(f"its header is not that of {type}")
    if len(content) != len(header) + type.nbytes:
        raise ValueError(
            f"it has {len(content) - len(header)} bytes behind its header, and {type} has {type.nbytes}"
        )
    array = np.frombuffer(content, type.dtype.newbyteorder("<"), offset=len(header))
    return array.astype(type.dtype, copy=False).reshape(type.shape)


def _header(dtype: DType, shape: tuple[int, ...]) -> bytes:
    kind = dtype.newbyteorder("<").str if dtype.kind != "V" else f"<V{dtype.itemsize}"
    text = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    fill = -(len(_MAGIC) + 2 + len(text) + 1) % _ALIGNED
    text = f"{text}{' ' * fill}\n"
    return _MAGIC + len(text).to_bytes(2, "little") + text.encode("ascii")
