"""An int that tracing needs as a value becomes a size: one program works for many ints, without any option."""

import threading
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.arange(20.0)


def texts(compiled: Any) -> list[str]:
    return [str(signature) for signature in compiled.signatures()]


def grid(n: int, m: int, x: Any) -> Any:
    table = np.zeros((n, m))
    table[0] = x
    return table + n * 2.5


def steps(n: int, x: Any) -> Any:
    for k in range(n):
        x = 0.5 * (x + np.sin(x)) + k
    return x


def first(x: Any, n: int) -> Any:
    return x[:n].sum() * n


def by_order(x: Any, order: int) -> Any:
    return x * x if order == 2 else x**order


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.usefixtures("c_compiler")
def test_one_program_serves_many_ints(backend: str) -> None:
    cases: Any = (
        (grid, [(2, 3, 1.0), (4, 5, 2.0), (6, 9, 0.5)]),
        (steps, [(2, X), (5, X), (50, X)]),
        (first, [(X, 3), (X, 5), (X, 20)]),
    )
    for function, calls in cases if backend == "numpy" else cases[:1]:
        compiled: Any = tm.compile(function, backend=backend)
        for args in calls:
            expected = function(*args)
            np.testing.assert_allclose(compiled(*args), expected, rtol=1e-13)
            assert type(compiled(*args)) is type(expected)
        assert len(texts(compiled)) == 2, texts(compiled)  # the first call's, and that of all others


def test_the_signature_says_which_ints_are_sizes() -> None:
    compiled = tm.compile(first)
    for n in (3, 5, 7):
        compiled(X, n)
    one, many = texts(compiled)
    assert one == "args[0]: f64[20], args[1]: int 3"
    assert many.startswith("args[0]: f64[20], args[1]: int n_0 where n_0 in 2..")
    assert "int 3 became int 5" in compiled.explain_recompile()


def test_a_size_may_be_any_int() -> None:
    compiled = tm.compile(lambda x, n: x[n:], on_recompile="ignore")
    for n in (2, -2, 0, 1, 3, 25, -25):
        np.testing.assert_array_equal(compiled(X, n), X[n:])


def test_an_int_that_chooses_is_a_guard() -> None:
    compiled = tm.compile(by_order, on_recompile="ignore")
    for order in (2, 3, 2, 5, 0):
        np.testing.assert_allclose(compiled(X, order), by_order(X, order))


def test_a_number_reads_as_text() -> None:
    functions: list[Any] = [
        lambda x, n: x * len(str(n)),
        lambda x, n: x * len(f"{n:4d}{x.ndim}") + len(f"{n}"),
    ]
    for function in functions:
        compiled: Any = tm.compile(function, on_recompile="ignore")
        for n in (5, 50, 5000, 70000, 7):
            assert compiled(np.float64(1), n) == function(np.float64(1), n)


def test_a_size_of_an_array_reads_as_text() -> None:
    compiled = tm.compile(lambda x: x[0] * len(f"{len(x)}") + len(str(x.shape[0])), on_recompile="ignore")
    for n in (3, 4, 50, 500):
        assert compiled(np.ones(n)) == 2 * len(str(n))


def test_methods_and_compiled_functions_in_others_take_sizes() -> None:
    class Model:
        def __init__(self) -> None:
            self.weights = np.ones(20)

        @tm.compile
        def run(self, n: int, x: Any) -> Any:
            return steps(n, x * self.weights)

    model = Model()
    for n in (2, 3, 5):
        np.testing.assert_allclose(model.run(n, X), steps(n, X))
    inner = tm.compile(first)
    outer = tm.compile(lambda x, n: inner(x, n) * n)
    for n in (3, 4, 9):
        assert outer(X, n) == first(X, n) * n
    assert len(texts(outer)) == 1  # a slice may end at a number that the program computes


def test_transforms_of_compiled_functions_take_ints() -> None:
    compiled = tm.compile(first)
    assert compiled(X, 4) == first(X, 4)
    rows = np.stack([X, X + 1])
    np.testing.assert_allclose(tm.vmap(compiled, in_dims=(0, None))(rows, 3), [first(row, 3) for row in rows])
    np.testing.assert_array_equal(tm.grad(lambda x: compiled(x, 3))(X), np.where(X < 3, 3.0, 0.0))


def test_keywords_and_containers_hold_sizes() -> None:
    compiled = tm.compile(lambda x, options: np.zeros(options["n"]) + x)
    for n in (4, 6, 8):
        np.testing.assert_array_equal(compiled(1.0, options={"n": n}), np.ones(n))


def test_threads_compile_for_sizes_at_the_same_time() -> None:
    compiled = tm.compile(first, on_recompile="ignore")
    wrong: list[int] = []

    def run() -> None:
        wrong.extend(n for n in range(2, 9) if compiled(X, n) != first(X, n))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_whose_call_began_before_an_int_became_a_size_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = tm.compile(first, on_recompile="ignore")
    flatten, both = compiled._flatten, threading.Barrier(2, timeout=30)
    begun: set[int] = set()

    def together(args: Any, kwargs: Any) -> Any:
        found = flatten(args, kwargs)
        if threading.get_ident() not in begun:
            begun.add(threading.get_ident())
            both.wait()
        return found

    monkeypatch.setattr(compiled, "_flatten", together)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append((n, compiled(X, n)))) for n in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(n, first(X, n)) for n in (3, 5)]


def test_an_int_that_no_size_can_be_gets_its_own_program() -> None:
    compiled: Any = tm.compile(lambda n: len(str(n)) + n % 7, on_recompile="ignore")
    for n in (3, 2**63 - 1, 2**63, 2**80 + 1):
        assert compiled(n) == len(str(n)) + n % 7


@pytest.mark.parametrize("bound", [2**63, 2**70, -(2**63) - 1])
def test_an_int_is_compared_with_one_beyond_all_of_them(bound: int) -> None:
    def compared(n: int) -> Any:
        return n < bound, bound <= n, n == bound, bound != n, n >= bound, bound > n

    compiled = tm.compile(compared)
    for n in (0, -5, 2**62):
        assert compiled(n) == compared(n)
