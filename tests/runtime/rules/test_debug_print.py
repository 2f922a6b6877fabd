"""`debug_print`: once per call, in the order of the program, whatever the program goes through."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentValueError
from tracemill.runtime.programs.built import statistics


def noisy(x: Any) -> Any:
    """Prints its argument, then twice that."""
    tm.debug_print("first {}", x)
    y = x * 2
    tm.debug_print("then {y}", y=y)
    return np.sin(y)


def doubled(first: Any) -> list[str]:
    return [f"first {first}", f"then {first * 2}"]


ONCE: dict[str, tuple[Callable[..., Any], Any]] = {
    "plain": (noisy, 1.5),
    "grad": (tm.grad(noisy), 1.5),
    "value_and_grad": (tm.value_and_grad(noisy), 1.5),
    "jvp": (lambda x: tm.jvp(noisy, (x,), (x,)), 1.5),
    "linearize": (lambda x: tm.linearize(noisy, x)[1](x), 1.5),
    "vjp": (lambda x: tm.vjp(noisy, x)[1](x), 1.5),
    "hessian": (tm.hessian(noisy), 1.5),
    "grad of grad": (tm.grad(tm.grad(noisy)), 1.5),
    "jacfwd": (tm.jacfwd(noisy), np.float32(1.5)),
    "checkpoint": (tm.grad(tm.checkpoint(noisy)), 1.5),
    "checkpoint of cond": (
        tm.grad(tm.checkpoint(lambda x: np.sin(tm.cond(x > 0, noisy, np.cos, x)))), 1.5),
    "custom rule": (tm.grad(tm.custom_rule(noisy).vjp(lambda x: (noisy(x), x), lambda r, ct: (r * ct,))), 1.5),
    "compile inside": (lambda x: tm.compile(noisy)(x) * 1, 1.5),
    "cond": (lambda x: tm.cond(x > 0, noisy, np.cos, x), 1.5),
    "grad of cond": (tm.grad(lambda x: tm.cond(x > 0, noisy, np.cos, x)), 1.5),
}  # fmt: skip


@pytest.mark.parametrize(("function", "x"), ONCE.values(), ids=ONCE)
def test_debug_print_prints_once_in_order(function: Any, x: Any, capsys: Any) -> None:
    function(x)
    assert capsys.readouterr().out.splitlines() == doubled(x)
    compiled = tm.compile(function)
    for _ in range(2):
        compiled(x)
        assert capsys.readouterr().out.splitlines() == doubled(x)


LOOPED: dict[str, Callable[..., Any]] = {
    "vmap": tm.vmap(noisy),
    "vmap of grad": tm.vmap(tm.grad(noisy)),
    "grad of vmap": tm.grad(lambda x: np.sum(tm.vmap(noisy)(x))),
}


@pytest.mark.parametrize("function", LOOPED.values(), ids=LOOPED)
def test_debug_print_prints_a_line_per_example(function: Any, capsys: Any) -> None:
    x = np.array([1.0, 2.0])
    compiled: Any = tm.compile(function)
    for run in (function, compiled):
        run(x)
        lines = capsys.readouterr().out.splitlines()
        assert lines == ["first 1.0", "first 2.0", "then 2.0", "then 4.0"]


def test_debug_print_under_nested_vmap_and_of_what_is_not_mapped(capsys: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        tm.debug_print("{} {}", x, y)
        tm.debug_print("once")
        return x

    for run in (
        tm.vmap(tm.vmap(f, (None, 0)), (0, None)),
        tm.compile(tm.vmap(tm.vmap(f, (None, 0)), (0, None))),
    ):
        run(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        assert capsys.readouterr().out.splitlines() == ["1.0 3.0", "1.0 4.0", "2.0 3.0", "2.0 4.0", "once"]


STEPS: dict[str, Callable[..., Any]] = {
    "scan": lambda f: f,
    "grad of scan": tm.grad,
    "jvp of scan": lambda f: lambda x: tm.jvp(f, (x,), (x,)),
    "grad of checkpointed scan": lambda f: tm.grad(tm.checkpoint(f)),
}  # fmt: skip


@pytest.mark.parametrize("transform", STEPS.values(), ids=STEPS)
def test_debug_print_prints_at_each_step_of_a_loop(transform: Any, capsys: Any) -> None:
    def step(total: Any, x: Any) -> Any:
        tm.debug_print("{:.1f}", total)
        return np.sin(total) * 0 + total + x, None

    def loop(x: Any) -> Any:
        total, _ = tm.scan(step, x, np.arange(3.0))
        return total

    compiled: Any = tm.compile(transform(loop))
    for run in (transform(loop), compiled):
        run(0.5)
        assert capsys.readouterr().out.splitlines() == ["0.5", "0.5", "1.5"]


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_debug_print_prints_in_order_what_a_step_writes_to_and_what_it_was(
    backend: str, capsys: Any, c_compiler: str
) -> None:
    def step(i: Any, x: Any) -> Any:
        new = x.copy()
        new[0] = x[0] + 1
        tm.debug_print("new {}", new)
        tm.debug_print("old {}", x)
        return new

    run: Any = tm.compile(lambda x: tm.fori_loop(0, 2, step, x), backend=backend)
    run(np.array([1.0, 5.0, 6.0]))
    assert capsys.readouterr().out.splitlines() == [
        "new [2. 5. 6.]",
        "old [1. 5. 6.]",
        "new [3. 5. 6.]",
        "old [2. 5. 6.]",
    ]


def test_debug_print_in_a_jvp_rule_prints_tangents_in_forward_mode(capsys: Any) -> None:
    f = tm.custom_rule(np.sin)

    @f.jvp
    def _(primals: Any, tangents: Any) -> Any:
        tm.debug_print("tangent {}", tangents[0])
        return np.sin(primals[0]), np.cos(primals[0]) * tangents[0]

    tm.jvp(f, (0.0,), (2.0,))
    tm.linearize(f, 0.0)[1](3.0)
    assert capsys.readouterr().out.splitlines() == ["tangent 2.0", "tangent 3.0"]
    assert tm.grad(f)(0.0) == 1
    assert capsys.readouterr().out == ""


def test_debug_print_formats_as_python_does(capsys: Any) -> None:
    x, y = np.array([1.0, 2.0]), np.float64(3.14159)

    def f(x: Any, y: Any) -> Any:
        tm.debug_print("{0} {1:.2f} {1:>{width}.{digits}f}|{{}}", x, y, width=8, digits=3)
        tm.debug_print('{} {!r} {} "quoted" \\n é', "text", None, x.shape)
        tm.debug_print("{d[a].shape} {d}", d={"a": x, "b": [y, "{text}"]})
        return x

    f(x, y)
    expected = [
        f"{x} {y:.2f} {y:>8.3f}|{{}}",
        'text None (2,) "quoted" \\n é',
        f"(2,) { ({'a': x, 'b': [y, '{text}']})!r}",
    ]
    assert capsys.readouterr().out.splitlines() == expected
    tm.compile(f)(x, y)
    assert capsys.readouterr().out.splitlines() == expected
    tm.vmap(lambda n: (f(x, y), n)[1])(np.ones(3))
    assert capsys.readouterr().out.splitlines() == expected


def test_what_can_be_printed_is_checked_without_printing_a_large_array() -> None:
    text = f'def f(x: f64[{", ".join("2" * 48)}]) -> ():\n    debug_print(x, text="{{0}}")\n    return ()'
    assert [call.op for call in tm.parse(f"# tracemill ir 1\n{text}")] == ["debug_print"]
    wrong = text.replace("{0}", "{0:.1f}")
    with pytest.raises(tm.errors.ParseError, match="cannot be filled with f64"):
        tm.parse(f"# tracemill ir 1\n{wrong}")


@pytest.mark.parametrize(
    ("fmt", "args", "message"),
    [
        ("{} {}", (1.0,), "does not fit 1 arguments and the names"),
        ("{x}", (1.0,), "KeyError: 'x'"),
        ("{", (1.0,), "does not fit"),
        ("{:.1f}", (np.ones(2),), r"'\{0:.1f\}' cannot be filled with f64\[2\]"),
        ("{:d}", (np.float64(1),), "cannot be filled with"),
    ],
)
def test_debug_print_names_what_does_not_fit_when_tracing(fmt: str, args: Any, message: str) -> None:
    def f(*args: Any) -> Any:
        tm.debug_print(fmt, *args)
        return args[0]

    for run in (f, tm.compile(f)):
        with pytest.raises(ArgumentValueError, match=message):
            run(*args)


def test_programs_that_print_are_cached_on_disk(capsys: Any) -> None:
    def f(x: Any) -> Any:
        tm.debug_print("cached {}", x)
        return x * 3

    tm.compile(f)(2.0)
    before = statistics.from_disk
    tm.compile(f)(2.0)
    assert statistics.from_disk == before + 1
    assert capsys.readouterr().out == "cached 2.0\ncached 2.0\n"
