"""What generators draw has the distribution that it should have: with fixed seeds, so that the tests cannot flicker."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import tracemill as tm
from tracemill.runtime.random.gammas import shape_derivative

rng_of = tm.random.default_rng

COUNT = 40_000
LIKELY = 0.001
"""A test fails where the numbers are less likely than this. With a fixed seed, it does so always or never."""

CONTINUOUS: dict[str, tuple[Any, Any]] = {
    "random": (lambda r, n, t: r.random(n, t), stats.uniform()),
    "uniform": (lambda r, n, t: r.uniform(-2.0, 5.0, n, t), stats.uniform(-2, 7)),
    "standard_normal": (lambda r, n, t: r.standard_normal(n, t), stats.norm()),
    "normal": (lambda r, n, t: r.normal(3.0, 0.5, n, t), stats.norm(3, 0.5)),
    "lognormal": (lambda r, n, t: r.lognormal(0.5, 0.7, n, t), stats.lognorm(0.7, scale=np.exp(0.5))),
    "standard_exponential": (lambda r, n, t: r.standard_exponential(n, t), stats.expon()),
    "exponential": (lambda r, n, t: r.exponential(3.0, n, t), stats.expon(scale=3)),
    "gumbel": (lambda r, n, t: r.gumbel(1.0, 2.0, n, t), stats.gumbel_r(1, 2)),
    "laplace": (lambda r, n, t: r.laplace(1.0, 2.0, n, t), stats.laplace(1, 2)),
    "logistic": (lambda r, n, t: r.logistic(1.0, 2.0, n, t), stats.logistic(1, 2)),
    "standard_cauchy": (lambda r, n, t: r.standard_cauchy(n, t), stats.cauchy()),
    "cauchy": (lambda r, n, t: r.cauchy(1.0, 2.0, n, t), stats.cauchy(1, 2)),
    "rayleigh": (lambda r, n, t: r.rayleigh(2.0, n, t), stats.rayleigh(scale=2)),
    "weibull": (lambda r, n, t: r.weibull(1.5, n, t), stats.weibull_min(1.5)),
    "pareto": (lambda r, n, t: r.pareto(2.5, n, t), stats.lomax(2.5)),
    "power": (lambda r, n, t: r.power(2.5, n, t), stats.powerlaw(2.5)),
    "standard_gamma": (lambda r, n, t: r.standard_gamma(0.3, n, t), stats.gamma(0.3)),
    "gamma": (lambda r, n, t: r.gamma(5.0, 2.0, n, t), stats.gamma(5, scale=2)),
    "gamma_of_a_large_shape": (lambda r, n, t: r.gamma(5000.0, 2.0, n, t), stats.gamma(5000, scale=2)),
    "beta": (lambda r, n, t: r.beta(0.7, 3.0, n, t), stats.beta(0.7, 3)),
    "chisquare": (lambda r, n, t: r.chisquare(3, n, t), stats.chi2(3)),
    "f": (lambda r, n, t: r.f(3.0, 9.0, n, t), stats.f(3, 9)),
    "standard_t": (lambda r, n, t: r.standard_t(5.0, n, t), stats.t(5)),
    "dirichlet": (lambda r, n, t: r.dirichlet([0.5, 1.0, 2.0], n, t)[..., 0], stats.beta(0.5, 3)),
    "multivariate_normal": (
        lambda r, n, t: r.multivariate_normal([1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]], n, t).sum(axis=-1),
        stats.norm(3, np.sqrt(7)),
    ),
    "truncated_normal": (
        lambda r, n, t: r.truncated_normal(-1.0, 3.0, 0.5, 2.0, n, t),
        stats.truncnorm(-0.75, 1.25, 0.5, 2.0),
    ),
    "truncated_normal_without_bounds": (
        lambda r, n, t: r.truncated_normal(-np.inf, np.inf, size=n, dtype=t),
        stats.norm(),
    ),
    "truncated_normal_of_the_right": (
        lambda r, n, t: r.truncated_normal(2.0, np.inf, size=n, dtype=t),
        stats.truncnorm(2, np.inf),
    ),
}

each_continuous = pytest.mark.parametrize("name", CONTINUOUS)


def chi_square(found: Any, probabilities: Any) -> float:
    """How likely numbers of integers from 0 on are, given the probability of each; the last counts all above."""
    counts = np.bincount(np.minimum(np.ravel(found), len(probabilities) - 1), minlength=len(probabilities))
    expected = np.asarray(probabilities) / np.sum(probabilities) * counts.sum()
    assert expected.min() >= 5
    return float(stats.chisquare(counts, expected).pvalue)


@pytest.mark.slow
@each_continuous
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_real_numbers_have_their_distribution(name: str, dtype: Any) -> None:
    draw, distribution = CONTINUOUS[name]
    drawn = draw(rng_of((1, len(name))), COUNT, dtype)
    assert drawn.dtype == dtype
    assert drawn.shape == (COUNT,)
    assert np.isfinite(drawn).all()
    assert stats.kstest(drawn.astype(np.float64), distribution.cdf).pvalue > LIKELY
    if np.isfinite(distribution.var()):
        spread = distribution.std() / np.sqrt(COUNT)
        np.testing.assert_allclose(drawn.mean(), distribution.mean(), atol=4.5 * spread)


@pytest.mark.sampled(every=5, slow=4)
@each_continuous
def test_examples_of_a_batch_have_the_distribution_together(name: str) -> None:
    draw, distribution = CONTINUOUS[name]
    rng = rng_of(4)
    drawn = tm.vmap(lambda _: draw(rng, 4, np.float64), randomness="different")(np.zeros(2500))
    assert stats.kstest(drawn.ravel(), distribution.cdf).pvalue > LIKELY


def test_parameters_far_out_in_the_tail_are_kept_to() -> None:
    for low, high in ((10.0, 11.0), (40.0, np.inf), (-np.inf, -40.0), (1000.0, 1001.0), (-37.0, -36.0)):
        drawn = rng_of(0).truncated_normal(low, high, size=5000)
        assert ((drawn >= low) & (drawn <= high)).all()
        nearest = min(abs(low), abs(high))
        away = (np.abs(drawn) - nearest) * nearest  # nearly exponential, with mean 1
        assert abs(away.mean() - 1) < 0.06
        assert stats.kstest(away, stats.expon().cdf).statistic < 0.03


@pytest.mark.slow
def test_uniform_numbers_stay_below_one_and_normal_ones_finite() -> None:
    for dtype, step in ((np.float32, 2.0**-24), (np.float64, 2.0**-53)):
        drawn = rng_of(0).random(3_000_000, dtype)
        assert drawn.min() >= 0
        assert drawn.max() < 1
        assert (np.mod(drawn.astype(np.float64), step) == 0).all()
        assert np.isfinite(rng_of(0).standard_normal(3_000_000, dtype)).all()
    assert rng_of(0).random(3_000_000, np.float32).max() > 1 - 2.0**-21


def test_normal_numbers_have_tails() -> None:
    drawn = np.abs(rng_of(0).standard_normal(2_000_000))
    assert abs(np.sum(drawn > 4) - 2_000_000 * 2 * stats.norm.sf(4)) < 45
    assert drawn.max() > 4.8


# ---- shapes of gamma numbers ------------------------------------------------------------------------------


def test_small_shapes_underflow_to_zero_but_their_quotients_do_not() -> None:
    rng = rng_of(0)
    assert (rng.gamma(1e-3, size=1000) >= 0).all()
    assert (rng.gamma(0.0, size=10) == 0).all()
    halves = rng.beta(1e-4, 1e-4, COUNT)
    assert np.isfinite(halves).all()
    assert abs(halves.mean() - 0.5) < 0.02
    simplex = rng.dirichlet(np.full(3, 1e-4), 1000)
    np.testing.assert_allclose(simplex.sum(axis=-1), 1)


def test_a_gamma_number_moves_with_its_shape_as_the_quantile_does() -> None:
    shapes = np.array([1.001, 1.5, 3.0, 10.0, 100.0, 1e4, 1e6])
    for probability in (1e-3, 0.1, 0.5, 0.9, 0.999):
        numbers = special.gammaincinv(shapes, probability)
        step = 1e-5 * shapes
        above, below = (special.gammaincinv(shapes + h, probability) for h in (step, -step))
        with np.errstate(all="ignore"):
            found = shape_derivative(shapes, numbers)
            single = shape_derivative(shapes.astype(np.float32), numbers.astype(np.float32))
        np.testing.assert_allclose(found, (above - below) / (2 * step), rtol=1e-8)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single[:5], found[:5], rtol=2e-3)


def test_gradients_of_expectations_in_shape_parameters_are_right() -> None:
    rng = rng_of(0)
    count = 5_000

    def mean_gamma(a: Any) -> Any:
        return np.mean(rng.gamma(a, 1.0, count))

    def square(a: Any) -> Any:
        return np.mean(rng.gamma(a, 1.0, count) ** 2)

    np.testing.assert_allclose(tm.grad(mean_gamma)(0.7), 1, rtol=0.05)
    np.testing.assert_allclose(tm.compile(tm.grad(mean_gamma))(20.0), 1, rtol=0.05)
    np.testing.assert_allclose(tm.grad(square)(2.5), 2 * 2.5 + 1, rtol=0.05)
    np.testing.assert_allclose(tm.grad(tm.grad(square))(2.5), 2, rtol=0.05)
    np.testing.assert_allclose(
        tm.grad(lambda a, b: np.mean(rng.beta(a, b, count)), (0, 1))(2.5, 2.0),
        (2 / 4.5**2, -2.5 / 4.5**2),
        rtol=0.1,
    )
    alpha = np.array([0.5, 1.0, 2.0])
    slope = tm.grad(lambda alpha: np.mean(rng.dirichlet(alpha, count)[:, 0]))(alpha)
    np.testing.assert_allclose(slope, (np.array([3.5, 0, 0]) - 0.5) / 3.5**2, atol=0.01)
    assert tm.grad(lambda lam: np.sum(rng.poisson(lam, 3) * lam))(5.0) > 0
    rows = tm.vmap(tm.grad(mean_gamma), randomness="different")(np.array([0.5, 5.0]))
    np.testing.assert_allclose(rows, 1, rtol=0.1)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_have_their_covariance_and_derivatives(method: str) -> None:
    cov = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
    drawn = rng_of(0).multivariate_normal([1.0, 2.0, 3.0], cov, COUNT, method=method)
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.04)
    np.testing.assert_allclose(drawn.mean(axis=0), [1, 2, 3], atol=0.03)

    def variance(scale: Any, rng: Any) -> Any:
        return np.mean(rng.multivariate_normal(np.zeros(3), scale * cov, COUNT, method=method)[:, 0] ** 2)

    np.testing.assert_allclose(tm.grad(variance)(1.5, rng_of(0)), 2, rtol=0.05)


# ---- counts -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.3, 4.0, 9.99, 10.0, 37.5, 1000.0])
def test_poisson_numbers_have_their_distribution(rate: float) -> None:
    check_counts(rng_of(2).poisson(rate, COUNT), stats.poisson(rate))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "p"),
    [(0, 0.5), (5, 0.0), (5, 1.0), (5, 0.3), (100, 0.05), (40, 0.5), (100, 0.98), (1000, 0.4), (10**7, 0.7)],
)
def test_binomial_numbers_have_their_distribution(n: int, p: float) -> None:
    check_counts(rng_of(2).binomial(n, p, COUNT), stats.binom(n, p))


def test_negative_binomial_numbers_have_their_distribution() -> None:
    check_counts(rng_of(2).negative_binomial(3.5, 0.2, COUNT), stats.nbinom(3.5, 0.2))


def check_counts(drawn: Any, distribution: Any) -> None:
    """By chi-square over at most 40 intervals that are about equally probable."""
    assert drawn.dtype == np.int64
    edges = np.unique(distribution.ppf(np.linspace(0.0, 1.0, 41)[1:-1]))
    cumulative = np.concatenate([[0.0], distribution.cdf(edges), [1.0]])
    probabilities = np.diff(cumulative)
    places = np.searchsorted(edges, drawn, side="left")
    kept = probabilities * COUNT >= 5
    assert (kept[places]).mean() > 0.999
    if kept.sum() > 1:
        counted = np.bincount(places, minlength=len(probabilities))[kept]
        expected = probabilities[kept] / probabilities[kept].sum() * counted.sum()
        assert stats.chisquare(counted, expected).pvalue > LIKELY


def test_many_events_keep_mean_and_variance() -> None:
    for drawn, mean, variance in (
        (rng_of(0).poisson(1e9, COUNT), 1e9, 1e9),
        (rng_of(0).poisson(1e15, COUNT), 1e15, 1e15),
        (rng_of(0).binomial(10**12, 0.25, COUNT), 2.5e11, 0.1875e12),
    ):
        assert abs(drawn.mean() - mean) < 5 * np.sqrt(variance / COUNT)
        np.testing.assert_allclose(drawn.var(), variance, rtol=0.04)


# ---- integers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("large", [False, True])
def test_integers_of_a_range_are_equally_probable(count: int, large: bool) -> None:
    bounds: tuple[Any, Any] = (
        (np.array(5), np.array(5 + count)) if large else (5, 5 + count)
    )  # of arrays the range is not known
    drawn = rng_of(count).integers(*bounds, size=COUNT) - 5
    assert drawn.min() == 0
    assert drawn.max() == count - 1
    assert count == 1 or chi_square(drawn, np.ones(count)) > LIKELY


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_integers_of_all_of_a_dtype(dtype: Any) -> None:
    info = np.iinfo(dtype)
    drawn = rng_of(1).integers(info.min, info.max, COUNT, dtype, endpoint=True)
    assert drawn.dtype == dtype
    upper = np.floor((drawn.astype(np.float64) - float(info.min)) / 2.0 ** (info.bits - 4)).astype(int)
    assert chi_square(upper, np.ones(16)) > LIKELY
    assert chi_square(drawn & dtype(15), np.ones(16)) > LIKELY
    arrays = rng_of(1).integers(np.array(info.min), np.array([info.max]), COUNT, dtype, endpoint=True)
    assert chi_square(arrays & dtype(15), np.ones(16)) > LIKELY


def test_integers_end_where_they_are_told_to() -> None:
    rng = rng_of(0)
    assert set(rng.integers(3, size=100).tolist()) == {0, 1, 2}
    assert set(rng.integers(3, size=100, endpoint=True).tolist()) == {0, 1, 2, 3}
    assert set(rng.integers(2, size=99, dtype=bool).tolist()) == {False, True}
    near_the_end = rng.integers(2**63 - 2, 2**63, 200)
    assert set(near_the_end.tolist()) == {2**63 - 2, 2**63 - 1}
    assert set(rng.integers(2**64 - 2, 2**64, 200, np.uint64).tolist()) == {2**64 - 2, 2**64 - 1}
    assert set(rng.integers(-(2**63), -(2**63) + 2, 200).tolist()) == {-(2**63), -(2**63) + 1}
    wide = rng.integers(-(2**62), 2**63, COUNT) > 2**62  # a range of 3·2⁶²: a third is above
    assert abs(wide.mean() - 1 / 3) < 0.01
    assert type(rng.integers(5)) is np.int64


def test_integers_of_wide_ranges_are_exact_products() -> None:
    """Against Python's integers: the upper bits of 128 random ones times the count."""
    count = 2**63 + 12345
    rng = rng_of(9)
    drawn = rng.integers(0, count, 50, np.uint64)
    again = rng_of(9)._source("bits").bits((2, 50), np.uint64)
    exact = [((int(high) << 64 | int(low)) * count) >> 128 for high, low in again.T]
    assert drawn.tolist() == exact


