"""Generated linear algebra: NumPy's own functions, called once for a whole stack."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.printer import print_module

STACK = np.stack([np.eye(3) + 1, np.eye(3) + 2])


@pytest.mark.parametrize(
    ("name", "options", "statement"),
    [
        ("eigh", {}, "eigh_1, eigh_2 = np.linalg.eigh(x)"),
        ("eigh", {"UPLO": "U"}, 'eigh_1, eigh_2 = np.linalg.eigh(x, "U")'),
        ("eigvalsh", {}, "eigvalsh_1 = np.linalg.eigvalsh(x)"),
        ("svd", {"full_matrices": False}, "svd_1, svd_2, svd_3 = np.linalg.svd(x, full_matrices=False)"),
        ("svdvals", {}, "svdvals_1 = np.linalg.svd(x, compute_uv=False)"),
        ("qr", {}, "qr_1, qr_2 = np.linalg.qr(x)"),
        ("qr", {"mode": "raw"}, 'qr_1, qr_2 = np.linalg.qr(x, "raw")'),
        ("slogdet", {}, "slogdet_1, slogdet_2 = np.linalg.slogdet(x)"),
        ("cholesky", {}, "cholesky_1 = np.linalg.cholesky(x)"),
        ("inv", {}, "inv_1 = np.linalg.inv(x)"),
        ("det", {}, "det_1 = np.linalg.det(x)"),
    ],
)
def test_a_batch_is_one_statement(name: str, options: dict[str, Any], statement: str) -> None:
    def function(x: Any) -> Any:
        return getattr(np.linalg, name)(x, **options)

    source = tm.compile(tm.vmap(function)).lower(STACK).source
    body = source[source.index("def statements") : source.index("def reference")]
    assert [line.strip() for line in body.splitlines() if " = np.linalg" in line] == [statement]


def test_a_module_that_cannot_be_checked_on_random_numbers_says_so(tmp_path: Path) -> None:
    graph = tm.compile(np.linalg.cholesky).lower(STACK[0]).graph
    file = tmp_path / "factor.py"
    file.write_text(print_module(graph, NUMPY), encoding="utf-8")
    command = [sys.executable, "-I", "-W", "error", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "not checked: of random inputs, NumPy says: Matrix is not positive definite\n"
