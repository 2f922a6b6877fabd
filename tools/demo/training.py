"""``tracemill demo``: a network in plain NumPy learns to read digits, with Tracemill's gradients."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ...runtime.batching.vmap import vmap
from ...runtime.compilation.compile import compile
from ...runtime.compilation.compiled_function import CompiledFunction
from ...runtime.derivatives.grad import grad, value_and_grad
from ..terminal.html_report import write_report
from .digit_network import (
    Floats,
    Parameters,
    initial_parameters,
    loss,
    loss_and_gradients_by_hand,
    scores,
    targets_of,
)
from .digits import Digits, load_digits
from .drawing import bar, picture, side_by_side

BATCH = 64
EPOCHS, QUICK_EPOCHS = 60, 20
RATE, MOMENTUM = np.float32(0.1), np.float32(0.9)
HARDEST = 4  # images that are drawn
LARGEST_DIFFERENCE = 0.01  # relative difference of losses: a different order of sums explains no more
SMALL_LOSS = 1e-3  # below this, the difference counts as if the loss were this large

INSPECT = """\
tracemill inspect tracemill.tools.demo.digit_network:loss \\
    --transform value_and_grad --in "parameters.w1: f32[64, 128]" \\
    --in "parameters.b1: f32[128]" --in "parameters.w2: f32[128, 10]" \\
    --in "parameters.b2: f32[10]" --in "images: f32[64, 64]" \\
    --in "targets: f32[64, 10]\""""

Gradients = Callable[[Parameters, Floats, Floats], tuple[Any, Parameters]]


@dataclass
class Training:
    """A network in training: stochastic gradient descent with momentum (B. T. Polyak, 1964)."""

    loss_and_gradients: Gradients
    parameters: Parameters
    velocity: Parameters = field(init=False)
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """The time of each call of `loss_and_gradients`."""

    def __post_init__(self) -> None:
        self.velocity = {name: np.zeros_like(array) for name, array in self.parameters.items()}

    def step(self, images: Floats, targets: Floats) -> None:
        """Train on one batch."""
        started = time.perf_counter()
        value, gradients = self.loss_and_gradients(self.parameters, images, targets)
        self.seconds.append(time.perf_counter() - started)
        self.losses.append(float(value))
        for name, gradient in gradients.items():
            velocity = self.velocity[name]
            velocity *= MOMENTUM
            velocity -= RATE * gradient
            self.parameters[name] += velocity


