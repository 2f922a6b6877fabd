"""`raise` and `assert` on values: the compiled call raises Python's error, or computes the result."""

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.asserting import OutsideError, asserted, messages
from samples.thinning import mostly_on_numpy
from tracemill.compiler.errors import RecompileWarning, SideEffectError

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])


class NoRootError(Exception):
    """A user's exception."""


def root(x: Any) -> Any:
    if x < 0:
        raise ValueError("negative")
    found = x
    while abs(found * found - x) > 1e-9:  # never ends for what is negative
        found = 0.5 * (found + x / found)
    return found


def halved(x: Any) -> Any:
    for i in range(100):
        x = x * 0.5
        if abs(x) < 1e-3:
            return i, x
    raise NoRootError("too large", 100)


def checked(x: Any) -> Any:
    total = 0.0
    for i in range(40):
        if x[i] > 9:
            raise OverflowError("too much")
        total += x[i]
    return total


def in_a_function(x: Any) -> Any:
    def check(value: Any) -> None:
        if value == 0:
            raise ZeroDivisionError

    check(x)
    return 1 / x


@pytest.mark.sampled(every=6)
@BACKENDS
@pytest.mark.parametrize(
    ("function", "right", "wrong"),
    [
        (root, (4.0,), (-1.0,)),
        (halved, (4.0,), (1e300,)),
        (asserted, (4.0,), (-1.0,)),
        (asserted, (4.0,), (np.inf,)),
        (checked, (np.ones(40),), (np.arange(40.0),)),
        (in_a_function, (2.0,), (0.0,)),
    ],
)
@pytest.mark.usefixtures("c_compiler")
def test_a_compiled_call_raises_what_python_raises(
    function: Any, right: tuple[Any, ...], wrong: tuple[Any, ...], backend: str
) -> None:
    compiled: Any = tm.compile(function, backend=backend)
    np.testing.assert_allclose(compiled(*right), function(*right))
    with pytest.raises(Exception) as expected:  # noqa: PT011 (of any kind: the other must be of the same)
        function(*wrong)
    with pytest.raises(type(expected.value)) as found:
        compiled(*wrong)
    assert found.value.args == expected.value.args
    assert any("raised at" in note for note in found.value.__notes__)
    np.testing.assert_allclose(compiled(*right), function(*right))


