"""Uses of NumPy's functions, by the function's name: what the traced function must do as NumPy does.

The parameters of each use name the arrays of `ARRAYS` that it gets, as copies.
"""
# ruff: noqa: PLW0108  (the lambdas are there for the names of their parameters)

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from samples.grouping import Case
from tracemill.compiler.dtypes import Array

Use: TypeAlias = Callable[..., Any]

ARRAYS: dict[str, Any] = {
    "v": np.array([0.5, -1.5, 2.25, 3.0, -0.0, 7.5]),
    "w": np.array([2.0, 0.25, -1.0, 4.0, 8.0, -3.0], np.float32),
    "m": np.arange(12.0).reshape(3, 4) - 4.5,
    "q": np.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0], [4.0, 0.25, -2.0]]),
    "c": np.arange(24.0).reshape(2, 3, 4) / 3,
    "e": np.zeros((0, 3)),
    "i": np.array([3, 0, -2, 1, 5, 2]),
    "k": np.array([[1, 0, 2], [0, 1, 1]], np.int32),
    "u": np.array([1, 200, 3, 0, 7], np.uint8),
    "b": np.array([[True, False, True, False], [False, False, True, True], [True, False, False, False]]),
    "p": np.array([True, False, True, True, False, False]),
    "z": np.array([1 + 2j, -0.5 - 1j, 3.0, 2j]),
    "s": np.float64(1.75),
    "n": np.int64(2),
}


def arguments_of(use: Use, arrays: Mapping[str, Any] = ARRAYS) -> list[Any]:
    """Copies of the arrays that the parameters of `use` name."""
    return [arrays[name].copy() for name in inspect.signature(use).parameters]


def changed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that changes its first argument, as one that returns it."""

    def use(x: Array, *args: Any, **kwargs: Any) -> Array:
        function(x, *args, **kwargs)
        return x

    return use


def without_warning(function: Callable[[], Any]) -> Any:
    """What a function returns that NumPy calls deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return function()


