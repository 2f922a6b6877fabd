"""`vjp`: the derivative at a point, turned around."""

import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from support.random_arrays import numbers, same
from tracemill.compiler.errors import (
    DTypeError,
    NotDifferentiableError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)


class Pair(NamedTuple):
    first: Any
    second: Any


def tree_of(x: Any, y: Any) -> Any:
    return {"a": x * y, "b": (x + y, [y * 2])}


def test_vjp_gives_the_output_and_a_function_with_one_cotangent_per_primal() -> None:
    x, y, ct = numbers(3), numbers(3, seed=1), numbers(3, seed=2)
    out, vjp_fn = tm.vjp(np.multiply, x, y)
    same(out, x * y)
    cotangents = vjp_fn(ct)
    assert type(cotangents) is tuple
    same(cotangents[0], y * ct)
    same(cotangents[1], x * ct)
    (only,) = tm.vjp(np.sin, x)[1](ct)
    same(only, np.cos(x) * ct)


def test_vjp_primals_may_be_trees_and_keep_their_structure() -> None:
    primals = {"w": numbers(2), "pair": Pair(1.0, None)}
    _, vjp_fn = tm.vjp(lambda p: p["w"] * p["pair"].first, primals)
    (cotangent,) = vjp_fn(np.ones(2))
    assert type(cotangent["pair"]) is Pair
    assert cotangent["pair"].second is None
    same(cotangent["w"], np.ones(2))
    same(cotangent["pair"].first, np.sum(primals["w"]))


@pytest.mark.parametrize(
    "cotangents", [1.0, (1.0,), {"a": 1.0}, {"a": 1.0, "b": [1.0, [1.0]]}, {"a": (1.0,), "b": (1.0, [1.0])}]
)
def test_trees_that_differ_are_both_shown(cotangents: Any) -> None:
    _, vjp_fn = tm.vjp(tree_of, 1.0, 2.0)
    with pytest.raises(
        TreeMismatchError, match=r"cotangents: expected the structure \{'a': \*, 'b': \(\*, \[\*\]\)\}, found"
    ):
        vjp_fn(cotangents)


def test_a_leaf_that_is_not_an_array_is_an_error() -> None:
    _, vjp_fn = tm.vjp(np.sin, 1.0)
    with pytest.raises(TransformTypeError, match="must be arrays, not 'one'"):
        vjp_fn("one")


def test_shapes_of_cotangents_are_not_broadcast() -> None:
    _, vjp_fn = tm.vjp(lambda x: {"out": x}, np.ones(3))
    for wrong in (1.0, np.ones(1), np.ones((1, 3))):
        with pytest.raises(
            ShapeError, match=r"vjp\(<lambda>\): cotangents\['out'\] has shape .*, expected \(3,\)"
        ):
            vjp_fn({"out": wrong})


@pytest.mark.parametrize(
    ("primal", "cotangent"),
    [
        (np.ones(2, np.float32), np.ones(2)),
        (np.ones(2), np.ones(2, complex)),
        (np.ones(2, np.float16), np.ones(2, int)),
        (1.0, 1j),
    ],
)
def test_a_dtype_that_does_not_cast_safely_is_an_error(primal: Any, cotangent: Any) -> None:
    _, vjp_fn = tm.vjp(np.sin, primal)
    with pytest.raises(DTypeError, match=r"cotangents has dtype \w+, expected \w+"):
        vjp_fn(cotangent)


@pytest.mark.parametrize("cotangent", [np.ones(2, np.float32), np.ones(2, int), np.ones(2, bool)])
def test_a_safe_cast_is_made(cotangent: Any) -> None:
    x = numbers(2)
    same(tm.vjp(np.sin, x)[1](cotangent)[0], np.cos(x))


def test_python_numbers_take_the_dtype_of_the_output() -> None:
    same(tm.vjp(np.sin, np.float32(0.0))[1](2.0)[0], np.float32(2.0))
    same(tm.vjp(np.sin, 0.0)[1](2)[0], np.float64(2.0))


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (lambda x: None, "returns None, which holds no array"),
        (lambda x: (), r"returns \(\), which holds no array"),
        (lambda x: (x, "text"), r"output\[1\] is str, not an array"),
        (lambda x: {"a": x, "n": 3}, r"output\['n'\] is int, not an array"),
        (lambda x: (x, x > 0), r"output\[1\] has dtype bool"),
        (np.argmax, r"output has dtype i(nt)?64"),
    ],
)
def test_outputs_without_a_derivative_are_named(output: Any, found: str) -> None:
    with pytest.raises(NotDifferentiableError, match=found):
        tm.vjp(output, np.ones(2))


