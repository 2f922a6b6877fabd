"""Compiles Triton functions for the CPU and runs them: a second opinion beside the interpreter, without a GPU.

Triton has no backend for CPUs, but its LLVM has one. Compiled for an AMD GPU with warps of one thread, a function is
plain LLVM IR: a block is a number of scalars, and nothing passes between threads. Without the marks of that GPU it is
code for any machine. triton_native.c has the few instructions of the GPU that remain.

A program of its own, which answers `triton_elsewhere`: where Triton's interpreter is loaded, nothing can be compiled.
"""

import contextlib
import ctypes
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from triton import knobs
from triton._C.libtriton import amd, ir, llvm
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from gpu.triton_elsewhere import Request, read_request
from support.kept_files import kept
from tracemill.compiler.backends.triton.plan import ALIGNED
from tracemill.compiler.backends.triton.types import pointer_type
from tracemill.compiler.dtypes import Array
from tracemill.runtime.machine.triton_amd_stub import name_missing_functions
from tracemill.runtime.machine.triton_compiler import _functions

SUPPORT = Path(__file__).with_suffix(".c")
TARGET = GPUTarget("hip", "gfx1100", 32)
MACHINE: Final[tuple[Any, ...]] = ("x86_64-unknown-linux-gnu", "x86-64-v3", "", [], False, True)
"""Triple, processor, features and flags; no fused multiply-add, and an object file."""


TRITON = [version("triton"), SUPPORT.read_text(encoding="utf-8"), Path(__file__).read_text(encoding="utf-8")]
"""What machine code depends on beside a function's text: Triton, and how it is changed here."""

name_missing_functions()


# ---- LLVM IR --------------------------------------------------------------------------------------------


_optimize = llvm.optimize_module


def without_vectors(module: Any, *arguments: Any, **options: Any) -> None:
    """LLVM's passes but for the one that makes vectors of scalars: there are some that it cannot compile for x86."""
    _optimize(module, *arguments, **{**options, "disable_slp_vectorizer": True})


if "disable_slp_vectorizer" in _optimize.__doc__:  # not in Triton 3.6
    llvm.optimize_module = without_vectors