def test_nested_loops_end_at_an_error() -> None:
    def function(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        total = 0.0
        for _ in range(40):
            while total * total < x * 0 - x if x < 0 else total < 1:
                total = total + (0.0 if x < 0 else 1.0)
            total = total + 1 if x > 2 else total + 2
        return total

    compiled = tm.compile(function)
    assert compiled(1.0) == function(1.0)
    with pytest.raises(ValueError, match="negative"):
        compiled(-1.0)


def test_transforms_raise_for_any_example() -> None:
    with pytest.raises(AssertionError, match="not positive"):
        tm.vmap(asserted)(np.array([1.0, -1.0]))
    with pytest.raises(AssertionError, match="not positive"):
        tm.compile(tm.vmap(asserted), backend="numpy")(np.array([1.0, -1.0]))
    with pytest.raises(AssertionError, match="not positive"):
        tm.grad(asserted)(-1.0)
    np.testing.assert_allclose(tm.vmap(asserted)(np.array([1.0, 4.0])), [1.0, 2.0])
    assert tm.grad(asserted)(4.0) == 0.25


def test_an_error_on_values_reaches_the_handler_of_the_function() -> None:
    def function(x: Any) -> Any:
        try:
            if x < 0:
                raise ValueError("negative")
            y = np.sqrt(x)
        except ValueError:
            y = x * 0
        return y

    compiled = tm.compile(function)
    assert compiled(4.0) == 2.0
    assert compiled(-1.0) == 0.0
    assert compiled(9.0) == 3.0


def test_an_error_that_does_not_depend_on_values_is_raised_while_tracing() -> None:
    def function(x: Any) -> Any:
        if x > 0:
            raise KeyError("one")
        raise KeyError("other")

    with pytest.raises(KeyError):
        tm.compile(function)(1.0)


def test_the_first_of_several_errors_is_raised() -> None:
    def function(x: Any) -> Any:
        for _ in range(40):
            if x[0] > 3:
                raise ValueError("second")
            for k in range(40):
                if x[1] > k:
                    raise ValueError("first" if k < 1 else "later")
            x = x + np.array([1.0, 0.0])
        raise ValueError("last")

    compiled = tm.compile(function)
    for x in (np.array([0.0, 0.0]), np.array([0.0, 1.0]), np.array([5.0, 1.0]), np.array([-100.0, 0.0])):
        with pytest.raises(ValueError, match=r"first|second|later|last") as expected:
            function(x)
        with pytest.raises(ValueError, match=str(expected.value)):
            compiled(x)


def test_an_error_on_values_comes_before_a_later_unconditional_one() -> None:
    def function(x: Any) -> Any:
        if x > 0:
            if x > 5:
                raise KeyError("large")
            raise ValueError("positive")
        return x

    compiled = tm.compile(function)
    assert compiled(-1.0) == -1.0
    with pytest.raises(ValueError, match="positive"):
        compiled(2.0)
    with pytest.raises(KeyError, match="large"):
        compiled(6.0)


def test_a_loop_whose_body_always_raises_does_so_if_it_has_an_iteration() -> None:
    def in_while(x: Any) -> Any:
        while x > 0:
            if x > 5:
                raise KeyError("large")
            raise ValueError("positive")
        return x

    def in_for(x: Any) -> Any:
        for _ in range(int(x[0])):
            raise ValueError("positive")
        return x

    for compiled, low, high in (
        (tm.compile(in_while), -1.0, 2.0),
        (tm.compile(in_for), np.array([-1.0]), np.array([2.0])),
    ):
        assert compiled(low) == low
        with pytest.raises(ValueError, match="positive"):
            compiled(high)
    with pytest.raises(KeyError, match="large"):
        tm.compile(in_while)(6.0)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_message_shows_the_values_of_the_call(backend: str) -> None:
    compiled = tm.compile(messages, backend=backend, on_recompile="ignore")
    calm = np.zeros(4)
    for args in (
        (-0.5, 2, calm),
        (11.5, 2, calm),
        (0.5, 7, calm),
        (0.5, 4, np.array([0.0, 1.0, 2.0, 3.0])),
        (0.5, 2, np.array([7.0, 0, 0, 1.0])),
    ):
        with pytest.raises(Exception, match=r".") as expected:
            messages(*args)
        with pytest.raises(type(expected.value)) as found:
            compiled(*args)
        assert found.value.args == expected.value.args
    with pytest.raises(OutsideError, match="beyond") as outside:
        compiled(11.5, 2, calm)
    assert outside.value.value == 23.0
    assert compiled(0.5, 2, calm) == 1.5


def test_a_batch_shows_the_values_of_the_first_example_that_raises() -> None:
    def root(x: Any) -> Any:
        if x < 0:
            raise ValueError(f"negative: {x}")
        return np.sqrt(x)

    for transform in (tm.vmap(root), tm.compile(tm.vmap(root)), tm.vmap(tm.grad(root))):
        with pytest.raises(ValueError, match=r"negative: -2\.0"):
            transform(np.array([1.0, -2.0, -3.0]))


def test_values_in_containers_of_an_exception_are_numbers() -> None:
    def bounded(x: Any) -> Any:
        if x[0] > 5:
            raise AssertionError(("too large", x.min()))
        if x[1] > 5:
            raise NoRootError({"at": 1, "found": [x[1], x.sum()]})
        return x

    compiled = tm.compile(bounded)
    np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), [1.0, 2.0])
    for x in (np.array([9.0, 2.0]), np.array([1.0, 8.0]), np.array([1.0, 7.0])):
        with pytest.raises((AssertionError, NoRootError)) as wanted:
            bounded(x)
        with pytest.raises(wanted.type) as raised:
            compiled(x)
        assert repr(raised.value) == repr(wanted.value)


