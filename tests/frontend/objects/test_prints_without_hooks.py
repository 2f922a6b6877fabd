"""Methods that print where converted code has no hook do so at each call: the function runs uncompiled."""

import contextlib
import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import SideEffectError


class Key:
    """An object that says when it is asked, and is a number where one is needed."""

    def __dir__(self) -> list[str]:
        print("dir")
        return ["a", "b"]

    def __hash__(self) -> int:
        print("hash")
        return 5

    def __eq__(self, other: object) -> bool:
        print("eq")
        return isinstance(other, Key)

    def __index__(self) -> int:
        print("index")
        return 2

    def __format__(self, spec: str) -> str:
        print("format", spec)
        return "FF"

    def __repr__(self) -> str:
        print("repr")
        return "R"

    def __call__(self, x: Any) -> Any:
        print("call")
        return x + 1


class Items:
    def __iter__(self) -> Iterator[float]:
        print("first")
        yield 1.0
        print("second")
        yield 2.0


class Talking:
    """It has no operators."""

    @property
    def rate(self) -> float:
        print("rate")
        return 2.0

    def __getattr__(self, name: str) -> float:
        print("getattr", name)
        return 3.0


class Mapped:
    def keys(self) -> list[str]:
        print("keys")
        return ["a"]

    def __getitem__(self, key: str) -> float:
        print("item", key)
        return 2.0


def say(text: str) -> float:
    print(text)
    return 2.0


class Indirect:
    @property
    def rate(self) -> float:
        return say("indirect")


key, other, items, talking, mapped, indirect = Key(), Key(), Items(), Talking(), Mapped(), Indirect()
USES: dict[str, Callable[[Any], Any]] = {
    "dir": lambda x: x * len(dir(key)),
    "format": lambda x: x * len("{}".format(key)),  # noqa: UP032
    "format map": lambda x: x * len("{a:>3}".format_map({"a": key})),
    "percent": lambda x: x * len("%s" % key),  # noqa: UP031
    "attribute in a format": lambda x: x * len("{0.rate}".format(talking)),  # noqa: UP030, UP032
    "key of a dict": lambda x: x * {key: 3}[key],
    "member of a set": lambda x: x * len({key, other}),
    "set": lambda x: x * len(frozenset([key, other])),
    "comprehension": lambda x: x * len({one: 1 for one in (key, other)}),  # noqa: C420
    "dict.get": lambda x: x * {3: 1}.get(key, 2),  # type: ignore[call-overload]
    "in a list": lambda x: x * (key in [3, other]),
    "list.index": lambda x: x * [other, key].index(key),
    "Counter": lambda x: x * Counter([key, other])[key],
    "slice": lambda x: x[:key],
    "slice of a list": lambda x: [1.0, 2.0, 3.0][:key][-1] * x,
    "reshape": lambda x: np.concatenate([x, x]).reshape(3, key),
    "zeros": lambda x: np.zeros((key, 2)) + x[0],
    "axis": lambda x: np.ones((2, 3, 4)).sum(axis=key) * x[0],
    "repeated list": lambda x: x * len([1] * key),
    "hex": lambda x: x * len(hex(key)),
    "max": lambda x: x * max(items),
    "sorted": lambda x: x * sorted(items)[0],  # noqa: FURB192
    "sum": lambda x: x * sum(items),
    "list": lambda x: x * len(list(items)),
    "unpacking": lambda x: x * [*items][1],
    "zip": lambda x: x * sum(a * b for a, b in zip(items, items, strict=True)),
    "fromiter": lambda x: x * np.fromiter(items, float).sum(),
    "dict": lambda x: x * dict(mapped)["a"],
    "keywords": lambda x: x * dict(**mapped)["a"],
    "property": lambda x: x * talking.rate,
    "missing attribute": lambda x: x * talking.unknown,
    "property that calls another function": lambda x: x * indirect.rate,
    "call": lambda x: key(x),  # noqa: PLW0108
    "print of a list": lambda x: (print("before"), print([key]), x)[-1],
}


def printed(function: Callable[[Any], Any], x: Any) -> tuple[str, list[float]]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        found = function(x)
    return out.getvalue(), np.asarray(found).tolist()


@pytest.mark.parametrize("name", USES)
def test_methods_without_hooks_print_at_each_call(name: str) -> None:
    function = USES[name]
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for x in (np.arange(3.0), np.arange(3.0) + 1, np.arange(3.0)):
        assert printed(compiled, x) == printed(function, x)


def test_the_error_names_the_method() -> None:
    compiled = tm.compile(USES["key of a dict"], on_recompile="error")
    with pytest.raises(SideEffectError, match=r"calls Key.__hash__, which prints"):
        compiled(np.arange(3.0))


def test_a_handler_cannot_hide_the_refusal() -> None:
    def function(x: Any) -> Any:
        try:
            return x * {key: 3}[key]
        except Exception:
            return x

    compiled = tm.compile(function, on_recompile="ignore")
    for _ in range(2):
        assert printed(compiled, np.ones(2)) == ("hash\nhash\n", [3.0, 3.0])


def test_methods_that_log_do_so_at_each_call(caplog: pytest.LogCaptureFixture) -> None:
    class Logged:
        def __index__(self) -> int:
            logging.getLogger("test").warning("asked")
            return 1

    one = Logged()
    compiled = tm.compile(lambda x: x[:one], on_recompile="ignore")
    for calls in (1, 2, 3):
        compiled(np.arange(3.0))
        assert caplog.messages == ["asked"] * calls


def test_objects_that_print_nothing_are_compiled() -> None:
    class Quiet:
        def __init__(self) -> None:
            self.asked = 0

        def __index__(self) -> int:
            return int(np.log(np.e)) + 1

        def tell(self) -> None:
            print("told")

    one = Quiet()
    compiled = tm.compile(lambda x: x[:one], on_recompile="error")
    np.testing.assert_array_equal(compiled(np.arange(3.0)), [0.0, 1.0])
    assert len(compiled.signatures()) == 1
