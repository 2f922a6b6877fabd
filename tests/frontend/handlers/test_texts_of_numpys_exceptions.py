"""What a handler of the function sees of an exception of NumPy's: its class, its text and its arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([[1.0, 2.0], [2.0, 4.0]])


def divided_in_place(x: Any) -> Any:
    counts = np.zeros((2, 2), int)
    counts += x
    return counts


def written(x: Any) -> Any:
    y = x.copy()
    y[:2] = np.ones(5)
    return y


def added_in_place(x: Any) -> Any:
    row = x[0].copy()
    row += x
    return row


def read_only(x: Any) -> Any:
    y = x * 2
    y.flags.writeable = False
    y[0] = x[1]
    return y


CALLS: dict[str, Callable[[Any], Any]] = {
    "inv of a singular matrix": np.linalg.inv,
    "inv of a row": lambda x: np.linalg.inv(x[:1]),
    "inv of a vector": lambda x: np.linalg.inv(x[0]),
    "cholesky": np.linalg.cholesky,
    "solve": lambda x: np.linalg.solve(x, np.ones(7)),
    "sum of shapes": lambda x: x + np.ones(5),
    "matmul": lambda x: x @ np.ones(5),
    "dot": lambda x: np.dot(x, np.ones(7)),
    "where": lambda x: np.where(x > 0, np.ones(7), x),
    "einsum": lambda x: np.einsum("ij,jk->ik", x, np.ones((7, 2))),
    "bits": lambda x: x & x,
    "power": lambda x: x.astype(int) ** -1,
    "reshape": lambda x: x.reshape(7),
    "squeeze": lambda x: x.squeeze(0),
    "transpose": lambda x: np.transpose(x, (0, 1, 2)),
    "concatenate": lambda x: np.concatenate([x, np.ones(5)]),
    "stack": lambda x: np.stack([x, np.ones(5)]),
    "split": lambda x: np.split(x, 7),
    "broadcast_to": lambda x: np.broadcast_to(x, (3, 3)),
    "axis": lambda x: x.sum(axis=5),
    "maximum of nothing": lambda x: x[:0].max(),
    "index": lambda x: x[7],
    "indices": lambda x: x[0, 0, 0],
    "array of indices": lambda x: x[np.array([0, 9])],
    "take": lambda x: np.take(x, 9),
    "mask": lambda x: x[np.ones(7, bool)],
    "computed index": lambda x: x[int(x[0, 0]) * 40 + 9],
    "written": written,
    "added in place": added_in_place,
    "cast in place": divided_in_place,
    "read-only": read_only,
    "attribute": lambda x: x.foo,
    "attribute of a number": lambda x: x[0, 0].foo,
    "attribute of Python's number": lambda x: getattr(len(x) * 2, "foo"),  # noqa: B009
    "float": float,
    "item": lambda x: x.item(),
    "parameter": lambda x: np.sum(x, foo=3),  # type: ignore[call-overload]
    "computed length": lambda x: x[x > 0] + np.ones(9),
    "computed length in a product": lambda x: x[x > 0] @ np.ones(9),
    "computed length in a reshape": lambda x: x[x > 0].reshape(-1, 3),
    "nothing selected": lambda x: x[x > 9].max(),
}


def handled(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        try:
            call(x)
        except Exception as error:
            return x.sum(), (type(error).__name__, str(error), f"{error}", repr(error), repr(error.args))
        return x.sum(), None

    return function


@pytest.mark.parametrize("name", CALLS)
def test_a_handler_sees_numpys_exception(name: str) -> None:
    function = handled(CALLS[name])
    with np.errstate(all="ignore"):
        expected = function(X)[1]
    assert expected is not None
    assert tm.compile(function, backend="numpy")(X.copy())[1] == expected
    assert tm.value_and_grad(function, has_aux=True)(X.copy())[0][1] == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_handler_in_a_compiled_derivative_sees_numpys_exception(name: str) -> None:
    function = handled(CALLS[name])
    compiled = tm.compile(tm.value_and_grad(function, has_aux=True))
    (_, text), slope = compiled(X.copy())
    assert text == function(X)[1]
    np.testing.assert_array_equal(slope, np.ones((2, 2)))


def test_the_text_has_the_sizes_of_the_call() -> None:
    def f(x: Any) -> Any:
        try:
            return x + np.ones(5), ""
        except ValueError as error:
            return x * 2, str(error)

    compiled = tm.compile(f, on_recompile="ignore")
    for length in (2, 3, 5, 6, 3):
        (found, text), (expected, own) = compiled(np.arange(length) * 1.0), f(np.arange(length) * 1.0)
        np.testing.assert_array_equal(found, expected)
        assert text == own


def test_a_handler_that_does_not_look_at_its_exception_needs_no_size() -> None:
    @tm.compile(on_recompile="ignore")
    def f(x: Any) -> Any:
        try:
            return x + np.ones(5)
        except ValueError:
            return x * 2

    for length in (2, 3, 6, 7):
        f(np.arange(length) * 1.0)
    assert len(f.signatures()) == 2


def test_an_exception_that_leaves_the_function_names_the_line() -> None:
    def again(x: Any) -> Any:
        try:
            return x + np.ones(5)
        except ValueError as error:
            if str(error).startswith("Singular"):
                return x
            raise

    def of_another_class(x: Any) -> Any:
        try:
            return x + np.ones(5)
        except ValueError as error:
            raise RuntimeError(f"bad: {error}") from error

    for transform in (tm.compile, tm.grad):
        with pytest.raises(tm.errors.ShapeError, match=r"at test_texts_of_numpys_exceptions\.py:\d+"):
            transform(again)(X)
        with pytest.raises(RuntimeError, match=r"^bad: operands could not be .* \(2,2\) \(5,\) $") as found:
            transform(of_another_class)(X)
        assert type(found.value.__cause__) is ValueError


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_an_array_can_be_made_read_only(backend: str) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        before = y[:1]
        y.flags.writeable = False
        after = y[1:]
        before += 5.0
        texts = []
        for one in (y, after):
            try:
                one[0] = x[0]
            except ValueError as error:
                texts.append(str(error))
        y.setflags(write=True)
        y[1] = x[0]
        return y, texts, y.flags.writeable, after.flags["W"]

    found, expected = tm.compile(f, backend=backend)(X), f(X)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1:] == expected[1:]


def test_writing_to_an_array_that_is_made_read_only_is_refused_as_by_numpy() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y.flags["WRITEABLE"] = False
        y += 1
        return y

    with pytest.raises(ValueError, match="output array is read-only"):
        f(X)
    with pytest.raises(tm.errors.ReadOnlyError, match="writeable"):
        tm.compile(f)(X)


def test_a_function_of_the_user_is_not_called_again_for_the_text() -> None:
    calls = []

    def part(row: Any) -> Any:
        calls.append(1)
        return row[:2] if row[0] > 1 else row

    def f(x: Any) -> Any:
        try:
            np.apply_along_axis(part, 0, np.outer(x, x))
        except ValueError as error:
            str(error)
        return x.sum()

    tm.value_and_grad(f)(np.array([1.0, -2.0, 3.0, 0.5]))
    assert len(calls) <= 4
