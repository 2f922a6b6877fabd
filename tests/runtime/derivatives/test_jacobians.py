"""`jacrev`, `jacfwd`, `hessian`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.thinning import one_in
from support.memory import peak_of
from support.random_arrays import numbers
from tracemill.compiler.errors import (
    NotDifferentiableError,
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)
from tracemill.compiler.ir import called


def same(got: Any, expected: Any) -> None:
    """Equal in value, shape and dtype."""
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(
        got, expected, rtol=1e-6 if np.asarray(got).dtype == np.float32 else 1e-12, atol=1e-12
    )


both = pytest.mark.parametrize("jacobian", [tm.jacrev, tm.jacfwd])
every = pytest.mark.parametrize("transform", [tm.jacrev, tm.jacfwd, tm.hessian])
Jacobian = Callable[..., Any]


@both
def test_a_leaf_of_a_jacobian_has_the_shape_of_output_and_input(jacobian: Jacobian) -> None:
    x, w = numbers(3), numbers(2, 3)
    got = jacobian(lambda w: np.outer(w @ x, np.ones(4)))(w)
    same(got, np.einsum("ik,l,j->ijkl", np.eye(2), x, np.ones(4)))


@both
def test_trees_of_outputs_hold_trees_of_inputs(jacobian: Jacobian) -> None:
    x, y = numbers(3), numbers(2)

    def f(p: Any, y: Any) -> Any:
        return {"sum": np.sum(p["x"]) * y, "pair": (p["x"] ** 2, p["s"] * 3.0)}

    got = jacobian(f)({"x": x, "s": 2.0}, y)
    assert set(got) == {"sum", "pair"}
    assert set(got["sum"]) == {"x", "s"}
    same(got["sum"]["x"], np.outer(y, np.ones(3)))
    same(got["pair"][0]["x"], np.diag(2 * x))
    same(got["pair"][0]["s"], np.zeros(3))
    same(got["pair"][1]["s"], np.float64(3.0))
    tuples = jacobian(f, (1, 0))({"x": x, "s": 2.0}, y)
    assert type(tuples["sum"]) is tuple
    same(tuples["sum"][0], np.eye(2) * np.sum(x))
    same(tuples["pair"][1][1]["s"], np.float64(3.0))


def test_the_hessian_of_a_dict_is_a_dict_of_dicts() -> None:
    got = tm.hessian(lambda p: np.sum(p["a"] ** 2) * p["b"])({"a": np.array([1.0, 2.0]), "b": 3.0})
    same(got["a"]["a"], 6 * np.eye(2))
    same(got["a"]["b"], np.array([2.0, 4.0]))
    same(got["b"]["a"], np.array([2.0, 4.0]))
    same(got["b"]["b"], np.float64(0.0))


def test_the_hessian_of_two_arguments_is_a_tuple_of_tuples() -> None:
    x, y = numbers(2), numbers(3)
    got = tm.hessian(lambda x, y: np.sum(x**2) * np.sum(y), (0, 1))(x, y)
    assert type(got) is tuple
    assert type(got[0]) is tuple
    same(got[0][0], 2 * np.eye(2) * np.sum(y))
    same(got[0][1], np.outer(2 * x, np.ones(3)))
    same(got[1][0], np.outer(np.ones(3), 2 * x))
    same(got[1][1], np.zeros((3, 3)))


@both
def test_the_jacobian_of_a_number_by_a_number_is_0d(jacobian: Jacobian) -> None:
    same(jacobian(np.sin)(0.5), np.cos(0.5))
    same(jacobian(jacobian(np.sin))(0.5), -np.sin(0.5))
    assert isinstance(jacobian(np.sin)(0.5), np.float64)


@both
def test_empty_outputs_and_inputs_keep_their_zero_axis(jacobian: Jacobian) -> None:
    x = numbers(3)
    assert jacobian(lambda x: x[:0] * 2)(x).shape == (0, 3)
    assert jacobian(lambda x: np.sum(x) * np.ones(2))(np.ones((0, 4))).shape == (2, 0, 4)


def test_the_hessian_of_a_vector_function_has_three_axes() -> None:
    x = numbers(3)
    got = tm.hessian(lambda x: x**3)(x)
    assert got.shape == (3, 3, 3)
    same(got, np.einsum("ij,ik->ijk", np.eye(3), np.diag(6 * x)))


@every
def test_aux_may_be_anything(transform: Jacobian) -> None:
    marker = object()
    got, aux = transform(lambda x: (x**2, (marker, x * 2, "text")), has_aux=True)(3.0)
    assert got in (6.0, 2.0)
    assert aux[0] is marker
    same(aux[1], np.float64(6.0))
    assert aux[2] == "text"
    with pytest.raises(TreeMismatchError, match=r"a pair \(output, aux\)"):
        transform(lambda x: x, has_aux=True)(3.0)


@every
def test_jacobian_keyword_arguments_are_passed_on_and_chosen_by_name(transform: Jacobian) -> None:
    def f(x: Any, *, power: int = 1, scale: Any = 1.0) -> Any:
        return scale**2 * x**power

    assert transform(f)(3.0, power=2, scale=1.0) in (6.0, 2.0)
    by_name = transform(f, argnames="scale")(3.0, scale=2.0)
    assert set(by_name) == {"scale"}
    assert by_name["scale"] in (12.0, {"scale": 6.0})


@every
def test_complex_numbers_need_holomorphic(transform: Jacobian) -> None:
    z = np.array([1 + 2j, -1j])
    with pytest.raises(NotDifferentiableError, match=r"args\[0\] is complex: pass holomorphic=True"):
        transform(np.square)(z)
    with pytest.raises(NotDifferentiableError, match="output is complex: pass holomorphic=True"):
        transform(lambda x: x * 1j)(np.ones(2))
    expected = {tm.jacrev: np.diag(3 * z**2), tm.jacfwd: np.diag(3 * z**2)}.get(
        transform, np.einsum("ij,ik->ijk", np.eye(2), np.diag(6 * z))
    )
    same(transform(lambda z: z**3, holomorphic=True)(z), expected)


@both
def test_an_integer_output_is_an_error(jacobian: Jacobian) -> None:
    with pytest.raises(NotDifferentiableError, match=r"output\['n'\] has dtype \w+, which has no derivative"):
        jacobian(lambda x: {"x": x, "n": np.argmax(x)})(np.ones(3))
    with pytest.raises(NotDifferentiableError, match=r"output\[1\] is float, not an array"):
        jacobian(lambda x: (x, 3.0))(np.ones(3))
    with pytest.raises(NotDifferentiableError, match=r"returns \(\), which holds no array"):
        jacobian(lambda x: ())(np.ones(3))


@every
def test_an_integer_input_is_an_error_with_its_path(transform: Jacobian) -> None:
    with pytest.raises(TransformTypeError, match=r"args\[0\]\['n'\] has dtype \w+, which has no derivative"):
        transform(lambda p: p["n"] * 1.0)({"n": np.arange(3)})


@every
def test_jacobian_argnums_are_checked_as_by_grad(transform: Jacobian) -> None:
    with pytest.raises(TransformArgumentError, match=r"\(power\): argnums=2 is out of range"):
        transform(np.power, 2)(1.0, 2.0)
    with pytest.raises(TransformTypeError, match="argnums must be"):
        transform(np.power, 1.5)


def test_both_modes_agree_on_a_function_with_several_parts() -> None:
    w, x = numbers(3, 2), numbers(2)

    def f(w: Any, x: Any) -> Any:
        h = np.tanh(w @ x)
        return h * np.sum(h), np.exp(x)

    for rev, fwd in zip(tm.jacrev(f, (0, 1))(w, x), tm.jacfwd(f, (0, 1))(w, x), strict=True):
        for a, b in zip(rev, fwd, strict=True):
            same(a, b)


@every
def test_single_precision_stays_single(transform: Jacobian) -> None:
    assert transform(lambda x: np.sin(x) * 2.5)(numbers(2, dtype=np.float32)).dtype == np.float32


def test_mixed_precision_follows_the_side_that_is_computed() -> None:
    x = numbers(2, dtype=np.float32)
    assert tm.jacfwd(lambda x: x * np.ones(2))(x).dtype == np.float64  # a tangent of the output
    assert tm.jacrev(lambda x: x * np.ones(2))(x).dtype == np.float32  # a cotangent of the input


# ---- chunks ----------------------------------------------------------------------------------------------

as_it_is_and_compiled = pytest.mark.parametrize(
    "wrap", [lambda f: f, tm.compile], ids=["as it is", "compiled"]
)
Wrap = Callable[[Jacobian], Jacobian]


def network(x: Any, w: Any) -> Any:
    h = np.tanh(w @ x)
    return h * np.sum(h), {"energy": np.sum(h**2) * np.ones((2, 2))}


@as_it_is_and_compiled
@every
@pytest.mark.parametrize("chunk_size", one_in(3, [2, 1, 100]))
@pytest.mark.parametrize("dtype", one_in(2, [np.float64, np.float32]))
def test_any_chunk_size_gives_the_same(wrap: Wrap, transform: Jacobian, chunk_size: int, dtype: Any) -> None:
    x, w = numbers(3, dtype=dtype), numbers(3, 3, dtype=dtype, seed=1)
    whole = transform(network, (0, 1))(x, w)
    chunked = wrap(transform(network, (0, 1), chunk_size=chunk_size))(x, w)
    for got, expected in zip(leaves_of(chunked), leaves_of(whole), strict=True):
        same(got, expected) if dtype == np.float64 else np.testing.assert_allclose(got, expected, 1e-4, 1e-4)


def leaves_of(tree: Any) -> list[Any]:
    """The arrays in tuples and dicts."""
    if isinstance(tree, (tuple, dict)):
        parts = tree.values() if isinstance(tree, dict) else tree
        return [leaf for part in parts for leaf in leaves_of(part)]
    return [tree]


def loops(f: Jacobian, *args: Any) -> list[int]:
    """The lengths of the loops in a compiled program."""
    graph = tm.compile(f).lower(*args).graph
    return [int(str(call.params["length"])) for call in graph.calls if call.op == "scan"]


@pytest.mark.parametrize("jacobian", [tm.jacrev, tm.jacfwd, tm.jacobian])
def test_a_chunk_size_of_one_is_a_loop_and_k_takes_k_at_a_time(jacobian: Jacobian) -> None:
    x = numbers(6)
    assert loops(jacobian(lambda x: np.outer(x, x)[0] * np.sum(x), chunk_size=1), x) == [6]
    assert loops(jacobian(lambda x: np.outer(x, x)[0] * np.sum(x), chunk_size=3), x) == [2]
    assert loops(jacobian(lambda x: np.outer(x, x)[0] * np.sum(x), chunk_size=6), x) == []


def test_a_hessian_takes_k_columns_at_a_time() -> None:
    x = numbers(6)
    assert loops(tm.hessian(lambda x: np.sum(x**3) * np.sum(x), chunk_size=2), x) == [3]


def chain(x: Any) -> Any:
    return np.cumsum(np.sin(np.cumsum(x)))


@pytest.mark.parametrize("jacobian", [tm.jacrev, tm.jacfwd, tm.jacobian])
def test_chunks_are_written_into_one_array(jacobian: Jacobian) -> None:
    x = numbers(700)
    result = 700 * 700 * 8
    assert peak_of(jacobian(chain), x) > 2 * result
    assert peak_of(jacobian(chain, chunk_size=10), x) < 1.15 * result
    same(jacobian(chain, chunk_size=10)(x), jacobian(chain)(x))


@pytest.mark.parametrize("jacobian", [tm.jacrev, tm.jacfwd, tm.hessian])
def test_a_memory_limit_is_kept(jacobian: Jacobian) -> None:
    x = numbers(700)
    f = chain if jacobian is not tm.hessian else lambda x: np.sum(chain(x))
    assert peak_of(jacobian(f, memory_limit="5MB"), x) < 5.3e6
    with pytest.raises(TransformArgumentError, match=r"memory_limit leaves 1 MB, but .* needs \d+ bytes"):
        jacobian(f, memory_limit="1MB")(x)


@pytest.mark.parametrize("transform", [tm.jacrev, tm.jacfwd, tm.jacobian, tm.hessian])
def test_jacobian_options_are_checked_when_wrapping(transform: Jacobian) -> None:
    with pytest.raises(TransformArgumentError, match=r"\(chain\): chunk_size must be a positive int, not 0"):
        transform(chain, chunk_size=0)
    with pytest.raises(TransformArgumentError, match=r"\(chain\): memory_limit must be"):
        transform(chain, memory_limit="much")
    with pytest.raises(
        TransformArgumentError, match=r"\(chain\): randomness must be 'error' or 'same', not 3"
    ):
        transform(chain, randomness=3)
    with pytest.raises(
        TransformArgumentError, match="runs once, so that all directions see the same numbers"
    ):
        transform(chain, randomness="different")


# ---- jacobian --------------------------------------------------------------------------------------------


@as_it_is_and_compiled
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_every_mode_gives_the_same(wrap: Wrap, mode: str) -> None:
    x, w = numbers(3), numbers(2, 3)
    same(wrap(tm.jacobian(lambda w, x: w @ x, mode=mode))(w, x), tm.jacrev(lambda w, x: w @ x)(w, x))


@pytest.mark.parametrize(
    ("f", "chosen", "other"),
    [
        (lambda x: np.outer(x, x), "_columns", "_rows"),
        (lambda x: x**2, "_columns", "_rows"),  # equally many: columns are cheaper
        (lambda x: np.sum(x**2), "_rows", "_columns"),
    ],
)
def test_auto_picks_by_sizes_and_says_so_in_the_lowering(f: Jacobian, chosen: str, other: str) -> None:
    graph = tm.compile(tm.jacobian(f)).lower(numbers(3)).optimised
    (name,) = (nested.name for nested in called(graph.calls))
    assert chosen in name
    assert other not in name


@pytest.mark.parametrize("mode", ["backward", None, ["forward"]])
def test_a_wrong_mode_is_an_error_when_wrapping(mode: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=r"jacobian\(chain\): mode must be one of 'auto', 'forward'"
    ):
        tm.jacobian(chain, mode=mode)


@as_it_is_and_compiled
def test_the_hessian_is_the_forward_jacobian_of_the_reverse_one(wrap: Wrap) -> None:
    x, w = numbers(3), numbers(3, 3)
    got = wrap(tm.hessian(lambda x: network(x, w)))(x)
    expected = tm.jacfwd(tm.jacrev(lambda x: network(x, w)))(x)
    for a, b in zip(leaves_of(got), leaves_of(expected), strict=True):
        same(a, b)


def test_jacobian_runs_the_function_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return np.sin(x)

    for transform in (tm.jacrev, tm.jacfwd, tm.jacobian, tm.hessian):
        calls.clear()
        transform(f, chunk_size=1)(numbers(4))
        assert len(calls) == 1


# ---- hvp -------------------------------------------------------------------------------------------------


def energy(x: Any, y: Any, power: int = 3) -> Any:
    return np.sum(x**power) * np.sum(np.sin(y)) + x[0] * y[0]


@as_it_is_and_compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hvp_is_the_hessian_times_a_direction(wrap: Wrap, dtype: Any) -> None:
    x, y, dx, dy = (numbers(3, dtype=dtype, seed=i) for i in range(4))
    (hxx, hxy), (hyx, hyy) = tm.hessian(energy, (0, 1))(x, y)
    got = wrap(lambda *a: tm.hvp(energy, a[:2], a[2:], (0, 1)))(x, y, dx, dy)
    assert type(got) is tuple
    assert got[0].dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(got[0], hxx @ dx + hxy @ dy, rtol=tolerance)
    np.testing.assert_allclose(got[1], hyx @ dx + hyy @ dy, rtol=tolerance)
    only = tm.hvp(energy, (x, y), (dx, None))
    np.testing.assert_allclose(only, hxx @ dx, rtol=tolerance)


def test_hvp_takes_trees_keyword_arguments_integers_and_aux() -> None:
    p, n, dp = {"a": numbers(3), "b": 2.0}, np.arange(3), {"a": np.ones(3), "b": 1.0}

    def f(p: Any, n: Any, *, power: int = 2) -> Any:
        return np.sum(p["a"] ** power * n) * p["b"], "aux"

    got, aux = tm.hvp(f, [p, n], [dp, None], has_aux=True, power=3)
    a = p["a"]
    np.testing.assert_allclose(got["a"], 6 * a * n * 2.0 + 3 * a**2 * n)
    np.testing.assert_allclose(got["b"], np.sum(3 * a**2 * n))
    assert aux == "aux"


@pytest.mark.parametrize("options", [{}, {"chunk_size": 2}, {"memory_limit": "1kB"}])
def test_hvp_of_a_batch_of_directions(options: Any) -> None:
    x, y, dx = numbers(3), numbers(3, seed=1), numbers(5, 3, seed=2)
    got = tm.hvp(energy, (x, y), (dx, None), batched=True, **options)
    np.testing.assert_allclose(got, dx @ tm.hessian(energy)(x, y))


def test_hvp_misuse_is_named() -> None:
    x = numbers(3)
    with pytest.raises(TransformTypeError, match=r"hvp\(energy\): primals must be a tuple"):
        tm.hvp(energy, x, (x,))
    with pytest.raises(TransformArgumentError, match="2 primals, but 1 tangents"):
        tm.hvp(energy, (x, x), (x,))
    with pytest.raises(TransformArgumentError, match="every tangent is None"):
        tm.hvp(energy, (x, x), (None, None))
    with pytest.raises(TransformArgumentError, match=r"hvp\(energy\): chunk_size must be"):
        tm.hvp(energy, (x, x), (x, x), chunk_size=-1)
    with pytest.raises(TreeMismatchError, match="tangents"):
        tm.hvp(energy, (x, x), ({"x": x}, x))
    with pytest.raises(tm.errors.NonScalarOutputError, match="one number"):
        tm.hvp(np.sin, (x,), (x,))


# ---- random draws, and variables -------------------------------------------------------------------------


def noisy(x: Any, rng: Any) -> Any:
    return np.sum(x**2 * rng.normal(size=3))


@pytest.mark.parametrize(
    "transform", [tm.jacrev, tm.jacfwd, tm.jacobian, tm.hessian, tm.hessian_diag, tm.laplacian]
)
def test_jacobian_randomness_is_an_error_or_one_draw_for_all_rows(transform: Jacobian) -> None:
    x, noise = np.ones(3), tm.random.default_rng(7).normal(size=3)
    with pytest.raises(tm.errors.RandomnessError, match=r"a random draw inside \w+\(noisy\)"):
        transform(noisy)(x, tm.random.default_rng(7))
    got = transform(noisy, randomness="same", chunk_size=1)(x, tm.random.default_rng(7))
    expected = {tm.hessian: np.diag(2 * noise), tm.laplacian: np.sum(2 * noise)}.get(transform, 2 * noise)
    np.testing.assert_allclose(got, expected)
    rng = tm.random.default_rng(7)
    assert np.all(tm.hvp(noisy, (x, rng), (x, None), randomness="same") == 2 * noise)


def test_jacobians_of_variables_are_recorded() -> None:
    x = tm.autograd.variable(np.array([1.0, 2.0, 3.0]))
    for of_x in (tm.jacobian(lambda x: x**3, chunk_size=2), tm.laplacian(lambda x: np.sum(x**4) / 4)):
        (slope,) = tm.autograd.grad(np.sum(of_x(x)), x)
        np.testing.assert_allclose(slope, 6 * np.array([1.0, 2.0, 3.0]))
