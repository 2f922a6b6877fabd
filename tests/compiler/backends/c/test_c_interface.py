"""C functions called from Python take arrays of any layout and numbers, and refuse what does not fit."""

import gc
import math
import os
import runpy
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samples.sample import LAYOUTS
from support.recording import array_type, recorded
from support.threading_together import run_in_threads
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.c.function import CFunction
from tracemill.compiler.backends.c.module.interface import RELEASING
from tracemill.compiler.backends.c.module.library import CLibrary
from tracemill.compiler.backends.c.module.source import print_source
from tracemill.compiler.backends.c.types import c_type
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.backends.python.text import Names
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import ArrayType, Call, Graph, Value
from tracemill.compiler.loops.loop_costs import SHARED
from tracemill.runtime.machine.compiler_process import compiled
from tracemill.runtime.machine.threads import get_num_threads
from tracemill.runtime.machine.toolchain import Toolchain
from tracemill.runtime.programs.load_module import load_module
from tracemill.runtime.programs.shared_library import link

pytestmark = pytest.mark.usefixtures("c_compiler")

FLAGS = ("-O1", "-std=gnu11", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")


def c_function(
    name: str, inputs: Sequence[ArrayType], outputs: Sequence[ArrayType], body: str, work: int = 0
) -> CFunction:
    """A C function of ``x0``, …, ``out0``, … and ``threads``."""
    declared = [f"const {c_type(t.dtype)} *x{i}" for i, t in enumerate(inputs)]
    declared += [f"{c_type(t.dtype)} *out{i}" for i, t in enumerate(outputs)]
    text = f"static void {name}({', '.join([*declared, 'long threads'])}) {{ {body} }}"
    return CFunction(name, text, tuple(inputs), tuple(outputs), frozenset(), work)


def linked(
    functions: Sequence[CFunction], toolchain: Toolchain, library: CLibrary, graph: Graph
) -> Callable[..., Any]:
    """The function of the module of a graph, with its C functions."""
    function = load_module(print_module(graph, NUMPY, library=library), entry_name(graph))
    link(function, compiled(toolchain.command, FLAGS, print_source("f", functions)), None)
    return function


def wrapped(
    toolchain: Toolchain, inputs: Sequence[str], outputs: Sequence[str], body: str, work: int = 0
) -> Any:
    """The Python face of one C function."""
    types = [array_type(text) for text in inputs], [array_type(text) for text in outputs]
    function = c_function("c_tested", *types, body, work)
    library = CLibrary(lambda call, name: function)
    library.function_of(program("f64[3]").calls[0], Names())
    return linked([function], toolchain, library, recorded(lambda: ())).__globals__["c_tested"]


def copying(t: str) -> tuple[list[str], list[str], str]:
    """A function that copies an array."""
    size = math.prod(array_type(t).shape)
    return [t], [t], f"for (long i = 0; i < {size}; i++) out0[i] = x0[i];"


@pytest.fixture(scope="module")
def copy_matrix(c_toolchain: Toolchain) -> Any:
    return wrapped(c_toolchain, *copying("f32[3, 5]"))


@pytest.fixture(scope="module")
def negate_number(c_toolchain: Toolchain) -> Any:
    return wrapped(c_toolchain, ["f64[]"], ["f64[]"], "*out0 = -*x0;")


# ---- what goes in ------------------------------------------------------------------------------------


def unaligned(x: Array) -> Array:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


PLACED = {**LAYOUTS, "unaligned": unaligned, "read-only": read_only}


@pytest.mark.parametrize("layout", PLACED)
def test_inputs_may_have_any_memory_layout(copy_matrix: Any, layout: str) -> None:
    expected = np.arange(15, dtype=np.float32).reshape(3, 5)
    x = PLACED[layout](expected)
    out = np.zeros((3, 5), np.float32)
    assert copy_matrix(x, out) is None
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(x, expected)


def test_inputs_may_be_on_disk(copy_matrix: Any, tmp_path: Path) -> None:
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 5))
    x[...] = 2
    out = np.zeros((3, 5), np.float32)
    copy_matrix(x, out)
    assert (out == 2).all()


def test_a_dtype_that_is_only_equal_will_do(copy_matrix: Any) -> None:
    x = np.ones((3, 5), np.dtype(np.float32, metadata={"unit": "m"}))
    out = np.zeros((3, 5), np.float32)
    copy_matrix(x, out)
    assert (out == 1).all()


