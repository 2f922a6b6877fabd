"""``x.strides`` is NumPy's along axes of a single entry and of empty arrays, too, which decide the order of copies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.numpy_functions import without_warning
from tracemill.compiler.dtypes import Array

Use = Callable[[Any], Any]


def in_rows(*shape: int) -> Array:
    return np.zeros(shape)


def in_columns(*shape: int) -> Array:
    return np.zeros(shape, order="F")


def placed(results: Any) -> list[Any]:
    """Where each of several arrays has its elements."""
    return [(x.strides, x.flags.c_contiguous, x.flags.f_contiguous) for x in results]


def test_a_conversion_in_any_order_keeps_the_order() -> None:
    def converted(x: Any) -> Any:
        arrays = [np.array(x, "f4", order="A"), np.asarray(x, "f4", order="A"), np.require(x, "f4")]
        return placed(
            [*arrays, np.array(x, order="A"), np.array(x, "f8", order="A"), x.astype("f4", order="A")]
        )

    x = np.zeros((2, 3, 4)).transpose(1, 2, 0)
    assert tm.compile(converted, backend="numpy")(x) == converted(x)


SINGLE: dict[str, tuple[Array, Use]] = {
    "ufuncs of one loop": (in_columns(4, 5, 1), lambda x: [-x, x + x, x * 0.5, x > 0, np.negative(x, order="A")]),
    "ufuncs of the iterator": (
        in_columns(4, 5, 1),
        lambda x: [x.astype(int) * 0.5, x + x[:1], *np.divmod(x, 2), np.add(x, x, dtype=complex)],
    ),
    "both orders at once": (in_rows(1, 3, 1), lambda x: [x + x, x.T + x.T, np.add(x, x, order="A"), x.T.copy("K")]),
    "copies": (np.zeros((4, 1, 5)).T, lambda x: [np.copy(x), np.array(x), x.astype("f4"), np.sort(x), np.ones_like(x)]),
    "copies of permuted axes": (
        np.zeros((4, 5, 6, 1)).transpose(3, 1, 0, 2),
        lambda x: [np.copy(x), x.copy("K").copy("K"), -x, np.zeros_like(x, shape=(2, 3, 4, 5))],
    ),
    "steps": (in_rows(1, 6, 1), lambda x: [x[::2], x[::-2], x[:, ::2], x[:, ::2].copy("K"), x[:, ::2] + 1, np.flip(x)]),
    "flipped, in another shape": (
        np.zeros((5, 1, 4))[::-1].T,
        lambda x: [np.zeros_like(x, shape=(2, 3, 4)), np.zeros_like(x[::-1, :, ::2], shape=(2, 3, 4))],
    ),
    "differences": (
        np.zeros((3, 2, 4)).T[..., :2],
        lambda x: [
            np.diff(x), np.diff(x, axis=0), np.diff(x, 2, axis=0), np.diff(np.broadcast_to(x[:, :1], x.shape), axis=1)
        ],
    ),
    "functions of several steps": (
        in_columns(3, 1, 2),
        lambda x: [
            np.sinc(x), np.i0(x), without_warning(lambda: np.fix(x)), np.angle(x), np.angle(x + 1j),
            np.isneginf(x), np.isposinf(x), np.isreal(x),
            np.polyval([1.0, 2.0], x), np.linalg.norm(x, axis=0, keepdims=True), np.block([x, x])
        ],
    ),
    "medians and quantiles that keep axes": (
        in_columns(3, 1, 2),
        lambda x: [
            np.median(x, axis=0, keepdims=True), np.nanmedian(x, axis=0, keepdims=True),
            np.median(x.copy("C"), axis=-1, keepdims=True), np.quantile(x, 0.5, axis=0, keepdims=True),
            np.quantile(x, [0.5, 0.2], axis=0, keepdims=True), np.nanquantile(x, 0.5, axis=1, keepdims=True),
            np.median(x, keepdims=True)
        ],
    ),
    "index arrays": (in_columns(3, 4, 5), lambda x: [x[[1, 0], None], x[:, None, [1]], x[[1, 0], :1], x[:1, :, [0]]]),
    "new axes in front": (
        in_columns(3, 4),
        lambda x: [np.array(x, ndmin=4), np.array(x, ndmin=4, order="C"), np.array(x[::2], ndmin=3, copy=None)],
    ),
    "reshapes": (
        np.zeros((4, 6))[::-1],
        lambda x: [x.reshape(4, 1, 1, 6), x.reshape(4, 1, 1, 6, order="F"), x.T.reshape(6, 1, 4, 1, order="F")],
    ),
    "reshapes of what is contiguous": (
        np.zeros((3, 1, 4))[:1],
        lambda x: [x.reshape(1, 1, 4), x.reshape(-1, 1, 4), x[None], x.squeeze(0), np.expand_dims(x, 1), x.ravel()],
    ),
    "elementwise functions": (
        in_columns(4, 3, 1),
        lambda x: [
            np.clip(x, 0, 1), np.ptp(x[None], axis=0), x.round(),
            np.dot(x, 2), np.isclose(x, x), np.isclose(x, 0.5), np.isclose(x, x[:1])
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("x", "use"), SINGLE.values(), ids=SINGLE)
def test_axes_of_a_single_entry_have_numpys_strides(x: Array, use: Use) -> None:
    def asked(x: Any) -> Any:
        return placed(use(x))

    assert tm.compile(asked, backend="numpy")(x) == asked(x)


def parts_of_nothing(x: Any) -> Any:
    wide = np.broadcast_to(x, (2, *x.shape))
    return [
        x, x.T, x[::-1], x.reshape(x.shape[::-1]), x.reshape(-1), x.ravel(), x[None], x + 1, x.copy("K"), wide,
        np.ascontiguousarray(wide), x.reshape(x.shape[::-1], order="F"), np.tile(x, 2), np.isin(x, [1]), np.diff(x),
        np.roll(x, 1), np.reshape(x, (*x.shape, 1), copy=True), np.zeros_like(x), x[:, ::2], np.flip(x),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "x",
    [
        in_rows(0, 3), in_columns(3, 0), in_rows(4, 3)[4:], in_rows(4, 6)[:, 6:].T,
        np.broadcast_to(in_rows(1, 3), (0, 3)),
    ],
    ids=["rows", "columns", "no rows of some", "no columns of some", "broadcast"],
)  # fmt: skip
def test_empty_arrays_have_numpys_strides(x: Array) -> None:
    def asked(x: Any) -> Any:
        return placed(parts_of_nothing(x))

    assert tm.compile(asked, backend="numpy")(x) == asked(x)


def strides_of(x: Any) -> Any:
    return x.strides


def halves(x: Any) -> Any:
    return np.copy(x[::2]).strides


@pytest.mark.parametrize("use", [strides_of, halves])
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_compiled_function_distinguishes_arrays_that_differ_only_in_strides(
    use: Use, dynamic: bool
) -> None:
    compiled = tm.compile(use, backend="numpy", dynamic=dynamic)
    arrays: Sequence[Array] = [
        in_rows(5, 1), in_columns(5, 1), in_rows(5, 3)[:, :1], in_columns(5, 1), in_rows(7, 1), in_columns(7, 1)
    ]  # fmt: skip
    assert [compiled(x) for x in arrays] == [use(x) for x in arrays]


def test_arrays_that_differ_in_irrelevant_strides_share_a_program() -> None:
    compiled = tm.compile(lambda x: (x + 1).reshape(-1), backend="numpy")
    for x in (in_rows(5, 1), in_columns(5, 1), in_rows(5, 1)[::1]):
        compiled(x)
    assert len(compiled.signatures()) == 1
