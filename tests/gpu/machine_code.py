"""What is in a cubin, by the disassembler that comes with Triton: its instructions, and those that loops repeat."""

import re
import subprocess
import tempfile
from pathlib import Path

_LABEL = re.compile(r"^\s*(\.L\w+):")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
_JUMP = re.compile(r"\bBRA\b.*`\((\.L\w+)\)")


def counted(code: bytes) -> tuple[int, int]:
    """How many instructions a function has, without those that only fill up, and how many of them are in loops.

    A loop is the code between a backward jump and its target. So both sides of a branch count.
    """
    lines, labels = list[str](), dict[str, int]()
    for line in _disassembled(code).splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(lines)
        elif instruction := _INSTRUCTION.match(line):
            lines.append(instruction[1])
    real = {place for place, line in enumerate(lines) if not line.startswith("NOP")}
    repeated = set[int]()
    for place, line in enumerate(lines):
        if (jump := _JUMP.search(line)) and labels[jump[1]] < place:
            repeated |= real.intersection(range(labels[jump[1]], place + 1))
    return len(real), len(repeated)


def _disassembled(code: bytes) -> str:
    from triton import knobs

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(code)
        return subprocess.check_output([knobs.nvidia.nvdisasm.path, "-c", str(path)], text=True)