SHAPES: dict[str, list[Use]] = {
    "reshape": [
        lambda m: np.reshape(m, (2, 6)),
        lambda m: np.reshape(m, -1),
        lambda c: np.reshape(c, (4, -1), order="F"),
        lambda m: np.reshape(m.T, (6, 2), order="A"),
        lambda m: m.reshape(2, -1),
        lambda m: m.reshape((4, 3), order="F"),
        lambda v: v.reshape([2, 3]),
        lambda s: np.reshape(s, (1, 1)),
        lambda s: np.reshape(s, ()),
        lambda e: np.reshape(e, (3, -1)),
        lambda m: np.reshape(m, (3, 4), copy=True),
    ],
    "ravel": [
        lambda m: np.ravel(m),
        lambda m: np.ravel(m, "F"),
        lambda m: np.ravel(m.T, "A"),
        lambda c: np.ravel(c.transpose(1, 2, 0), "K"),
        lambda m: m.ravel(),
        lambda s: np.ravel(s),
    ],
    "shape": [lambda m: np.zeros(np.shape(m))],
    "ndim": [lambda m: np.zeros(np.ndim(m))],
    "size": [lambda m: np.zeros(np.size(m)), lambda m: np.zeros(np.size(m, 1))],
    "transpose": [
        lambda m: np.transpose(m),
        lambda c: np.transpose(c, (2, 0, 1)),
        lambda c: np.transpose(c, (-1, 0, 1)),
        lambda c: c.transpose(1, 0, 2),
        lambda c: c.transpose((1, 0, 2)),
        lambda c: c.transpose(),
        lambda c: c.T,
        lambda s: np.transpose(s),
    ],
    "matrix_transpose": [lambda c: np.matrix_transpose(c), lambda c: c.mT],
    "swapaxes": [lambda c: np.swapaxes(c, 0, -1), lambda c: c.swapaxes(1, 2)],
    "moveaxis": [
        lambda c: np.moveaxis(c, 0, -1),
        lambda c: np.moveaxis(c, [0, 1], [-1, 0]),
        lambda c: np.moveaxis(c, (2, 0), (0, 1)),
    ],
    "rollaxis": [
        lambda c: np.rollaxis(c, 2),
        lambda c: np.rollaxis(c, 0, 3),
        lambda c: np.rollaxis(c, -1, 1),
    ],
    "squeeze": [
        lambda m: np.squeeze(m[None, :, None]),
        lambda m: np.squeeze(m[None, :, None], axis=0),
        lambda m: np.squeeze(m[None, :, None], axis=(0, -2)),
        lambda v: v[:1].squeeze(),
        lambda s: np.squeeze(s),
    ],
    "expand_dims": [
        lambda m: np.expand_dims(m, 0),
        lambda m: np.expand_dims(m, (0, -1)),
        lambda s: np.expand_dims(s, 0),
    ],
    "atleast_1d": [lambda s: np.atleast_1d(s), lambda s, m: np.atleast_1d(s, m)],
    "atleast_2d": [lambda s: np.atleast_2d(s), lambda v: np.atleast_2d(v), lambda v, c: np.atleast_2d(v, c)],
    "atleast_3d": [lambda s, v, m, c: np.atleast_3d(s, v, m, c)],
    "broadcast_to": [
        lambda v: np.broadcast_to(v, (2, 6)),
        lambda m: np.broadcast_to(m[:, None], (2, 3, 5, 4)),
        lambda s: np.broadcast_to(s, 3),
    ],
    "broadcast_arrays": [
        lambda m: np.broadcast_arrays(m, m[0], 1.0),
        lambda v, w: np.broadcast_arrays(v, w[:, None]),
        lambda v: np.broadcast_arrays(v, v),
    ],
    "sliding_window_view": [
        lambda v: sliding_window_view(v, 3),
        lambda m: sliding_window_view(m, (2, 3)),
        lambda c: sliding_window_view(c, 2, axis=1),
        lambda v: sliding_window_view(v, (2, 3), axis=(0, 0)),
    ],
    "copy": [lambda m: np.copy(m), lambda m: m.copy(), lambda s: np.copy(s)],
    "astype": [lambda v: np.astype(v, np.float32), lambda v: v.astype(int), lambda i: i.astype(np.complex64)],
}

JOINING: dict[str, list[Use]] = {
    "concatenate": [
        lambda m: np.concatenate([m, m[:1]]),
        lambda m, q: np.concatenate([m, q], axis=1),
        lambda m, v: np.concatenate([m, v], axis=None),
        lambda w, i: np.concatenate((w, i)),
        lambda w: np.concatenate([w, 1.0], axis=None),
        lambda w, v: np.concatenate([w, v], dtype=np.float32),
        lambda w: np.concatenate([w, [1.0, 2.0]]),
        lambda m: np.concatenate(m),
        lambda v: np.concatenate([[v[0], v[1]], [v[2]]]),
        lambda m, v: np.concatenate([v, v], out=np.empty(12)),
        lambda e: np.concatenate([e, e]),
    ],
    "stack": [
        lambda v, w: np.stack([v, w]),
        lambda v, w: np.stack((v, w), axis=-1),
        lambda s: np.stack([s, s, 2.0]),
        lambda m: np.stack(m, axis=1),
    ],
    "vstack": [lambda v, w: np.vstack([v, w]), lambda m: np.vstack((m, m[0]))],
    "row_stack": [lambda v, w: without_warning(lambda: getattr(np, "row_stack", np.vstack)([v, w]))],
    "hstack": [lambda v, w: np.hstack([v, w]), lambda m: np.hstack((m, m)), lambda s: np.hstack([s, s])],
    "dstack": [lambda v, w: np.dstack([v, w]), lambda m: np.dstack([m, m]), lambda c: np.dstack([c, c])],
    "column_stack": [lambda v, w: np.column_stack([v, w]), lambda m, q: np.column_stack([m, q, q[0]])],
    "block": [
        lambda q: np.block([[q, np.zeros((3, 2))], [np.ones((1, 3)), q[:1, :2]]]),
        lambda v, s: np.block([v, s, 3]),
        lambda q: np.block([[[q]], [[q]]]),
        lambda s: np.block(s),
    ],
    "append": [
        lambda v: np.append(v, 1.0),
        lambda m: np.append(m, [[1, 2, 3, 4]], axis=0),
        lambda v, m: np.append(v, m),
    ],
    "array_split": [
        lambda v: np.array_split(v, 4),
        lambda m: np.array_split(m, 2, axis=1),
        lambda v: np.array_split(v, [1, 4]),
        lambda v: np.array_split(v, [2, 9, 3]),
    ],
    "split": [lambda v: np.split(v, 3), lambda m: np.split(m, [1], axis=1)],
    "hsplit": [lambda m: np.hsplit(m, 2), lambda v: np.hsplit(v, 2)],
    "vsplit": [lambda m: np.vsplit(m, 3)],
    "dsplit": [lambda c: np.dsplit(c, 2)],
    "unstack": [lambda m: np.unstack(m), lambda m: np.unstack(m, axis=1), lambda v: np.unstack(v)],
}