@pytest.mark.parametrize(
    "number", [np.float64(2.5), 2.5, np.array(2.5), unaligned(np.array([2.5]))[0:1].reshape(())]
)
def test_numbers_may_be_pythons_numpys_or_arrays_without_axes(negate_number: Any, number: Any) -> None:
    out = np.zeros(())
    negate_number(number, out)
    assert out == -2.5


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bool", "i8", "u16", "i64", "f16", "f32", "c64", "c128"])
def test_numbers_of_every_dtype_are_read_where_numpy_keeps_them(c_toolchain: Toolchain, dtype: str) -> None:
    copy = wrapped(c_toolchain, [f"{dtype}[]"], [f"{dtype}[]"], "*out0 = *x0;")
    type = array_type(f"{dtype}[]").dtype.type
    for number in (0, 1, 37):
        out = np.zeros((), type)
        copy(type(number), out)
        assert out == type(number)


def test_arrays_without_elements_are_given_too(c_toolchain: Toolchain) -> None:
    function = wrapped(c_toolchain, ["f64[0, 3]"], ["f64[0]", "f64[]"], "*out1 = 7;")
    number = np.zeros(())
    function(np.zeros((0, 3)), np.zeros(0), number)
    assert number == 7


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_a_wrong_number_of_arrays_is_refused(copy_matrix: Any, count: int) -> None:
    with pytest.raises(TypeError, match=rf"c_tested takes 2 arrays, not {count}"):
        copy_matrix(*[np.zeros((3, 5), np.float32)] * count)


