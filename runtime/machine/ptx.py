"""Reads the PTX of a kernel: the GPUs for which it is, the layout of its parameters, and its threads.

PTX is text, which a GPU's driver compiles. Only the part before the kernel's body is parsed, in the form in which
LLVM prints it; words and numbers are those of NVIDIA's manual, "Parallel Thread Execution ISA".
"""

import re
from dataclasses import dataclass
from typing import Final

from ...compiler.errors import ParseError
from ...compiler.nesting import shown
from .cubin import laid_out

LARGEST: Final = 1 << 24
"""Maximum bytes of a text."""

_LONGEST_HEAD: Final = 1 << 20
_ENTRY: Final = ".visible .entry "
_ODD: Final = re.compile(r"[^\t\n -~]|/\*|[\"\\#]")
"""Not allowed in a head: the rest of it could mean something else to another parser."""
_FIRST: Final = re.compile(
    r"\.version ([1-9][0-9]?)\.([0-9])\n\.target sm_([0-9]{2,3})([af]?)\n\.address_size 64\n"
)
_KERNEL: Final = re.compile(r"([A-Za-z_$][A-Za-z0-9_$]{0,999})\(([^()]*)\)\n((?:\.[a-z]+ [0-9, ]{1,40}\n)*)")
_PARAMETER: Final = re.compile(
    r"\.param \.[busf](8|16|32|64)(?: \.ptr(?: \.global)?(?: \.align [0-9]{1,4})?)? [A-Za-z_$][A-Za-z0-9_$]*"
)
_THREADS: Final = re.compile(r"\.(?:reqntid|maxntid) ([0-9]{1,4})(?:, 1){0,2}")
_OTHERS: Final = re.compile(r"\.(?:minnctapersm|maxnreg) [0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class PtxFacts:
    """The kernel of a text."""

    name: str
    version: tuple[int, int]
    """The release of PTX: older drivers refuse it."""
    architecture: int
    """The oldest GPU that runs it: 80 for sm_80."""
    is_for_newer: bool
    """Whether newer GPUs can run it, too: not for ``sm_90a``, which has instructions that only this one has."""
    threads: int
    """The number of threads of a block, or their maximum; 0 for any."""
    parameters: tuple[tuple[int, int], ...]
    """Offset and size of each, in order, as in a cubin."""


def kernel_in(ptx: bytes) -> PtxFacts:
    """The facts about the only kernel in a text.

    Raises:
        ParseError: it is not PTX in the form that Triton writes, with one kernel.
    """
    if len(ptx) > LARGEST:
        raise ParseError(f"PTX of {len(ptx)} bytes is longer than the {LARGEST} that are read")
    try:
        text = ptx.decode("ascii")
    except UnicodeDecodeError as error:
        raise ParseError(f"this is not PTX: {error}") from error
    end = text.find("\n{", text.find(_ENTRY) + 1)
    head = text[: end + 1]
    if text.count(".entry") != 1 or not 0 <= end < _LONGEST_HEAD:
        raise ParseError("this is not PTX with one kernel")
    if odd := _ODD.search(head):
        raise ParseError(f"this is not PTX as compilers print it: {odd[0]!r} comes before the kernel")
    before, _, kernel = _without_comments(head).partition(_ENTRY)
    first, found = _FIRST.match(before), _KERNEL.fullmatch(kernel)
    if first is None or found is None or before.count(".version") + before.count(".target") != 2:
        raise ParseError("this is not PTX for GPUs of 64 bits, with readable parameters of a kernel")
    major, minor, architecture, variant = first.groups()
    name, parameters, rules = found.groups()
    return PtxFacts(
        name, (int(major), int(minor)), int(architecture), not variant, _threads(rules), _places(parameters)
    )


def _without_comments(head: str) -> str:
    """The significant lines."""
    lines = (line.partition("//")[0].strip() for line in head.split("\n"))
    return "".join(f"{line}\n" for line in lines if line)


def _places(parameters: str) -> tuple[tuple[int, int], ...]:
    sizes: list[int] = []
    for parameter in parameters.split(",") if parameters.strip() else []:
        found = _PARAMETER.fullmatch(parameter.strip())
        if found is None:
            raise ParseError(
                f"this is not PTX of a kernel that takes pointers and numbers: {shown(parameter.strip(), 80)}"
            )
        sizes.append(int(found[1]) // 8)
    return laid_out(sizes)


def _threads(rules: str) -> int:
    """The threads of a block, from the text after the parameters."""
    threads = 0
    for rule in rules.splitlines():
        if found := _THREADS.fullmatch(rule):
            if threads not in (0, int(found[1])):
                raise ParseError("PTX says two numbers of threads of its kernel")
            threads = int(found[1])
        elif not _OTHERS.fullmatch(rule):
            raise ParseError(f"PTX needs a kind of launch that is not supported: {shown(rule)}")
    return threads