REARRANGING: dict[str, list[Use]] = {
    "flip": [
        lambda m: np.flip(m),
        lambda m: np.flip(m, 1),
        lambda c: np.flip(c, (0, -1)),
        lambda s: np.flip(s),
    ],
    "flipud": [lambda m: np.flipud(m)],
    "fliplr": [lambda m: np.fliplr(m)],
    "rot90": [
        lambda m: np.rot90(m),
        lambda m: np.rot90(m, 2),
        lambda m: np.rot90(m, -1),
        lambda m: np.rot90(m, 4),
        lambda c: np.rot90(c, 1, axes=(2, 0)),
        lambda c: np.rot90(c, 3, axes=(1, 2)),
    ],
    "roll": [
        lambda v: np.roll(v, 2),
        lambda m: np.roll(m, -5),
        lambda m: np.roll(m, 1, axis=1),
        lambda m: np.roll(m, (1, -1), axis=(0, 1)),
        lambda m: np.roll(m, (1, 2), axis=0),
        lambda m: np.roll(m, (), axis=()),
        lambda m: np.roll(m, 1, axis=()),
        lambda m: np.roll(m, 1, axis=(0, 1)),
        lambda v, n: np.roll(v, n),
        lambda e: np.roll(e, 1),
    ],
    "tile": [
        lambda v: np.tile(v, 2),
        lambda m: np.tile(m, (2, 1, 3)),
        lambda c: np.tile(c, 2),
        lambda s: np.tile(s, (2, 2)),
        lambda v: np.tile(v, 0),
    ],
    "repeat": [
        lambda v: np.repeat(v, 2),
        lambda m: np.repeat(m, 3, axis=1),
        lambda m: np.repeat(m, [1, 0, 2], axis=0),
        lambda m: np.repeat(m, 2),
        lambda m: m.repeat([3], axis=-1),
        lambda s: np.repeat(s, 3),
    ],
    "resize": [
        lambda m: np.resize(m, (5, 7)),
        lambda v: np.resize(v, 4),
        lambda e: np.resize(e, 3),
        lambda s: np.resize(s, (2, 2)),
    ],
    "insert": [
        lambda v: np.insert(v, 1, 9.0),
        lambda v: np.insert(v, [1, 4], [9.0, 8.0]),
        lambda v: np.insert(v, [1, 1, 5], 7),
        lambda m: np.insert(m, 1, 9.0, axis=1),
        lambda m: np.insert(m, 1, [1.0, 2.0, 3.0], axis=1),
        lambda m: np.insert(m, [1], [[1.0], [2.0], [3.0]], axis=1),
        lambda m: np.insert(m, [0, 2], [[1.0, 2.0]], axis=1),
        lambda m: np.insert(m, -1, 5.0),
        lambda v, w: np.insert(v, slice(1, 4), w[:3]),
        lambda v: np.insert(v, [], 1.0),
    ],
    "delete": [
        lambda v: np.delete(v, 1),
        lambda v: np.delete(v, [0, -1]),
        lambda m: np.delete(m, slice(None, None, 2), axis=1),
        lambda m: np.delete(m, 5),
        lambda v: np.delete(v, np.array([True, False, True, False, False, False])),
        lambda v: np.delete(v, []),
    ],
    "trim_zeros": [
        lambda v: np.trim_zeros(np.array([0, 0, 1, 0, 2, 0])),
        lambda v: np.trim_zeros(np.zeros(3)),
        lambda v: np.trim_zeros(np.array([0, 0, 1, 0]), "f"),
    ],
    "copyto": [
        lambda m: changed(np.copyto)(m, 3),
        lambda m, b: changed(np.copyto)(m, -m, where=b),
        lambda w, v: changed(np.copyto)(w, v),
        lambda m: changed(np.copyto)(m, m[::-1]),
    ],
}

