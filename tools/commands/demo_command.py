"""``tracemill demo``."""

from pathlib import Path

import click
from rich.console import Console

from ...runtime.machine.target import BACKENDS
from ..demo.training import EPOCHS, QUICK_EPOCHS, run_demo
from ..terminal.html_report import HTML
from ..terminal.output_path import FORCE


@click.command("demo")
@click.option("--quick", is_flag=True, help=f"Train for only {QUICK_EPOCHS} epochs.")
@click.option(
    "--epochs", type=click.IntRange(min=1), help=f"Number of passes over the images. Default: {EPOCHS}."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random numbers."
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="The backend to compile for.",
)
@HTML
@FORCE
def demo(quick: bool, epochs: int | None, seed: int, backend: str, html: Path | None, force: bool) -> None:
    """Train a network to read digits, and compare its speed and results with handwritten NumPy."""
    run_demo(
        Console(),
        seed=seed,
        epochs=epochs or (QUICK_EPOCHS if quick else EPOCHS),
        backend=backend,
        html=html,
        overwrite=force,
    )