@pytest.mark.parametrize("primal", [1, True, np.ones(2, int)])
def test_vjp_an_integer_primal_is_an_error_with_its_path(primal: Any) -> None:
    with pytest.raises(
        TransformTypeError, match=r"vjp\(sin\): args\[0\] has dtype \w+, which has no derivative"
    ):
        tm.vjp(np.sin, primal)


def test_vjp_without_primals_there_is_nothing_to_pull_back_to() -> None:
    with pytest.raises(TransformArgumentError, match="no primals"):
        tm.vjp(lambda: 1.0)


def test_a_cotangent_of_none_means_zero() -> None:
    x, y = 3.0, 5.0
    _, vjp_fn = tm.vjp(tree_of, x, y)
    assert vjp_fn({"a": 1.0, "b": None}) == (5.0, 3.0)
    assert vjp_fn({"a": None, "b": (1.0, None)}) == (1.0, 1.0)
    assert vjp_fn({"a": None, "b": (None, [1.0])}) == (0.0, 2.0)
    assert vjp_fn(None) == (0.0, 0.0)


def test_batched_cotangents_give_batched_results() -> None:
    x, y, cts = numbers(3), numbers(3, seed=1), numbers(4, 3, seed=2)
    _, vjp_fn = tm.vjp(np.multiply, x, y)
    got = vjp_fn(cts, batched=True)
    for i in range(2):
        same(got[i], np.stack([vjp_fn(ct)[i] for ct in cts]))


def test_a_cotangent_of_none_is_zero_for_the_whole_batch() -> None:
    _, vjp_fn = tm.vjp(tree_of, 3.0, 5.0)
    got = vjp_fn({"a": np.ones(4), "b": None}, batched=True)
    same(got[0], np.full(4, 5.0))
    unused = vjp_fn({"a": None, "b": (None, [np.ones(4)])}, batched=True)
    same(unused[0], np.zeros(4))


def test_batches_must_agree_and_exist() -> None:
    _, vjp_fn = tm.vjp(lambda x: (x, x * 2), 3.0)
    with pytest.raises(ShapeError, match=r"batches of different sizes \[2, 3\]"):
        vjp_fn((np.ones(2), np.ones(3)), batched=True)
    with pytest.raises(
        ShapeError, match=r"cotangents\[1\] is 0-d: with batched=True it needs a batch in front"
    ):
        vjp_fn((np.ones(2), 1.0), batched=True)
    with pytest.raises(ShapeError, match=r"cotangents\[0\] has shape \(2, 1\), expected \(2,\)"):
        vjp_fn((np.ones((2, 1)), np.ones(2)), batched=True)
    with pytest.raises(TransformArgumentError, match="the size of the batch is unknown"):
        vjp_fn(None, batched=True)


def test_an_empty_batch_of_cotangents_gives_an_empty_batch() -> None:
    (got,) = tm.vjp(np.sin, numbers(3))[1](np.ones((0, 3)), batched=True)
    assert got.shape == (0, 3)


def test_the_forward_values_are_computed_once() -> None:
    traced = []
    ran = []

    def seen(x: Any) -> Any:
        ran.append(x.copy())
        return x

    def f(x: Any) -> Any:
        traced.append(1)
        return np.exp(x) * tm.pure_callback(seen, x, tm.stop_gradient(x))

    x = numbers(3)
    out, vjp_fn = tm.vjp(f, x)
    same(out, np.exp(x) * x)
    for ct in np.eye(3):
        same(vjp_fn(ct)[0], np.exp(x) * x * ct)
    same(vjp_fn(np.eye(3), batched=True)[0], np.diag(np.exp(x) * x))
    same(tm.vmap(vjp_fn)(np.eye(3))[0], np.diag(np.exp(x) * x))
    assert len(traced) == 1
    assert len(ran) == 1


def test_the_backward_pass_does_not_repeat_the_forward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_calls(monkeypatch, "exp", "tanh", "sin")
    x = numbers(3)
    _, vjp_fn = tm.vjp(lambda x: np.sin(np.exp(np.tanh(x))), x)
    vjp_fn(np.ones(3))
    vjp_fn(np.ones(3))
    assert counts == {"exp": 1, "tanh": 1, "sin": 1}