def gpu_text(function: Any, types: Sequence[str]) -> str:
    """A Triton function as LLVM IR for a GPU with warps of one thread."""
    source = ASTSource(
        function,
        signature=dict(zip(function.arg_names, types, strict=True)),
        constexprs={},
        attrs={(number,): [["tt.divisibility", ALIGNED]] for number in range(len(types))},
    )
    backend: Any = make_backend(TARGET)
    options = backend.parse_options({"num_warps": 1, "num_stages": 1, "enable_fp_fusion": False})
    object.__setattr__(options, "warp_size", 1)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    found = source.make_ir(
        TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    stages: dict[str, Callable[..., Any]] = {}
    backend.add_stages(stages, options, source.language)
    metadata = dict(vars(options))
    with knobs.compilation.scope(), knobs.amd.scope():
        knobs.compilation.disable_line_info = True
        knobs.amd.use_buffer_ops = False
        for stage in ("ttir", "ttgir", "llir"):  # and no further: the rest takes three quarters of the time
            found = stages[stage](found, metadata)
    return str(found)


_OF_THE_GPU: Final = (
    (r"^(?:target (?:datalayout|triple)|source_filename|attributes #\d+|!).*$", ""),
    (
        r"^(@\w+) = external .*addrspace\(3\) global \[\d+ x i8\].*$",
        r"\1 = internal global [65536 x i8] zeroinitializer, align 16",
    ),
    (r",? addrspace\(\d\)", ""),
    (r"\baddrspacecast\b", "bitcast"),
    (r"\.p[1-9]\b", ".p0"),
    (r"\b(?:amdgpu_kernel|inreg|immarg) ?", ""),
    (r",? !\w[\w.]* !\d+| #\d+\b", ""),
)
"""The text that describes memory and calls there, and its replacement."""

_INSTRUCTION: Final = re.compile(r"@llvm\.(amdgcn\.[\w.]+)")


def cpu_text(text: str) -> str:
    """The same for any machine, with functions of triton_native.c for instructions of the GPU.

    LLVM ends the process where it does not know one, so those without a function are refused here.
    """
    for pattern, replacement in _OF_THE_GPU:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    known = set(re.findall(r"\b(amdgcn_\w+)\(", SUPPORT.read_text(encoding="utf-8")))
    unknown = {name for name in _INSTRUCTION.findall(text) if name.replace(".", "_") not in known}
    if unknown:
        raise NotImplementedError(f"{SUPPORT.name} has no {', '.join(sorted(unknown))}")
    return _INSTRUCTION.sub(lambda found: "@" + found[1].replace(".", "_"), text)


def register_processors() -> None:
    """Let LLVM know of all processors that it has been built for: Triton registers GPUs only, its linker all."""
    llvm.init_targets()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(RuntimeError):
        amd.link_hsaco(str(Path(folder, "nothing")), str(Path(folder, "linked")))
    machine_code(
        "define void @nothing() {\n  ret void\n}\n"
    )  # ends the process if it has not learnt of this one


def machine_code(text: str) -> bytes:
    """An object file."""
    try:
        code = llvm.translate_to_asm(text, *MACHINE)
    except TypeError:  # Triton 3.9 takes two more
        code = llvm.translate_to_asm(text, *MACHINE, False, sched4reg=False)
    return bytes(code)


# ---- libraries ------------------------------------------------------------------------------------------


def taking_pointers(function: str, count: int) -> str:
    """LLVM IR of a function that calls another with pointers in memory, and with none for Triton's own two."""
    lines = [f"define void @pointers_{function}(ptr %all) {{"]
    for number in range(count):
        lines.append(f"  %place{number} = getelementptr ptr, ptr %all, i64 {number}")
        lines.append(f"  %pointer{number} = load ptr, ptr %place{number}")
    arguments = [*(f"ptr %pointer{number}" for number in range(count)), "ptr null", "ptr null"]
    return "\n".join([*lines, f"  call void @{function}({', '.join(arguments)})", "  ret void", "}", ""])


class Linker:
    """The C compiler, and triton_native.c as an object file."""

    def __init__(self, compiler: str, folder: Path) -> None:
        self._compiler, self._support = compiler, str(folder / "support.o")
        self._run("-O1", "-fPIC", "-c", str(SUPPORT), "-o", self._support)

    def library(self, objects: Sequence[str], folder: Path) -> ctypes.CDLL:
        """The functions of object files, and the loop over a grid."""
        made = str(folder / "kernel.so")
        self._run("-shared", *objects, self._support, "-o", made, "-lm")
        return ctypes.CDLL(made)

    def _run(self, *arguments: str) -> None:
        done = subprocess.run([self._compiler, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)


def library(request: Request, linker: Linker, folder: Path) -> ctypes.CDLL:
    """The functions of a request, and those that call them with pointers in memory."""
    functions = _functions(request.text)
    objects: list[str] = []
    for launch in request.launches:
        types = [pointer_type(request.buffers[number].dtype) for number in launch.buffers]

        def code(name: str = launch.function, types: Sequence[str] = types) -> bytes:
            text = cpu_text(gpu_text(functions[name], types))
            return machine_code(text + taking_pointers(name, len(types)))

        made_of = [TRITON, *MACHINE, request.text, launch.function, types]
        objects.append(str(kept(".o", made_of, code)))
    return linker.library(objects, folder)


# ---- running --------------------------------------------------------------------------------------------

_UNWRITTEN: Final = 0xA5
_FENCE: Final = 64
"""Bytes after an array that must not be written."""


def memory_of(array: Array | None, size: int) -> Array:
    """Bytes that hold an array, or no particular numbers yet."""
    memory = np.full(size + _FENCE, _UNWRITTEN, np.uint8)
    if array is not None:
        memory[:size] = np.frombuffer(array.tobytes(), np.uint8)
    return memory


def answer(request: Request, linker: Linker, folder: Path) -> None:
    """Run the launches of a request, and leave the outputs in the folder."""
    loaded = library(request, linker, folder)
    sizes = [t.size * t.dtype.itemsize for t in request.buffers]
    arrays: list[Array | None] = [*request.inputs, *[None] * (len(sizes) - len(request.inputs))]
    memory = list(map(memory_of, arrays, sizes))
    for launch in request.launches:
        pointers = (ctypes.c_void_p * len(launch.buffers))(*(memory[i].ctypes.data for i in launch.buffers))
        loaded.run_grid(loaded[f"pointers_{launch.function}"], pointers, launch.programs)
    for number, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        if np.any(memory[number][size:] != _UNWRITTEN):
            raise RuntimeError(f"what lies behind buffer {number} is written to")
        if array is not None and memory[number][:size].tobytes() != array.tobytes():
            raise RuntimeError(f"input {number} is written to")
    first = len(request.inputs)
    for number in range(request.outputs):
        t = request.buffers[first + number]
        content = memory[first + number][: sizes[first + number]]
        np.save(folder / f"output_{number}.npy", content.view(t.dtype).reshape(t.shape))


def main(compiler: str) -> None:
    """Answer the requests in the folders that are named, one in each line."""
    register_processors()
    with tempfile.TemporaryDirectory() as name:
        linker = Linker(compiler, Path(name))
        print("ready", flush=True)
        for line in sys.stdin:
            folder = Path(line.strip())
            try:
                answer(read_request(folder), linker, folder)
            except Exception as error:
                print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
            else:
                print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