PADDING: dict[str, list[Use]] = {
    "pad": [
        lambda v: np.pad(v, 2),
        lambda m: np.pad(m, ((1, 2), (0, 3)), constant_values=((1.0, 2.0), (3.0, 4.0))),
        lambda m, s: np.pad(m, 1, constant_values=s),
        lambda i: np.pad(i, (2, 1), constant_values=9),
        lambda m: np.pad(m, {-1: (1, 2)}),
        lambda m: np.pad(m, (1, 2), "edge"),
        lambda m: np.pad(m, ((2, 3), (1, 0)), "linear_ramp", end_values=(1.0, -2.0)),
        lambda i: np.pad(i, 3, "linear_ramp", end_values=10),
        lambda m: np.pad(m, 2, "maximum"),
        lambda m: np.pad(m, 2, "minimum", stat_length=2),
        lambda m: np.pad(m, ((2, 1), (1, 1)), "mean", stat_length=((1, 2), (2, 3))),
        lambda i: np.pad(i, 2, "mean"),
        lambda m: np.pad(m, 1, "median"),
        lambda m: np.pad(m, 2, "reflect"),
        lambda v: np.pad(v, (13, 8), "reflect"),
        lambda v: np.pad(v, (13, 8), "reflect", reflect_type="odd"),
        lambda m: np.pad(m, (5, 9), "reflect", reflect_type="odd"),
        lambda v: np.pad(v[:1], (2, 3), "reflect", reflect_type="odd"),
        lambda v: np.pad(v[:2], (5, 3), "reflect", reflect_type="odd"),
        lambda v: np.pad(v, (13, 8), "symmetric"),
        lambda v: np.pad(v, (13, 8), "symmetric", reflect_type="odd"),
        lambda m: np.pad(m, (1, 4), "symmetric", reflect_type="odd"),
        lambda v: np.pad(v[:1], (2, 3), "symmetric", reflect_type="odd"),
        lambda v: np.pad(v, (9, 13), "wrap"),
        lambda m: np.pad(m, 3, "wrap"),
        lambda m: np.pad(m, 2, "empty")[2:-2, 2:-2],
        lambda e: np.pad(e, 1),
    ],
}

