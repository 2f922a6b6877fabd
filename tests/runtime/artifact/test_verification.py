"""Artifacts are verified by running them: what is wrong is found, and what rounding does is not a fault."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.runtime.artifact.verification import verified


def saturated(w: Any, x: Any, y: Any) -> Any:
    """Whose gradient is what is left of 1 - 1."""
    return np.mean((np.tanh(x @ w) - y) ** 2)


def test_results_that_are_rounding_alone_are_good(tmp_path: Path) -> None:
    specs = ("f32[8]", "f32[16, 8]", "f32[16]")
    for number, f in enumerate((tm.grad(saturated), tm.grad(lambda w, x, y: np.var(x @ w + 1e4) + y.sum()))):
        path = tm.export(f, *specs).save(tmp_path / f"{number}.tmill")
        assert [check.found for check in verified(path) if not check.is_good] == []


@pytest.mark.parametrize("wrong", range(3))
def test_results_that_are_wrong_are_found(
    wrong: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(x: Any) -> Any:
        return np.tanh(x) * 2, np.argsort(x), np.float32(1) / (x - x[::-1])

    path = tm.export(f, "f32[40]").save(tmp_path / "f.tmill")
    assert all(check.is_good for check in verified(path))

    def wrongly(x: Any) -> Any:
        results = [*f(x)]
        results[wrong] = results[1][::-1] if wrong == 1 else results[wrong] * np.float32(1.002)
        return tuple(results)

    monkeypatch.setattr(tm.Artifact, "function", lambda self: wrongly)
    (*_, run) = verified(path)
    assert (run.is_good, run.found[:8]) == (False, f"output {wrong}")


def test_a_matrix_that_numpy_refuses_is_no_fault(tmp_path: Path) -> None:
    (*_, run) = verified(tm.export(np.linalg.cholesky, "f64[4, 4]").save(tmp_path / "f.tmill"))
    assert run.is_good
    assert "left out, as NumPy says of random inputs: Matrix is not positive definite" in run.found
