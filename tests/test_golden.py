"""Golden files: what a few small functions become at every stage. `pytest --update-golden` rewrites them."""

import difflib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from graphs import golden_examples
from support.printed_graphs import assert_formatted
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.printer import print_module
from tracemill.runtime.inspection.lowered import Lowered

GOLDEN = Path(__file__).parent / "golden"


def f32(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@dataclass(frozen=True)
class Example:
    """A function of `golden_examples` with what it is called with."""

    name: str
    arguments: tuple[Any, ...]

    def lowered(self, **options: Any) -> Lowered:
        function: Callable[..., Any] = getattr(golden_examples, self.name)
        return tm.compile(function, **options).lower(*self.arguments)


MLP = (f32(64, 32), f32(32), f32(128, 64), f32(128, 32))

EXAMPLES = (
    Example("mlp_loss", MLP),
    Example("mlp_gradient", MLP),
    Example("per_sample_gradients", MLP),
    Example("softmax", (f32(64, 128),)),
    Example("layer_norm", (f32(64, 128), f32(128))),
    Example("heat_step", (np.ones((100, 100)), 0.1)),
    Example("mean_of_words", (f32(1000, 16), np.arange(20))),
    Example("moving_sum", (np.ones(100),)),
    Example("phase", (np.ones(100, complex), np.ones(100))),
    Example("distances", (np.ones((2000, 3)), np.ones((1000, 3)))),
    Example("rosenbrock", (1.0, 2.0)),
    Example("alternating", (np.ones(10),)),
)


def shown(lowered: Lowered) -> str:
    """The traced graph, what each pass changes, and the module without its check of itself."""
    parts = ["# ---- traced", lowered.graph.code]
    before = lowered.graph.code
    for name, graph in lowered.stages:
        after = graph.code
        parts.append(f"# ---- {name}" + (": nothing to do" if after == before else ""))
        changes = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
        parts += [line for line in changes if not line.startswith(("---", "+++", "@@"))]
        before = after
    return "\n".join([*parts, "# ---- numpy", print_module(lowered.optimised, NUMPY, check=False)])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_becomes_what_its_golden_file_shows(example: Example, update_golden: bool) -> None:
    text = shown(example.lowered())
    file = GOLDEN / f"{example.name}.txt"
    if update_golden:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_file_has_an_example() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == {example.name for example in EXAMPLES}


@pytest.mark.slow
def test_the_examples_run_on_their_own_and_are_formatted(tmp_path: Path) -> None:
    for example in EXAMPLES:
        file = tmp_path / f"{example.name}.py"
        file.write_text(print_module(example.lowered().optimised, NUMPY), encoding="utf-8")
    assert_formatted(tmp_path)
    file = tmp_path / "mlp_gradient.py"
    run = subprocess.run([sys.executable, "-I", str(file)], capture_output=True, text=True, check=False)
    assert run.stdout.startswith("ok: "), run.stdout + run.stderr
