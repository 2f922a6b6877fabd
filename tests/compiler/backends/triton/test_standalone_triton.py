"""Exported files for GPUs launch the kernels of the Triton backend on tensors: run by Triton's interpreter."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.exported_python import closed_function, saved
from tracemill.compiler.errors import ExportError
from tracemill.runtime.gpu_programs.python_export import as_triton

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.fake_torch import Tensor, fake_torch
from gpu.triton_interpreter import interpreting

F32 = np.float32
WEIGHTS = np.random.default_rng(0).normal(size=(40, 30)).astype(F32)
WIDE = np.random.default_rng(1).normal(size=(600, 500))


def net(x: Any, scale: float = 2.0) -> Any:
    """A layer and its transpose."""
    h = np.tanh(x @ WEIGHTS)
    return {"y": h @ WEIGHTS.T * scale, "turned": [np.exp(1j * x), h.sum()]}


def loops(x: Any, n: Any) -> Any:
    total, rows = tm.scan(lambda total, row: (total + row, np.tanh(total)), x[0], x, reverse=True)
    halved = tm.while_loop(lambda y: np.sum(y) > 1.0, lambda y: y / 2, np.abs(total))
    return total, rows, halved, tm.cond(n > 0, np.sin, np.cos, x), n


def step(state: Any, x: Any) -> Any:
    state["w"] -= 0.5 * x
    return state["w"].sum()


def attention(q: Any) -> Any:
    """Called as its kernel would be."""
    return tm.nn.attention(q, q, q)


def wide(x: Any) -> Any:
    return (x[:, None] * WIDE).sum(0)


def tensors(tree: Any) -> Any:
    """Arrays as tensors."""
    if isinstance(tree, dict):
        return {key: tensors(item) for key, item in tree.items()}
    return Tensor(np.array(tree)) if isinstance(tree, np.ndarray | np.generic) else tree


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """``exported(function, *args)``: the function of its file for GPUs, which takes fake tensors."""
    monkeypatch.setitem(sys.modules, "torch", fake_torch())

    def export(function: Callable[..., Any], *args: Any) -> Any:
        path = saved(as_triton(closed_function(function, *args)), tmp_path)
        space: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
        with interpreting():
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
        found = space[function.__name__]

        def run(*given: Any, **named: Any) -> Any:
            with interpreting(), np.errstate(all="ignore"):
                return found(*map(tensors, given), **named)

        run.__wrapped__ = found  # type: ignore[attr-defined]
        return run

    return export


def assert_close(found: Any, expected: Any) -> None:
    """The same containers, dtypes and shapes, and numbers but for rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = [found[key] for key in expected], list(expected.values())
    if isinstance(expected, (list, tuple)):
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs)
        return
    expected = np.asarray(expected)
    assert (found.array.dtype, found.array.shape) == (expected.dtype, expected.shape)
    tolerance = 1e-5 if expected.dtype.itemsize <= 4 or expected.dtype == np.complex64 else 1e-10
    np.testing.assert_allclose(found.array, expected, tolerance, tolerance)


RNG = np.random.default_rng(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (net, (RNG.normal(size=(8, 40)).astype(F32),)),
        (loops, (RNG.normal(size=(5, 13)), np.int64(2))),
        (loops, (RNG.normal(size=(4, 16)), np.int64(-2))),
        (attention, (RNG.normal(size=(1, 16, 16)).astype(F32),)),
        (wide, (RNG.normal(size=600),)),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_a_file_gives_what_the_function_gives(
    exported: Callable[..., Any], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    got = exported(function, *arguments)
    inner = inspect.unwrap(got)
    assert inner.__name__ == function.__name__
    assert inspect.getdoc(inner) == inspect.getdoc(function)
    assert_close(got(*arguments), function(*arguments))


def test_arguments_are_checked_by_name_and_written_to(exported: Callable[..., Any]) -> None:
    state, x = {"w": np.ones(7)}, np.arange(7.0)
    got = exported(step, state, x)
    given = tensors(state)
    assert_close(got(given, x), np.float64(step(state, x)))
    assert_close(given, state)
    with pytest.raises(ValueError, match=r"state\[\"w\"\]: the function writes to it; x shares its memory"):
        inspect.unwrap(got)(given, given["w"])
    with pytest.raises(TypeError, match="x: expected a tensor of float64, found float32"):
        got(given, x.astype(F32))
    with pytest.raises(ValueError, match=r"x: expected a tensor of shape \(7,\), found \(6,\)"):
        got(given, x[:6])
    with pytest.raises(TypeError, match="x: expected a tensor of torch, found list"):
        got(given, [1.0])


def test_what_numpy_would_compute_is_refused_by_name() -> None:
    with pytest.raises(ExportError, match="Triton has no kernel for eigvalsh"):
        as_triton(closed_function(lambda x: np.linalg.eigvalsh(x) + 1, np.eye(3)))


def test_the_text_is_what_the_linter_wants_and_the_same_each_time(tmp_path: Path) -> None:
    examples: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (net, (np.ones((8, 40), F32),)),
        (loops, (np.ones((5, 13)), np.int64(2))),
        (step, ({"w": np.ones(7)}, np.ones(7))),
        (wide, (np.ones(600),)),
    ]
    for function, arguments in examples:
        export: Any = partial(as_triton, closed_function(function, *arguments))
        files = export()
        assert files == export()
        saved(files, tmp_path)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