def test_bernoulli_and_geometric_count_successes() -> None:
    rng = rng_of(0)
    drawn = rng.bernoulli(0.3, COUNT)
    assert drawn.dtype == bool
    assert abs(drawn.mean() - 0.3) < 0.01
    assert not rng.bernoulli(0.0, 1000).any()
    assert rng.bernoulli(1.0, 1000).all()
    tries = rng.geometric(0.3, COUNT)
    assert tries.dtype == np.int64
    assert chi_square(tries - 1, [*stats.geom.pmf(range(1, 15), 0.3), stats.geom.sf(14, 0.3)]) > LIKELY
    assert (rng.geometric(1.0, 100) == 1).all()


def test_categories_have_the_probabilities_of_their_logits() -> None:
    probabilities = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    drawn = rng_of(0).categorical(np.log(probabilities) + np.array([[3.0], [-1000.0]]), (COUNT, 2))
    for column, expected in zip(drawn.T, probabilities, strict=True):
        assert chi_square(column, expected) > LIKELY
    along_rows = rng_of(0).categorical(np.log(probabilities).T, (COUNT, 2), axis=0)
    np.testing.assert_array_equal(along_rows, drawn)
    assert rng_of(0).categorical([0.0, -np.inf]) == 0
    assert rng_of(0).categorical(np.zeros((4, 3))).shape == (4,)


