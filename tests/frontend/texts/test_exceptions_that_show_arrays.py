"""Exceptions that show what a program cannot give its caller, such as a selection: the function itself raises them."""

import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.asserting import holds_a_selection, shows_a_selection

RIGHT = np.array([1.0, 2.0, 3.0, 0.5, 7.0])
WRONG = np.array([1.0, -2.0, 3.0, -0.25, 7.0])
MANY = np.where(np.arange(200) % 50 == 7, -1.0, np.arange(200.0))

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])


class NegativeError(Exception):
    """A user's exception with arrays as attributes."""

    def __init__(self, values: Any, where: Any) -> None:
        super().__init__(f"{len(values)} values: {values}")
        self.values, self.where = values, where


class LazyError(ValueError):
    """An exception whose text is made when it is shown."""

    def __init__(self, *, values: Any) -> None:
        self.values = values

    def __str__(self) -> str:
        return f"bad: {self.values}"


def _selection(x: Any) -> Any:
    if (x < 0).any():
        raise ValueError(f"bad: {x[x < 0]}")
    return np.sqrt(x)


def _whole_array(x: Any) -> Any:
    if x.min() < 0:
        raise ValueError(f"bad: {x} {x!r}")
    return np.sqrt(x)


def _attributes(x: Any) -> Any:
    if (x < 0).any():
        raise NegativeError(x[x < 0], np.flatnonzero(x < 0))
    return x.sum()


def _shown_later(x: Any) -> Any:
    if (x < 0).any():
        raise LazyError(values=x[x < 0])
    return x.sum()


def _text_before(x: Any) -> Any:
    if (x < 0).any():
        message = f"bad: {x[x < 0]}, " + "least {:.2f}, ".format(x.min()) + "at %d" % x.argmin()  # noqa: UP031, UP032
        raise ValueError(message)
    return x.sum()


def _chosen_text(x: Any) -> Any:
    low = x.min()
    if low < 0:
        message = f"least {low:.2f}" if low < -1 else f"least {low:.4f}"
        raise ValueError(message)
    return x.sum()


def _with_a_note(x: Any) -> Any:
    if (x < 0).any():
        error = ValueError("bad")
        error.add_note(f"values {np.array2string(x[x < 0], precision=1)}")
        raise error
    return x.sum()


def _in_a_helper(x: Any) -> Any:
    def fail(values: Any) -> None:
        raise KeyError(str(values[values < 0]))

    if x.min() < 0:
        fail(x)
    return x.sum()


def _while_writing(x: Any) -> Any:
    x *= 2
    x[0] = 100
    if np.any(x < 0):
        raise ValueError(f"bad: {x[x < 0]}")
    x[1] = 200
    return x.mean()


def _in_a_loop(x: Any) -> Any:
    for i, value in enumerate(x):
        x[i] += 1
        if value < 0:
            raise ValueError(f"x[{i}] = {value:.3f} after {x[:i]}")
    return x.sum()


def _group(x: Any) -> Any:
    if (x < 0).any():
        raise ExceptionGroup("bad", [ValueError(f"{x[x < 0]}"), TypeError("other")])
    return x.sum()


def _with_a_cause(x: Any) -> Any:
    if (x < 0).any():
        raise ValueError("bad") from KeyError("cause")
    return x.sum()


def _complex(x: Any) -> Any:
    z = x + 1j
    if z[1].real < 0:
        raise ValueError(f"z = {z[1]}, {z[:2]}")
    return z.sum()


def _end(x: Any) -> Any:
    if (x < 0).any():
        raise SystemExit(f"bad: {x[x < 0]}")
    return x.sum()


def _exit(x: Any) -> Any:
    if (x < 0).any():
        sys.exit(f"bad: {x[x < 0]}")
    return x.sum()


FUNCTIONS = [
    _selection,
    _whole_array,
    holds_a_selection,
    shows_a_selection,
    _attributes,
    _shown_later,
    _text_before,
    _chosen_text,
    _with_a_note,
    _in_a_helper,
    _while_writing,
    _in_a_loop,
    _group,
    _with_a_cause,
    _complex,
    _end,
    _exit,
]


def _outcome(function: Callable[[Any], Any], x: Any) -> tuple[Any, ...]:
    """What a call gives or raises, as text, and its argument afterwards."""
    x = x.copy()
    try:
        return "returned", repr(function(x)), x.tolist()
    except (Exception, SystemExit) as error:
        notes = [one for one in getattr(error, "__notes__", ()) if "raised at" not in one]
        own = {name: one for name, one in vars(error).items() if name != "__notes__"}
        return type(error), str(error), repr(error.args), repr(own), notes, repr(error.__cause__), x.tolist()


