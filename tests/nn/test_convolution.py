"""`conv` and `conv_transpose`: values by a plain loop and by SciPy, every parameter, derivatives, batches, misuse."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy

import tracemill as tm
from numpy_surface.differential import run_traced
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError

rng = np.random.default_rng(11)
ROW, TAPS = rng.normal(size=(2, 4, 9)), rng.normal(size=(6, 4, 3))
IMAGE, KERNELS = rng.normal(size=(2, 3, 7, 6)), rng.normal(size=(4, 3, 3, 2))


def plain(x: Any, w: Any, strides: int = 1, padding: tuple[int, int] = (0, 0), dilation: int = 1, between: int = 1,
          groups: int = 1) -> Any:  # fmt: skip
    """A convolution of rows, by loops over everything."""
    (examples, channels, length), (kernels, depth, size) = x.shape, w.shape
    spread = np.zeros((examples, channels, (length - 1) * between + 1))
    spread[:, :, ::between] = x
    spread = np.pad(spread, ((0, 0), (0, 0), padding))
    count = (spread.shape[2] - (size - 1) * dilation - 1) // strides + 1
    out = np.zeros((examples, kernels, count))
    for n, o, t, c, k in product(range(examples), range(kernels), range(count), range(depth), range(size)):
        channel = o // (kernels // groups) * depth + c
        out[n, o, t] += spread[n, channel, t * strides + k * dilation] * w[o, c, k]
    return out


@pytest.mark.parametrize(
    ("strides", "padding", "dilation", "between"),
    list(product((1, 2, 3), ((0, 0), (2, 1)), (1, 2), (1, 3))),
)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_row_is_convolved_as_by_loops(
    strides: int, padding: tuple[int, int], dilation: int, between: int, groups: int
) -> None:
    kernels = TAPS[:, : 4 // groups]
    options: dict[str, Any] = {"dilation": dilation, "groups": groups}
    expected = plain(ROW, kernels, strides, padding, between=between, **options)
    actual = tm.nn.conv(ROW, kernels, strides, [padding], input_dilation=between, **options)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_one_channel_is_what_scipy_correlates(rank: int) -> None:
    x, w = rng.normal(size=(7, 6, 5)[:rank]), rng.normal(size=(3, 2, 3)[:rank])
    valid = tm.nn.conv(x[None, None], w[None, None])[0, 0]
    np.testing.assert_allclose(valid, scipy.signal.correlate(x, w, "valid"), rtol=1e-12, atol=1e-14)
    full = tm.nn.conv(x[None, None], w[None, None], padding=[(k - 1, k - 1) for k in w.shape])[0, 0]
    np.testing.assert_allclose(full, scipy.signal.correlate(x, w, "full"), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("strides", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_padding_same_gives_one_window_per_stride(strides: int, size: int) -> None:
    for length in range(1, 9):
        x = np.ones((1, 1, length))
        out = tm.nn.conv(x, np.ones((1, 1, size)), strides, "SAME")
        assert out.shape == (1, 1, -(-length // strides))
        assert (
            tm.nn.conv_transpose(out, np.ones((1, 1, size)), strides, "same").shape[2]
            == out.shape[2] * strides
        )


def test_a_number_pads_both_sides_and_negative_padding_leaves_out() -> None:
    expected = tm.nn.conv(np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (2, 2))), KERNELS)
    np.testing.assert_allclose(tm.nn.conv(IMAGE, KERNELS, padding=(1, 2)), expected, rtol=1e-12)
    np.testing.assert_allclose(tm.nn.conv(IMAGE, KERNELS, padding=[(1, 1), 2]), expected, rtol=1e-12)
    inner = tm.nn.conv(IMAGE[:, :, 1:-2, 2:], KERNELS)
    np.testing.assert_allclose(tm.nn.conv(IMAGE, KERNELS, padding=[(-1, -2), (-2, 0)]), inner, rtol=1e-12)


def test_a_layout_says_where_the_axes_lie() -> None:
    expected = tm.nn.conv(IMAGE, KERNELS, (2, 1))
    moved = tm.nn.conv(
        IMAGE.transpose(0, 2, 3, 1), KERNELS.transpose(2, 3, 1, 0), (2, 1), layout="nhwc, hwio -> whcn"
    )
    np.testing.assert_allclose(moved.transpose(3, 2, 1, 0), expected, rtol=1e-12)
    back = tm.nn.conv_transpose(expected, KERNELS, (2, 1))
    moved = tm.nn.conv_transpose(
        expected.transpose(1, 2, 3, 0), KERNELS.transpose(1, 0, 3, 2), (2, 1), layout="chwn,iowh->nhwc"
    )
    np.testing.assert_allclose(moved.transpose(0, 3, 1, 2), back, rtol=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("strides", [1, 2, 3])
@pytest.mark.parametrize("padding", ["valid", 1, [(0, 2)]])
def test_the_transpose_keeps_the_pairing(padding: Any, strides: int, dilation: int, groups: int) -> None:
    kernels = TAPS[:, : 4 // groups]
    options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    smallest = tm.nn.conv_transpose(tm.nn.conv(ROW, kernels, **options), kernels, **options).shape[2]
    options["output_padding"] = ROW.shape[2] - smallest
    y = rng.normal(
        size=tm.nn.conv(ROW, kernels, **{k: v for k, v in options.items() if k != "output_padding"}).shape
    )
    back = tm.nn.conv_transpose(y, kernels, **options)
    assert back.shape == ROW.shape
    del options["output_padding"]
    np.testing.assert_allclose(
        np.sum(tm.nn.conv(ROW, kernels, **options) * y), np.sum(ROW * back), rtol=1e-10
    )


def test_the_gradient_of_a_convolution_is_its_transpose() -> None:
    def loss(x: Any, w: Any) -> Any:
        return np.sum(tm.nn.conv(x, w, 2, 1, groups=2) ** 2) / 2

    kernels = TAPS[:, :2]
    residual = tm.nn.conv(ROW, kernels, 2, 1, groups=2)
    for function in (loss, tm.compile(loss)):
        dx, dw = tm.grad(function, argnums=(0, 1))(ROW, kernels)
        np.testing.assert_allclose(
            dx, tm.nn.conv_transpose(residual, kernels, 2, 1, groups=2), rtol=1e-10, atol=1e-12
        )
        step = 1e-6 * rng.normal(size=kernels.shape)
        change = loss(ROW, kernels + step) - loss(ROW, kernels - step)
        np.testing.assert_allclose(np.sum(dw * 2 * step), change, rtol=1e-6)


def network(image: Any, first: Any, second: Any) -> Any:
    """Two layers with a maximum over windows between them."""
    hidden = np.maximum(tm.nn.conv(image, first, padding="same"), 0)
    windows = np.lib.stride_tricks.sliding_window_view(hidden, (2, 2), axis=(2, 3))[:, :, ::2, ::2]
    return np.mean(tm.nn.conv(windows.max(axis=(-2, -1)), second) ** 2)


PARAMETERS = rng.normal(size=(4, 3, 3, 3)), rng.normal(size=(2, 4, 2, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_network_has_the_gradient_of_differences_compiled_and_not(dtype: Any) -> None:
    image, *weights = (x.astype(dtype) for x in (IMAGE, *PARAMETERS))
    gradients = tm.grad(network, argnums=(1, 2))(image, *weights)
    compiled = tm.compile(tm.grad(network, argnums=(1, 2)))(image, *weights)
    for place, (gradient, same) in enumerate(zip(gradients, compiled, strict=True)):
        assert gradient.dtype == same.dtype == dtype
        direction = rng.normal(size=gradient.shape)
        ahead, behind = ([*PARAMETERS] for _ in range(2))
        ahead[place], behind[place] = (PARAMETERS[place] + s * 1e-6 * direction for s in (1, -1))
        slope = (network(IMAGE, *ahead) - network(IMAGE, *behind)) / 2e-6
        for found in (gradient, same):
            np.testing.assert_allclose(
                np.sum(found * direction), slope, rtol=1e-3 if dtype == np.float32 else 1e-6
            )


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (0, 0), (4, 2)])
def test_vmap_of_a_convolution_is_the_loop(in_dims: tuple[int | None, int | None]) -> None:
    def function(x: Any, w: Any) -> Any:
        return tm.nn.conv(x, w, (2, 1), "same", groups=2, dilation=2)

    arrays = [rng.normal(size=shape) for shape in ((2, 4, 5, 4), (6, 2, 2, 2))]
    batches = [
        x if dim is None else np.stack([x, 2 * x, -x], dim) for x, dim in zip(arrays, in_dims, strict=True)
    ]
    rows = [
        function(*(x if dim is None else np.take(x, i, dim) for x, dim in zip(batches, in_dims, strict=True)))
        for i in range(3)
    ]
    np.testing.assert_allclose(tm.vmap(function, in_dims)(*batches), np.stack(rows), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "c64", "i16"])
def test_the_dtype_is_kept(dtype: str) -> None:
    x, w = (np.rint(a * 3).astype(dtype_named(dtype)) for a in (ROW, TAPS))
    wide = np.complex128 if dtype == "c64" else np.float64
    for out in (tm.nn.conv(x, w), tm.compile(tm.nn.conv)(x, w)):
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(
            out.astype(wide), tm.nn.conv(x.astype(wide), w.astype(wide)).astype(out.dtype).astype(wide)
        )


def test_dtypes_are_promoted_as_numpy_does() -> None:
    assert tm.nn.conv(ROW.astype(np.float32), TAPS).dtype == np.float64
    assert (
        run_traced(lambda x: tm.nn.conv(x, np.ones((1, 4, 2), np.int8)), ROW.astype(np.float32)).dtype
        == np.float32
    )


def test_empty_batches_kernels_and_signals_have_numpys_shapes() -> None:
    assert tm.nn.conv(ROW[:0], TAPS).shape == (0, 6, 7)
    assert tm.nn.conv(ROW, TAPS[:0]).shape == (2, 0, 7)
    assert tm.nn.conv(ROW[:, :0], TAPS[:, :0]).tolist() == np.zeros((2, 6, 7)).tolist()
    assert tm.nn.conv(ROW[:, :, :2], TAPS).shape == (2, 6, 0)


MISUSES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "channels": (lambda: tm.nn.conv(ROW, TAPS[:, :3]), ShapeError, "4 channels, the kernels are for 3 in 1 group"),
    "groups of channels": (lambda: tm.nn.conv(ROW, TAPS, groups=2), ShapeError, "for 4 in 2 groups"),
    "groups of kernels": (lambda: tm.nn.conv(ROW, TAPS, groups=4), ArgumentValueError, "6 kernels .* into 4 groups"),
    "no groups": (lambda: tm.nn.conv(ROW, TAPS, groups=0), ArgumentValueError, "into 0 groups"),
    "half a group": (lambda: tm.nn.conv(ROW, TAPS, groups=0.5), ArgumentTypeError, "groups must be a whole number"),  # type: ignore[arg-type]
    "ranks": (lambda: tm.nn.conv(ROW, KERNELS), ShapeError, "as many spatial axes in both"),
    "no channels": (lambda: tm.nn.conv(ROW[0, 0], TAPS[0, 0]), ShapeError, "as many spatial axes in both"),
    "strides": (lambda: tm.nn.conv(ROW, TAPS, (1, 2)), ArgumentValueError, "one number or 1"),
    "stride 0": (lambda: tm.nn.conv(ROW, TAPS, 0), ArgumentValueError, "strides=0: must be at least 1"),
    "stride 1.5": (lambda: tm.nn.conv(ROW, TAPS, 1.5), ArgumentTypeError, "strides must be a whole number"),  # type: ignore[arg-type]
    "dilation": (lambda: tm.nn.conv(ROW, TAPS, dilation=-1), ArgumentValueError, "dilation=-1: must be at least 1"),
    "padding": (lambda: tm.nn.conv(ROW, TAPS, padding="half"), ArgumentValueError, "'valid', 'same', a number"),
    "too many pairs": (lambda: tm.nn.conv(ROW, TAPS, padding=(1, 1)), ArgumentValueError, "1 spatial axes need"),
    "no pair": (lambda: tm.nn.conv(ROW, TAPS, padding=[(1, 1, 1)]), ArgumentValueError, "a number or a pair"),
    "layout": (lambda: tm.nn.conv(ROW, TAPS, layout="nwc,wio"), ArgumentValueError, "'nhwc,hwio->nhwc'"),
    "layout with an axis twice": (
        lambda: tm.nn.conv(ROW[..., None], TAPS[..., None], layout="nchh,oihh->nchh"), ArgumentValueError, "each once",
    ),
    "layout of images": (lambda: tm.nn.conv(ROW, TAPS, layout="nhwc,hwio->nhwc"), ShapeError, "names 4 axes"),
    "layout 3": (lambda: tm.nn.conv(ROW, TAPS, layout=3), ArgumentTypeError, "must be text"),  # type: ignore[arg-type]
    "booleans": (lambda: tm.nn.conv(ROW > 0, TAPS > 0), DTypeError, "conv is not defined for"),
    "text": (lambda: tm.nn.conv("a", TAPS), DTypeError, "array of numbers"),
    "transpose": (lambda: tm.nn.conv_transpose(ROW, TAPS), ShapeError, "y has 4 channels, but there are 6 kernels"),
    "output": (
        lambda: tm.nn.conv_transpose(ROW, TAPS[:4], output_padding=-1), ArgumentValueError, "must be at least 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_named(name: str) -> None:
    call, error, match = MISUSES[name]
    with pytest.raises(error, match=match):
        call()


def test_misuse_in_a_trace_is_named_with_the_users_line() -> None:
    with pytest.raises(ShapeError, match=r"the kernels are for 3(\n|.)*at test_convolution\.py:\d+"):
        tm.compile(lambda x: tm.nn.conv(x, TAPS[:, :3]))(ROW)


def test_a_kernel_that_is_closed_over_is_read_at_every_call() -> None:
    kernels = TAPS.astype(np.float32)
    function = tm.compile(lambda x: tm.nn.conv(x, kernels))
    before = function(ROW)
    kernels *= 2
    np.testing.assert_allclose(function(ROW), 2 * before, rtol=1e-12)