# ---- orders and choices -----------------------------------------------------------------------------------

ORDERS = {order: place for place, order in enumerate(permutations(range(4)))}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["permutation", "permuted", "shuffle", "choice", "permutation of 4"])
def test_all_orders_are_equally_probable(method: str) -> None:
    rng = rng_of(0)

    def draw(x: Any) -> Any:
        if method == "shuffle":
            rng.shuffle(x)
            return x
        if method == "choice":
            return rng.choice(x, 4, replace=False)
        return rng.permutation(4) if method == "permutation of 4" else getattr(rng, method)(x)

    rows = tm.vmap(draw, randomness="different")(np.tile(np.arange(4), (12_000, 1)))
    places = [ORDERS[tuple(row)] for row in rows.tolist()]
    assert chi_square(places, np.ones(24)) > LIKELY


def test_slices_and_lines_are_permuted_as_numpy_permutes_them() -> None:
    rng = rng_of(0)
    x = np.arange(12).reshape(3, 4)
    whole = rng.permutation(x, axis=1)
    assert sorted(whole.T.tolist()) == sorted(x.T.tolist())
    lines = rng.permuted(x, axis=1)
    np.testing.assert_array_equal(np.sort(lines, axis=1), x)
    assert not np.array_equal(np.argsort(lines[0]), np.argsort(lines[1]))
    assert sorted(rng.permuted(x).ravel().tolist()) == list(range(12))
    assert rng.permutation(0).shape == (0,)


