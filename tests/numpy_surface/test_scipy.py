"""Functions of SciPy on traced arrays: compiled, they give SciPy's results, and gradients are those of differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.stats

import tracemill as tm

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=20), RNG.normal(size=20)
P = np.abs(X) + 0.1
M = np.cov(RNG.normal(size=(4, 30)))
IMAGE = RNG.normal(size=(6, 7))
ONES = np.ones(4)
B, A = scipy.signal.butter(3, 0.3)
SECTIONS = scipy.signal.butter(4, 0.3, output="sos")

CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])

Case = tuple[Callable[[Any], Any], Any]

STATISTICS: dict[str, Case] = {
    "zscore": (scipy.stats.zscore, X),
    "gmean": (scipy.stats.gmean, P),
    "hmean": (scipy.stats.hmean, P),
    "pmean": (lambda x: scipy.stats.pmean(x, 2), P),
    "skew": (scipy.stats.skew, X),
    "kurtosis": (scipy.stats.kurtosis, X),
    "moment": (lambda x: scipy.stats.moment(x, 3), X),
    "entropy": (scipy.stats.entropy, P),
    "variation": (scipy.stats.variation, P),
    "tmean": (scipy.stats.tmean, X),
    "tvar": (scipy.stats.tvar, X),
    "circmean": (scipy.stats.circmean, X),
    "circvar": (scipy.stats.circvar, X),
    "sem": (scipy.stats.sem, X),
    "iqr": (scipy.stats.iqr, X),
    "describe": (lambda x: scipy.stats.describe(x).variance, X),
    "jarque_bera": (lambda x: scipy.stats.jarque_bera(x).statistic, X),
    "pearsonr, with an array of NumPy's": (lambda x: scipy.stats.pearsonr(x, Y).statistic, X),
    "bartlett, with an array of NumPy's": (lambda x: scipy.stats.bartlett(x, Y).statistic, X),
    "quantile": (lambda x: scipy.stats.quantile(x, 0.3), X),
    "norm.logpdf": (scipy.stats.norm.logpdf, X),
    "boxcox_llf": (lambda x: scipy.stats.boxcox_llf(0.3, x), P),
}
SIGNALS: dict[str, Case] = {
    "detrend": (scipy.signal.detrend, X),
    "convolve": (lambda x: scipy.signal.convolve(x, Y), X),
    "fftconvolve": (lambda x: scipy.signal.fftconvolve(x, Y), X),
    "oaconvolve": (lambda x: scipy.signal.oaconvolve(x, Y[:5]), X),
    "hilbert": (lambda x: np.abs(scipy.signal.hilbert(x)), X),
    "lfilter": (lambda x: scipy.signal.lfilter(B, A, x), IMAGE),
    "lfilter along the first axis": (lambda x: scipy.signal.lfilter(B, A, x, axis=0), IMAGE),
    "lfilter without a past": (lambda x: scipy.signal.lfilter([1, 3], [2], x), X),
    "lfilter with a state": (lambda x: scipy.signal.lfilter(B, A, x, zi=np.ones((6, 3)))[1], IMAGE),
    "filtfilt": (lambda x: scipy.signal.filtfilt(B, A, x), X),
    "sosfilt": (lambda x: scipy.signal.sosfilt(SECTIONS, x), IMAGE),
    "sosfilt with a state": (lambda x: scipy.signal.sosfilt(SECTIONS, x, 0, np.ones((2, 2, 7)))[1], IMAGE),
    "sosfiltfilt": (lambda x: scipy.signal.sosfiltfilt(SECTIONS, x), X),
    "savgol_filter": (lambda x: scipy.signal.savgol_filter(x, 5, 2), X),
    "resample": (lambda x: scipy.signal.resample(x, 30), X),
    "fft": (lambda x: np.abs(scipy.fft.fft(x, workers=1)), X),
    "rfftn": (lambda x: np.abs(scipy.fft.rfftn(x, axes=(0,))), IMAGE),
    "simpson": (scipy.integrate.simpson, X),
    "cumulative_trapezoid": (scipy.integrate.cumulative_trapezoid, X),
    "gaussian_filter": (lambda x: scipy.ndimage.gaussian_filter(x, 1.0), IMAGE),
    "uniform_filter": (lambda x: scipy.ndimage.uniform_filter(x, (3, 2), mode="nearest"), IMAGE),
    "sobel": (scipy.ndimage.sobel, IMAGE),
    "laplace": (lambda x: scipy.ndimage.laplace(x, mode="wrap"), IMAGE),
    "minimum_filter": (lambda x: scipy.ndimage.minimum_filter(x, 3), IMAGE),
    "maximum_filter, wrapped": (
        lambda x: scipy.ndimage.maximum_filter(x, (2, 3), mode="wrap", origin=(-1, 1)),
        IMAGE,
    ),
    "maximum_filter, modes": (
        lambda x: scipy.ndimage.maximum_filter(x, 3, mode=["nearest", "mirror"]),
        IMAGE,
    ),
    "minimum_filter1d": (
        lambda x: scipy.ndimage.minimum_filter1d(x, 4, 0, mode="constant", cval=-0.5),
        IMAGE,
    ),
    "median_filter": (lambda x: scipy.ndimage.median_filter(x, 3), IMAGE),
    "median_filter of a vector": (lambda x: scipy.ndimage.median_filter(x, 4, mode="mirror"), X),
    "median_filter, footprint": (lambda x: scipy.ndimage.median_filter(x, footprint=CROSS), IMAGE),
    "median_filter, one axis": (lambda x: scipy.ndimage.median_filter(x, 3, axes=1), IMAGE),
    "percentile_filter": (lambda x: scipy.ndimage.percentile_filter(x, -30, 3), IMAGE),
    "rank_filter": (lambda x: scipy.ndimage.rank_filter(x, -2, (2, 3), mode="constant", cval=0.1), IMAGE),
    "grey_erosion": (lambda x: scipy.ndimage.grey_erosion(x, structure=CROSS / 4), IMAGE),
    "grey_dilation": (lambda x: scipy.ndimage.grey_dilation(x, structure=CROSS / 4), IMAGE),
    "white_tophat": (lambda x: scipy.ndimage.white_tophat(x, 3), IMAGE),
    "morphological_gradient": (lambda x: scipy.ndimage.morphological_gradient(x, 3), IMAGE),
    "medfilt": (lambda x: scipy.signal.medfilt(x, 5), X),
    "medfilt2d": (lambda x: scipy.signal.medfilt2d(x, 3), IMAGE),
    "dctn": (lambda x: scipy.fft.dctn(x, norm="ortho"), IMAGE),
    "idstn": (lambda x: scipy.fft.idstn(x, 3, s=(5, 9)), IMAGE),
    "welch": (lambda x: scipy.signal.welch(x, nperseg=8)[1], X),
    "periodogram": (lambda x: scipy.signal.periodogram(x)[1], X),
    "csd": (lambda x: np.abs(scipy.signal.csd(x, Y, nperseg=8)[1]), X),
    "correlate, off its centre": (lambda x: scipy.ndimage.correlate(x, Y[:3], origin=1, mode="mirror"), X),
    "convolve, of even size": (lambda x: scipy.ndimage.convolve(x, M[:2], mode="constant", cval=2.0), IMAGE),
    "convolve1d": (lambda x: scipy.ndimage.convolve1d(x, Y[:4], axis=0, origin=-1), IMAGE),
    "whiten": (scipy.cluster.vq.whiten, M),
    "rosen": (scipy.optimize.rosen, X),
    "RBFInterpolator": (
        lambda x: scipy.interpolate.RBFInterpolator(np.arange(20.0)[:, None], x)(np.array([[1.5]])),
        X,
    ),
    "Rotation": (
        lambda q: scipy.spatial.transform.Rotation.from_quat(q).as_matrix(),
        np.array([0.1, 0.2, 0.3, 0.9]),
    ),
}
MATRICES: dict[str, Case] = {
    "inv": (scipy.linalg.inv, M),
    "det": (scipy.linalg.det, M),
    "solve": (lambda a: scipy.linalg.solve(a, ONES), M),
    "solve, positive definite": (
        lambda a: scipy.linalg.solve(a, ONES, assume_a="pos", check_finite=False),
        M,
    ),
    "solve, tridiagonal": (lambda a: scipy.linalg.solve(a, ONES, assume_a="tridiagonal"), M),
    "solve, transposed": (lambda a: scipy.linalg.solve(a * M, ONES, transposed=True), M),
    "cholesky": (lambda a: scipy.linalg.cholesky(a @ a.T, lower=True), M),
    "cho_solve": (lambda a: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a @ a.T), ONES), M),
    "cho_factor": (lambda a: scipy.linalg.cho_factor(a @ a.T, lower=True)[0], M),
    "eigh": (lambda a: scipy.linalg.eigh(a + a.T)[0], M),
    "eigvalsh": (lambda a: scipy.linalg.eigvalsh(a + a.T), M),
    "svd": (lambda a: scipy.linalg.svd(a)[1], M),
    "svdvals": (scipy.linalg.svdvals, M),
    "qr": (lambda a: np.abs(scipy.linalg.qr(a)[1]), M),
    "qr, economic": (lambda a: np.abs(scipy.linalg.qr(a[:, :2], mode="economic")[0]), M),
    "norm": (lambda a: scipy.linalg.norm(a, 1), M),
    "pinv": (scipy.linalg.pinv, M),
    "lstsq": (lambda a: scipy.linalg.lstsq(a[:, :2], ONES)[0], M),
    "expm": (scipy.linalg.expm, M),
    "toeplitz": (scipy.linalg.toeplitz, X[:5]),
    "toeplitz of two": (lambda x: scipy.linalg.toeplitz(x, Y[:3]), X[:5]),
    "block_diag": (lambda a: scipy.linalg.block_diag(a, M[:2], 3.0), M),
    "khatri_rao": (lambda a: scipy.linalg.khatri_rao(a, M), M),
}
D = M + 2 * np.eye(4)
BANDS = np.array([[0.3, 1, 1, 1], [4, 5, 6, 7]])
COLUMN = np.array([4.0, 1.0, 0.5, 0.2])
STRUCTURED: dict[str, Case] = {
    "sqrtm": (lambda a: scipy.linalg.sqrtm(a @ a.T), D),
    "logm": (scipy.linalg.logm, D),
    "fractional_matrix_power": (lambda a: scipy.linalg.fractional_matrix_power(a, 0.3), D),
    "signm": (lambda a: scipy.linalg.signm(a - 2 * np.eye(4)), np.diag([1.0, 3, 4, -1]) + M / 9),
    "sinm": (scipy.linalg.sinm, M),
    "coshm": (scipy.linalg.coshm, M),
    "expm_frechet": (lambda a: scipy.linalg.expm_frechet(a, M)[1], M),
    "solve_sylvester": (lambda a: scipy.linalg.solve_sylvester(a, D, M), D),
    "solve_continuous_lyapunov": (lambda a: scipy.linalg.solve_continuous_lyapunov(a, M), D),
    "solve_discrete_lyapunov": (lambda a: scipy.linalg.solve_discrete_lyapunov(a / 9, M), D),
    "solve_discrete_lyapunov, bilinear": (
        lambda a: scipy.linalg.solve_discrete_lyapunov(a / 9, M, method="bilinear"),
        D,
    ),
    "lu_factor": (lambda a: scipy.linalg.lu_factor(a)[0], IMAGE[:4, :4]),
    "lu_solve": (lambda a: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), ONES), IMAGE[:4, :4]),
    "lu_solve, transposed": (
        lambda a: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), ONES, trans=1),
        IMAGE[:4, :4],
    ),
    "lu_solve, factored outside": (
        lambda b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(IMAGE[:4, :4]), b),
        COLUMN,
    ),
    "solveh_banded": (lambda ab: scipy.linalg.solveh_banded(ab, COLUMN), BANDS),
    "solveh_banded, lower": (lambda ab: scipy.linalg.solveh_banded(ab[::-1], COLUMN, lower=True), BANDS),
    "cholesky_banded": (scipy.linalg.cholesky_banded, BANDS),
    "cholesky_banded, lower": (lambda ab: scipy.linalg.cholesky_banded(ab[::-1], lower=True), BANDS),
    "cho_solve_banded": (
        lambda b: scipy.linalg.cho_solve_banded((scipy.linalg.cholesky_banded(BANDS), False), b),
        COLUMN,
    ),
    "eigh_tridiagonal": (lambda d: scipy.linalg.eigh_tridiagonal(d, np.ones(3))[0], np.array([1.0, 3, 2, 7])),
    "eig_banded": (lambda ab: scipy.linalg.eig_banded(ab)[0], BANDS),
    "eigh, generalized": (lambda a: scipy.linalg.eigh(a, D)[0], M),
    "eigh, generalized, vectors": (lambda a: np.abs(scipy.linalg.eigh(a, D, lower=False)[1]), M),
    "circulant": (scipy.linalg.circulant, COLUMN),
    "hankel": (scipy.linalg.hankel, COLUMN),
    "hankel, with a row": (lambda c: scipy.linalg.hankel(c, c[:3] ** 2), COLUMN),
    "solve_toeplitz": (lambda c: scipy.linalg.solve_toeplitz(c, ONES), COLUMN),
    "matmul_toeplitz": (lambda c: scipy.linalg.matmul_toeplitz((c, c), ONES), COLUMN),
}
TABLES = {"structured": STRUCTURED, "stats": STATISTICS, "signal": SIGNALS, "linalg": MATRICES}
CASES = [
    pytest.param(*case, id=f"{table}: {name}") for table in TABLES for name, case in TABLES[table].items()
]


def slope(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """The gradient of the sum of results, by differences."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[place] = step
        found[place] = (np.sum(function(x + move)) - np.sum(function(x - move))) / (2 * step)
    return found


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize(("function", "x"), CASES)
def test_compiled_functions_give_scipys_results(function: Callable[[Any], Any], x: Any) -> None:
    found, wanted = tm.compile(lambda x: function(x), backend="numpy")(x), function(x)  # noqa: PLW0108
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize(("function", "x"), CASES)
def test_gradients_are_those_of_differences(function: Callable[[Any], Any], x: Any) -> None:
    found = tm.grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_allclose(found, slope(function, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [2, 7, 8])
def test_cosine_and_sine_transforms(kind: str, norm: str | None, type: int, size: int) -> None:
    function = getattr(scipy.fft, kind)

    def transformed(x: Any) -> Any:
        return function(x, type, axis=0, norm=norm)

    x = RNG.normal(size=(size, 3))
    np.testing.assert_allclose(
        tm.compile(transformed, backend="numpy")(x), transformed(x), rtol=1e-10, atol=1e-12
    )
    single = x.astype("f4")
    assert tm.compile(transformed, backend="numpy")(single).dtype == transformed(single).dtype


def test_a_padded_transform() -> None:
    def function(x: Any) -> Any:
        return scipy.fft.dct(x, n=9) + scipy.fft.dct(x[:12], n=9)

    np.testing.assert_allclose(tm.compile(function, backend="numpy")(X[:4]), function(X[:4]), atol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_checks_of_values_are_those_of_scipy(backend: str) -> None:
    expected = np.full(20, np.mean(P))
    compiled = tm.compile(lambda x: scipy.stats.chisquare(x, expected).statistic, backend=backend)
    np.testing.assert_allclose(compiled(P), scipy.stats.chisquare(P, expected).statistic)
    with pytest.raises(ValueError, match="the sum of the observed frequencies must agree"):
        compiled(2 * P)


def test_missing_numbers_propagate_as_in_scipy() -> None:
    compiled = tm.compile(lambda x: scipy.stats.mannwhitneyu(x, Y).statistic, backend="numpy")
    assert compiled(X) == scipy.stats.mannwhitneyu(X, Y).statistic
    assert np.isnan(compiled(np.full(20, np.nan)))


def test_scipy_computes_what_depends_on_no_argument() -> None:
    def filtered(x: Any) -> Any:
        taps = scipy.signal.firwin(5, 0.3)
        return np.convolve(x, taps) * scipy.stats.gmean(P)

    np.testing.assert_allclose(tm.compile(filtered, backend="numpy")(X), filtered(X), rtol=1e-12)


def test_one_program_for_many_lengths() -> None:
    compiled = tm.compile(lambda x: scipy.stats.skew(x), backend="numpy", dynamic=True)  # noqa: PLW0108
    for size in (5, 9, 20):
        np.testing.assert_allclose(compiled(X[:size]), scipy.stats.skew(X[:size]), rtol=1e-10)


def test_vmap_of_a_function_of_scipy() -> None:
    found = tm.vmap(lambda b: scipy.linalg.solve(M, scipy.fft.dct(b)))(IMAGE[:, :4])
    np.testing.assert_allclose(found, [scipy.linalg.solve(M, scipy.fft.dct(b)) for b in IMAGE[:, :4]])


def test_an_argument_without_a_traced_version_is_named() -> None:
    with pytest.raises(
        tm.errors.TracemillError, match=r"linalg\.eigh of a traced array has no subset_by_index"
    ):
        tm.compile(lambda a: scipy.linalg.eigh(a, subset_by_index=[0, 1]))(M)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipy.ndimage.uniform_filter(x, 3),
        lambda x: scipy.ndimage.uniform_filter1d(x, 5),
        lambda x: scipy.ndimage.gaussian_filter(x, 1.2),
        lambda x: scipy.ndimage.sobel(x.astype(np.int64)),
    ],
)
@pytest.mark.parametrize(
    "image", [np.full((6, 7), 9, np.uint8), RNG.integers(0, 200, (6, 7)).astype(np.uint8)]
)
def test_filters_of_integers_are_cut_off_as_in_scipy(function: Callable[[Any], Any], image: Any) -> None:
    found = tm.compile(lambda x: function(x), backend="numpy")(image)  # noqa: PLW0108
    np.testing.assert_array_equal(found, function(image))


