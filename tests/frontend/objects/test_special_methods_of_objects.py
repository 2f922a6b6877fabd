"""Special methods of a user's objects print at each call of a compiled function, whatever calls them."""

import contextlib
import io
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


class Talking:
    """An object whose methods say that they are called."""

    def __getattr__(self, name: str) -> float:
        print("getattr", name)
        if name == "there":
            return 3.0
        raise AttributeError(name)

    def __hash__(self) -> int:
        print("hash")
        return 5

    def __bool__(self) -> bool:
        print("bool")
        return True

    def __reversed__(self) -> Any:
        print("reversed")
        return iter([3.0])

    def __divmod__(self, other: Any) -> tuple[float, float]:
        print("divmod")
        return (1.0, 2.0)

    def __pow__(self, other: Any) -> float:
        print("pow")
        return 4.0

    def __trunc__(self) -> int:
        print("trunc")
        return 2

    def __floor__(self) -> int:
        print("floor")
        return 3

    def __float__(self) -> float:
        print("float")
        return 2.0

    def __index__(self) -> int:
        print("index")
        return 1

    def __contains__(self, x: Any) -> bool:
        print("contains")
        return True

    def __neg__(self) -> float:
        print("neg")
        return 1.0


class Items:
    """An object that gives its items one by one, or as an array."""

    def __iter__(self) -> Any:
        print("iter")
        return iter([2.0, 4.0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        print("array")
        return np.array([1.0, 2.0, 3.0])


class AnswersForClass(type):
    def __instancecheck__(cls, one: Any) -> bool:
        print("instancecheck")
        return True

    def __subclasscheck__(cls, one: Any) -> bool:
        print("subclasscheck")
        return True


class Anything(metaclass=AnswersForClass):
    pass


class Described:
    def __get__(self, one: Any, kind: Any) -> float:
        print("get")
        return 2.0

    def __set__(self, one: Any, value: Any) -> None:
        print("set")


class Holder:
    described = Described()


talking, items, holder = Talking(), Items(), Holder()
USES: dict[str, Callable[[Any], Any]] = {
    "hasattr without": lambda x: x * hasattr(talking, "missing"),
    "hasattr": lambda x: x * hasattr(talking, "there"),
    "getattr": lambda x: x * getattr(talking, "missing", 2.0),
    "hash": lambda x: x * hash(talking),
    "and": lambda x: x * (talking and 2.0),
    "or": lambda x: x * (2.0 if (talking or 0.0) is talking else 1.0),
    "reversed": lambda x: x * next(iter(reversed(talking))),
    "divmod": lambda x: x * divmod(talking, 2)[1],
    "pow": lambda x: x * pow(talking, 2),
    "trunc": lambda x: x * math.trunc(talking),
    "floor": lambda x: x * math.floor(talking),
    "sqrt": lambda x: x * math.sqrt(talking),
    "operator.index": lambda x: x * operator.index(talking),
    "operator.contains": lambda x: x * operator.contains(talking, 1),
    "operator.neg": lambda x: x * operator.neg(talking),
    "entry of a list": lambda x: x * [1.0, 2.0][talking],
    "entry of an array": lambda x: x[talking],
    "range": lambda x: x * len(range(talking)),
    "isinstance": lambda x: x * isinstance(1, Anything),
    "issubclass": lambda x: x * issubclass(int, Anything),
    "descriptor": lambda x: x * holder.described,
    "hasattr of a descriptor": lambda x: x * hasattr(holder, "described"),
    "any": lambda x: x * any(items),
    "asarray": lambda x: x * np.asarray(items),
    "ufunc": lambda x: x * np.sin(items),
    "sum": lambda x: x * np.sum(items),
}


def printed(function: Callable[[Any], Any], x: Any) -> tuple[str, list[float]]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        found = function(x)
    return out.getvalue(), np.asarray(found).tolist()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", USES)
def test_methods_print_at_each_call(name: str, backend: str) -> None:
    function = USES[name]
    compiled = tm.compile(function, backend=backend)
    for x in (np.arange(3.0), np.arange(3.0) + 1):
        assert printed(compiled, x) == printed(function, x)


def test_methods_may_compute_with_traced_numbers() -> None:
    class Number:
        def __init__(self, x: Any) -> None:
            self.x = x

        def __bool__(self) -> bool:
            found: bool = self.x > 0
            return found

        def __float__(self) -> float:
            found: float = self.x * 2
            return found

    def f(x: Any) -> Any:
        number: Any = Number(float(x[0]))
        return (number and math.exp(number)) * 2.0

    x = np.array([0.5])
    assert tm.compile(f)(x) == pytest.approx(2 * math.exp(1.0))