def test_shuffle_works_in_place_compiled_and_not_also_on_arrays_from_outside() -> None:
    plain, compiled = np.arange(10), np.arange(10)
    rng_of(3).shuffle(plain)
    rng = rng_of(3)
    tm.compile(lambda: rng.shuffle(compiled))()
    np.testing.assert_array_equal(plain, compiled)
    assert sorted(plain.tolist()) == list(range(10))
    assert plain.tolist() != list(range(10))

    def mixed(x: Any, rng: Any) -> Any:
        rng.shuffle(x[2:8])
        return x

    argument = np.arange(10)
    out = tm.compile(mixed)(argument, rng_of(3))
    np.testing.assert_array_equal(out, mixed(np.arange(10), rng_of(3)))
    np.testing.assert_array_equal(out, argument)


def test_choices_have_their_probabilities() -> None:
    p = np.array([0.1, 0.2, 0.0, 0.7])
    rng = rng_of(0)
    drawn = rng.choice(4, COUNT, p=p)
    assert not (drawn == 2).any()
    assert chi_square(np.delete(np.arange(4), 2).searchsorted(drawn), p[p > 0]) > LIKELY
    assert chi_square(rng.choice(5, COUNT), np.ones(5)) > LIKELY
    assert rng.choice([10.0, 20.0]) in (10.0, 20.0)


