"""Fourier transforms: as in NumPy in value, dtype, shape and errors; known identities; under the transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check, check_both_raise, run_traced
from samples.grouping import in_groups
from samples.numpy_math import TOLERANCE, Use, X, cases
from tracemill.compiler.errors import ShapeError

GRID = X["f64"]
FFT: Any = np.fft
"""Untyped, to be misused."""
SIGNAL = np.random.default_rng(3).normal(size=12)


@pytest.mark.sampled("hfft", "rfftfreq", every=5, slow=2)
@in_groups(cases("fft"))
def test_this_use_does_what_numpy_does(use: Use, dtype: str) -> None:
    tolerance = TOLERANCE.get(dtype, 1e-12)
    check(use, X[dtype], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: FFT.fft(x, 0),
        lambda x: FFT.irfft(x[:, :1]),
        lambda x: FFT.fft(x, axis=2),
        lambda x: FFT.fft(x, norm="both"),
        lambda x: FFT.hfft(x, norm="both"),
        lambda x: FFT.fft(x[0, 0]),
        lambda x: FFT.fft(x, 2.5),
        lambda x: FFT.rfft(x * 1j),
        lambda x: FFT.ihfft(x * 1j),
        lambda x: FFT.rfftn(x * 1j),
        lambda x: FFT.fftn(x, s=(2,), axes=(0, 1)),
        lambda x: FFT.fft2(x[0]),
        lambda x: FFT.rfftn(x, axes=()),
        lambda x: FFT.fft(x[:, :0]),
        lambda x: FFT.fft(x, out=np.empty(3, complex)),
        lambda x: FFT.fft(x, out=np.empty((3, 4))),
        lambda x: FFT.fftfreq(2.5),
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Callable[[Any], Any]) -> None:
    check_both_raise(misuse, GRID)


def test_an_output_array_of_the_wrong_shape_is_named() -> None:
    with pytest.raises(ShapeError, match=r"wrong shape: \(3,\), not \(3, 4\)(\n|.)*at test_fft\.py:\d+"):
        run_traced(lambda x: np.fft.fft(x, out=np.empty(3, complex)), GRID)


def test_a_transform_without_axes_changes_nothing() -> None:
    check(lambda x: (np.fft.fftn(x, axes=()), np.fft.ifftn(x, s=(), axes=())), GRID)
    check(lambda x: (np.fft.fftshift(x, ()), np.fft.ifftshift(x, ())), GRID)


@pytest.mark.parametrize("name", ["fftn", "rfftn", "irfftn"])
def test_an_axis_transformed_twice_keeps_the_length_it_had(name: str) -> None:
    check(lambda x: getattr(np.fft, name)(x, axes=(1, 1)), GRID, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fftn", "rfft2", "irfftn", "ihfft"])
def test_the_result_is_written_into_out(name: str) -> None:
    function = getattr(np.fft, name)
    like = function(GRID)

    def written(x: Any) -> Any:
        out = np.zeros(like.shape, like.dtype)
        given = function(x, out=out)
        out[0] += 1
        return out, given

    check(written, GRID, rtol=1e-12, atol=1e-12)


def test_a_list_of_traced_rows_is_an_array() -> None:
    check(lambda x: np.fft.fft([x[0], x[1]]), GRID, rtol=1e-12, atol=1e-12)
    check(lambda x: np.fft.fftshift([x[0], x[1]], axes=1), GRID)


def test_frequencies_are_arrays_of_the_trace() -> None:
    def filtered(x: Any) -> Any:
        frequencies = np.fft.rfftfreq(12, 0.5)
        frequencies[0] = x[3]
        return np.fft.irfft(np.fft.rfft(x) * frequencies, 12)

    check(filtered, SIGNAL, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_every_floating_dtype_has_numpys_result(dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    x = SIGNAL.astype(np.dtype(dtype))
    tolerance = 2e-2 if x.dtype.itemsize == 2 else 1e-5
    check(lambda x: (np.fft.fft(x), np.fft.rfft(x), np.fft.irfft(x)), x, rtol=tolerance, atol=tolerance)


# ---- under the transforms ----------------------------------------------------------------------------


def power(x: Any) -> Any:
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


def real_power(x: Any) -> Any:
    weights = np.array([1.0, 2, 2, 2, 2, 2, 1])
    return np.sum(weights * np.abs(np.fft.rfft(x)) ** 2)


@pytest.mark.parametrize("function", [power, real_power, tm.compile(power), tm.compile(real_power)])
def test_the_gradient_of_the_power_is_that_of_parseval(function: Callable[[Any], Any]) -> None:
    """The sum of |X|² is n times that of x², so that the gradient is 2 n x."""
    np.testing.assert_allclose(tm.grad(function)(SIGNAL), 24 * SIGNAL, rtol=1e-12)
    np.testing.assert_allclose(tm.hessian(function)(SIGNAL), 24 * np.eye(12), atol=1e-12)
    narrow = tm.grad(function)(SIGNAL.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, 24 * SIGNAL, rtol=1e-5)


def test_the_gradient_by_a_complex_signal_follows_the_conjugate_convention() -> None:
    z = SIGNAL[:6] + 1j * SIGNAL[6:]
    np.testing.assert_allclose(tm.grad(power)(z), 12 * z, rtol=1e-12)


def test_a_circular_convolution_has_the_derivative_of_the_sum() -> None:
    def convolved(x: Any, y: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), x.shape[-1])

    n = 12
    places = (np.arange(n)[:, None] - np.arange(n)) % n
    for transform in (tm.jacrev, tm.jacfwd):
        jacobian = transform(convolved)(SIGNAL, SIGNAL[::-1].copy())
        np.testing.assert_allclose(jacobian, SIGNAL[::-1][places], atol=1e-12)


def test_vmap_of_a_gradient_through_a_transform_of_images_is_the_loop() -> None:
    def smoothness(image: Any) -> Any:
        spectrum = np.fft.fftshift(np.fft.rfft2(image), axes=0)
        return np.sum(np.abs(spectrum * np.arange(1, spectrum.shape[1] + 1)))

    images = np.random.default_rng(0).normal(size=(3, 4, 5))
    looped = np.stack([tm.grad(smoothness)(image) for image in images])
    np.testing.assert_allclose(tm.vmap(tm.grad(smoothness))(images), looped, rtol=1e-10)
    np.testing.assert_allclose(
        tm.compile(tm.vmap(tm.grad(smoothness), in_dims=2))(np.moveaxis(images, 0, 2)), looped, rtol=1e-10
    )
