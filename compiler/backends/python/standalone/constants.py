"""Large constants of an exported file: as text at its end, or in a file beside it, read by the first call."""

import ast
import base64
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np

from ....dtypes import Array
from ....ir import Constant
from ..literals import array_text, dtype_text
from ..module import Module, shape_text
from ..text import WIDTH, wrapped

EMBEDDED: Final = 1 << 20
"""If constants have more bytes than this in total, they would make the text unwieldy: they are in a file beside it."""

NAMES: Final = ("load", "unpacked")
"""The names of the functions."""

UNPACKED = '''\
def unpacked(text, dtype, shape):
    """An array whose bytes were compressed and written in base 64."""
    import base64  # with zlib a third of what it takes to import this file
    import zlib

    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape(shape)
'''

BESIDE = """\
    path = os.path.splitext(__file__)[0] + ".npz"
    with np.load(path) as file:
        if EXPORT not in file:
            raise ValueError(f"{path} belongs to another export than {__file__}: export both again")
"""


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of a program in an exported file."""

    statements: Sequence[str]
    """The names of small constants, and of large ones that are not read yet."""
    load: Sequence[str]
    """The function that reads large ones; empty if there are none."""
    unpacked: Sequence[str]
    """The function that unpacks one from text."""
    texts: Sequence[str]
    """The packed texts."""
    flag: str | None
    """The variable that is None until all are read."""
    beside: bytes | None
    """The contents of the file beside it, in NumPy's format."""


def constants_of(module: Module, known: Sequence[str]) -> Constants:
    """The statements for the constants of a module, and for `known`, the values computed from them before any call."""
    texts = {name: array_text(constant.array) for name, constant in module.constants.values()}
    large = {name: constant for name, constant in module.constants.values() if texts[name] is None}
    early, late, names = _split(known, set(large))
    small = [f"{name} = {text}" for name, text in texts.items() if text is not None]
    if not large:
        return Constants([*small, *early], (), (), (), None, None)
    turned = _turned(large)
    read = {name: constant for name, constant in large.items() if name not in turned}
    all_names = [*read, *turned, *names]
    unset = [f"{name} = None  # set by `load`" for name in all_names]
    late = [*(f"    {name} = np.ascontiguousarray({other}.T)" for name, other in turned.items()), *late]
    head = ["def load():", '    """Read the large constants, which no call before has needed."""']
    head += [f"    global {name}" for name in all_names]
    flag = all_names[-1]  # once this is set, all are there
    if sum(constant.type.nbytes for constant in read.values()) > EMBEDDED:
        lines, beside = _from_beside(read)
        return Constants([*small, *early, *unset], [*head, *lines, *late], (), (), flag, beside)
    lines, packed = _from_texts(read)
    unpacked = UNPACKED.splitlines()
    return Constants([*small, *early, *unset], [*head, *lines, *late], unpacked, packed, flag, None)


def _from_texts(read: Mapping[str, Constant]) -> tuple[list[str], list[str]]:
    """Statements that read constants from texts, and these texts."""
    lines: list[str] = []
    texts: list[str] = []
    for name, constant in read.items():
        stored = _stored(constant.array)
        texts += [f'{name}_packed = """', *_packed(stored), '"""']
        arguments = [f"{name}_packed", f'"{stored.dtype.str}"', shape_text(constant.shape)]
        lines += wrapped(f"{name} = unpacked(", arguments, f"){_as_named(constant)}")
    return lines, texts


def _from_beside(read: Mapping[str, Constant]) -> tuple[list[str], bytes]:
    """Statements that read constants from a NumPy file, and its contents."""
    arrays = {name: _stored(constant.array) for name, constant in read.items()}
    head, beside = beside_file(arrays, list(read.values()))
    lines = [f'        {name} = file["{name}"]{_as_named(constant)}' for name, constant in read.items()]
    return [*head.splitlines(), *lines], beside


def beside_file(arrays: Mapping[str, Array], constants: Sequence[Constant]) -> tuple[str, bytes]:
    """Statements that open a NumPy file beside the program, and its contents, which include a name for this export."""
    digests = " ".join(constant.digest for constant in constants)
    export = f"export_{sha256(digests.encode()).hexdigest()[:16]}"
    memory = io.BytesIO()
    np.savez(memory, allow_pickle=False, **{export: np.zeros(0, np.uint8), **arrays})
    return BESIDE.replace("EXPORT", f'"{export}"'), memory.getvalue()


def _split(known: Sequence[str], large: set[str]) -> tuple[list[str], list[str], list[str]]:
    """The statements that need no large constant, the others, indented, and what they define."""
    text = "\n".join(known)
    early: list[str] = []
    late: list[str] = []
    names: list[str] = []
    for statement in ast.parse(text).body:
        lines = known[statement.lineno - 1 : statement.end_lineno]
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if used.isdisjoint({*large, *names}):
            early += lines
        else:
            late += [f"    {line}" for line in lines]
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            names += [node.id for node in stored if isinstance(node.ctx, ast.Store)]
    return early, late, names


def _turned(large: Mapping[str, Constant]) -> dict[str, str]:
    """The constants that are transposes of others, such as the weights of a layer in its gradient, with these
    others."""
    names: dict[str, str] = {}
    turned: dict[str, str] = {}
    for name, constant in large.items():
        other = (
            names.get(Constant(np.ascontiguousarray(constant.array.T)).digest) if constant.ndim > 1 else None
        )
        if other is None:
            names[constant.digest] = name
        else:
            turned[name] = other
    return turned


def _is_renamed(array: Array) -> bool:
    return array.dtype.name == "bfloat16"


def _stored(array: Array) -> Array:
    """As NumPy's own dtypes, little-endian."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    return array.view("<u2") if _is_renamed(array) else array.astype(array.dtype.newbyteorder("<"))


def _as_named(constant: Constant) -> str:
    return f".view({dtype_text(constant.dtype)})" if _is_renamed(constant.array) else ""


def _packed(stored: Array) -> list[str]:
    text = base64.b64encode(zlib.compress(stored.tobytes(), 9)).decode()
    return [text[i : i + WIDTH - 10] for i in range(0, len(text), WIDTH - 10)]