def test_choices_without_replacement_are_those_of_drawing_one_after_the_other() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    rng = rng_of(0)
    rows = tm.vmap(lambda _: rng.choice(4, 2, replace=False, p=p), randomness="different")(np.zeros(COUNT))
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    expected = [p[i] * p[j] / (1 - p[i]) for i, j in pairs]
    assert chi_square([pairs.index((i, j)) for i, j in rows.tolist()], expected) > LIKELY
    equal = tm.vmap(lambda _: rng.choice(4, 2, replace=False), randomness="different")(np.zeros(COUNT))
    assert chi_square([pairs.index((i, j)) for i, j in equal.tolist()], np.ones(12)) > LIKELY


# ---- independence -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_examples_draws_seeds_and_children_are_independent() -> None:
    rng = rng_of(0)
    lanes = tm.vmap(lambda _: rng.random(), randomness="different")(np.zeros(COUNT))
    draws = np.array([rng.random() for _ in range(1500)])
    seeds = np.array([rng_of(seed).random() for seed in range(1500)])
    children = np.array([child.random() for child in rng.spawn(4000)])
    for numbers in (lanes, draws, seeds, children):
        assert stats.kstest(numbers, stats.uniform().cdf).pvalue > LIKELY
        assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 4 / np.sqrt(len(numbers))
        squares = np.floor(8 * numbers[1:]).astype(int) * 8 + np.floor(8 * numbers[:-1]).astype(int)
        assert chi_square(squares[::2], np.ones(64)) > LIKELY


def test_normal_numbers_that_are_made_in_pairs_are_independent() -> None:
    x, y = rng_of(0).standard_normal((2, COUNT))
    turn = np.arctan2(y, x)
    assert stats.kstest(turn, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > LIKELY
    assert stats.kstest(x**2 + y**2, stats.chi2(2).cdf).pvalue > LIKELY
    assert abs(np.corrcoef(x**2, y**2)[0, 1]) < 4 / np.sqrt(COUNT)
