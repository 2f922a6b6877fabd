"""Forward mode outside of `compile` computes tangents beside the values, as the function runs, and keeps no call."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.composition import case_of
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.errors import NotDifferentiableError, ShapeError
from tracemill.runtime.eager.transform_log import seen_transforms

X = np.array([0.5, -1.5, 2.0])
V = np.array([1.0, 0.25, -2.0])
POSITIVE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def agree(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-9 if np.finfo(one.dtype).bits == 64 else 1e-4
        scale = np.abs(other[np.isfinite(other)]).max(initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


# ---- the function runs as it is --------------------------------------------------------------------------


def test_values_are_shown_and_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    def function(x: Any) -> Any:
        y = x * 2
        print(y)
        seen.append(1.0)
        if y[0] > 0:
            y[1] = 7.0
        return y

    value, tangent = tm.jvp(function, (X,), (V,))
    assert capsys.readouterr().out == "[ 1. -3.  4.]\n"
    assert seen == [1.0]
    np.testing.assert_array_equal(value, [1.0, 7.0, 4.0])
    np.testing.assert_array_equal(tangent, [2.0, 0.0, -4.0])


def test_numpys_exceptions_reach_the_users_try() -> None:
    def function(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return a**2

    _, tangent = tm.jvp(function, (-np.eye(2),), (np.ones((2, 2)),))
    np.testing.assert_array_equal(tangent, [[-2.0, 0.0], [0.0, -2.0]])


def test_the_error_state_of_the_function_is_that_of_its_values_and_not_of_tangents() -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="raise"):
            root = np.sqrt(x)
            try:
                1.0 / x
            except FloatingPointError:
                return root
        return x

    value, tangent = tm.jvp(function, (np.zeros(2),), (np.ones(2),))
    np.testing.assert_array_equal(value, [0.0, 0.0])
    np.testing.assert_array_equal(tangent, [np.inf, np.inf])


def test_the_function_may_write_to_the_callers_tangent() -> None:
    direction = V.copy()

    def function(x: Any) -> Any:
        direction[:] = 0.0
        return x * 3

    np.testing.assert_array_equal(tm.jvp(function, (X,), (direction,))[1], 3 * V)
    value, tangent = tm.jvp(lambda x: x, (X,), (V,))
    value[0] = tangent[0] = 9.0
    assert X[0] == 0.5
    assert V[0] == 1.0


def test_a_wrong_tangent_is_refused_before_the_function_runs() -> None:
    def function(x: Any) -> Any:
        raise AssertionError("it ran")

    with pytest.raises(ShapeError, match="tangents"):
        tm.jvp(function, (X,), (np.ones(2),))


def test_an_exception_leaves_the_next_call_clean() -> None:
    def function(x: Any, fails: bool) -> Any:
        y = np.sin(x)
        if fails:
            raise KeyError("mine")
        return y

    with pytest.raises(KeyError, match="mine"):
        tm.jvp(lambda x: function(x, True), (X,), (V,))
    np.testing.assert_allclose(tm.jvp(lambda x: function(x, False), (X,), (V,))[1], V * np.cos(X))


def test_no_call_is_kept() -> None:
    def function(x: Any) -> Any:
        for _ in range(200):
            x = np.sin(x) + x * 0.5
        return x

    x = np.ones(20_000)
    tm.jvp(function, (x,), (x,))
    tracemalloc.start()
    tm.jvp(function, (x,), (x,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * x.nbytes


def test_calls_of_inner_gradients_are_released_after_each() -> None:
    def function(x: Any) -> Any:
        for _ in range(50):
            x = x - 0.01 * tm.grad(lambda y: np.sum(np.cos(y) ** 2))(x)
            _, pull = tm.vjp(np.sin, x)
            (x,) = pull(x)
        return x

    x = np.linspace(0.1, 1.0, 20_000)
    agree(tm.jvp(function, (x[:5],), (x[:5],)), tm.compile(lambda x: tm.jvp(function, (x,), (x,)))(x[:5]))
    tm.jvp(function, (x,), (x,))
    tracemalloc.start()
    tm.jvp(function, (x,), (x,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * x.nbytes


def test_a_function_may_ask_for_a_derivative_of_its_own_calls() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        return tm.autograd.grad(np.sum(y**3), y)[0]

    np.testing.assert_allclose(tm.jvp(function, (X,), (V,))[1], 24 * X * V)


def test_strict_names_what_does_not_depend_on_the_primals() -> None:
    with pytest.raises(NotDifferentiableError, match="does not depend"):
        tm.jvp(lambda x: np.cos(X), (X,), (V,), strict=True)
    tm.jvp(lambda x: (np.linalg.eigh(POSITIVE * x[0])[1], np.array([x[1], 1.0])), (X,), (V,), strict=True)


# ---- the same as compiled --------------------------------------------------------------------------------


def writes(x: Any) -> Any:
    z = np.zeros(4)
    for i in range(3):
        z[i] = x[i] * x[2 - i]
    z[1:] *= z[0]
    x[0] = z[1]
    x += z[:3]
    return np.concatenate([z[::2], x, x[[0, 0]]])


def loops(x: Any) -> Any:
    total = tm.fori_loop(0, 3, lambda i, y: np.sin(y) * x + i, x)
    doubled = tm.while_loop(lambda y: np.sum(np.abs(y)) < 50.0, lambda y: y * 2, x)
    found, rows = tm.scan(lambda y, r: (y * r, np.cos(y)), x, np.arange(6.0).reshape(2, 3))
    return total + doubled + found + rows[1] + tm.cond(x[0] > 0, lambda y: y**2, lambda y: y, x)


def several_outputs(x: Any) -> Any:
    values, vectors = np.linalg.eigh(np.diag(x) + POSITIVE)
    return values * np.abs(vectors[0]) + np.divmod(x, 0.7)[1] + np.modf(x)[0] ** 2


@tm.custom_rule
def tripled(x: Any) -> Any:
    return 3 * x


tripled.vjp(lambda x: (3 * x, None), lambda kept, cotangent: (3 * cotangent,))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "writes": writes,
    "loops": loops,
    "several outputs": several_outputs,
    "a custom rule": lambda x: tripled(np.sin(x)) * x,
    "checkpoint": lambda x: tm.checkpoint(lambda y: np.sin(y) * x)(x * 2),
    "choices": lambda x: np.where(x > 0, np.exp(x), 0.5) + np.maximum(x, 0.1) + np.sort(x * x) * x[0],
    "Python floats": lambda x: np.array([float(v) * 2.0 for v in x]) + max(1.0, float(x[1])),
    "complex": lambda x: np.exp(1j * x) * np.abs(x + 1j) ** 2,
    "squares of lengths": lambda x: np.linalg.norm(x) ** 2 * x + np.abs((x - x[::-1]) * 1j) ** 2,
    "constants alone": lambda x: np.sign(x) + np.floor(x) + X,
    "float32": lambda x: x.astype(np.float32) * np.float32(2) + np.sum(x) * np.float32(3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_are_those_of_the_compiled_function(name: str) -> None:
    program = PROGRAMS[name]
    agree(tm.jvp(program, (X,), (V,)), tm.compile(lambda x, v: tm.jvp(program, (x,), (v,)))(X, V))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "complex"])
def test_jacobians_by_columns_are_those_of_the_compiled_function(name: str) -> None:
    columns = tm.jacfwd(PROGRAMS[name])
    agree([columns(X)], [tm.compile(columns)(X)])


def test_a_jacobian_by_columns_of_complex_numbers() -> None:
    columns = tm.jacfwd(lambda z: z[1:] * np.exp(z[:-1]), holomorphic=True)
    agree([columns(X + 1j)], [tm.compile(columns)(X + 1j)])


INDEXED: dict[str, Callable[[Any], Any]] = {
    "an ellipsis": lambda a: a[..., 0] * a[1, ..., 2],
    "new axes": lambda a: a[:, None, 1, ::2, None],
    "separated arrays": lambda a: a[[0, 1, 1], :, [2, 0, 0]],
    "an array and an ellipsis": lambda a: a[..., [2, 2, 0]],
    "a mask": lambda a: a[:, np.array([True, False, True])],
    "a row and an array": lambda a: a[1, :, np.array([[0, 2]])],
}


@pytest.mark.parametrize("name", INDEXED)
def test_parts_of_all_directions_are_parts_of_each(name: str) -> None:
    read = INDEXED[name]

    def written(a: Any) -> Any:
        copy, part = a * 1.0, read(a)
        if name == "separated arrays":
            return part
        copy[..., 1] = a[0, 0, 0] * 3
        copy[1] = a[0, :, :1] ** 2
        copy[0, ..., ::2] = a[1, 1, ::2]
        return np.concatenate([np.ravel(copy), np.ravel(part)])

    a = np.sin(np.arange(18.0)).reshape(2, 3, 3)
    agree([tm.jacfwd(written)(a)], [tm.compile(tm.jacfwd(written))(a)])


def test_jacobians_of_several_arguments_and_results(capsys: pytest.CaptureFixture[str]) -> None:
    def function(tree: Any, scale: float, *, shift: Any) -> Any:
        print("once")
        return {"y": tree["x"] * scale, "n": np.sum(tree["w"]) * shift}, "aux"

    args = {"x": X, "w": POSITIVE}, 2.0
    found, aux = tm.jacfwd(function, argnums=(0, 1), has_aux=True)(*args, shift=V)
    assert aux == "aux"
    assert capsys.readouterr().out == "once\n"
    np.testing.assert_array_equal(found["y"][0]["x"], 2 * np.eye(3))
    np.testing.assert_array_equal(found["y"][0]["w"], np.zeros((3, 3, 3)))
    np.testing.assert_array_equal(found["y"][1], X)
    np.testing.assert_array_equal(found["n"][0]["w"], np.broadcast_to(V[:, None, None], (3, 3, 3)))


def test_a_jacobian_of_many_columns_is_the_same() -> None:
    x = np.linspace(0.0, 1.0, 1001)
    found = tm.jacfwd(lambda x: np.sin(x[:3]) * np.sum(x))(x)
    np.testing.assert_allclose(
        found[:, :1000], tm.jacfwd(lambda y: np.sin(y[:3]) * (np.sum(y) + 1.0))(x[:-1])
    )


def number(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(np.abs(program(x)) ** 2)


NESTED: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "jvp of grad": lambda f: lambda x: tm.jvp(tm.grad(number(f)), (x,), (V,)),
    "jvp of vjp": lambda f: lambda x: tm.jvp(lambda y: tm.vjp(f, y)[1](f(y))[0], (x,), (V,)),
    "jvp of jvp": lambda f: lambda x: tm.jvp(lambda y: tm.jvp(f, (y,), (y * y,))[1], (x,), (V,)),
    "grad of jvp": lambda f: lambda x: (tm.grad(number(lambda y: tm.jvp(f, (y,), (y,))[1]))(x),),
    "vmap of jvp": lambda f: lambda x: tm.vmap(lambda y: tm.jvp(f, (y,), (V,)))(np.stack([x, x + 0.25])),
    "jvp of vmap": lambda f: lambda x: tm.jvp(lambda y: tm.vmap(f)(np.stack([y, y + 0.25])), (x,), (V,)),
    "jvp of vmap of grad": lambda f: (
        lambda x: tm.jvp(lambda y: tm.vmap(tm.grad(number(f)))(np.stack([y, y * 2])), (x,), (V,))
    ),
    "jvp of jacfwd": lambda f: lambda x: tm.jvp(tm.jacfwd(f), (x,), (V,)),
    "jvp of jacrev": lambda f: lambda x: tm.jvp(tm.jacrev(f), (x,), (V,)),
    "jacfwd of grad": lambda f: lambda x: (tm.jacfwd(tm.grad(number(f)))(x),),
    "hessian": lambda f: lambda x: (tm.hessian(number(f))(x),),
    "jacfwd of jacfwd": lambda f: lambda x: (tm.jacfwd(tm.jacfwd(f))(x),),
    "jacfwd of jvp": lambda f: tm.jacfwd(lambda y: tm.jvp(f, (y,), (y * y,))),
    "jacfwd of vmap of grad": lambda f: (
        lambda x: (tm.jacfwd(lambda y: tm.vmap(tm.grad(number(f)))(np.stack([y, y * 2])))(x),)
    ),
    "vmap of jacfwd": lambda f: lambda x: (tm.vmap(tm.jacfwd(f))(np.stack([x, x + 0.25])),),
    "jvp of grad of grad": lambda f: (
        lambda x: tm.jvp(tm.grad(lambda y: np.sum(tm.grad(number(f))(y) * y)), (x,), (V,))
    ),
}
PAIRED: dict[str, Callable[[Any], Any]] = {
    "parts": lambda x: x[1:] * x[:-1] + np.sum(np.concatenate([x, x[[2, 2]]]) ** 3),
    "writes": lambda x: writes(x * 1.0),
    "several outputs": several_outputs,
    "loops": lambda x: tm.scan(lambda y, _: (np.sin(y) * x, y[0]), x, length=3)[0],
    "a custom rule": lambda x: tripled(np.sin(x)) * x,
}


@pytest.mark.sampled(every=5, slow=4)
@pytest.mark.parametrize("program", PAIRED)
@pytest.mark.parametrize("transforms", NESTED)
def test_nested_transforms_are_those_of_the_compiled_function(transforms: str, program: str) -> None:
    function = NESTED[transforms](PAIRED[program])
    agree(function(X), tm.compile(function, backend="numpy")(X))


# ---- every op --------------------------------------------------------------------------------------------

SMOOTH = SAMPLES.where(
    lambda sample: (
        any(sample.differentiated)
        and sample.smooth
        and sample.generic
        and not sample.coupled
        and any(is_inexact(out.dtype) for out in sample.measured().outputs)
    )
)
FIRST = some_of(SMOOTH, 0)
"""One of each op."""


@of_each_sample(SMOOTH, FIRST[::6], FIRST)
def test_tangents_of_every_op_are_those_of_its_graph(sample: Sample) -> None:
    case = case_of(sample)
    args = sample.arrays()
    function, moving = case.of_differentiated(args), tuple(case.differentiated(args))

    def program(*given: Any) -> tuple[Any, ...]:
        return tuple(out for out in function(*given) if is_inexact(out.dtype))

    def pushed() -> tuple[Any, ...]:
        values, tangents = tm.jvp(program, moving, moving)
        return *values, *tangents

    with seen_transforms():
        wanted = pushed()
    agree(pushed(), wanted)
    if not any(np.iscomplexobj(x) for x in (*moving, *wanted)) and sum(x.size for x in moving) < 50:
        jacobians = tm.jacfwd(lambda given: program(*given))
        with seen_transforms():
            expected = jacobians(moving)
        for row, other in zip(jacobians(moving), expected, strict=True):
            agree(row, other)