MATRICES: dict[str, list[Use]] = {
    "diag": [
        lambda v: np.diag(v),
        lambda v: np.diag(v, 2),
        lambda v: np.diag(v, -1),
        lambda m: np.diag(m),
        lambda m: np.diag(m, 1),
        lambda m: np.diag(m, -2),
        lambda m: np.diag(m, 7),
        lambda i: np.diag(i),
    ],
    "diagonal": [
        lambda m: np.diagonal(m),
        lambda c: np.diagonal(c, 1, 1, 2),
        lambda c: np.diagonal(c, -1, 2, 0),
        lambda m: m.diagonal(-1),
        lambda e: np.diagonal(e),
    ],
    "diagflat": [lambda m: np.diagflat(m[:, :2]), lambda v: np.diagflat(v, -1), lambda s: np.diagflat(s)],
    "tril": [lambda m: np.tril(m), lambda c: np.tril(c, 1), lambda m: np.tril(m, -1), lambda v: np.tril(v)],
    "triu": [lambda m: np.triu(m), lambda c: np.triu(c, 1), lambda m: np.triu(m, -1), lambda i: np.triu(i)],
    "vander": [
        lambda v: np.vander(v),
        lambda v: np.vander(v, 3),
        lambda i: np.vander(i, 4, increasing=True),
        lambda w: np.vander(w, 1),
        lambda w: np.vander(w, 0),
        lambda z: np.vander(z, 3),
    ],
    "fill_diagonal": [
        lambda m: changed(np.fill_diagonal)(m, 7),
        lambda m: changed(np.fill_diagonal)(m, [1, 2]),
        lambda m: changed(np.fill_diagonal)(m.T, m[:, 0]),
        lambda m: changed(np.fill_diagonal)(m[:, :2], 5, wrap=True),
        lambda v: changed(np.fill_diagonal)(np.zeros((7, 2)), v[0], wrap=True),
        lambda v: changed(np.fill_diagonal)(np.zeros((2, 2, 2)), v[:2]),
    ],
}