@BACKENDS
def test_a_program_ends_where_values_say_so_and_not_while_tracing(backend: Any) -> None:
    def ending(x: Any) -> Any:
        x[0] += 1
        if x[0] > 5:
            print("ends")
            sys.exit(3)
        if x[1] > 5:
            raise SystemExit("ends")
        return x

    compiled = tm.compile(ending, backend=backend)
    np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), [2.0, 2.0])
    for x, status in ((np.array([9.0, 2.0]), 3), (np.array([1.0, 8.0]), "ends")):
        with pytest.raises(SystemExit) as raised:
            compiled(given := x.copy())
        assert raised.value.code == status
        assert given[0] == x[0] + 1


class _StopAllError(BaseException):
    pass


@BACKENDS
@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, _StopAllError])
def test_what_is_no_exception_is_raised_where_values_say_so(kind: Any, backend: Any) -> None:
    def ending(x: Any) -> Any:
        x[0] += 1
        for value in x:
            if value > 5:
                raise kind("ends", value)
        return x

    compiled = tm.compile(ending, backend=backend)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecompileWarning)
            np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), [2.0, 2.0])
            with pytest.raises(kind) as raised:
                compiled(given := np.array([1.0, 8.0]))
        assert raised.value.args == ("ends", 8.0)
        assert given[0] == 2.0


def test_exports_refuse_what_is_no_exception() -> None:
    def ending(x: Any) -> Any:
        if x > 5:
            raise KeyboardInterrupt
        return x * x

    with pytest.raises(SideEffectError, match="raise a subclass of Exception"):
        tm.export(ending, "f64[]")


def test_an_exported_function_raises() -> None:
    function = tm.export(asserted, "f64[]").function()
    assert function(np.float64(4.0)) == asserted(4.0)
    with pytest.raises(AssertionError):
        function(np.float64(-1.0))


def test_a_loop_that_shows_its_counter_in_an_error_is_traced_once() -> None:
    def checked(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            if x[i] < 0:
                raise ValueError(f"entry {i} is {x[i]:.1f}, of {len(x)!s}")
            total += np.sqrt(x[i])
        return total

    x = np.arange(40.0)
    compiled = tm.compile(checked)
    np.testing.assert_allclose(compiled(x), checked(x))
    assert "scan" in compiled.lower(x).graph.code
    x[30] = -2.0
    with pytest.raises(ValueError, match=r"entry 30 is -2\.0, of 40"):
        compiled(x)


def test_checks_are_left_out_on_request() -> None:
    def checked(x: Any, mode: str = "usual") -> Any:
        if mode != "usual":
            raise ValueError("the mode is known")
        if np.any(x < 0):
            raise ValueError(f"negative: {x.min()}")
        for i in range(40):
            if x[i] > 100:
                raise ValueError("too large")
        return np.sqrt(np.abs(x)).sum()

    x = np.linspace(-4, 200, 40)
    for options in ({"backend": "numpy"}, {"backend": "c"}):
        compiled = tm.compile(checked, checks=False, **options)  # type: ignore[call-overload]
        assert compiled(x) == pytest.approx(np.sqrt(np.abs(x)).sum())
        assert "raise_if" not in compiled.lower(x).graph.code
        with pytest.raises(ValueError, match="the mode is known"):
            compiled(x, "other")
    with pytest.raises(ValueError, match="negative: -4"):
        tm.compile(checked)(x)
    exported = tm.export(checked, "x: f64[40]", checks=False).function()
    assert exported(x) == pytest.approx(np.sqrt(np.abs(x)).sum())
    assert tm.compile(asserted, checks=False)(np.float64(-1.0)) != 0
    with pytest.raises(ValueError, match="negative dimensions"):
        tm.compile(np.zeros, checks=False)(np.int64(-1))


def test_a_function_without_checks_has_none_inside_another() -> None:
    inner = tm.compile(asserted, checks=False)
    assert np.isnan(tm.compile(lambda x: inner(x) * 2)(np.float64(-1.0)))
    with pytest.raises(AssertionError):
        tm.compile(lambda x: tm.compile(asserted)(x) * 2)(np.float64(-1.0))
    assert np.isnan(tm.compile(tm.vmap(asserted), checks=False)(np.array([-1.0, 4.0]))[0])


# ---- what has been written before ----------------------------------------------------------------------

TABLE = np.zeros(3)


def in_the_middle(x: Any) -> None:
    x[0] = 5.0
    if np.any(x < 0):
        raise ValueError("negative")
    x[1] = 6.0


def through_a_view(x: Any) -> None:
    x[::2] *= 2.0
    if not np.all(x > 0):  # pytest makes other code of an `assert`
        raise AssertionError("not positive")
    x += 1.0


def in_a_loop(x: Any) -> None:
    for i in range(len(x)):
        x[i] = x[i] * 2 + 1
        if x[i] < 0:
            raise ValueError("negative")


def in_a_while(x: Any) -> None:
    while np.sum(x) < 100:
        x *= 2
        if np.max(x) > 20:
            raise OverflowError("too large")


def into_another_array(x: Any) -> None:
    TABLE[:] = x
    if x[2] < 0:
        raise ValueError("negative")
    TABLE[:] = 0.0


def by_linear_algebra(x: Any) -> None:
    x += 1.0
    x[:] = np.linalg.solve(np.outer(x, x), x)


@pytest.mark.sampled("in_a_while-numpy-None", "by_linear_algebra-numpy-True", "through_a_view-c-None")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    ("function", "backend"),
    mostly_on_numpy(
        [in_a_loop, in_the_middle, in_a_while, through_a_view, into_another_array, by_linear_algebra], 3
    ),
)
def test_arrays_of_the_caller_have_what_numpy_writes_before_an_error(
    function: Any, dynamic: Any, backend: str
) -> None:
    compiled = tm.compile(function, backend=backend, dynamic=dynamic)
    for _ in range(2):
        found: list[Any] = []
        for call in (function, compiled):
            TABLE[:] = 9.0
            x = np.array([1.0, 2.0, -3.0])
            with pytest.raises(Exception, match=r".") as raised:
                call(x)
            found.append((x.tolist(), TABLE.tolist(), raised.type.__mro__))
        theirs, ours = found
        assert ours[:2] == theirs[:2]
        assert theirs[2][0] in ours[2]


