"""A kernel in Triton as a file that runs on its own: on a GPU through torch, otherwise in Triton's interpreter."""

import re
from collections.abc import Sequence
from typing import Final

from ....ir import Graph
from ...numpy.writer import NUMPY
from ...python.comparison import Compared, print_compared
from ...python.empty_module import entry_name
from ...python.literals import dtype_text
from ...python.module import shape_text
from ...python.text import tuple_text, wrapped
from ..kernels.kernel import TritonKernel
from .module import operands

DOC: Final = '''\
"""{name}: Triton functions made by Tracemill, called after what they compute.

Run this file to check them against the NumPy definition of every operation and to time them. That needs NumPy and
Triton. With torch and a GPU they run there, otherwise in Triton's interpreter{also}.
"""'''

IMPORTS: Final = """\
try:
    import torch

    on_gpu = torch.cuda.is_available()
except ImportError:
    on_gpu = False
if not on_gpu:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is loaded

import triton
import triton.language as tl
from triton.language.extra import libdevice"""

MEMORY: Final = '''\
class Memory:
    """An array as the interpreter takes one of torch: a pointer to memory that it reads and writes in place."""

    NAMES = {"bool": "i1", "float16": "fp16", "float32": "fp32", "float64": "fp64"}

    def __init__(self, array):
        self.array = array
        self.dtype = self.NAMES.get(array.dtype.name, array.dtype.name.replace("int", "i").replace("ui", "u"))

    def data_ptr(self):
        return self.array.ctypes.data

    def cpu(self):
        return self

    def untyped_storage(self):
        return self

    def new_empty(self, *shape, **options):
        return Memory(self.array)

    def set_(self, *layout):
        pass

    def copy_(self, other):
        pass

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return self.array.strides
'''

ENTRY: Final = '''\
def {name}({parameters}):
    """Launch the functions one after another; the outputs as arrays."""
    given = [np.require(array, requirements="CA") for array in ({inputs})]
    arrays = [*given, *(np.empty(shape, dtype) for shape, dtype in BUFFERS[len(given) :])]
    reals = [array.view(array.real.dtype) if array.dtype.kind == "c" else array for array in arrays]
    memory = [torch.from_numpy(array.copy()).cuda() if on_gpu else Memory(array) for array in reals]
    options = {{"enable_fp_fusion": {fast_math}}} if on_gpu else {{}}
    with np.errstate(all="ignore"):
        for function, programs, warps, stages, places in LAUNCHES:
            settings = options | ({{"num_warps": warps, "num_stages": stages}} if on_gpu else {{}})
            globals()[function][(programs,)](*(memory[place] for place in places), **settings)
    if on_gpu:
        arrays = [
            block.cpu().numpy().view(array.dtype).reshape(array.shape) for block, array in zip(memory, arrays)
        ]
    return arrays[len(given) : len(given) + OUTPUTS]
'''

LIBRARY: Final = '''\
def by_numpy(function):
    """A function of blocks for the interpreter, which has none of CUDA's library."""

    def on_blocks(*operands):
        like = next(x for x in operands if isinstance(x, tl.tensor))
        numbers = [x.handle.data if isinstance(x, tl.tensor) else getattr(x, "value", x) for x in operands]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*(np.asarray(x, like.handle.data.dtype) for x in numbers)))
        result = result.astype(like.handle.data.dtype)
        return tl.tensor(interpreter.TensorHandle(result, like.dtype), like.type)

    return on_blocks


if not on_gpu:
    from triton.runtime import interpreter
'''

_NUMPY: Final = {
    **{
        name: f"np.{name}"
        for name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()
    },
    **{
        name: f"np.{name}" for name in "sqrt cbrt floor ceil trunc rint fmod hypot copysign nextafter".split()
    },
    **{f"a{name}": f"np.arc{name}" for name in "sin cos tan sinh cosh tanh tan2".split()},
    "pow": "np.power",
}
_SCIPY: Final = {
    **{name: f"special.{name}" for name in "erf erfc erfcx erfinv j0 j1 y0 y1".split()},
    "lgamma": "special.gammaln",
    "tgamma": "special.gamma",
    "normcdfinv": "special.ndtri",
}
_NAMES: Final = (
    *("torch", "triton", "tl", "libdevice", "on_gpu", "Memory", "LAUNCHES", "BUFFERS", "OUTPUTS"),
    *("by_numpy", "interpreter", "special"),
)
_CALLED: Final = re.compile(r"\blibdevice\.(\w+)")
_DEFINED: Final = re.compile(r"^def (\w+)\(", re.MULTILINE)


NEEDS_GPU: Final = """\
    if not on_gpu:
        print("not checked: Triton's interpreter has no bfloat16")
        sys.exit(0)"""


def runnable(
    graph: Graph, meaning: Graph, kernel: TritonKernel, text: str, *, fast_math: bool = False
) -> str:
    """The functions of a kernel, which compute a graph of one call, as a module that compares itself with `meaning`.

    That is the same graph without composite ops; `text` has the functions. bfloat16 needs a GPU: the interpreter
    lacks it.
    """
    used = sorted(set(_CALLED.findall(text)))
    of_scipy = [called for called in used if called in _SCIPY]
    name = entry_name(graph)
    doc = DOC.format(name=name, also=", with SciPy" if of_scipy else "")
    blocks = [text.rstrip(), MEMORY.rstrip(), *_library(used, of_scipy), _launches(kernel)]
    (call,) = graph.calls

    def entry(parameters: Sequence[str], inputs: Sequence[str]) -> str:
        given = "".join(f"{text}, " for text in inputs).strip() if len(inputs) == 1 else ", ".join(inputs)
        return ENTRY.format(
            name=name, fast_math=fast_math, parameters=", ".join(parameters), inputs=given
        ).rstrip()

    return print_compared(
        meaning,
        NUMPY,
        doc,
        IMPORTS,
        blocks,
        Compared(
            entry,
            graph.inputs,
            (*operands(call), *kernel.constants),
            (*_NAMES, *_DEFINED.findall(text)),
            NEEDS_GPU.splitlines() if any(t.dtype.name == "bfloat16" for t in kernel.buffers) else (),
        ),
    )


def _library(used: Sequence[str], of_scipy: Sequence[str]) -> list[str]:
    """Replacements for functions of CUDA's library without a GPU."""
    if not used:
        return []
    lines = ["    from scipy import special"] if of_scipy else []
    known = {**_NUMPY, **_SCIPY}
    lines += [f"    libdevice.{name} = by_numpy({known[name]})" for name in used if name in known]
    return ["\n".join([LIBRARY.rstrip(), *lines])]


def _launches(kernel: TritonKernel) -> str:
    launches = [
        f'("{launch.function}", {launch.programs}, {launch.warps}, {launch.stages}, {tuple_text(launch.buffers)})'
        for launch in kernel.launches
    ]
    buffers = [f"({shape_text(type.shape)}, {dtype_text(type.dtype)})" for type in kernel.buffers]
    lines = ["# function, programs, warps, stages, buffers"]
    lines += wrapped("LAUNCHES = [", launches, "]", indent=0)
    lines += wrapped("BUFFERS = [", buffers, "]", indent=0)
    return "\n".join([*lines, f"OUTPUTS = {kernel.outputs}"])
