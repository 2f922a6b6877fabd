"""`triton_files`: a program for GPUs as a Python file that launches its kernels on torch tensors."""

import base64
import re
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....dtypes import real_dtype
from ....ir import Constant
from ...python.module import RESERVED, shape_text
from ...python.standalone.checks import CHECKS as NUMPY_CHECKS
from ...python.standalone.constants import EMBEDDED, beside_file
from ...python.standalone.exported_function import ExportedFunction, Library
from ...python.standalone.traced_function import TracedFunction
from ...python.standalone.unused_names import with_unused_marked
from ...python.text import WIDTH, Names, bare_tuple, tuple_text, wrapped
from ..plan import Plan
from ..planning.program import triton_program
from .checks import CHECKS
from .launcher import LAUNCHER
from .plan_text import PlanTexts, torch_dtype

_NAMES: Final = ("torch", "triton", "tl", "libdevice", "functools", "constants", *LAUNCHER, *NUMPY_CHECKS)

_DEFINED: Final = re.compile(r"^def (\w+)\(", re.MULTILINE)

TORCH: Final = Library(lambda dtype: ("torch", torch_dtype(dtype)), None)

CONSTANTS: Final = '''\
@functools.cache
def constants(device):
    """The constants of the program as flat tensors."""
'''


def triton_files(function: TracedFunction, *, fast_math: bool = False) -> dict[str, str | bytes]:
    """A function as files by name: ``NAME_triton.py``, and ``NAME_triton.npz`` if its constants are large.

    Its graph has been through all passes for Triton. The same function gives the same files, byte for byte.
    `fast_math` is that of `compile`.

    Raises:
        ExportError: NumPy would have to compute a part of it, or the function needs more than NumPy; the message says
            what.
    """
    names = Names([*RESERVED, *_NAMES])
    name = names.claim(function.name)
    tensors, steps = (names.claim(f"{name}_{what}") for what in ("of_tensors", "steps"))
    taken = [*RESERVED, *_NAMES, name, tensors, steps]
    kernels = triton_program(function.program.graph, fast_math=fast_math, taken=taken)
    functions = _DEFINED.findall(kernels.text)
    for defined in functions:
        names.claim(defined)
    texts = PlanTexts(names, [*taken, *functions], fast_math)
    texts.add(kernels.plan, steps)
    own = [*taken, *functions]
    of_module = Names(RESERVED)
    for defined in own:
        of_module.claim(defined)
    exported = ExportedFunction(function.program, function.parameters, of_module, own, TORCH)
    user_function = exported.text(name, tensors, function.doc, None)
    constants, beside = _constants(list(texts.known.values()))
    helpers = [LAUNCHER[helper] for helper in ("flat", "device_of", *sorted(texts.used))]
    checks = [CHECKS.get(check) or NUMPY_CHECKS[check] for check in exported.checks]
    blocks = [
        user_function,
        _entry(tensors, steps, kernels.plan, exported.inputs),
        *texts.functions,
        *([constants] if constants else []),
        *(text.splitlines() for text in (*checks, *helpers)),
    ]
    launching = "\n\n\n".join(with_unused_marked("\n".join(lines)) for lines in blocks)
    needs_numpy = "np." in launching
    imports = sorted({*exported.imports, *(["functools"] if constants else []), *(["os"] if beside else [])})
    head = [_header(name, beside is not None), "\n".join(f"import {found}" for found in imports)]
    head.append("\n".join([*(["import numpy as np"] * needs_numpy), "import torch"]))
    text = with_unused_marked(_without_head(kernels.text))
    parts = ["\n\n".join(filter(None, head)) + "\n" + text, "\n".join(exported.tuple_statements)]
    parts += [launching, "\n".join(exported.alias_statements)]
    files: dict[str, str | bytes] = {f"{name}_triton.py": "\n\n\n".join(filter(None, parts)) + "\n"}
    if beside is not None:
        files[f"{name}_triton.npz"] = beside
    return files