def run_demo(
    console: Console,
    *,
    seed: int,
    epochs: int,
    backend: str = "auto",
    html: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Train, compute every image's gradient, compare with gradients by hand, and say where to look next.

    The report of the training step is written to `html`; `overwrite` replaces an existing file.
    """
    digits = load_digits()
    say = _Voice(console)
    say.introduction(digits)

    generated = compile(value_and_grad(loss), backend=backend)
    ours = Training(generated, initial_parameters(seed))
    theirs = Training(loss_and_gradients_by_hand, initial_parameters(seed))
    compile_seconds = _compile(generated, ours, digits)
    accuracy = _train(console, ours, theirs, digits, seed, epochs)
    say.trained(accuracy, len(digits.test), compile_seconds)

    say.gradients(ours.parameters, digits, backend)
    say.comparison(ours, theirs)
    lowered = generated.lower(ours.parameters, *_batch(digits, digits.train[:BATCH]))
    if html is not None:
        write_report(lowered.html(generated.explain_recompile()), html, overwrite=overwrite)
    say.where_next(lowered.compile().build.path, html)


def _compile(generated: CompiledFunction, training: Training, digits: Digits) -> float:
    """The seconds of the first call, which compiles."""
    images, targets = _batch(digits, digits.train[:BATCH])
    started = time.perf_counter()
    generated(training.parameters, images, targets)
    return time.perf_counter() - started


def _train(
    console: Console, ours: Training, theirs: Training, digits: Digits, seed: int, epochs: int
) -> float:
    """Both trainings step by step on the same batches; Tracemill's accuracy on the test images."""
    random = np.random.default_rng(seed)
    accuracy = 0.0
    columns = (BarColumn(34, complete_style="cyan", finished_style="green"), TextColumn("{task.description}"))
    with Progress(TextColumn(" "), *columns, console=console, disable=not console.is_terminal) as progress:
        bar_ = progress.add_task("", total=epochs)
        for epoch in range(1, epochs + 1):
            order = random.permutation(digits.train)
            for start in range(0, len(order) - BATCH + 1, BATCH):
                images, targets = _batch(digits, order[start : start + BATCH])
                pair = (ours, theirs) if len(ours.losses) % 2 else (theirs, ours)
                for training in pair:  # in turns, so that a change of the machine's speed affects both
                    training.step(images, targets)
            accuracy = float(np.mean(_read(ours.parameters, digits) == digits.labels[digits.test]))
            text = f"epoch {epoch} of {epochs}   loss {ours.losses[-1]:.4f}   test {accuracy:.1%}"
            progress.update(bar_, completed=epoch, description=text)
    return accuracy


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call and its time in seconds, after one that compiles and warms up."""
    function()
    started = time.perf_counter()
    return function(), time.perf_counter() - started


def _norms(gradients: Parameters) -> Floats:
    """The norm of every image's gradient, over all parameters."""
    flat = [array.reshape(len(array), -1) for array in gradients.values()]
    norms: Floats = np.sqrt(sum(np.sum(part * part, axis=1) for part in flat))
    return norms


def _batch(digits: Digits, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    return digits.images[rows], targets_of(digits.labels[rows])


def _read(parameters: Parameters, digits: Digits) -> NDArray[np.int64]:
    """The digits that the network recognises in the test images."""
    found: NDArray[np.int64] = np.argmax(scores(parameters, digits.images[digits.test]), axis=-1)
    return found


class _Voice:
    """The output of the demo."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = not console.encoding.lower().startswith("utf")
        """Whether the stream lacks the characters for drawing."""

    def line(self, text: str = "", style: str = "") -> None:
        indented = f"  {text}" if text else ""
        self.console.print(indented, style=style, highlight=False, markup=False, soft_wrap=True)

    def title(self, text: str, code: str = "") -> None:
        self.line()
        self.console.print(text, style="bold", highlight=False)
        self.line()
        if code:
            self.line(code, style="cyan")
            self.line()

    def introduction(self, digits: Digits) -> None:
        train, test = len(digits.train), len(digits.test)
        count = sum(array.size for array in initial_parameters(0).values())
        self.title("A network learns to read digits")
        self.line(f"{train} images of 8 × 8 pixels to learn from, {test} others to be tested on.")
        self.line(f"The network is plain NumPy with {count} parameters:")
        self.line("tanh(images @ w1 + b1) @ w2 + b2")
        self.title("Train it", "step = tm.compile(tm.value_and_grad(loss))")

    def trained(self, accuracy: float, count: int, compile_seconds: float) -> None:
        if self.console.is_terminal:
            self.line()
        self.line(f"It reads {round(accuracy * count)} of {count} test images right: {accuracy:.1%}.")
        self.line(f"The first call traced and compiled the function in {1e3 * compile_seconds:.0f} ms.")

    def gradients(self, parameters: Parameters, digits: Digits, backend: str) -> None:
        """The norm of every test image's gradient, and the images with the largest."""
        images, targets = _batch(digits, digits.test)
        per_image = compile(vmap(grad(loss), in_dims=(None, 0, 0)), backend=backend)
        gradients, seconds = _timed(lambda: per_image(parameters, images, targets))
        one = compile(grad(loss), backend=backend)
        _, alone = _timed(lambda: [one(parameters, *pair) for pair in zip(images, targets, strict=True)])
        norms = _norms(gradients)

        code = "per_image = tm.compile(tm.vmap(tm.grad(loss), in_dims=(None, 0, 0)))"
        self.title("Look at each image's own gradient", code)
        self.line(
            f"{len(images)} gradients in one call: {1e3 * seconds:.0f} ms. One by one: {1e3 * alone:.0f} ms."
        )
        self.line("Where the gradient is long, the network is unsure, or wrong:")
        self.line()
        self.histogram(norms)
        self.line()
        self.line("The hardest images:")
        self.line()
        hardest = np.argsort(norms)[::-1][:HARDEST]
        found = _read(parameters, digits)[hardest]
        self.pictures(images[hardest], digits.labels[digits.test][hardest], found)

    def histogram(self, norms: Floats) -> None:
        names = ["below 0.001", "0.001 to 0.01", "0.01 to 0.1", "0.1 to 1", "above 1"]
        counts = np.histogram(norms, [0.0, 0.001, 0.01, 0.1, 1.0, np.inf])[0].tolist()
        for name, count in zip(names, counts, strict=True):
            self.line(f"{name:>13} {count:4}  {bar(count / max(counts), 40, plain=self.plain)}")

    def pictures(self, images: Floats, labels: NDArray[np.int64], found: NDArray[np.int64]) -> None:
        blocks: list[list[str]] = []
        for image, label, digit in zip(images, labels, found, strict=True):
            caption = f"{label}, read as {digit}" if label != digit else f"{label}, barely read"
            lines = picture(image.reshape(8, 8), plain=self.plain)
            blocks.append([*lines, "", caption.center(len(lines[0]))])
        for row in side_by_side(blocks, gap=4):
            self.line(row)

    def comparison(self, ours: Training, theirs: Training) -> None:
        pairs = zip(ours.losses, theirs.losses, strict=True)
        difference = max(abs(a - b) / max(b, SMALL_LOSS) for a, b in pairs)
        if not difference < LARGEST_DIFFERENCE:
            raise click.ClickException(
                f"the losses are {difference:.0e} away from those of gradients by hand"
            )
        generated, by_hand = median(ours.seconds), median(theirs.seconds)
        self.title("Compare with gradients written by hand")
        self.line(f"by Tracemill  {1e6 * generated:5.0f} µs a step")
        self.line(f"by hand       {1e6 * by_hand:5.0f} µs a step    ratio {generated / by_hand:.2f}")
        self.line()
        steps = len(ours.seconds)
        self.line(f"A step: the loss of {BATCH} images and its gradients. Medians of {steps} steps,")
        self.line(f"in turn, on the same batches. The losses of both trainings agree to {difference:.0e}.")

    def where_next(self, source: Path | None, report: Path | None) -> None:
        self.title("Look inside")
        self.line("The generated code, which runs by itself and checks itself:")
        self.line()
        self.line(f"  {source or 'not kept: the disk cache is off, or cannot be written'}", style="cyan")
        self.line()
        if report is not None:
            self.line("The training step from these lines to that code, for a browser:")
            self.line()
            self.line(f"  {report}", style="cyan")
            self.line()
        self.line("How it came about, from the traced graph through every pass:")
        self.line()
        for line in INSPECT.splitlines():
            self.line(f"  {line}", style="cyan")
        self.line()