@pytest.mark.parametrize(
    "x", [np.zeros((3, 4), np.float32), np.zeros((3, 5)), np.zeros(15, np.float32), 1.0, None, "x", [[1.0]]]
)
def test_an_input_of_another_type_is_refused(copy_matrix: Any, x: Any) -> None:
    with pytest.raises(TypeError, match="a C function needs float32 of shape"):
        copy_matrix(x, np.zeros((3, 5), np.float32))


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((5, 3), np.float32).T,
        read_only(np.zeros((3, 5), np.float32)),
        unaligned(np.zeros((3, 5), np.float32)),
        np.zeros((3, 5)),
        2.0,
        None,
    ],
)
def test_an_output_that_cannot_be_written_to_directly_is_refused(copy_matrix: Any, out: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot be written to|needs float32"):
        copy_matrix(np.zeros((3, 5), np.float32), out)


def test_nothing_is_leaked(copy_matrix: Any) -> None:
    x, out = np.zeros((5, 3), np.float32).T, np.zeros((3, 5), np.float32)
    before = [sys.getrefcount(item) for item in (x, out, copy_matrix)]
    for _ in range(100):
        copy_matrix(x, out)
        with pytest.raises(TypeError):
            copy_matrix(x, None)
    assert [sys.getrefcount(item) for item in (x, out, copy_matrix)] == before


def test_a_module_can_be_forgotten(c_toolchain: Toolchain) -> None:
    function = wrapped(c_toolchain, ["f64[]"], ["f64[]"], "*out0 = *x0;")
    module = weakref.ref(function.__self__[2])
    del function
    gc.collect()
    assert module() is None


# ---- threads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("work", "is_parallel"), [(0, False), (SHARED - 1, False), (SHARED, True)])
def test_long_work_may_use_several_threads(c_toolchain: Toolchain, work: int, is_parallel: bool) -> None:
    function = wrapped(c_toolchain, [], ["i64[]"], "*out0 = threads;", work)
    out = np.zeros((), np.int64)
    function(out)
    assert out == (get_num_threads() if is_parallel else 1)


def test_other_threads_of_python_run_during_long_work(c_toolchain: Toolchain) -> None:
    body = "long i = 0; while (!*(volatile const int8_t *)x0 && i < 1000000000000) i++; *out0 = *x0;"
    function = wrapped(c_toolchain, ["i8[]"], ["i8[]"], body, RELEASING)
    flag, out = np.zeros((), np.int8), np.zeros((), np.int8)
    waiting = threading.Thread(target=function, args=(flag, out))
    waiting.start()
    flag[...] = 1  # impossible if the function kept the interpreter lock
    waiting.join()
    assert out == 1


def test_several_threads_may_call_at_once(copy_matrix: Any) -> None:
    wrong: list[int] = []

    def run(number: int) -> None:
        x, out = np.full((5, 3), number, np.float32).T, np.zeros((3, 5), np.float32)
        for _ in range(2000):
            copy_matrix(x, out)
            if not (out == number).all():
                wrong.append(number)

    run_in_threads(run, 4)
    assert not wrong


# ---- modules that call C -----------------------------------------------------------------------------


def shifted(call: Call, name: str) -> CFunction | None:
    """Kernels of one input in C, whatever they mean: its elements and 1, in two arrays for each output."""
    if call.op != "kernel":
        return None
    inputs, outputs = ([value.type for value in values] for values in (call.inputs, call.outputs))
    body = " ".join(
        f"for (long i = 0; i < {t.size}; i++) out{n} [i] = x0[i] + {n + 1};" for n, t in enumerate(outputs)
    )
    work = ArrayType(np.dtype(np.uint8), (64,))
    return c_function(name, inputs, [*outputs, work], body + f" out{len(outputs)}[63] = 1;")


def kernel_of(count: int, type: str) -> Graph:
    return recorded(lambda x: tuple(fn.add(x, float(n + 1)) for n in range(count)), type)


def program(type: str) -> Graph:
    def f(x: Value) -> tuple[Value, ...]:
        (y,) = bind_kernel(kernel_of(1, type), fn.multiply(x, 2))
        a, b = bind_kernel(kernel_of(2, type), y)
        (z,) = bind_kernel(kernel_of(1, type), fn.add(a, b))
        return y, fn.sin(z), b

    return recorded(f, type, names=("c_kernel_1",))


def bind_kernel(graph: Graph, x: Value) -> tuple[Value, ...]:
    return tuple(bind_all("kernel", x, graph=graph))


@pytest.mark.slow
@pytest.mark.parametrize("type", ["f64[]", "f64[0]", "f64[7]", "f64[70, 70]"])
def test_a_module_gives_what_its_kernels_mean(c_toolchain: Toolchain, type: str) -> None:
    graph, library = program(type), CLibrary(shifted)
    print_module(graph, NUMPY, library=library)
    assert len(library.functions) == 2, "equal kernels share a function"
    library = CLibrary(shifted)
    print_module(graph, NUMPY, library=library)
    function = linked(library.functions, c_toolchain, CLibrary(shifted), graph)
    x = np.asarray(np.random.default_rng(0).standard_normal(array_type(type).shape))
    first = function(x)
    kept = [np.array(y) for y in first]
    y, z, b = function(x.copy(order="F"))
    expected = (2 * x + 1, np.sin((2 * x + 2) + (2 * x + 3) + 1), 2 * x + 3)
    for got in ((y, z, b), first, kept):
        for left, right in zip(got, expected, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12)


def run_program(folder: Path) -> "subprocess.CompletedProcess[str]":
    """``python program.py`` with no path to this package."""
    command = [sys.executable, "-I", "-W", "error", "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_printed_module_runs_on_its_own_beside_its_c_file(c_toolchain: Toolchain, tmp_path: Path) -> None:
    library = CLibrary(shifted)
    (tmp_path / "program.py").write_text(print_module(program("f64[7]"), NUMPY, library=library))
    (tmp_path / "program.c").write_text(print_source("f", library.functions))
    for _ in range(2):
        done = run_program(tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("ok: max difference 0.0e+00")
    assert (tmp_path / "program.so").exists()


@pytest.mark.slow
def test_a_printed_module_is_compiled_by_the_command_and_with_the_flags_that_are_given(
    c_compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = CLibrary(shifted, ("-O1", "-std=gnu11", "-fPIC", "-shared", "-DTHIRD=4"))
    (tmp_path / "program.py").write_text(print_module(program("f64[7]"), NUMPY, library=library))
    asked = "#if FIRST + SECOND + THIRD != 7\n#error not as asked\n#endif\n"
    (tmp_path / "program.c").write_text(asked + print_source("f", library.functions))
    assert "not as asked" in run_program(tmp_path).stderr
    monkeypatch.setenv("CC", f"{c_compiler} -DFIRST=1 '-DSECOND= 2'")
    assert run_program(tmp_path).stdout.startswith("ok: max difference 0.0e+00")


def test_a_printed_module_in_a_folder_that_is_read_only_makes_its_library_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = CLibrary(shifted)
    text = print_module(program("f64[7]"), NUMPY, library=library)
    (tmp_path / "program.py").write_text(text)
    (tmp_path / "program.c").write_text(print_source("f", library.functions))
    find = runpy.run_path(str(tmp_path / "program.py"), run_name="program")["library"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    assert Path(find()).is_relative_to(tmp_path / "elsewhere")
    assert not (tmp_path / "program.so").exists()


def test_a_printed_module_notices_what_c_does_wrong(c_toolchain: Toolchain, tmp_path: Path) -> None:
    library = CLibrary(shifted)
    graph = recorded(lambda x: bind("kernel", x, graph=recorded(fn.sin, "f64[7]")), "f64[7]")
    (tmp_path / "program.py").write_text(print_module(graph, NUMPY, library=library))
    (tmp_path / "program.c").write_text(print_source("f", library.functions))
    done = run_program(tmp_path)
    assert (done.returncode, done.stdout[:14]) == (1, "wrong: output ")


def test_the_same_functions_give_the_same_text() -> None:
    texts = set()
    for _ in range(2):
        library = CLibrary(shifted)
        texts.add(
            print_module(program("f64[7]"), NUMPY, library=library) + print_source("f", library.functions)
        )
    assert len(texts) == 1
