"""`vmap` without `compile` computes each call for the whole batch when Python reaches it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from optree import tree_leaves

import tracemill as tm
from samples.composition import case_of, mapped
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from symbolic.random_programs import Program, programs
from tracemill.compiler.errors import CallbackLoopWarning, ConcretizationError, TransformArgumentError
from tracemill.runtime.eager.transform_log import is_seen, seen_transforms

shown: Callable[[Any], str] = eval("lambda x: repr(x)", {"__name__": "bdb"})
"""Shows a value as a debugger does, outside of the program."""
X = np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]])


def traced(call: Callable[[], Any]) -> Any:
    """The result of a call whose functions are traced, and whose graphs run later."""
    with seen_transforms():
        return call()


# ---- values and exceptions -------------------------------------------------------------------------------


def test_arrays_show_the_values_of_all_examples() -> None:
    seen: list[str] = []

    def program(x: Any, w: Any) -> Any:
        y = x * 2
        seen.extend([shown(y[0]), str(y), f"{w + 1}"])
        return y

    tm.vmap(program, in_dims=(0, None))(X, np.zeros(2))
    assert seen == [
        "f64[] for each of 3: [2. 1. 8.]",
        "f64[2] for each of 3:\n[[ 2. -4.]\n [ 1.  6.]\n [ 8.  0.]]",
        "[1. 1.]",
    ]


TEXTS: dict[str, Callable[[Any], Any]] = {
    "str": lambda n: str(n) == str(n)[::-1],
    "length": lambda n: len(f"{n}"),
    "binary": lambda n: int(f"{n:b}", 2),
    "float": lambda n: len(str(n * 0.5)),
    "places": lambda n: len(f"{n * 0.5:.2f}"),
    "unknown": lambda n: len(f"{np.sum(np.arange(n))}"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_programs_cannot_compute_with_texts_that_differ_between_examples(name: str) -> None:
    with pytest.raises(ConcretizationError, match="a text shows"):
        tm.vmap(TEXTS[name])(np.array([11, 122]))


def test_programs_compute_with_texts_that_all_examples_share() -> None:
    found = tm.vmap(lambda x, n: x * len(str(n)), in_dims=(0, None))(np.array([1.0, 2.0]), 123)
    np.testing.assert_array_equal(found, [3.0, 6.0])


def test_loops_of_known_length_run_as_they_are() -> None:
    seen: list[str] = []

    def program(x: Any) -> Any:
        for i in range(40):
            x = x + (i if i % 2 else -1)
            if i >= 38:
                seen.append(shown(x))
        return x

    np.testing.assert_array_equal(
        tm.vmap(program)(np.arange(2.0)), traced(lambda: tm.vmap(program)(np.arange(2.0)))
    )
    assert seen[:2] == ["f64[] for each of 2: [341. 342.]", "f64[] for each of 2: [380. 381.]"]


def test_loops_in_loops_are_computed_as_one_call_if_they_are_long() -> None:
    def program(x: Any) -> Any:
        for i in range(20):
            for j in range(20):
                x = x * 0.9 + i * j
        return x

    wanted = [program(x) for x in X]
    np.testing.assert_allclose(tm.vmap(program)(X), wanted, rtol=1e-12)


def test_inner_batches_show_the_values_of_all_of_them() -> None:
    seen: list[str] = []

    def product(a: Any, b: Any) -> Any:
        seen.append(shown(a * b))
        return a * b

    tm.vmap(lambda a: tm.vmap(lambda b: product(a, b))(np.arange(2.0)))(np.arange(3.0))
    assert seen == ["f64[] for each of 2:\n[[0. 0.]\n [0. 1.]\n [0. 2.]]"]


def test_gradients_of_batches_show_values() -> None:
    seen: list[str] = []

    def square(x: Any) -> Any:
        seen.append(shown(x * x))
        return x * x * x

    found = tm.grad(lambda x: np.sum(tm.vmap(square)(x)))(np.arange(3.0))
    assert seen == ["f64[] for each of 3: [0. 1. 4.]"]
    np.testing.assert_array_equal(found, [0.0, 3.0, 12.0])


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "vmap of grad": lambda f: tm.vmap(tm.grad(f))(X),
    "vmap of jvp": lambda f: tm.vmap(lambda x: tm.jvp(f, (x,), (x,)))(X),
    "vmap of value_and_grad": lambda f: tm.vmap(tm.value_and_grad(f, has_aux=True))(X),
    "grad of vmap of grad": lambda f: tm.grad(lambda x: np.sum(tm.vmap(tm.grad(f))(x) ** 2))(X),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_in_batches_show_values(name: str) -> None:
    seen: list[str] = []

    def loss(x: Any) -> Any:
        if not is_seen():
            seen.append(f"{x * 2}")
        total = np.sum(np.sin(x) ** 3) * x[0]
        return (total, x) if "value_and_grad" in name else total

    found = DERIVATIVES[name](loss)
    assert seen == ["f64[2] for each of 3:\n[[ 2. -4.]\n [ 1.  6.]\n [ 8.  0.]]"]
    wanted = traced(lambda: DERIVATIVES[name](loss))
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_second_derivatives_in_batches_show_values() -> None:
    seen: list[str] = []

    def inner(x: Any) -> Any:
        if not is_seen():
            seen.append(shown(x[0]))
        return np.sum(np.sin(x) ** 3) * x[0]

    def loss(x: Any, scale: float) -> Any:
        return np.sum(tm.grad(inner)(x) ** 2) * scale

    found = tm.vmap(tm.grad(loss, (0, 1)), in_dims=(0, None))(X, 2.0)
    assert seen == ["f64[] for each of 3: [1.  0.5 4. ]"]
    wanted = traced(lambda: tm.vmap(tm.grad(loss, (0, 1)), in_dims=(0, None))(X, 2.0))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_gradients_by_what_is_not_mapped_are_those_of_each_example() -> None:
    def loss(w: Any, x: Any) -> Any:
        z = np.zeros(3)
        z[:2] = w * x
        w *= 2
        return np.sum(z**3) + np.sum(w)

    found = tm.vmap(lambda x: tm.grad(loss)(np.array([1.0, 2.0]), x))(X)
    np.testing.assert_allclose(found, 3 * np.array([1.0, 4.0]) * X**3 + 2)


def test_a_differentiated_function_in_a_batch_may_return_arrays_from_outside() -> None:
    w = np.array([7.0, 8.0])

    def program(x: Any) -> Any:
        return tm.value_and_grad(lambda y: (np.sum(y), (w, y * 2, np.float64(3))), has_aux=True)(x)

    (total, (outside, doubled, three)), slope = tm.vmap(program)(X)
    np.testing.assert_array_equal(total, np.sum(X, axis=1))
    np.testing.assert_array_equal(outside, [w] * 3)
    np.testing.assert_array_equal(doubled, X * 2)
    np.testing.assert_array_equal(three, [3.0] * 3)
    np.testing.assert_array_equal(slope, np.ones((3, 2)))


def test_an_exception_is_caught_in_a_derivative_in_a_batch() -> None:
    def loss(a: Any) -> Any:
        try:
            return np.sum(np.linalg.cholesky(a))
        except np.linalg.LinAlgError:
            return np.sum(a**2)

    batch = -np.stack([np.eye(2)] * 3)
    np.testing.assert_array_equal(tm.vmap(tm.grad(loss))(batch), 2 * batch)


def test_a_function_whose_derivative_must_be_traced_is_traced_from_the_beginning() -> None:
    rule = tm.custom_rule(np.abs).jvp(lambda p, t: (np.abs(p[0]), t[0] if p[0] > 0 else -t[0]))

    def program(x: Any) -> Any:
        total = np.ones(2)
        total += x

        def loss(y: Any) -> Any:
            total[0] += 10
            return rule(y) + np.sum(y * total)

        return tm.grad(loss)(x[0]) + total

    def selects(x: Any) -> Any:
        return tm.grad(lambda y: np.sum(y[y > 0] ** 2))(x)

    expected = np.sign(X[:, :1]) + np.sum(X + 1, axis=1, keepdims=True) + 10 + X + [11, 1]
    np.testing.assert_allclose(tm.vmap(program)(X), expected)
    np.testing.assert_allclose(tm.vmap(selects)(X), 2 * np.maximum(X, 0))


def test_derivatives_with_collectives_are_traced() -> None:
    def loss(x: Any) -> Any:
        return np.sum(x * tm.psum(x, "i"))

    found = tm.vmap(tm.grad(loss), axis_name="i")(X)
    np.testing.assert_allclose(found, traced(lambda: tm.vmap(tm.grad(loss), axis_name="i")(X)))


def test_a_print_statement_prints_a_line_per_example_before_what_follows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def program(x: Any) -> Any:
        print(x)
        tm.vmap(lambda y: y)(X)
        print("after", np.sum(x))
        return x

    tm.vmap(program)(X)
    assert capsys.readouterr().out == ("[ 1. -2.]\n[0.5 3. ]\n[4. 0.]\nafter -1.0\nafter 3.5\nafter 4.0\n")


def test_numpys_exceptions_reach_the_users_try() -> None:
    def program(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return a * 2

    np.testing.assert_array_equal(
        tm.vmap(program)(-np.stack([np.eye(2)] * 3)), -2 * np.stack([np.eye(2)] * 3)
    )
    found = tm.grad(lambda a: np.sum(tm.vmap(program)(a)))(-np.stack([np.eye(2)] * 3))
    np.testing.assert_array_equal(found, np.full((3, 2, 2), 2.0))


def test_effects_happen_once_and_in_order() -> None:
    seen: list[Any] = []

    def program(x: Any) -> Any:
        y = tm.pure_callback(note, np.float64(0), x)
        seen.append("between")
        return y + tm.pure_callback(note, np.float64(0), y)

    def note(x: Any) -> Any:
        seen.append(float(x))
        return np.float64(x + 10)

    with pytest.warns(CallbackLoopWarning):
        tm.vmap(program)(np.array([1.0, 2.0]))
    assert seen == [1.0, 2.0, "between", 11.0, 12.0]


def test_values_that_differ_between_examples_are_refused_by_name() -> None:
    with pytest.raises(ConcretizationError, match=r"float\(x\) of a traced f64\[\]"):
        tm.vmap(lambda x: float(x) * x, convert=False)(np.arange(3.0))
    with pytest.raises(ConcretizationError, match="where"):
        tm.vmap(lambda x: x if x > 0 else -x, convert=False)(np.arange(3.0))


def test_a_call_that_failed_is_not_repeated_at_the_end() -> None:
    def program(x: Any) -> Any:
        with np.testing.assert_raises(IndexError):
            x[np.array(5)]
        return x + 1

    np.testing.assert_array_equal(tm.vmap(program)(X), X + 1)


# ---- what is computed at the end -------------------------------------------------------------------------


def test_lengths_that_differ_between_examples_are_computed_at_the_end() -> None:
    seen: list[str] = []

    def program(x: Any) -> Any:
        before = x * 2
        total = np.sum(before[x > 0])
        seen.append(shown(before[0]))
        return total + before[0]

    np.testing.assert_array_equal(tm.vmap(program)(X), [4.0, 8.0, 16.0])
    assert seen == ["f64[] for each of 3: [2. 1. 8.]"]


def test_effects_after_what_is_computed_at_the_end_keep_their_order(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def program(x: Any) -> Any:
        tm.debug_print("first {}", x[0])
        tm.debug_print("second {}", np.sum(x[x > 0]))
        tm.debug_print("third {}", x[1])
        return x

    tm.vmap(program)(X[:1])
    assert capfd.readouterr().out == "first 1.0\nsecond 1.0\nthird -2.0\n"


def test_chunks_are_traced() -> None:
    seen: list[str] = []

    def program(x: Any) -> Any:
        seen.append(type(x).__name__)
        return x * 2

    np.testing.assert_array_equal(tm.vmap(program, chunk_size=2)(X), X * 2)
    assert seen == ["ndarray"]


# ---- memory ----------------------------------------------------------------------------------------------


def test_writes_to_arguments_and_outside_arrays_are_those_of_the_loop() -> None:
    def program(x: Any, w: Any) -> Any:
        z = np.zeros(3)
        z[:2] = x
        x += w
        return z + x[0]

    batch, w = X.copy(), np.ones(2)
    found = tm.vmap(program, in_dims=(0, None))(batch, w)
    np.testing.assert_array_equal(batch, X + 1)
    np.testing.assert_array_equal(found, np.pad(X, ((0, 0), (0, 1))) + (X[:, :1] + 1))
    found[...] = 0
    np.testing.assert_array_equal(batch, X + 1)


STATE = np.ones(2)


class Model:
    def __init__(self) -> None:
        self.state = np.ones(2)

    def method(self, x: Any) -> Any:
        self.state[0] += 1
        return np.sum(x * self.state)


def counting(x: Any) -> Any:
    STATE[0] += 1
    return np.sum(x * STATE)


def filling(x: Any) -> Any:
    STATE.fill(3)
    return np.sum(x * STATE)


def into_a_result(x: Any) -> Any:
    np.add(STATE, 1, out=STATE)
    return np.sum(x * STATE)


def through_a_view(x: Any) -> Any:
    view = STATE[1:]
    view += 1
    return np.sum(x)


def writing_what_is_mapped(x: Any) -> Any:
    STATE[0] = x[0]
    return np.sum(x * STATE)


WRITING = [counting, filling, into_a_result, through_a_view, writing_what_is_mapped, Model().method]


@pytest.mark.parametrize("function", WRITING)
def test_writes_to_arrays_from_outside_are_refused_as_in_a_compiled_batch(
    function: Callable[..., Any],
) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: tm.compile(tm.vmap(function))(X),
        lambda: tm.vmap(function)(X),
        lambda: tm.vmap(function, chunk_size=2)(X),
        lambda: tm.vmap(tm.vmap(function))(X[None]),
        lambda: tm.vmap(tm.grad(function))(X),
        lambda: tm.grad(lambda x: np.sum(tm.vmap(function)(x)))(X),
        lambda: tm.jacrev(tm.vmap(function))(X),
        lambda: tm.vmap(lambda _, x: function(x), in_dims=(None, 0))({"a": STATE}, X),
    ]
    for call in calls:
        with pytest.raises(
            TransformArgumentError, match=r"writes to an array float64\[2\] from outside, which is not"
        ):
            call()
        np.testing.assert_array_equal(STATE, [1.0, 1.0])


def test_writes_to_arrays_that_an_argument_holds_are_refused() -> None:
    model = Model()
    with pytest.raises(TransformArgumentError, match="from outside"):
        tm.vmap(lambda m, x: m.method(x), in_dims=(None, 0))(model, X)
    np.testing.assert_array_equal(model.state, [1.0, 1.0])


def test_callbacks_may_write_to_arrays_from_outside() -> None:
    seen = np.zeros(2)

    def note(x: Any) -> Any:
        seen[0] += 1
        seen[1] += x
        return np.float64(x)

    def program(x: Any) -> Any:
        return tm.pure_callback(note, np.float64(0), x[0]) + seen.size

    with pytest.warns(CallbackLoopWarning):
        np.testing.assert_array_equal(tm.vmap(program)(X), X[:, 0] + 2)
    np.testing.assert_array_equal(seen, [3.0, 5.5])


# ---- every op, and random programs -----------------------------------------------------------------------

MAPPED = SAMPLES.where(lambda sample: sample.shapes and not (sample.single or sample.coupled))
FIRST = some_of(MAPPED, 0)


TOLERANCES = {8: 1e-9, 4: 1e-3, 2: 0.1}
"""By the bytes of a real number."""


def check(function: Callable[..., Any], args: Sequence[Any]) -> None:
    found, wanted = function(*args), traced(lambda: function(*args))
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape, type(one)) == (other.dtype, other.shape, type(other))
        is_wide = one.dtype.kind != "V"  # bfloat16, whose NaN NumPy does not know
        np.testing.assert_array_equal(*(x if is_wide else x.astype(np.float32) for x in (one, other)))


@pytest.mark.filterwarnings("ignore::tracemill.compiler.errors.CallbackLoopWarning")
@of_each_sample(MAPPED, FIRST[::15], FIRST[::4])
def test_batches_of_every_op_are_those_of_its_graph(sample: Sample) -> None:
    case = mapped(case_of(sample))
    check(case.function, case.draw(0))
    if any(sample.differentiated) and sample.smooth and sample.generic:
        check_gradients(tm.grad, case.function, case.draw(0), case.wrt)
        own = case_of(sample).function
        check_gradients(lambda loss, places: tm.vmap(tm.grad(loss, places)), own, case.draw(0), case.wrt)


def check_gradients(
    transform: Callable[..., Any], function: Callable[..., Any], args: Sequence[Any], wrt: Sequence[bool]
) -> None:
    """The gradient of a batch, or a batch of gradients."""

    def loss(*args: Any) -> Any:
        outputs = [out for out in function(*args) if out.dtype.kind in "fc"]
        return sum((np.sum(np.abs(np.cos(out)) ** 2) for out in outputs), 0.0)

    gradients = transform(loss, tuple(place for place, is_wanted in enumerate(wrt) if is_wanted))
    found, wanted = gradients(*args), traced(lambda: gradients(*args))
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = TOLERANCES[one.real.dtype.itemsize]
        np.testing.assert_allclose(
            one.astype(complex), other, rtol=tolerance, atol=tolerance * np.abs(other).max(initial=1.0)
        )


def check_program(program: Program) -> None:
    function = program.function

    def results(*args: Any) -> tuple[Any, ...]:
        found = function(*args)
        return found if isinstance(found, tuple) else (found,)

    def loss(*args: Any) -> Any:
        return sum(np.sum(np.cos(x)) for x in results(*args))

    args = [np.stack([x, x * 0.5, np.cos(x)]) for x in program.arguments(program.sizes[0])]
    check(tm.vmap(results), args)
    slopes = tm.vmap(tm.grad(loss, (0, 1, 2)))
    for one, other in zip(slopes(*args), traced(lambda: slopes(*args)), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max(initial=1.0))


@settings(max_examples=6, deadline=None, derandomize=True)
@given(programs(steps=3))
def test_batches_of_random_programs_are_those_of_their_graphs(program: Program) -> None:
    check_program(program)


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None)
@given(programs())
def test_batches_of_many_random_programs_are_those_of_their_graphs(program: Program) -> None:
    check_program(program)