@pytest.mark.sampled(every=4, slow=4)
@BACKENDS
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.usefixtures("c_compiler")
def test_a_compiled_call_raises_the_exception_of_the_function(
    function: Callable[[Any], Any], backend: str
) -> None:
    compiled: Any = tm.compile(function, backend=backend)
    for x in (RIGHT, WRONG, MANY, RIGHT, -MANY, WRONG):
        assert _outcome(compiled, x) == _outcome(function, x)
    assert "uncompiled" not in compiled.explain_recompile()


@pytest.mark.parametrize(
    "function", [_selection, shows_a_selection, _text_before, _with_a_note, _while_writing]
)
def test_one_program_serves_calls_that_raise_and_calls_that_do_not(function: Callable[[Any], Any]) -> None:
    compiled: Any = tm.compile(function, backend="numpy")
    for x in (RIGHT, WRONG, -RIGHT, RIGHT):
        assert _outcome(compiled, x) == _outcome(function, x)
    assert len(compiled.signatures()) == 1


def test_what_is_printed_before_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    def said(x: Any) -> Any:
        print("got", x)
        if (x < 0).any():
            logging.getLogger("test").error("bad: %s", x[x < 0])
            raise ValueError(f"bad: {x[x < 0]}")
        print("fine")
        return x.sum()

    compiled = tm.compile(said, backend="numpy")
    for x in (RIGHT, WRONG):
        outcomes = [(_outcome(function, x), capsys.readouterr().out) for function in (said, compiled)]
        assert outcomes[0] == outcomes[1]


def test_derivatives_and_nested_compiled_functions_raise_it_too() -> None:
    inner = tm.compile(_selection)
    for transform in (tm.grad, lambda f: tm.compile(tm.grad(f)), lambda f: tm.compile(lambda x: 2 * f(x))):
        raising = transform(lambda x: inner(x).sum())
        with pytest.raises(ValueError, match=r"^bad: \[-2\.   -0\.25\]"):
            raising(WRONG)
        assert np.all(np.isfinite(raising(RIGHT)))


def test_batches_and_files_show_what_a_program_can_tell(tmp_path: Path) -> None:
    def bounded(x: Any) -> Any:
        if x.min() < 0:
            raise ValueError(f"{x.min()} in {x[x < 0]} of {x[:2]}")
        return x.sum()

    with pytest.raises(ValueError, match=r"^-2\.0 in … of \[ 1\. -2\.\]"):
        tm.vmap(bounded)(np.stack([RIGHT, WRONG]))
    tm.export(bounded, RIGHT).save(tmp_path / "bounded.tm")
    with pytest.raises(ValueError, match=r"^-2\.0 in … of \[ 1\. -2\.\]"):
        tm.load(tmp_path / "bounded.tm")(WRONG)


def test_exceptions_with_the_same_text_show_values_of_their_own_kind() -> None:
    def checked(a: Any) -> Any:
        if a.max() > 5:
            raise ValueError(f"{a.max()!r} in {a}")
        return a.sum()

    compiled = tm.compile(checked, dynamic=False, on_recompile="ignore")
    arrays = [np.full((3, 3), 2.0), np.full((2, 2), 2), np.full(2, 2, np.float32)]
    for a in (*arrays, *(3 * a for a in arrays)):
        assert _outcome(compiled, a) == _outcome(checked, a)


def test_a_text_that_is_not_of_an_exception_leaves_later_calls_to_the_program() -> None:
    def wrapped(x: Any) -> Any:
        try:
            if (x < 0).any():
                raise ValueError(f"bad: {x[x < 0]}")
        except ValueError as error:
            raise RuntimeError(f"failed: {error}") from error
        return x.sum()

    compiled = tm.compile(wrapped, backend="numpy")
    for x in (RIGHT, WRONG, RIGHT, WRONG):
        assert _outcome(compiled, x) == _outcome(wrapped, x)
    assert "uncompiled" not in compiled.explain_recompile()


def test_a_block_that_makes_a_text_for_something_else_is_for_the_call_at_hand() -> None:
    def named(x: Any) -> Any:
        name = "none"
        if x[0] > 2:
            name = f"{x[0]:.1f}"
            if len(name) > 3:
                raise ValueError(f"too long: {name}")
        return name

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = tm.compile(named)
        for x in (1.0, 5.0, 50.0, 1.5, 6.5):
            assert _outcome(compiled, np.full(2, x)) == _outcome(named, np.full(2, x))