def count_calls(monkeypatch: pytest.MonkeyPatch, *names: str) -> dict[str, int]:
    """How often each function of NumPy runs from now on."""
    counts: dict[str, int] = {}

    def counted(name: str, original: Any) -> Any:
        def call(*given: Any) -> Any:
            counts[name] = counts.get(name, 0) + 1
            return original(*given)

        return call

    for name in names:
        monkeypatch.setattr(np, name, counted(name, getattr(np, name)))
    return counts


@pytest.mark.parametrize("transform", [tm.vjp, tm.linearize])
def test_only_what_the_derivative_needs_is_kept(transform: Any) -> None:
    x = numbers(3)
    closed_over = numbers(3)
    alive = [weakref.ref(x), weakref.ref(closed_over)]
    constants = [closed_over]
    _, derivative = transform(lambda x: np.sum(x * 2.0 + constants.pop()), x)
    del x, closed_over
    assert all(array() is None for array in alive)
    derivative(1.0 if transform is tm.vjp else np.ones(3))


def test_vjp_fn_is_reusable_and_may_be_mapped() -> None:
    x = numbers(3)
    _, vjp_fn = tm.vjp(np.sin, x)
    same(vjp_fn(np.ones(3))[0], np.cos(x))
    same(vjp_fn(np.ones(3))[0], np.cos(x))
    same(tm.vmap(vjp_fn)(np.eye(3))[0], np.diag(np.cos(x)))
    same(tm.vmap(lambda ct: vjp_fn(ct)[0], in_dims=1, out_dims=1)(np.eye(3)), np.diag(np.cos(x)))


def test_vjp_fn_may_be_differentiated() -> None:
    x = numbers(3)
    same(tm.grad(lambda ct: np.sum(tm.vjp(np.sin, x)[1](ct)[0]))(np.ones(3)), np.cos(x))
    same(tm.grad(lambda x: np.sum(tm.vjp(np.sin, x)[1](np.ones(3))[0]))(x), -np.sin(x))


def test_the_point_does_not_move_with_the_callers_arrays() -> None:
    x = numbers(3)
    before = x.copy()
    out, vjp_fn = tm.vjp(lambda x: np.exp(x * x), x)
    x += 1
    out[:] = 0
    (first,) = vjp_fn(np.ones(3))
    same(first, np.exp(before**2) * 2 * before)
    first[:] = 0
    same(vjp_fn(np.ones(3))[0], np.exp(before**2) * 2 * before)


def test_results_share_no_memory_with_what_was_given() -> None:
    x, ct = numbers(3), numbers(3)
    out, vjp_fn = tm.vjp(lambda x: x, x)
    assert not np.shares_memory(out, x)
    assert not np.shares_memory(vjp_fn(ct)[0], ct)


def test_vjp_aux_is_anything() -> None:
    marker = object()
    out, vjp_fn, aux = tm.vjp(lambda x: (x * 2, {"m": marker, "x": x}), 3.0, has_aux=True)
    same(out, np.float64(6.0))
    assert vjp_fn(1.0) == (2.0,)
    assert aux["m"] is marker
    same(aux["x"], np.float64(3.0))


def test_an_argument_passed_twice_is_two_variables() -> None:
    x = numbers(2)
    first, second = tm.vjp(lambda a, b: a**2 * b, x, x)[1](np.ones(2))
    same(first, 2 * x * x)
    same(second, x**2)


def test_complex_cotangents_follow_the_uphill_convention() -> None:
    z, ct = np.array([1 + 2j, 3 - 1j]), np.array([1j, 2 + 0j])
    same(tm.vjp(np.square, z)[1](ct)[0], np.conj(2 * z) * ct)
    x = numbers(2)
    same(tm.vjp(lambda x: x * (2 + 3j), x)[1](ct)[0], np.real(ct * (2 - 3j)))


def test_vjp_single_precision_stays_single() -> None:
    x = numbers(3, dtype=np.float32)
    out, vjp_fn = tm.vjp(lambda x: np.exp(x) * 2.5, x)
    same(out, np.exp(x) * 2.5)
    same(vjp_fn(np.ones(3, np.float32))[0], np.exp(x) * np.float32(2.5))
