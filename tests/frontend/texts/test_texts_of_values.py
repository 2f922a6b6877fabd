"""Texts that show traced numbers: those of ints hold for one value; with those of floats, functions run uncompiled."""

import bdb
import json
import pprint
import reprlib
import string
import sys
from collections import Counter, UserList
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, RecompileWarning

TEXTS: list[Callable[[Any], Any]] = [
    lambda n: f"{n} {n!r:>4} {n:b}",
    lambda n: "{} {:>5d}".format(n, n),  # noqa: UP032
    lambda n: "%d %s %r %05.1f %%" % (n, n, n, n),  # noqa: UP031
    lambda n: str(n) + repr(n) + format(n, "x") + ascii(n),
    lambda n: str([n, (n + 1,)]),
    lambda n: "".join(map(str, [n, n + 1])),
    lambda n: sum(int(digit) for digit in str(n)),
    lambda n: len({n, n + 1, n}),
    lambda n: {n: "found"}[n],
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_an_int_is_that_of_its_value(text: Callable[[Any], Any]) -> None:
    compiled = tm.compile(text, backend="numpy", on_recompile="ignore")
    for number in (25, 7):
        assert compiled(number) == text(number)


@pytest.mark.parametrize("text", TEXTS[:6])
def test_the_text_of_an_element_is_that_of_its_value(text: Callable[[Any], Any]) -> None:
    compiled = tm.compile(lambda x: text(x[0]), backend="numpy", on_recompile="ignore")
    for number in (25, 7):
        assert compiled(np.array([number])) == text(np.int64(number))


@pytest.mark.parametrize("text", TEXTS[:6])
def test_a_function_with_the_text_of_a_computed_float_runs_uncompiled(text: Callable[[Any], Any]) -> None:
    def shown(x: Any) -> Any:
        return text(x[0] * 2)

    try:
        wanted = shown(np.ones(2))
    except (TypeError, ValueError) as error:  # no format of floats
        with pytest.raises(type(error)):
            tm.compile(shown, backend="numpy", on_recompile="ignore")(np.ones(2))
        return
    compiled = tm.compile(shown, backend="numpy")
    with pytest.warns(
        RecompileWarning, match=r"shown makes a text of a number at test_texts_of_values.py:\d+"
    ):
        assert compiled(np.ones(2)) == wanted
    for transform in (tm.vmap, lambda f: tm.compile(f, on_recompile="error")):
        with pytest.raises(ConcretizationError, match="text"):
            transform(shown)(np.ones((2, 2)))


def test_a_debugger_sees_the_type() -> None:
    seen: list[str] = []

    class Debugger(bdb.Bdb):
        def user_line(self, frame: Any) -> None:
            seen.extend(repr(x) for name, x in frame.f_locals.items() if name == "x")

    def stepped(x: Any) -> Any:
        debugger.set_step()
        y = x * 2
        debugger.set_trace()
        z = y + 1
        debugger.set_quit()
        return z

    debugger, before = Debugger(), sys.gettrace()
    try:
        tm.compile(stepped, backend="numpy", on_recompile="ignore")(np.ones(3))
    except bdb.BdbQuit:
        pass
    finally:
        sys.settrace(before)
    assert "TracedArray(f64[3])" in seen


# ---- objects that hold numbers ---------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any = 1


@dataclass
class Record:
    first: Any
    second: Any = 1


class Shown:
    """An object with texts of its own."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def __str__(self) -> str:
        return f"<{self.number}>"

    def __repr__(self) -> str:
        return "Shown(%d)" % self.number  # noqa: UP031

    def __format__(self, spec: str) -> str:
        return f"[{self.number:{spec}}]"


class OnlyRepr:
    """An object whose text has a branch."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def __repr__(self) -> str:
        if self.number > 10:
            return "large"
        return "small {}".format(self.number)  # noqa: UP032


OBJECTS: list[Callable[[Any], Any]] = [
    lambda n: f"{Pair(n)} {Pair(n)!r:>30} {Record(n)} {[Record(n)]}",
    lambda n: str(Pair(n)) + repr(Record(n)) + ascii(Pair(n)),
    lambda n: "%s %r" % (Pair(n), Record(n)),  # noqa: UP031
    lambda n: "%d and %d" % Pair(n),  # noqa: UP031
    lambda n: "{0} {0.first} {1[0]}".format(Record(n), Pair(n)),
    lambda n: f"{Shown(n)} {Shown(n):>8} {Shown(n)!s} {Shown(n)!r}",
    lambda n: str(Shown(n)) + repr(Shown(n)) + format(Shown(n), "x"),
    lambda n: "%s %r %s" % (Shown(n), Shown(n), OnlyRepr(n)),  # noqa: UP031
    lambda n: ", ".join(map(str, [Shown(n), OnlyRepr(n), 1])),
    lambda n: f"{OnlyRepr(n)} {OnlyRepr(n):>9}" if n > 100 else f"{OnlyRepr(n)}",
    lambda n: str([Shown(n), OnlyRepr(n)]),
    lambda n: str(UserList([n])) + str(Counter({"a": n})) + pprint.pformat([n, Pair(n)]) + reprlib.repr([n]),
    lambda n: string.Template("$a").substitute(a=n) + json.dumps({"a": n}),
    lambda n: eval(f"{n} + 1"),
    lambda n: (n.bit_length(), n.to_bytes(2, "big"), b"%d" % n, n.numerator),
    lambda n: str(Fraction(n, 3)),
]


@pytest.mark.parametrize("text", OBJECTS)
def test_the_text_of_an_object_shows_the_value_of_an_int(text: Callable[[Any], Any]) -> None:
    compiled = tm.compile(text, backend="numpy", on_recompile="ignore")
    for number in (25, 7):
        assert compiled(number) == text(number)


@pytest.mark.parametrize("text", [*OBJECTS[:3], OBJECTS[4], OBJECTS[11]])
def test_the_text_of_an_object_that_holds_a_computed_float_shows_it(text: Callable[[Any], Any]) -> None:
    def shown(x: Any) -> Any:
        return text(x[0] * 2)

    compiled = tm.compile(shown, backend="numpy", on_recompile="ignore")
    for x in (np.ones(2), np.full(2, 3.5)):
        assert compiled(x) == shown(x)


def test_the_text_of_an_object_that_values_choose_is_for_the_call_at_hand() -> None:
    def chosen(x: float) -> str:
        name = "large" if x > 3 else "small"
        return str([name])

    compiled = tm.compile(chosen, backend="numpy", on_recompile="ignore")
    assert [compiled(x) for x in (5.0, 1.0, 4.0)] == [chosen(x) for x in (5.0, 1.0, 4.0)]
    with pytest.raises(ConcretizationError, match="is converted to a string"):
        tm.compile(tm.vmap(chosen), backend="numpy")(np.ones(2))


def test_a_text_that_no_program_can_make_is_no_error_for_a_handler() -> None:
    def shown(x: Any) -> str:
        try:
            return f"{x}"
        except TypeError:
            return "?"

    assert tm.compile(shown, backend="numpy", on_recompile="ignore")(np.ones(2)) == "[1. 1.]"
    with pytest.raises(ConcretizationError, match="a text shows a traced"):
        tm.export(shown, np.ones(2))


def test_printed_objects_show_values_like_python(capfd: pytest.CaptureFixture[str]) -> None:
    def say(n: Any) -> Any:
        print(Pair(n), [n], {"a": (n, None)}, Record(n), [Record(n)])
        print(f"{OnlyRepr(1)} {Pair(n)}", "%d" % n, repr(n))  # noqa: UP031
        return n

    for number in (25, 7.5):
        say(number)
        wanted = capfd.readouterr().out
        tm.compile(say, backend="numpy")(number)
        assert capfd.readouterr().out == wanted
