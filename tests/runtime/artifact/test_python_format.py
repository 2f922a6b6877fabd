"""Artifacts are saved as Python files, which take and give what the exported function does."""

import inspect
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ExportError

WEIGHTS = np.random.default_rng(0).normal(size=(600, 500))


def loss(params: dict[str, Any], x: Any, scale: float = 2.0, mode: str = "mean") -> Any:
    """How wrong the model is."""
    h = np.tanh(x @ params["w"])
    params["calls"] += 1
    return {"loss": getattr(np, mode)(h) * scale, "h": h}


def imported(path: Path, name: str) -> Any:
    """The function of a file."""
    space: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    return space[name]


@pytest.mark.slow
def test_a_saved_file_is_called_like_the_function_and_needs_numpy_alone(tmp_path: Path) -> None:
    params = {"w": "f32[5, 2]", "calls": "i64[1]"}
    path = tm.export(loss, params, "x: f32[3, 5]", "scale: float", "mode = 'mean'").save(
        tmp_path / "m.py", "python"
    )
    assert path == tmp_path / "m.py"
    assert sorted(x.name for x in tmp_path.iterdir()) == ["m.py"]
    function = imported(path, "loss")
    assert inspect.getdoc(function) == loss.__doc__
    assert inspect.signature(function).parameters.keys() == inspect.signature(loss).parameters.keys()
    ours, theirs = ({"w": np.ones((5, 2), np.float32), "calls": np.array([3])} for _ in range(2))
    x = np.linspace(0, 1, 15, dtype=np.float32).reshape(3, 5)
    got, expected = function(ours, x, scale=3.0), loss(theirs, x, scale=3.0)
    np.testing.assert_allclose(got["h"], expected["h"], rtol=1e-6)
    np.testing.assert_allclose(got["loss"], expected["loss"], rtol=1e-6)
    assert (got["loss"].dtype, ours["calls"][0]) == (expected["loss"].dtype, 4)
    run = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, check=False)
    assert run.stdout.startswith("ok: max difference "), run.stderr


def test_large_constants_are_stored_beside_the_file_under_its_name(tmp_path: Path) -> None:
    def product(x: Any) -> Any:
        return x @ WEIGHTS

    artifact = tm.export(product, "f64[4, 600]")
    path = artifact.save(tmp_path / "product.py", "python")
    assert sorted(x.name for x in tmp_path.iterdir()) == ["product.npz", "product.py"]
    again = artifact.save(tmp_path / "again.py", format="python")
    assert again.with_suffix(".npz").read_bytes() == path.with_suffix(".npz").read_bytes()
    x = np.ones((4, 600))
    np.testing.assert_allclose(imported(path, "product")(x), x @ WEIGHTS, rtol=1e-12)


def test_a_loaded_artifact_can_be_saved_as_python(tmp_path: Path) -> None:
    bundle = tm.export(tm.grad(lambda w, x: np.sum(np.sin(w * x))), "w: f64[3]", "x: f64[3]").save(
        tmp_path / "g.tmill"
    )
    loaded = tm.load(bundle)
    gradient = imported(
        tm.export(loaded, "f64[3]", "f64[3]").save(tmp_path / "g.py", "python"), loaded.__name__
    )
    np.testing.assert_array_equal(gradient(np.zeros(3), np.arange(3.0)), np.arange(3.0))


def test_what_a_file_cannot_hold_leaves_nothing_on_disk(tmp_path: Path) -> None:
    def failing(x: Any) -> Any:
        return x, np.add

    with pytest.raises(ExportError):
        tm.export(failing, "f64[3]").save(tmp_path / "f.py", "python")
    assert not list(tmp_path.iterdir())


def test_for_gpus_there_is_a_second_file_with_the_kernels(tmp_path: Path) -> None:
    def twice(x: Any) -> Any:
        return 2 * x

    for_gpus = replace(tm.export(twice, "x: f32[64]"), code={"cuda:sm_90": {}})
    for_gpus.save(tmp_path / "twice.py", "python")
    assert sorted(x.name for x in tmp_path.iterdir()) == ["twice.py", "twice_triton.py"]
    text = (tmp_path / "twice_triton.py").read_text()
    assert "@triton.jit" in text
    assert "def twice(x):" in text