@pytest.mark.parametrize("axes", [(1, 0), (-1, 0), (0, 1)])
def test_weights_are_in_the_order_of_the_axes_of_an_image(axes: tuple[int, int]) -> None:
    def function(x: Any) -> Any:
        taps = np.arange(6.0).reshape(3, 2)
        shifted = scipy.ndimage.correlate(x, np.ones((3, 4)), origin=(-1, 1), axes=axes)
        return scipy.ndimage.convolve(x, taps, axes=axes) + shifted

    np.testing.assert_allclose(tm.compile(function, backend="numpy")(IMAGE), function(IMAGE))


def test_origins_outside_of_the_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="origin 2 is not from -1 to 1"):
        tm.compile(lambda x: scipy.ndimage.correlate1d(x, np.ones(3), origin=2))(X)


@pytest.mark.parametrize("policy", ["omit", "raise"])
def test_a_nan_policy_for_several_axes_is_refused(policy: str) -> None:
    for function in (
        lambda x: scipy.stats.gmean(x, nan_policy=policy),
        lambda x: scipy.stats.skew(x, 0, True, policy),
        lambda x: scipy.stats.kruskal(x, x, nan_policy=policy),
    ):
        with pytest.raises(ValueError, match=f"several axes has no nan_policy '{policy}'"):
            tm.compile(function)(IMAGE)