def _without_head(text: str) -> str:
    """The required imports, and the functions, without the docstring."""
    _, _, text = text.removeprefix('"""').partition('"""')
    imported = "from triton.language.extra import libdevice\n"
    return (text if text.count("libdevice") > 1 else text.replace(imported, "")).strip("\n")


def _header(name: str, beside: bool) -> str:
    lies = f" Its constants are beside it in {name}_triton.npz." if beside else ""
    return (
        f'"""{name} on GPUs: kernels of Triton, exported by Tracemill.\n\nNeeds torch and triton.{lies}\n"""'
    )


def _entry(name: str, steps: str, plan: Plan, inputs: Sequence[str]) -> list[str]:
    """``def name(inputs)``: allocates the memory, and runs the plan."""
    own = Names([*RESERVED, *_NAMES, steps])
    given = own.inner(list(inputs))
    device, arena, *outputs = (
        own.claim(x) for x in ("device", "arena", *(slot.name for slot in plan.outputs))
    )
    types = [f"{x}: {slot.type}" for x, slot in zip(given, plan.inputs, strict=True)]
    results = [str(slot.type) for slot in plan.outputs]
    lines = wrapped(f"def {name}(", given, "):", indent=0)
    lines.append(f'    """Inputs: {", ".join(types) or "none"}. Outputs: {", ".join(results) or "none"}."""')
    lines.append(f"    {device} = device_of({tuple_text(given)})")
    lines.append(f"    {arena} = torch.empty({plan.arena_bytes}, dtype=torch.uint8, device={device})")
    for output, slot in zip(outputs, plan.outputs, strict=True):
        options = f"dtype=torch.{torch_dtype(slot.type.dtype)}, device={device}"
        lines.append(f"    {output} = torch.empty({shape_text(slot.type.shape)}, {options})")
    lines.append(f"    with torch.cuda.device_of({arena}):")
    arguments = [arena, *(f"flat({x}, {device})" for x in (*given, *outputs))]
    lines += wrapped(f"{steps}(", arguments, ")", indent=8)
    return [*lines, *(bare_tuple("return ", outputs) if outputs else ["    return ()"])]


def _constants(known: Sequence[Constant]) -> tuple[list[str], bytes | None]:
    """The function that creates them, and the contents of the file beside it."""
    if not known:
        return [], None
    dtypes = [torch_dtype(real_dtype(constant.dtype)) for constant in known]
    stored = [np.ascontiguousarray(constant.array).reshape(-1).view(np.uint8) for constant in known]
    lines = CONSTANTS.splitlines()
    if sum(array.size for array in stored) > EMBEDDED:
        export, beside = beside_file({f"constant_{i}": array for i, array in enumerate(stored)}, known)
        lines += export.splitlines()
        lines.append(f'        arrays = [file[f"constant_{{i}}"] for i in range({len(known)})]')
        lines += wrapped("dtypes = [", [f"torch.{dtype}" for dtype in dtypes], "]")
        lines.append("    tensors = [torch.from_numpy(x).view(dtype) for x, dtype in zip(arrays, dtypes)]")
        return [*lines, "    return [x.to(device) for x in tensors]"], beside
    lines += ["    import base64", "    import zlib", "", "    return ["]
    for dtype, array in zip(dtypes, stored, strict=True):
        if not array.size:
            lines.append(f"        torch.empty(0, dtype=torch.{dtype}, device=device),")
            continue
        text = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        pieces = [text[i : i + WIDTH - 30] for i in range(0, len(text), WIDTH - 30)]
        lines += ["        torch.frombuffer(", "            bytearray("]
        lines += ["                zlib.decompress(", "                    base64.b64decode("]
        lines += [f'                        "{piece}"' for piece in pieces]
        lines += ["                    )", "                )", "            ),"]
        lines += [f"            dtype=torch.{dtype},", "        ).to(device),"]
    return [*lines, "    ]"], None
