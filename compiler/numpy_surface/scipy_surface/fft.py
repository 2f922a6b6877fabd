"""Functions of `scipy.fft` on traced arrays: NumPy's, and cosine and sine transforms by these.

A sine transform is a cosine transform of numbers whose order or whose signs are changed. The definitions are those of
https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dct.html and of dst beside it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axes
from ...dtypes import is_complex
from ...errors import ArgumentValueError, DTypeError
from ...nesting import shown
from ...tracing.registry import stands_in_for

_NUMPYS = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftshift ifftshift"
for _name in _NUMPYS.split():
    stands_in_for(f"fft.{_name}")(getattr(np.fft, _name))

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _cosines(x: Any, type: int) -> Any:
    """The cosine transform of the last axis, without a factor for its length."""
    size = x.shape[-1]
    if type == 1:
        if size < 2:
            raise ArgumentValueError("scipy.fft.dct: type 1 needs at least two numbers")
        return np.real(np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)))
    turns = np.exp(-0.5j * np.pi / size * np.arange(size)).astype(np.result_type(x.dtype, np.complex64))
    if type == 2:
        mirrored = np.fft.fft(np.concatenate([x, x[..., ::-1]], axis=-1))[..., :size]
        return np.real(mirrored * turns)
    if type == 3:
        sums = np.fft.fft(x * turns, 2 * size)[..., :size]
        return 2 * np.real(sums) - x[..., :1]
    sums = np.fft.fft(x * turns, 2 * size)[..., :size]
    return 2 * np.real(sums * turns * np.exp(-0.25j * np.pi / size).astype(turns.dtype))


def _sines(x: Any, type: int) -> Any:
    """The sine transform of the last axis, without a factor for its length."""
    size = x.shape[-1]
    if type == 1:
        zero = np.zeros_like(x[..., :1])
        odd = np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)
        return -np.imag(np.fft.rfft(odd))[..., 1 : size + 1]
    signs = (1 - 2 * (np.arange(size) % 2)).astype(x.dtype)
    if type == 2:
        return _cosines(x * signs, 2)[..., ::-1]
    return _cosines(x[..., ::-1], type) * signs


def _scaled(x: Any, type: int, norm: str | None, transform: Callable[[Any, int], Any]) -> Any:
    """The transform of the last axis with the factors of a norm, of which "ortho" makes it orthogonal."""
    size = x.shape[-1]
    is_cosine = transform is _cosines
    length = 2 * (size if type != 1 else size - 1 if is_cosine else size + 1)
    if norm in (None, "backward"):
        return transform(x, type)
    if norm == "forward":
        return transform(x, type) / length
    special = np.zeros(size, dtype=x.dtype)
    special[0 if is_cosine else -1] = 1
    if type == 1 and is_cosine:
        special[-1] = 1
    before = 1 + special * (math.sqrt(2) - 1) if type == 3 or (type == 1 and is_cosine) else 1
    after = 1 - special * (1 - math.sqrt(0.5)) if type == 2 or (type == 1 and is_cosine) else 1
    return transform(x * before, type) * after / math.sqrt(length)


def _transform(
    name: str, x: Any, type: int, n: int | None, axis: int, norm: str | None, orthogonalize: bool | None
) -> Any:
    if is_complex(x.dtype):
        raise DTypeError(f"scipy.fft.{name} of complex numbers has no traced version: use x.real and x.imag")
    if type not in _INVERSE or norm not in _OPPOSITE or orthogonalize is not None:
        raise ArgumentValueError(
            f"scipy.fft.{name} of traced arrays has no type {shown(type)} with norm {shown(norm)} and orthogonalize "
            f"{shown(orthogonalize)}: use a type from 1 to 4, a norm of SciPy's, and leave orthogonalize out"
        )
    if name.startswith("i"):
        type, norm = _INVERSE[type], _OPPOSITE[norm]
    x = np.moveaxis(x if x.dtype.kind == "f" else x.astype(np.float64), axis, -1)
    if n is not None:
        x = np.pad(x[..., :n], [(0, 0)] * (x.ndim - 1) + [(0, max(n - x.shape[-1], 0))])
    found = _scaled(x, type, norm, _cosines if name.endswith("dct") else _sines)
    return np.moveaxis(found, -1, axis)


def _register(name: str) -> None:
    @stands_in_for(f"fft.{name}")
    def transform(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        return _transform(name, x, type, n, axis, norm, orthogonalize)


def _register_for_several_axes(name: str) -> None:
    @stands_in_for(f"fft.{name}n")
    def transform(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: str | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        """One axis after another; lengths `s` without axes are those of the last ones."""
        lengths = None if s is None else (s,) if isinstance(s, int) else tuple(s)
        count = x.ndim if lengths is None else len(lengths)
        along = range(x.ndim - count, x.ndim) if axes is None else normalize_axes(axes, x.ndim)
        for axis, length in zip(along, lengths or (None,) * len(along), strict=True):
            x = _transform(name, x, type, length, axis, norm, orthogonalize)
        return x


for _name in ("dct", "idct", "dst", "idst"):
    _register(_name)
    _register_for_several_axes(_name)