def test_a_nan_policy_for_all_elements_is_scipys() -> None:
    image = np.where(IMAGE > 1, np.nan, IMAGE)
    assert np.isnan(image).any()
    compiled = tm.compile(lambda x: scipy.stats.skew(x, None, nan_policy="raise"), backend="numpy")
    np.testing.assert_allclose(compiled(IMAGE), scipy.stats.skew(IMAGE, None))
    with pytest.raises(ValueError, match="contains nan"):
        compiled(image)


def test_functions_in_c_are_named() -> None:
    with pytest.raises(tm.errors.UnsupportedFunctionError, match=r"scipy\.ndimage.*written in C"):
        tm.compile(lambda x: scipy.ndimage.distance_transform_edt(x > 0))(IMAGE)
    with pytest.raises(tm.errors.UnsupportedFunctionError, match=r"scipy\.linalg.*bandwidth.*written in C"):
        tm.compile(lambda x: scipy.linalg.bandwidth(x))(IMAGE)  # noqa: PLW0108


def test_the_squares_of_one_right_hand_side_are_a_number() -> None:
    def squares(a: Any) -> Any:
        return scipy.linalg.lstsq(a[:, :3], np.ones(6))[1]

    found = tm.compile(squares, backend="numpy")(IMAGE)
    np.testing.assert_allclose(found, squares(IMAGE))
    assert np.shape(found) == ()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipy.stats.tvar(x, axis=0),
        lambda x: scipy.stats.tvar(x, axis=1, keepdims=True),
        lambda x: scipy.stats.kruskal(x, IMAGE).statistic,
        lambda x: scipy.stats.skew(x, axis=1),
        lambda x: scipy.stats.gmean(x, axis=0),
    ],
)
def test_a_missing_number_makes_its_own_column_missing(function: Callable[[Any], Any]) -> None:
    x = np.abs(IMAGE)
    x[2, 3] = np.nan
    np.testing.assert_allclose(tm.compile(function, backend="numpy")(x), function(x), rtol=1e-10)