CREATION: dict[str, list[Use]] = {
    "zeros_like": [lambda m: np.zeros_like(m), lambda m: np.zeros_like(m, dtype=int, shape=(2,))],
    "ones_like": [lambda i: np.ones_like(i), lambda s: np.ones_like(s)],
    "full_like": [
        lambda m, s: np.full_like(m, s),
        lambda i: np.full_like(i, 2.7),
        lambda m: np.full_like(m, m[0]),
    ],
    "empty_like": [lambda m: np.empty_like(m) * 0 == 0],
    "zeros": [
        lambda v: np.zeros(3),
        lambda v: np.zeros((2, 3), np.int8),
        lambda v: np.zeros(()),
        lambda v: np.zeros(2, like=v),
    ],
    "ones": [lambda v: np.ones(3, dtype=np.float32), lambda v: np.ones((2, 1)) * v],
    "full": [lambda s: np.full((2, 3), s), lambda v: np.full((2, 6), v), lambda v: np.full(3, 7)],
    "empty": [lambda v: np.empty(3).shape[0] + v],
    "array": [
        lambda s: np.array([s, 2.0, s * s]),
        lambda s, v: np.array([[s, v[0]], [1, 2]]),
        lambda v, w: np.array([v, w]),
        lambda m: np.array(m, dtype=np.float32),
        lambda v: np.array(v, ndmin=3),
        lambda v: np.array([1, 2, 3]) * v[0],
        lambda v: np.array(3.5) + v,
        lambda w: np.array([w[0], 1.5]),
        lambda n: np.array([n, 1, True]),
        lambda n: np.array([n, 1.5]),
    ],
    "asarray": [
        lambda s: np.asarray([s, 1.0]),
        lambda v: np.asarray(v, dtype=np.float32),
        lambda v: np.asarray(v),
    ],
    "asanyarray": [lambda s: np.asanyarray([[s]])],
    "ascontiguousarray": [lambda m: np.ascontiguousarray(m.T), lambda s: np.ascontiguousarray(s)],
    "asfortranarray": [lambda m: np.asfortranarray(m)],
    "require": [lambda m: np.require(m, np.float32), lambda v: np.require(v, requirements=["C", "O"])],
    "arange": [
        lambda v: v[:3] + np.arange(3),
        lambda v: np.arange(1, 7, 2),
        lambda v: np.arange(0.0, 1.0, 0.25),
        lambda v: np.arange(4, dtype=np.float32),
        lambda v: np.arange(3, 0, -1),
    ],
    "eye": [
        lambda v: np.eye(3),
        lambda m: np.eye(3, 4, 1) * m,
        lambda v: np.eye(3, k=-1, dtype=bool),
        lambda v: np.eye(2, dtype=np.int32),
    ],
    "identity": [lambda q: q @ np.identity(3), lambda v: np.identity(2, int)],
    "tri": [lambda v: np.tri(3), lambda v: np.tri(3, 4, -1, dtype=int)],
    "linspace": [
        lambda s: np.linspace(0, s, 5),
        lambda s: np.linspace(s, 2 * s, 4, endpoint=False),
        lambda v: np.linspace(v[0], v[1], 3, retstep=True),
        lambda v, w: np.linspace(v, w, 4),
        lambda v: np.linspace(v, 1.0, 3, axis=-1),
        lambda s: np.linspace(0, s * 5, 4, dtype=int),
        lambda s: np.linspace(s, 1, 1),
        lambda s: np.linspace(s, 1, 0),
        lambda w: np.linspace(w[0], 1, 5),
        lambda v: np.linspace(0, 1, 5) * v[0],
        lambda z: np.linspace(z[0], z[1], 4),
    ],
    "logspace": [
        lambda s: np.logspace(0, s, 4),
        lambda s: np.logspace(1, s, 3, base=2.0, endpoint=False),
        lambda v: np.logspace(v[:2], v[2:4], 3, axis=1),
        lambda v: np.logspace(0, 2, 3, dtype=np.float32) * v[0],
    ],
    "geomspace": [
        lambda s: np.geomspace(1, s, 4),
        lambda s: np.geomspace(-s, -8 * s, 3, endpoint=False),
        lambda v: np.geomspace(np.abs(v[:3]), 2.0, 4),
        lambda v: np.geomspace(1, 8, 4) + v[0],
    ],
    "meshgrid": [
        lambda v, w: np.meshgrid(v, w),
        lambda v, w: np.meshgrid(v, w, indexing="ij"),
        lambda v, w, i: np.meshgrid(v[:2], w[:3], i, sparse=True),
        lambda v: np.meshgrid(v),
        lambda v: np.meshgrid(v, np.arange(3)),
    ],
    "indices": [lambda v: np.indices((2, 3)), lambda v: np.indices((2, 3), dtype=float, sparse=True)],
    "fromfunction": [lambda s: np.fromfunction(lambda i, j: i * s + j, (2, 3))],
    "mgrid": [lambda v: np.mgrid[0:2, 0:1:3j] * v[0]],
    "ogrid": [lambda v: np.ogrid[0:2, 0:3]],
    "r_": [
        lambda v, s: np.r_[v, 1.0, s, 3:6],
        lambda v: np.r_[0:1:3j, v],
        lambda v: np.r_["0,2", v, v],
        lambda v: np.r_["1,2,0", v, v],
        lambda w: np.r_[w, 2.5],
    ],
    "c_": [lambda v, w: np.c_[v, w], lambda m: np.c_[m, m[:, 0], [1, 2, 3]], lambda v: np.c_[1:4, v[:3]]],
    "hanning": [lambda v: np.hanning(6) * v],
}

