"""The debugger's session on the page about printing happens as the page shows it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "printing.md").read_text(encoding="utf-8")


def test_a_breakpoint_in_an_uncompiled_derivative_stops_at_the_line_with_numbers(tmp_path: Path) -> None:
    ((program, session),) = re.findall(r"```py\n(# debugged.py\n.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "debugged.py").write_text(program, encoding="utf-8")
    first, *lines = session.splitlines()
    typed = [line.removeprefix("(Pdb) ") for line in lines if line.startswith("(Pdb) ")]
    expected = [line for line in lines if not line.startswith("(Pdb) ")]
    if sys.version_info >= (3, 13):  # stops at the breakpoint itself, not after it
        expected[:2] = ["> debugged.py(6)energy()", "-> breakpoint()"]
    command = f"import numpy as np, tracemill as tm\nfrom debugged import energy\nprint(repr({first[4:]}))"
    done = subprocess.run(
        [sys.executable, "-c", command],
        input="\n".join(typed) + "\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "tests" / ".root")])},
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stdout.replace("(Pdb) ", "").replace(f"{tmp_path}{os.sep}", "").splitlines()
    assert (said, typed) == (expected, ["p wave", "continue"])