@pytest.mark.parametrize("name", ["sqrtm", "logm", "signm", "expm"])
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_functions_of_matrices_have_scipys_dtypes(name: str) -> None:
    function = getattr(scipy.linalg, name)
    for dtype in ("f4", "c8", "c16"):
        found, wanted = (
            tm.compile(function, backend="numpy")(D.astype(dtype)),
            function(D.astype(dtype)),
        )
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


SPARSE = scipy.sparse.csr_array(np.where(np.abs(IMAGE) > 0.7, IMAGE, 0))
TWICE = scipy.sparse.coo_array((np.ones(3), ([1, 1, 4], [2, 2, 0])), (6, 7))
PRODUCTS: dict[str, Case] = {
    "by a vector": (lambda v: SPARSE @ v, Y[:7]),
    "by a matrix": (lambda v: SPARSE @ v, IMAGE.T),
    "from the right": (lambda v: v @ SPARSE, Y[:6]),
    "of a matrix from the right": (lambda v: v @ SPARSE, IMAGE.T),
    "by dot": (lambda v: SPARSE.dot(v), Y[:7]),  # noqa: PLW0108
    "transposed": (lambda v: SPARSE.T @ v, Y[:6]),
    "in columns": (lambda v: SPARSE.tocsc() @ v, Y[:7]),
    "with entries twice": (lambda v: TWICE @ v, Y[:7]),
    "by the star of a matrix": (lambda v: scipy.sparse.csr_matrix(SPARSE) * v, Y[:7]),
}


