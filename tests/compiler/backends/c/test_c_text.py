"""C texts are readable: short lines, nothing unnecessary, and comments that lead to the user's source."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from graphs.kernel_graphs import LARGE
from graphs.loop_steps import LOOPS
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.kernels.kernel import kernel_function
from tracemill.compiler.backends.c.layout import bare, folded_lines
from tracemill.compiler.backends.c.module.source import functions_text, print_function
from tracemill.compiler.backends.python.text import WIDTH

pytestmark = pytest.mark.usefixtures("c_compiler")


def c_text(f: Callable[..., Any], *args: Any) -> str:
    """The C of a program, without what Python calls it by."""
    text = tm.compile(f, backend="c").lower(*args).c_source
    assert text is not None
    return text.partition("// ---- Calls from Python")[0]


def normalised(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def running(x: Any, rows: Any) -> Any:
    def step(total: Any, row: Any) -> Any:
        sums = np.cumsum(total)
        return np.tanh(sums + row), sums[:3]

    return tm.scan(step, x, rows)


X = np.ones((40, 30), np.float32)


# ---- lines -------------------------------------------------------------------------------------------


def functions() -> Sequence[CFunction]:
    kernels = [kernel_function(graph, f"kernel_{n}", COptions()) for n, graph in enumerate(LARGE.values())]
    loops = [
        print_function(make().calls[0], f"loop_{n}", COptions()) for n, make in enumerate(LOOPS.values())
    ]
    return [function for function in (*kernels, *loops) if function is not None]


@pytest.mark.slow
def test_lines_of_code_fit_on_a_page() -> None:
    lines = functions_text(functions()).splitlines()
    assert not [line for line in lines if len(line) > WIDTH and not line.lstrip().startswith("//")]


LONG = [
    f"static void f({', '.join(f'const float *restrict x{i}' for i in range(20))}, long threads)",
    f"    #pragma omp simd reduction(+ : {', '.join(f'sum_{i}_so_far_block' for i in range(20))})",
    f"    #pragma omp simd reduction(+ : {', '.join(f'x{i}' for i in range(10))}) reduction(tm_max : maximum_of_all)",
    f"        const double total = {' + '.join(f'(x[{i}] * g({i}, -1))' for i in range(30))};  // a, b + c",
    f'    return PyErr_Format(error, "{", ".join(20 * ["%s: what, this"])}", name, place);',
    f"static const double constant[] = {{{', '.join(map(str, range(2000)))}}};",
    f"    // {200 * 'x, '}",
]


@pytest.mark.parametrize("line", LONG, ids=lambda line: line.split()[0])
def test_folding_a_line_changes_nothing_but_space(line: str) -> None:
    folded = folded_lines(line)
    assert re.sub(r"\\\n|\s", "", folded) == re.sub(r"\s", "", line)
    strings = re.compile(r'"[^"]*"')
    assert strings.findall(folded) == strings.findall(line)
    if line.lstrip().startswith("#"):
        assert all(part.endswith("\\") for part in folded.splitlines()[:-1])


def test_parentheses_around_all_of_an_expression_are_left_out() -> None:
    assert bare("(x + y)") == "x + y"
    assert bare("(x + y) * (x - y)") == "(x + y) * (x - y)"
    assert " = (" not in re.sub(r" = \(\w+\)", "", c_text(normalised, X))


# ---- no more than is needed --------------------------------------------------------------------------


def test_headers_and_reductions_that_nothing_uses_are_left_out() -> None:
    text = c_text(normalised, X)
    assert "#include <math.h>" in text
    assert "reduction(tm_max : float, double" in text
    assert not [
        word
        for word in ("complex.h", "float.h", "stdlib.h", "string.h", "tm_min", "TM_APART")
        if word in text
    ]
    assert "#include <complex.h>" in c_text(np.exp, X.astype(np.complex64))
    assert "reduction(tm_min : float, double" in c_text(lambda x: np.min(x, axis=1), X)


def test_a_loop_of_one_iteration_is_unrolled() -> None:
    text = c_text(lambda x: np.pad(x, 1), X)
    bounds = re.findall(r"for \(long (\w+) = (\d+); \1 < (\d+); \1\+\+\)", text)
    assert bounds
    assert all(int(high) - int(low) > 1 for _, low, high in bounds)


def test_a_scatter_of_single_numbers_has_no_loop_within_its_loop() -> None:
    def added(x: Any, places: Any) -> Any:
        x[places] += 1
        return x

    text = c_text(added, np.ones(300), np.arange(3))
    assert "* 1" not in text
    assert text.count("for (") - text.count("#pragma omp simd") <= 1


# ---- where it comes from -----------------------------------------------------------------------------


def test_a_function_says_what_it_computes_and_what_it_moves() -> None:
    text = c_text(normalised, X)
    assert re.search(
        r"^// kernel_\w+\(x: f32\[40, 30\]\) -> f32\[40, 30\]: moves 9.6 kB$", text, re.MULTILINE
    )


def test_loops_name_the_lines_of_the_user() -> None:
    text = c_text(normalised, X)
    largest, total = (text.index(f"  {line}") for line in ("e = np.exp(x - np.max", "return e / np.sum"))
    assert text.index("#pragma omp simd reduction(tm_max") < largest < text.index("const float max_1 =")
    assert largest < total < text.index("const float sum_1 =")


def test_steps_of_a_loop_name_their_results_and_the_lines_of_the_user() -> None:
    text = c_text(running, np.ones(50), np.ones((4, 50)))
    assert re.search(
        r"^// scan\(f64\[50\], f64\[4, 50\], graph=step, .*\) -> \(f64\[50\], f64\[4, 3\]\)",
        text,
        re.MULTILINE,
    )
    assert re.search(
        r"    // test_c_text.py:\d+  sums = np.cumsum\(total\)\n"
        r"    // cumsum_1: f64\[50\] = cumsum\(init, axis=0, reverse=False\)\n"
        r"    c_scan_1_step_cumsum_1\(init, cumsum_1, 1\);\n",
        text,
    )
    assert "(void)" not in text
    assert "work + 0" not in text
