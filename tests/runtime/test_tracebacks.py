"""Errors end with their code and the command that explains it, and tracebacks show the frames of the user's program."""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler import errors
from tracemill.compiler.callers.user_code import is_generated, is_own
from tracemill.compiler.errors.tracemill_error import text_of


def broadcast(x: Any, w: Any) -> Any:
    return np.sin(x) * w


def raises_its_own(x: Any) -> Any:
    y = x + 1
    raise LookupError(f"of the user, {y.ndim}")


def summed(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + broadcast(x, np.ones(2))[i]
    return total


def divides(pair: Any) -> Any:
    a, b = pair
    return a @ b


@tm.custom_rule
def ruled(x: Any) -> Any:
    return x * np.ones(5)


ruled.jvp(lambda primals, tangents: tangents[0])
X = np.ones((2, 3))

FAULTS: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "shapes, compiled": (lambda: tm.compile(broadcast)(X, np.ones(2)), errors.ShapeError),
    "an axis": (lambda: tm.compile(lambda x: np.sum(x, axis=4))(X), errors.AxisError),
    "an index": (lambda: tm.compile(lambda x: x[7])(X), errors.OutOfBoundsError),
    "shapes of matrices": (lambda: tm.compile(np.linalg.inv)(X), errors.MatrixShapeError),
    "dtypes": (lambda: tm.compile(np.bitwise_and)(X, X), errors.DTypeError),
    "a value under vmap": (lambda: tm.vmap(lambda n: [0.0] * n)(np.arange(2)), errors.ConcretizationError),
    "shapes under vmap": (lambda: tm.vmap(broadcast)(X, np.ones((2, 2))), errors.ShapeError),
    "sizes of a batch": (lambda: tm.vmap(broadcast)(X, np.ones(5)), errors.TransformArgumentError),
    "a derivative": (lambda: tm.grad(np.sin)(X), errors.NonScalarOutputError),
    "shapes in a gradient": (lambda: tm.grad(summed)(X), errors.ShapeError),
    "an argument of a gradient": (lambda: tm.grad(np.sin, 3)(1.0), errors.TransformArgumentError),
    "a Jacobian": (lambda: tm.jacfwd(lambda x: broadcast(x, np.ones(2)))(X), errors.ShapeError),
    "a cotangent": (lambda: tm.vjp(np.sin, X)[1](np.ones(7)), errors.TracemillError),
    "a tangent": (lambda: tm.jvp(np.sin, (X,), (np.ones(7),)), errors.TracemillError),
    "branches": (
        lambda: tm.compile(lambda x: tm.cond(x[0, 0] > 0, lambda x: x, lambda x: (x, x), x))(X),
        errors.BranchMismatchError,
    ),
    "a carry": (lambda: tm.scan(lambda c, x: (c[None], x), np.ones(()), X), errors.CarryMismatchError),
    "a loop": (lambda: tm.while_loop(lambda c: True, lambda c: (c, c), X), errors.TracemillError),
    "a custom rule": (lambda: tm.grad(lambda x: np.sum(ruled(x)))(X), errors.ShapeError),
    "a backend": (lambda: tm.compile(np.sin, backend="cobol"), errors.BackendError),
    "options": (lambda: tm.compile(np.sin, max_variants=-1), errors.TracemillError),
    "no function": (lambda: tm.grad(1), errors.TransformTypeError),  # type: ignore[arg-type]
    "nested transforms": (
        lambda: tm.compile(tm.vmap(tm.grad(summed)))(np.ones((2, 2, 3))),
        errors.ShapeError,
    ),
    "matrix products": (lambda: tm.compile(divides)((X, X)), errors.ShapeError),
    "export": (lambda: tm.export(broadcast, X, np.ones(2)), errors.ShapeError),
    "the user's own": (lambda: tm.compile(raises_its_own)(X), LookupError),
    "the user's own in a gradient": (lambda: tm.grad(raises_its_own)(X), LookupError),
    "NumPy's in a program": (
        lambda: tm.compile(np.linalg.inv, backend="numpy")(np.zeros((2, 2))),
        np.linalg.LinAlgError,
    ),
    "no file": (lambda: tm.load("no such file.tmill"), FileNotFoundError),
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> BaseException:
    call, kind = FAULTS[request.param]
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def files_of(error: BaseException) -> list[str]:
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]


def test_a_traceback_shows_the_frames_of_the_users_program(fault: BaseException) -> None:
    assert not any(map(is_own, files_of(fault)))
    assert sum(map(is_generated, files_of(fault))) <= 1


def test_an_error_ends_with_its_code_and_the_command_that_explains_it(fault: BaseException) -> None:
    if not isinstance(fault, errors.TracemillError):
        assert "tracemill explain" not in str(fault)
        return
    assert str(fault).endswith(f"\n    [{fault.code}: tracemill explain {fault.code}]")
    assert str(fault).count("tracemill explain") == 1
    assert "tracemill explain" not in text_of(fault)
    assert text_of(fault).startswith(fault.message)


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_DEBUG", "1")
    for name in ("shapes, compiled", "sizes of a batch", "export", "a backend"):
        call, kind = FAULTS[name]
        with pytest.raises(kind) as caught:
            call()
        assert any(map(is_own, files_of(caught.value))), name


def test_lines_of_the_user_stay_in_order() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        tm.compile(tm.grad(summed))(X)
    found = [
        (frame.f_code.co_name, Path(frame.f_code.co_filename).name)
        for frame, _ in traceback.walk_tb(caught.value.__traceback__)
    ]
    assert found == [
        ("test_lines_of_the_user_stay_in_order", "test_tracebacks.py"),
        ("summed", "test_tracebacks.py"),
        ("broadcast", "test_tracebacks.py"),
    ]


def test_the_errors_that_led_to_an_error_show_the_users_frames_as_well() -> None:
    def inner(x: Any) -> Any:
        try:
            return broadcast(x, np.ones(2))
        except ValueError as error:
            raise LookupError("of the user") from error

    with pytest.raises(LookupError) as caught:
        tm.compile(inner)(X)
    assert isinstance(caught.value.__cause__, ValueError)
    assert not any(map(is_own, [*files_of(caught.value), *files_of(caught.value.__cause__)]))


def test_bugs_of_tracemill_show_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> Any:
        raise errors.InternalError("a bug")

    compiled = tm.compile(np.sin)
    monkeypatch.setattr(compiled, "_call_general", fails)
    with pytest.raises(errors.InternalError) as caught:
        compiled(X)
    assert any(map(is_own, files_of(caught.value)))


def test_an_error_at_an_instruction_without_a_line_stays_what_it_is() -> None:
    """As one that the handler of a signal raises between two lines."""

    def interrupted(x: Any) -> Any:
        raise KeyError("between lines")

    no_lines = b"\xff" * len(interrupted.__code__.co_code)
    interrupted.__code__ = interrupted.__code__.replace(co_linetable=no_lines)
    with pytest.raises(KeyError, match="between lines") as caught:
        tm.vmap(lambda x: interrupted(x) + 1)(X)
    assert [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.tb)][-1] == "interrupted"