@pytest.mark.parametrize(("function", "x"), PRODUCTS.values(), ids=PRODUCTS)
def test_a_sparse_matrix_is_a_constant_of_a_product(function: Callable[[Any], Any], x: Any) -> None:
    for dtype in ("f8", "f4", "i8"):
        found = tm.compile(lambda x: function(x), backend="numpy")(x.astype(dtype))  # noqa: PLW0108
        wanted = function(x.astype(dtype))
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-6)
        assert found.dtype == wanted.dtype
    found = tm.grad(lambda x: np.sum(np.cos(function(x))))(x)
    np.testing.assert_allclose(found, slope(lambda x: np.cos(function(x)), x), rtol=1e-4, atol=1e-6)


def test_a_sparse_matrix_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        tm.compile(lambda v: SPARSE @ v)(Y[:6])


def test_filters_by_rank_have_scipys_integers() -> None:
    image = RNG.integers(0, 200, (6, 7)).astype(np.uint8)
    functions: tuple[Callable[[Any], Any], ...] = (
        lambda x: scipy.ndimage.median_filter(x, 3),
        lambda x: scipy.ndimage.grey_opening(x, 3),
        lambda x: scipy.ndimage.maximum_filter(x, 3, output=np.float32),
    )
    for function in functions:
        found = tm.compile(lambda x: function(x), backend="numpy")(image)  # noqa: B023, PLW0108
        np.testing.assert_array_equal(found, function(image))
        assert found.dtype == function(image).dtype