INDEXING: dict[str, list[Use]] = {
    "take": [
        lambda v: np.take(v, 2),
        lambda v: np.take(v, [0, -1, 2]),
        lambda m: np.take(m, [[0, 1], [2, 0]], axis=0),
        lambda m: np.take(m, [1, 3], axis=1),
        lambda m: np.take(m, 5),
        lambda v, i: np.take(v, i),
        lambda v, i: v.take(i * 3, mode="wrap"),
        lambda v, i: np.take(v, i * 3, mode="clip"),
        lambda v, n: np.take(v, n),
        lambda v, p: np.take(v, p),
        lambda v, i: np.take(v, i, out=np.zeros(6)),
    ],
    "take_along_axis": [
        lambda q, k: np.take_along_axis(q, k, 0),
        lambda q, k: np.take_along_axis(q, k[:1], axis=0),
        lambda q, k: np.take_along_axis(q, k.T, axis=1),
        lambda q, i: np.take_along_axis(q, i, None),
        lambda m: np.take_along_axis(m, np.argsort(-m, axis=1), 1),
    ],
    "put_along_axis": [
        lambda q, k: changed(np.put_along_axis)(q, k, 9.0, 0),
        lambda q, k: changed(np.put_along_axis)(q, k[:, :1].T, 5.0, axis=1),
        lambda q, i: changed(np.put_along_axis)(q, i, i + 0.5, None),
    ],
    "put": [
        lambda m: changed(np.put)(m, [0, 5, -1], [1.0, 2.0]),
        lambda v, i: changed(np.put)(v, i, v),
        lambda v, i: changed(np.put)(v, i * 2, 5, mode="wrap"),
        lambda m: m.put([2, 20], 7.0, mode="clip") or m,
        lambda m: changed(np.put)(m.T, [1, 2], 8),
    ],
    "putmask": [
        lambda m, b: changed(np.putmask)(m, b, [1.0, 2.0, 3.0]),
        lambda m: changed(np.putmask)(m, m > 0, m**2),
        lambda i: changed(np.putmask)(i, i > 1, 7),
    ],
    "place": [
        lambda m, b: changed(np.place)(m, b, [1.0, 2.0, 3.0]),
        lambda v: changed(np.place)(v, v > 1, 9),
        lambda v, p, w: changed(np.place)(v, p, w),
    ],
    "choose": [
        lambda k, v: np.choose(k, [v[:3], v[3:], 1.0]),
        lambda i, v: np.choose(i, [v, -v], mode="wrap"),
        lambda i, v: np.choose(i, [v, -v], mode="clip"),
        lambda k, q: k.choose(q),
    ],
    "select": [
        lambda v: np.select([v < 0, v > 2], [v, v**2]),
        lambda v: np.select([v < 0, v > 2], [v, v**2], default=42),
        lambda v, w: np.select([v < 0], [w]),
        lambda m, v: np.select([m > 0, m < -2], [1, v[:4]], 0.5),
        lambda w: np.select([w > 0], [w], 1.5),
        lambda w: np.select([w > 0], [w.astype(np.int8)], 300),
    ],
    "where": [
        lambda m: np.where(m > 0, m, 0),
        lambda m, v: np.where(m > 0, m, v[:4]),
        lambda w: np.where(w > 0, w, 1.5),
        lambda w, v: np.where(w > 0, w, v),
        lambda i: np.where(i, i, -1),
        lambda i: np.where(i > 0, i.astype(np.uint8), 200),
        lambda s: np.where(s > 1, s, 0),
        lambda p: np.where(p, 1, 2.0),
        lambda p: np.where(p, 1, 2),
        lambda v: np.where(np.array([True, False, True])),
    ],
    "compress": [
        lambda v: np.compress([True, False, True], v),
        lambda m: np.compress(np.array([0, 1, 1]), m, axis=0),
        lambda m: m.compress([False, True], axis=1),
    ],
    "extract": [lambda m: np.extract(np.arange(12).reshape(3, 4) % 3 == 0, m)],
    "nonzero": [lambda v: np.nonzero(np.array([[1, 0], [2, 3]])), lambda v: v[np.nonzero(np.arange(6) % 2)]],
    "flatnonzero": [lambda v: np.flatnonzero(np.array([[1, 0], [2, 3]]))],
    "argwhere": [lambda v: np.argwhere(np.array([[1, 0], [2, 3]])), lambda v: np.argwhere(np.array(3))],
    "diag_indices": [lambda q: q[np.diag_indices(3)]],
    "diag_indices_from": [lambda q: q[np.diag_indices_from(q)]],
    "tril_indices": [lambda q: q[np.tril_indices(3)]],
    "tril_indices_from": [lambda q: q[np.tril_indices_from(q, -1)]],
    "triu_indices_from": [lambda m: m[np.triu_indices_from(m, 1)]],
    "ix_": [
        lambda m: m[np.ix_([0, 2], [1, 3])],
        lambda m, n: m[np.ix_([0, n], [1, 3])],
        lambda m: m[np.ix_([True, False, True], [1])],
        lambda v, i: np.ix_(v.astype(int), i),
    ],
    "unravel_index": [
        lambda i: np.unravel_index(abs(i), (3, 4)),
        lambda n: np.unravel_index(n, (2, 2), order="F"),
        lambda v: np.unravel_index(np.argmax(v), (2, 3)),
    ],
    "ravel_multi_index": [
        lambda k: np.ravel_multi_index((k[0], k[1]), (3, 4)),
        lambda k: np.ravel_multi_index(k, (3, 4), order="F"),
        lambda k: np.ravel_multi_index((k[0] * 3, k[1] - 2), (3, 4), mode=("clip", "wrap")),
    ],
}

