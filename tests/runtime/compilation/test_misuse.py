"""What is not a function, a graph or a size: the public functions say so by name, before anything runs."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendError,
    DonationError,
    DTypeError,
    ParseError,
    ShapeError,
    StaticArgumentError,
    TracemillError,
    TransformArgumentError,
    TransformTypeError,
)

X = np.array([1.0, 2.0, 3.0])
HEADER = "# tracemill ir 1\n"
GRAPH = tm.parse(f"{HEADER}def f(x: f64[3]) -> f64[3]:\n    y: f64[3] = sin(x)\n    return y\n")


def scaled(x: Any, times: int, *, plus: int = 0) -> Any:
    for _ in range(times):
        x = x + plus
    return x


class Spec:
    """What `pure_callback` looks at."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


class Box:
    """An unregistered class."""


@dataclasses.dataclass
class Pair:
    """An unregistered dataclass."""

    left: Any
    right: Any = None


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


def lowered() -> Any:
    return tm.compile(np.sin).lower(np.ones(3))


MISUSES: dict[str, tuple[Callable[[], Any], type[TracemillError], str]] = {
    "grad by an object": (
        lambda: tm.grad(lambda holder: holder.held)(Holder(X)),
        ArgumentTypeError,
        r"is Holder, not an array or a number\. Say once which arrays it holds, tm.register_pytree\(Holder, ",
    ),
    "vmap over a dataclass": (
        lambda: tm.vmap(lambda pair: pair.left)(Pair(X)),
        TransformArgumentError,
        "has dim 0 but is Pair, not an array: use None. Register the class once",
    ),
    "a dataclass as a result": (
        lambda: tm.vmap(lambda x: Pair(x, 1))(X),
        ArgumentTypeError,
        "the function returns Pair, whose .left holds a traced array, which is of no use after the call. Register",
    ),
    "an object as a result": (
        lambda: tm.vmap(lambda x: Holder({"x": [x]}))(X),
        ArgumentTypeError,
        "the function returns Holder, whose .held holds a traced array",
    ),
    "scan, reverse": (
        lambda: tm.scan(lambda c, x: (c, x), 0.0, X, reverse="no"),  # type: ignore[arg-type]
        ArgumentTypeError,
        "reverse must be True or False, not str: 'no'",
    ),
    "associative_scan, reverse": (
        lambda: tm.associative_scan(np.add, X, reverse="no"),  # type: ignore[arg-type]
        ArgumentTypeError,
        "reverse must be True or False, not str: 'no'",
    ),
    "check_rule, rtol": (lambda: tm.check_rule(np.sin, X, rtol="a"), ArgumentTypeError, "rtol must be a number"),  # type: ignore[arg-type]
    "checkpoint of a number": (lambda: tm.checkpoint(3), TransformTypeError, "checkpoint needs a function, not int: 3"),  # type: ignore[arg-type]
    "jvp of a number": (lambda: tm.jvp(3, (X,), (X,)), TransformTypeError, "jvp needs a function, not int: 3"),  # type: ignore[arg-type]
    "jvp without tuples": (lambda: tm.jvp(np.sin, X, X), TransformTypeError, r"primals .* not ndarray: jvp\(f, \(x"),  # type: ignore[arg-type]
    "linearize of text": (lambda: tm.linearize("f", X), TransformTypeError, "linearize needs a function, not str"),  # type: ignore[arg-type]
    "vjp of None": (lambda: tm.vjp(None, X), TransformTypeError, "vjp needs a function, not NoneType"),  # type: ignore[arg-type]
    "hessian, argnums": (lambda: tm.hessian(np.sum, "x"), TransformTypeError, "hessian: argnums"),  # type: ignore[arg-type]
    "callback of a number": (lambda: tm.pure_callback(3, np.float64, X), TransformTypeError, "pure_callback needs"),  # type: ignore[arg-type]
    "callback, a class": (lambda: tm.pure_callback(np.sum, dict, X), DTypeError, "result_spec: .* dtype object"),
    "callback, a size": (lambda: tm.pure_callback(np.sum, Spec(3, "f8"), X), TransformTypeError, "no shape and dtype"),
    "callback, a dtype": (lambda: tm.pure_callback(np.sum, Spec((), "q?"), X), TransformTypeError, "'q\\?'"),
    "callback, negative": (lambda: tm.pure_callback(np.sum, Spec((-3,), "f8"), X), ShapeError, r"\(-3,\)"),
    "register_pytree": (lambda: tm.register_pytree(Box, 3, 3), TransformTypeError, "flatten needs a function"),  # type: ignore[arg-type]
    "parse with an array of constants": (
        lambda: tm.parse("x", np.ones(3)),  # type: ignore[arg-type]
        TransformTypeError,
        r"parse: constants must be a dict, not ndarray: array\(\[1., 1., 1.\]\)",
    ),
    "a page with a number": (
        lambda: lowered().html(3),
        TransformTypeError,
        "html: recompiles must be a text, not int: 3",
    ),
    "the graph after an array": (
        lambda: lowered().after(np.ones(3)),
        TransformTypeError,
        "after needs the name of a pass, not ndarray",
    ),
    "parse a number": (lambda: tm.parse(3), TransformTypeError, "parse needs a text, not int"),  # type: ignore[arg-type]
    "parse, no parameter": (
        lambda: tm.parse(f"{HEADER}def f(x: f64[3]) -> f64[]:\n    y: f64[] = sum(x)\n    return y\n"),
        ParseError,
        "line 3: expected what sum takes: missing 1 required positional argument: 'axes'",
    ),
    "replace_pattern": (lambda: tm.replace_pattern(GRAPH, "f", GRAPH), TransformTypeError, "pattern must be a Graph"),  # type: ignore[arg-type]
    "Interpreter": (lambda: tm.Interpreter("f"), TransformTypeError, "Interpreter must be a Graph, not str"),  # type: ignore[arg-type]
    "Transformer": (lambda: tm.Transformer(3), TransformTypeError, "Transformer must be a Graph, not int"),  # type: ignore[arg-type]
    "negative size": (lambda: tm.numpy.unique(X, size=-1), ArgumentValueError, "unique: size .* not -1"),
    "broken size": (lambda: tm.numpy.nonzero(X, size=1.5), ArgumentTypeError, "nonzero: size .* float: 1.5"),  # type: ignore[arg-type]
    "fill of text": (lambda: tm.numpy.unique(X, size=5, fill_value="a"), ArgumentTypeError, "fill_value .* str: 'a'"),
    "fill of arrays": (lambda: tm.numpy.extract(X > 1, X, size=5, fill_value=X), ArgumentTypeError, "one number"),
    "positions in a number": (lambda: tm.numpy.nonzero(3.0, size=1), ShapeError, "np.atleast_1d"),
    "softmax of text": (lambda: tm.nn.softmax("a"), DTypeError, "array of numbers, not str"),
    "silu of nothing": (lambda: tm.nn.silu(None), DTypeError, "array of numbers, not NoneType"),
    "relu of text": (lambda: tm.nn.relu("a"), DTypeError, "array of numbers, not str"),
    "backend, a number": (lambda: tm.compile(np.sin, backend=3), BackendError, "backend 3 is unknown: choose one of"),  # type: ignore[call-overload]
    "fast_math of text": (
        lambda: tm.compile(np.sin, fast_math="yes"),  # type: ignore[call-overload]
        ArgumentTypeError,
        "fast_math must be True or False, not str: 'yes'",
    ),
    "donated text": (
        lambda: tm.compile(np.sin, donate_argnums="x"),  # type: ignore[arg-type]
        DonationError,
        "donate_argnums has 'x': it must be a position",
    ),
    "threads of text": (lambda: tm.set_num_threads("a"), TransformTypeError, "count must be an int, not str"),  # type: ignore[arg-type]
    "too many threads": (lambda: tm.set_num_threads(10**9), TransformArgumentError, "count must be at most 1024"),
    "static position": (
        lambda: tm.compile(scaled, static_argnums=2),
        StaticArgumentError,
        "static_argnums has 2, but scaled has no such parameter: it has x, times",
    ),
    "static name": (
        lambda: tm.compile(scaled, static_argnames=("times", "often")),
        StaticArgumentError,
        "static_argnames has 'often', but scaled has no such parameter: it has x, times, plus",
    ),
}  # fmt: skip


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_misuse_has_its_named_error(misuse: str) -> None:
    call, error, says = MISUSES[misuse]
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize(
    "compiled",
    [
        tm.compile(scaled, static_argnames=("times", "plus")),
        tm.compile(scaled, static_argnums=1, static_argnames="plus"),
    ],
)
def test_a_static_argument_is_static_however_it_is_passed(compiled: tm.CompiledFunction) -> None:
    np.testing.assert_array_equal(compiled(X, 2, plus=3), X + 6)
    np.testing.assert_array_equal(compiled(X, times=2, plus=3), X + 6)


def test_functions_that_do_not_name_their_parameters_take_any_static_argument() -> None:
    def anything(*args: Any, **kwargs: Any) -> Any:
        return args[0] * args[3] + kwargs["shift"]

    function = tm.compile(anything, static_argnums=3, static_argnames="shift")
    np.testing.assert_array_equal(function(X, 1.0, 2.0, 3, shift=1), X * 3 + 1)


def test_one_static_field_of_a_dataclass_may_be_named_by_itself() -> None:
    @dataclasses.dataclass
    class Scale:
        factor: Any
        times: int

    tm.register_dataclass(Scale, static="times")
    function = tm.compile(lambda scale, x: scaled(x, scale.times, plus=1) * scale.factor)
    np.testing.assert_array_equal(function(Scale(2.0, 3), X), (X + 3) * 2)


def test_a_traced_array_cannot_be_hashed_and_the_error_says_where() -> None:
    @tm.compile
    def f(x: Any) -> Any:
        return {x: 1}

    with pytest.raises(
        ArgumentTypeError, match=r"cannot be hashed(.|\n)*at test_misuse.py:\d+  return \{x: 1\}"
    ):
        f(np.ones(2))