def test_pivots_are_lapacks() -> None:
    a = RNG.normal(size=(7, 7))
    packed, pivots = tm.compile(lambda a: scipy.linalg.lu_factor(a), backend="numpy")(a)  # noqa: PLW0108
    wanted, exchanged = scipy.linalg.lu_factor(a)
    np.testing.assert_allclose(packed, wanted, rtol=1e-12)
    np.testing.assert_array_equal(pivots, exchanged)
    assert pivots.dtype == exchanged.dtype


def test_a_complex_root_of_a_real_matrix_is_an_error() -> None:
    root = tm.compile(lambda a: scipy.linalg.sqrtm(a), backend="numpy")  # noqa: PLW0108
    with pytest.raises(np.linalg.LinAlgError, match="Convert the matrix to complex numbers"):
        root(-M)
    np.testing.assert_allclose(root(-M + 0j), scipy.linalg.sqrtm(-M), atol=1e-12)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_second_derivatives_of_functions_of_matrices(name: str) -> None:
    function = getattr(scipy.linalg, name)
    first = tm.grad(lambda a: np.sum(function(a) ** 2))
    found = tm.grad(lambda a: np.sum(first(a) * M))(D)
    np.testing.assert_allclose(found, slope(lambda a: first(a) * M, D, 1e-5), rtol=1e-5, atol=1e-6)


def test_a_keyword_may_have_the_name_of_one_of_ours() -> None:
    found = tm.compile(lambda x: scipy.stats.Normal(mu=0.5).pdf(x), backend="numpy")(X)
    np.testing.assert_allclose(found, scipy.stats.Normal(mu=0.5).pdf(X))