def test_a_function_that_prints_prints_once_and_changes_its_argument(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def told(x: Any) -> None:
        print("before")
        in_the_middle(x)

    outcomes = []
    for called in (told, tm.compile(told)):
        x = np.array([1.0, -2.0])
        with pytest.raises(ValueError, match="negative"):
            called(x)
        outcomes.append((capsys.readouterr().out, list(x)))
    assert outcomes[0] == outcomes[1]


def test_a_call_that_gets_another_program_writes_once() -> None:
    """The program for other values says that it is not for this call, by an exception."""

    def doubled(x: Any, y: Any) -> Any:
        x *= 2.0
        if y[0] > 0:
            return x[:1] + 0
        return x + 0

    compiled = tm.compile(doubled, on_recompile="ignore")
    for sign in (1.0, -1.0, 1.0, -1.0):
        x = np.ones(2)
        compiled(x, np.array([sign]))
        np.testing.assert_array_equal(x, [2.0, 2.0])


def inverse(a: Any) -> Any:
    if np.linalg.det(a) == 0:
        raise NoRootError("singular")
    return np.linalg.inv(a)


def factor(a: Any) -> Any:
    assert a[0, 0] > 0, "not positive"
    return np.linalg.cholesky(a)


@BACKENDS
@pytest.mark.parametrize(("function", "error"), [(inverse, NoRootError), (factor, AssertionError)])
def test_a_check_rules_out_numpys_error_after_it(function: Any, error: type[Exception], backend: str) -> None:
    compiled: Any = tm.compile(function, backend=backend)
    np.testing.assert_allclose(compiled(np.eye(2) * 2), function(np.eye(2) * 2))
    with pytest.raises(error, match=r"singular|not positive"):
        compiled(np.zeros((2, 2)))


def test_numpys_error_stays_where_the_check_holds() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        tm.compile(factor)(np.array([[1.0, 3.0], [3.0, 1.0]]))