METHODS: dict[str, list[Use]] = {
    "fill": [lambda m: changed(lambda x: x.fill(3))(m), lambda m, s: changed(lambda x: x.fill(s))(m[1])],
    "flatten": [lambda m: m.flatten(), lambda m: m.flatten("F"), lambda c: c.swapaxes(0, 1).flatten("K")],
    "view": [lambda v: v.view(np.int64), lambda w: w.view(np.uint32)[:2], lambda m: m.view()],
    "sort": [lambda m: changed(lambda x: x.sort())(m), lambda m: changed(lambda x: x.sort(axis=0))(-m)],
    "partition": [lambda v: changed(lambda x: x.partition(2))(v)[2]],
    "flat": [
        lambda m: m.flat[5],
        lambda m: m.flat[2:7:2],
        lambda m: m.flat[[0, -1]],
        lambda m: np.stack(list(m.T.flat)),
        lambda m: changed(lambda x: x.flat.__setitem__(slice(1, None, 3), [1.0, 2.0]))(m.T),
        lambda m: changed(lambda x: x.flat.__setitem__([0, 3, 5], [1.0, 2.0]))(m),
        lambda m: changed(lambda x: setattr(x, "flat", [1.0, 2.0]))(m),
        lambda m: m.T.flat.copy(),
    ],
    "shape": [
        lambda m: changed(lambda x: without_warning(lambda: setattr(x, "shape", (2, 6))))(m.copy()),
    ],
    "to_device": [lambda v: v.to_device("cpu")],
}

CHAPTERS = {
    "shapes": SHAPES,
    "joining": JOINING,
    "rearranging": REARRANGING,
    "padding": PADDING,
    "matrices": MATRICES,
    "creation": CREATION,
    "indexing": INDEXING,
    "methods": METHODS,
}

TYPES: dict[str, list[Use]] = {
    "result_type": [
        lambda w, i: np.zeros(2, np.result_type(w, i)),
        lambda w: np.zeros(2, np.result_type(w, 1.0)),
    ],
    "can_cast": [lambda w: np.zeros(int(np.can_cast(w, np.float64)))],
    "common_type": [lambda w: np.zeros(2, np.common_type(w))],
    "min_scalar_type": [lambda v: np.zeros(2, np.min_scalar_type(v))],
}
CHAPTERS["types"] = TYPES


def uses_of(*chapters: str) -> list[Case]:
    """The uses of these chapters, by the function."""
    return [
        Case(name, f"{name}-{number}", (use,))
        for chapter in chapters
        for name, samples in CHAPTERS[chapter].items()
        for number, use in enumerate(samples)
    ]


def all_uses() -> dict[str, list[Use]]:
    """Every use, by the name of the function."""
    uses: dict[str, list[Use]] = {}
    for chapter in CHAPTERS.values():
        for name, samples in chapter.items():
            uses.setdefault(name, []).extend(samples)
    return uses
