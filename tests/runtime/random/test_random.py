"""Generators: the same numbers compiled or not, chunked or not, mapped and nested; and the state that they leave."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.threading_together import run_in_threads
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    AxisError,
    ConcretizationError,
    DTypeError,
    RandomnessError,
    RandomStateError,
    ShapeError,
)

same = np.testing.assert_array_equal
rng_of = tm.random.default_rng

DRAWS: dict[str, Callable[[Any], Any]] = {
    "random": lambda rng: rng.random(3),
    "random_f32": lambda rng: rng.random(3, np.float32),
    "uniform": lambda rng: rng.uniform(-1.0, np.array([2.0, 3.0]), (3, 2)),
    "normal": lambda rng: rng.normal(1.0, 2.0, 3),
    "normal_f32": lambda rng: rng.normal(1.0, 2.0, 3, np.float32),
    "lognormal": lambda rng: rng.lognormal(size=3),
    "truncated_normal": lambda rng: rng.truncated_normal([-np.inf, 0.5, 30.0], [1.0, 1.0, np.inf]),
    "exponential": lambda rng: rng.exponential(3.0, 3),
    "gumbel": lambda rng: rng.gumbel(1.0, 2.0, 3),
    "laplace": lambda rng: rng.laplace(1.0, 2.0, 3),
    "logistic": lambda rng: rng.logistic(1.0, 2.0, 3),
    "cauchy": lambda rng: rng.cauchy(1.0, 2.0, 3),
    "rayleigh": lambda rng: rng.rayleigh(2.0, 3),
    "weibull": lambda rng: rng.weibull(1.5, 3),
    "pareto": lambda rng: rng.pareto(1.5, 3),
    "power": lambda rng: rng.power(1.5, 3),
    "gamma": lambda rng: rng.gamma([0.5, 3.0], 2.0, (3, 2)),
    "standard_gamma_f32": lambda rng: rng.standard_gamma(1.5, 3, np.float32),
    "beta": lambda rng: rng.beta(0.5, 3.0, 3),
    "chisquare": lambda rng: rng.chisquare(3, 3),
    "f": lambda rng: rng.f(3.0, 4.0, 3),
    "standard_t": lambda rng: rng.standard_t(3.0, 3),
    "dirichlet": lambda rng: rng.dirichlet([0.5, 1.0, 2.0], 3),
    "poisson": lambda rng: rng.poisson([0.5, 9.0, 1e3]),
    "binomial": lambda rng: rng.binomial([5, 100, 10_000], [0.5, 0.3, 0.9]),
    "negative_binomial": lambda rng: rng.negative_binomial(3, 0.2, 3),
    "integers": lambda rng: rng.integers(-5, 100, 3),
    "integers_of_arrays": lambda rng: rng.integers(np.array([1, 2]), np.array([5, 3000]), (3, 2)),
    "integers_of_all_64_bits": lambda rng: rng.integers(-(2**63), 2**63, 3),
    "integers_i8": lambda rng: rng.integers(-5, 100, 3, np.int8),
    "bernoulli": lambda rng: rng.bernoulli([0.1, 0.5, 0.9]),
    "geometric": lambda rng: rng.geometric(0.3, 3),
    "categorical": lambda rng: rng.categorical(np.log([[0.2, 0.8], [0.9, 0.1]]), (3, 2)),
    "permutation": lambda rng: rng.permutation(np.arange(12.0).reshape(4, 3), axis=1),
    "permutation_of_integers": lambda rng: rng.permutation(5),
    "permuted": lambda rng: rng.permuted(np.arange(12.0).reshape(4, 3), axis=0),
    "permuted_flat": lambda rng: rng.permuted(np.arange(12.0).reshape(4, 3)),
    "choice": lambda rng: rng.choice(np.arange(5.0), 3),
    "choice_of_slices": lambda rng: rng.choice(np.arange(6.0).reshape(2, 3), 2, axis=1),
    "choice_with_p": lambda rng: rng.choice(3, (2, 2), p=[0.2, 0.3, 0.5]),
    "choice_without_replacement": lambda rng: rng.choice(5, 3, replace=False),
    "choice_with_p_without_replacement": lambda rng: rng.choice(4, 2, replace=False, p=[0.2, 0.3, 0.5, 0]),
    "spawned": lambda rng: [child.random() for child in rng.spawn(2)],
    "several": lambda rng: (rng.normal(size=3), rng.integers(5), rng.random()),
}

# What the seeds have always given: these numbers are part of the interface.
KEY_OF_0 = [2333071033, 1769498429]
KEY_OF_1_2 = [792588224, 338053666]
INTEGERS_OF_0 = [749, 0, 62, 187, 652]
LARGE_INTEGERS_OF_0 = [3177222994294566, 1732335989804850118]

each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def leaves(result: Any) -> list[Any]:
    return [np.asarray(x) for x in result] if isinstance(result, (list, tuple)) else [np.asarray(result)]


def equal(x: Any, y: Any, rounding: int = 0) -> None:
    for a, b in zip(leaves(x), leaves(y), strict=True):
        assert a.dtype == b.dtype
        if rounding:
            np.testing.assert_array_max_ulp(a, b, rounding)
        else:
            same(a, b)


# ---- one state, however the program runs ----------------------------------------------------------------


@pytest.mark.sampled(slow=4)
@each_draw
def test_compiled_or_not_the_numbers_and_the_state_are_the_same(draw: Callable[[Any], Any]) -> None:
    plain, given, outside = rng_of(7), rng_of(7), rng_of(7)
    with_argument = tm.compile(draw)
    closing_over = tm.compile(lambda: draw(outside))
    for _ in range(2):
        expected = draw(plain)
        equal(with_argument(given), expected)
        equal(closing_over(), expected)
        equal(plain.state["counter"], given.state["counter"])
        equal(plain.state["counter"], outside.state["counter"])
    assert plain.state["counter"] > 0


@pytest.mark.sampled(slow=4)
@each_draw
def test_compiled_and_mapped_the_numbers_are_those_of_vmap(draw: Callable[[Any], Any]) -> None:
    for flag in ("same", "different"):
        plain, compiled = rng_of(7), rng_of(7)

        def mapped(rng: Any, flag: str = flag) -> Any:
            return tm.vmap(lambda _: draw(rng), randomness=flag)(np.zeros(2))

        equal(tm.compile(mapped)(compiled), mapped(plain))
        assert compiled.state["counter"] == plain.state["counter"]


@pytest.mark.sampled(slow=4)
@each_draw
def test_same_gives_every_example_the_draw_without_vmap(draw: Callable[[Any], Any]) -> None:
    plain, mapped = rng_of(7), rng_of(7)
    expected = leaves(draw(plain))
    out = tm.vmap(lambda _: draw(mapped), randomness="same")(np.zeros(3))
    for rows, row in zip(leaves(out), expected, strict=True):
        for found in rows:
            same(found, row)
    assert plain.state["counter"] == mapped.state["counter"]


@pytest.mark.sampled(slow=4)
@each_draw
def test_numbers_do_not_depend_on_chunks(draw: Callable[[Any], Any]) -> None:
    for flag in ("same", "different"):
        whole, chunked = rng_of(7), rng_of(7)
        expected = tm.vmap(lambda _: draw(whole), randomness=flag)(np.zeros(5))  # noqa: B023 (called at once)
        out = tm.vmap(lambda _: draw(chunked), randomness=flag, chunk_size=2)(np.zeros(5))  # noqa: B023
        equal(out, expected)
        assert whole.state["counter"] == chunked.state["counter"]


def test_a_draw_computed_from_arguments_agrees_compiled_and_not() -> None:
    def f(loc: Any, scale: Any, p: Any, x: Any, rng: Any) -> Any:
        return (
            rng.normal(loc, scale),
            rng.choice(x, 4, p=p),
            rng.choice(x, 2, replace=False, p=p),
            rng.permutation(x),
            rng.categorical(np.log(p), 3),
            rng.integers(x.astype(np.int64), 10),
        )

    arguments = (np.arange(3.0), 2.0, np.array([0.2, 0.3, 0.5]), np.array([1.0, 2.0, 3.0]))
    equal(tm.compile(f)(*arguments, rng_of(1)), f(*arguments, rng_of(1)))


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_agree_compiled_and_not_up_to_the_rounding_of_matrix_products(method: str) -> None:
    mean, cov = np.array([1.0, 2.0]), np.array([[2.0, 1.0], [1.0, 3.0]])
    plain, compiled = rng_of(7), rng_of(7)
    draw = tm.compile(lambda rng: rng.multivariate_normal(mean, cov, 3, method=method))
    for _ in range(2):
        equal(draw(compiled), plain.multivariate_normal(mean, cov, 3, method=method), rounding=8)


def test_a_second_call_is_not_traced_again_and_gives_new_numbers() -> None:
    traced = []

    @tm.compile(on_recompile="ignore")
    def f(x: Any, rng: Any) -> Any:
        traced.append(1)
        return x[rng.integers(3)] + outside.random() + x[outside.integers(3)]

    outside = rng_of(1)
    assert len({float(f(np.arange(3.0), rng_of(7))) for _ in range(5)}) == 5
    assert len(traced) == 1


def test_a_value_drawn_is_known_to_python_only_where_the_program_is_not_kept() -> None:
    rng = rng_of(0)
    assert tm.grad(lambda x: x if rng.random() < 1 else 2 * x)(1.0) == 1
    with pytest.raises(ConcretizationError, match=r"bool\(x\)"):
        tm.compile(lambda x: x if rng.random() < 1 else 2 * x, convert=False)(1.0)
    assert tm.compile(lambda x: x if rng.random() < 1 else 2 * x)(1.0) == 1


def test_gradients_flow_through_location_and_scale_and_move_the_state_on() -> None:
    def f(parameters: Any, rng: Any) -> Any:
        loc, scale = parameters
        return np.sum(rng.normal(loc, scale, 4))

    plain, given, compiled = rng_of(3), rng_of(3), rng_of(3)
    for _ in range(2):
        noise = plain.standard_normal(4)
        loc, scale = tm.grad(f)((1.0, 2.0), given)
        np.testing.assert_allclose([loc, scale], [4, np.sum(noise)])
        np.testing.assert_allclose(tm.compile(tm.grad(f))((1.0, 2.0), compiled), [loc, scale])
    assert plain.state["counter"] == given.state["counter"] == compiled.state["counter"] > 0


@pytest.mark.sampled(every=6, slow=2)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x, rng: tm.jvp(lambda x: f(x, rng), (x,), (x,)),
        lambda f, x, rng: tm.vjp(lambda x: f(x, rng), x)[0],
        lambda f, x, rng: tm.linearize(lambda x: f(x, rng), x)[0],
        lambda f, x, rng: tm.jacfwd(f, randomness="same")(x, rng),
        lambda f, x, rng: tm.jacrev(f, randomness="same")(x, rng),
        lambda f, x, rng: tm.hessian(f, randomness="same")(x, rng),
        lambda f, x, rng: tm.value_and_grad(tm.checkpoint(f))(x, rng),
        lambda f, x, rng: tm.cond(True, f, lambda x, rng: x[0], x, rng),
        lambda f, x, rng: tm.scan(lambda c, _: (c + f(x, rng), None), 0.0, length=1),
    ],
)
def test_every_transform_moves_the_state_on_once(transform: Any) -> None:
    rng, x = rng_of(3), np.arange(3.0)

    def f(x: Any, rng: Any) -> Any:
        return np.sum(x**2 * rng.random(3))

    for step in (2, 4):
        transform(f, x, rng)
        assert rng.state["counter"] == step
    compiled = tm.compile(lambda x, rng: transform(f, x, rng))
    compiled(x, rng)
    assert rng.state["counter"] == 6


def test_each_step_of_a_loop_draws_what_the_next_call_would() -> None:
    plain, rng = rng_of(5), rng_of(5)
    expected = [plain.normal() for _ in range(4)]
    _, drawn = tm.scan(lambda c, _: (c, rng.normal()), 0.0, length=4)
    same(drawn, expected)
    carried, drawn = tm.scan(lambda c, _: (c, c.normal()), rng_of(5), length=4)
    same(drawn, expected)
    assert carried.normal() == rng.normal()


def test_one_that_is_made_inside_starts_anew_at_each_call() -> None:
    f = tm.compile(lambda: rng_of(5).random(2))
    equal(f(), rng_of(5).random(2))
    equal(f(), rng_of(5).random(2))


# ---- vmap -------------------------------------------------------------------------------------------------


def test_a_draw_is_an_error_unless_told_what_it_means() -> None:
    rng = rng_of(0)
    with pytest.raises(
        RandomnessError, match=r"normal: a random draw inside vmap\(<lambda>\)(.|\n)*test_random"
    ):
        tm.vmap(lambda x: x + rng.normal())(np.zeros(3))
    for inner in ("same", "different"):
        nested = tm.vmap(lambda _, flag=inner: tm.vmap(lambda _: rng.random(), randomness=flag)(np.zeros(2)))
        with pytest.raises(RandomnessError, match="random: a random draw inside vmap"):
            nested(np.zeros(3))
    assert rng.state["counter"] == 0


def test_different_gives_every_example_numbers_of_its_own() -> None:
    rng = rng_of(0)
    out = tm.vmap(lambda _: rng.random(50), randomness="different")(np.zeros(40))
    after = tm.vmap(lambda _: rng.random(50), randomness="different")(np.zeros(40))
    plain = rng_of(0).random(2000)
    assert len(np.unique([out.ravel(), after.ravel(), plain])) == 6000
    rows = np.corrcoef(out)
    assert np.max(np.abs(rows - np.eye(40))) < 0.6


def test_same_with_parameters_that_differ_holds_the_same_numbers() -> None:
    loc = np.array([0.0, 10.0, 20.0])
    rng = rng_of(0)
    out = tm.vmap(lambda m: rng.normal(m, 1.0, 4), randomness="same")(loc)
    same(out[1], 10 + (out[0] - 0.0))
    same(out[2], 20 + (out[0] - 0.0))


def test_nested_flags_combine() -> None:
    def draw(outer: str, inner: str) -> Any:
        rng = rng_of(0)
        inside = tm.vmap(lambda _: rng.random(), randomness=inner)
        return tm.vmap(inside, randomness=outer)(np.zeros((3, 4)))

    rows = draw("same", "different")
    same(rows, np.broadcast_to(rows[0], (3, 4)))
    assert len(np.unique(rows)) == 4
    columns = draw("different", "same")
    same(columns, np.broadcast_to(columns[:, :1], (3, 4)))
    assert len(np.unique(columns)) == 3
    assert len(np.unique(draw("different", "different"))) == 12
    assert len(np.unique(draw("same", "same"))) == 1


def test_examples_that_draw_more_than_others_leave_the_largest_counter() -> None:
    rng = rng_of(0)

    def f(x: Any, rng: Any) -> Any:
        return tm.cond(x > 1, lambda rng: rng.random() + rng.random(), lambda rng: rng.random(), rng)

    closing = tm.vmap(lambda x: tm.cond(x > 1, lambda: rng.random(9), lambda: np.zeros(9)), randomness="same")
    tm.vmap(f, (0, None), randomness="different")(np.arange(3.0), rng)
    assert rng.state["counter"] == 2
    closing(np.arange(3.0))
    assert rng.state["counter"] == 7
    closing(np.zeros(3))
    assert rng.state["counter"] == 7


def test_too_many_examples_are_refused() -> None:
    rng = rng_of(0)
    with pytest.raises(ArgumentValueError, match="at most 2³² - 1 examples"):
        tm.vmap(rng.random, axis_size=2**32, randomness="different")()


# ---- seeds and states -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [0, 1, 2**31, 2**32, 2**63, 2**64 - 1, 2**64, 2**200, (), (0,), (0, 0), [1, 2]]
)
def test_seeds_give_keys_of_their_own(seed: Any) -> None:
    others = [
        0,
        1,
        2**31,
        2**32,
        2**63,
        2**64 - 1,
        2**64,
        2**200,
        (),
        (0,),
        (0, 0),
        (1, 2),
        (2, 1),
        (2**32 + 1,),
    ]
    keys = {tuple(rng_of(one).state["key"].tolist()) for one in others}
    assert len(keys) == len(others)
    assert tuple(rng_of(seed).state["key"].tolist()) in keys
    same(rng_of(seed).random(3), rng_of(seed).random(3))


def test_seeds_keep_what_they_give() -> None:
    same(rng_of(0).state["key"], KEY_OF_0)
    same(rng_of((1, 2)).state["key"], KEY_OF_1_2)
    same(rng_of(0).integers(1000, size=5), INTEGERS_OF_0)
    same(rng_of(0).integers(2**63 - 1, size=2), LARGE_INTEGERS_OF_0)


@pytest.mark.sampled("uint64")
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_a_traced_seed_gives_what_the_number_gives(dtype: Any) -> None:
    draw = tm.compile(lambda seed: rng_of(seed).random(3))
    same(draw(dtype(7)), rng_of(7).random(3))
    same(draw(np.array(7, dtype)), rng_of(7).random(3))
    seeds = np.arange(4, dtype=dtype)
    rows = tm.vmap(lambda seed: rng_of(seed).random(3), randomness="same")(seeds)
    same(rows, [rng_of(int(seed)).random(3) for seed in seeds])
    same(tm.compile(lambda seed: rng_of([seed, 5]).random())(3), rng_of([3, 5]).random())


def test_a_seed_of_the_operating_system_is_new_each_time_and_refused_while_tracing() -> None:
    assert rng_of().random() != rng_of(None).random()
    with pytest.raises(RandomStateError, match=r"without a seed was called while tracing(.|\n)*test_random"):
        tm.compile(lambda: rng_of().random())()


def test_what_is_not_a_seed_is_an_error() -> None:
    others: list[Any] = [1.0, "one", True, [1.0], np.zeros((2, 2), int), {}]
    for seed in others:
        with pytest.raises(ArgumentTypeError, match="a seed is None, an integer"):
            rng_of(seed)
    negative: list[Any] = [-1, [1, -1]]
    for seed in negative:
        with pytest.raises(ArgumentValueError, match="at least 0"):
            rng_of(seed)


def test_a_generator_is_its_own_seed() -> None:
    rng = rng_of(0)
    assert rng_of(rng) is rng


def test_the_state_can_be_kept_and_gone_back_to() -> None:
    rng = rng_of(0)
    kept = rng.state
    first = rng.random(3)
    rng.state = kept
    same(rng.random(3), first)
    copy = pickle.loads(pickle.dumps(rng))
    same(copy.random(3), rng.random(3))
    with pytest.raises(ArgumentTypeError, match="'key' and 'counter'"):
        rng.state = {"key": 1}

    def redo(rng: Any) -> Any:
        kept = rng.state
        first = rng.random()
        rng.state = kept
        return first, rng.random()

    first, second = tm.compile(redo)(rng)
    assert first == second


def test_a_generator_shows_its_state() -> None:
    rng = rng_of(0)
    rng.random(5)
    assert repr(rng) == f"Generator(key={KEY_OF_0}, counter=3)"
    shown = []
    tm.compile(lambda rng: shown.append(repr(rng)), on_recompile="ignore")(rng)
    assert shown == ["Generator(traced)"]


def test_children_share_nothing_with_each_other_or_the_parent() -> None:
    parent = rng_of(0)
    children = [*parent.spawn(3), *parent.spawn(2), parent]
    drawn = np.array([child.random(100) for child in children])
    assert len(np.unique(drawn)) == drawn.size
    assert np.max(np.abs(np.corrcoef(drawn) - np.eye(6))) < 0.4


def test_threads_draw_from_generators_of_their_own_and_share_one_without_repeating() -> None:
    def in_threads(generators: list[Any]) -> list[Any]:
        drawn: list[Any] = [None] * len(generators)

        def work(place: int) -> None:
            drawn[place] = np.concatenate([generators[place].random(10) for _ in range(50)])

        run_in_threads(work, len(generators))
        return drawn

    alone = [np.concatenate([child.random(10) for _ in range(50)]) for child in rng_of(0).spawn(2)]
    same(in_threads(rng_of(0).spawn(2)), alone)
    shared = rng_of(0)
    assert len(np.unique(in_threads([shared, shared]))) == 1000


# ---- what does not fit ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "error", "match"),
    [
        (lambda r: r.normal(scale=-1.0), ArgumentValueError, "normal: scale must not be less than 0"),
        (lambda r: r.weibull(0.0), ArgumentValueError, "weibull: a must be greater than 0"),
        (lambda r: r.bernoulli([0.5, 1.5]), ArgumentValueError, "bernoulli: p must not be greater than 1"),
        (lambda r: r.gamma(-1.0), ArgumentValueError, "gamma: shape must not be less than 0"),
        (lambda r: r.beta(1.0, 0.0), ArgumentValueError, "beta: b must be greater than 0"),
        (lambda r: r.poisson(-1.0), ArgumentValueError, "poisson: lam must not be less than 0"),
        (lambda r: r.dirichlet([1.0, 0.0]), ArgumentValueError, "dirichlet: alpha must be greater than 0"),
        (lambda r: r.dirichlet(1.0), AxisError, "dirichlet: axis -1"),
        (lambda r: r.multivariate_normal([0.0], np.eye(2)), ShapeError, "do not fit"),
        (lambda r: r.multivariate_normal([0.0], np.eye(1), method="lu"), ArgumentValueError, "not 'lu'"),
        (lambda r: r.normal(np.zeros(2), np.ones(3)), ShapeError, "normal: the parameters of shapes"),
        (lambda r: r.normal(np.zeros(2), size=3), ShapeError, r"do not broadcast to size=\(3,\)"),
        (lambda r: r.normal(np.zeros((3, 1)), size=3), ShapeError, "do not broadcast to size"),
        (lambda r: r.normal(1j), DTypeError, "normal: loc must be real, not complex128"),
        (lambda r: r.random(dtype=np.float16), DTypeError, "float32 or float64"),
        (lambda r: r.random(dtype="f5"), DTypeError, "float32 or float64"),
        (lambda r: r.random(-1), ArgumentValueError, "must not be negative"),
        (lambda r: r.random(1.5), ArgumentTypeError, "an int or a tuple of ints"),
        (lambda r: r.integers(5, 5), ArgumentValueError, "low=5 must be less than high=5"),
        (lambda r: r.integers(0, 257, dtype=np.uint8), ArgumentValueError, "out of bounds for uint8"),
        (lambda r: r.integers(-1, 5, dtype=np.uint8), ArgumentValueError, "out of bounds for uint8"),
        (lambda r: r.integers(0.5), DTypeError, "low must be an integer|high must be an integer"),
        (lambda r: r.integers(5, dtype=float), DTypeError, "integer or bool"),
        (lambda r: r.permutation(np.zeros(3), axis=1), AxisError, "axis 1 is out of bounds"),
        (lambda r: r.permutation(-1), ArgumentValueError, "-1 is less than 0"),
        (lambda r: r.permutation(1.5), ArgumentTypeError, "expected an array or an int"),
        (lambda r: r.shuffle([1, 2]), ArgumentTypeError, "only arrays are shuffled in place, not list"),
        (lambda r: r.choice(0), ArgumentValueError, "nothing to choose from"),
        (lambda r: r.choice(3, 4, replace=False), ArgumentValueError, "choose 4 of 3 without replacement"),
        (lambda r: r.choice(2, p=[0.5, 0.6]), ArgumentValueError, "add up to 1, not 1.1"),
        (lambda r: r.choice(2, p=[1.5, -0.5]), ArgumentValueError, "p must not be"),
        (lambda r: r.choice(3, p=[0.5, 0.5]), ShapeError, r"shape \(3,\)"),
        (lambda r: r.choice(2, 2, False, p=[1.0, 0.0]), ArgumentValueError, "fewer than 2"),
        (lambda r: r.categorical(1.0), AxisError, "categorical: axis -1"),
        (lambda r: r.categorical([]), ArgumentValueError, "no categories along axis 0"),
        (lambda r: r.dirichlet(np.ones((2, 0))), ArgumentValueError, "no categories along axis 1"),
        (
            lambda r: r.categorical([0.0], axis="x"),
            ArgumentTypeError,
            "categorical: axis must be an integer",
        ),
        (
            lambda r: r.permuted(np.zeros(3), axis=0.5),
            ArgumentTypeError,
            "permuted: axis must be an integer",
        ),
        (
            lambda r: r.permutation(10**30),
            ArgumentValueError,
            "permutation: 10{30} is less than 0 or more than",
        ),
        (lambda r: r.random((2**40, 2**40)), ArgumentValueError, "no array can have the entries"),
        (lambda r: r.normal([1.0, [2.0]]), ShapeError, "equal lengths"),
        (lambda r: r.geometric(0.0), ArgumentValueError, "geometric: p must be greater than 0"),
        (lambda r: r.geometric(np.nan), ArgumentValueError, "geometric: p must not be NaN"),
        (lambda r: r.poisson([1.0, np.nan]), ArgumentValueError, "poisson: lam must not be NaN"),
        (lambda r: r.poisson(1e30), ArgumentValueError, "poisson: lam must not be greater than 9.2e"),
        (lambda r: r.binomial(5, np.nan), ArgumentValueError, "binomial: p must not be NaN"),
        (
            lambda r: r.negative_binomial(3, 0.0),
            ArgumentValueError,
            "negative_binomial: p must be greater than 0",
        ),
        (lambda r: r.integers((5, 5), (6, 4)), ArgumentValueError, "low must be less than high"),
        (
            lambda r: r.integers(5, endpoint="no"),
            ArgumentTypeError,
            "endpoint must be True or False, not str",
        ),
        (lambda r: r.choice(5, replace=[1]), ArgumentTypeError, "replace must be True or False, not list"),
        (lambda r: r.multivariate_normal([], np.zeros((0, 0))), ShapeError, "do not fit"),
        (
            lambda r: r.multivariate_normal([0.0], np.eye(1), method=1),
            ArgumentTypeError,
            "method must be text",
        ),
        (lambda r: r.spawn((2, 3)), ArgumentTypeError, "spawn: n_children must be an integer"),
        (lambda r: r.spawn(-1), ArgumentValueError, "spawn: n_children must not be negative"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_so(draw: Any, error: Any, match: str) -> None:
    rng = rng_of(0)
    with pytest.raises(error, match=match):
        draw(rng)
    assert rng.state["counter"] == 0
    with pytest.raises(error, match=match) as caught:
        tm.compile(lambda: draw(rng))()
    assert "test_random.py" in str(caught.value)
