"""``tracemill bench F``: a function in plain NumPy, on every backend, and in JAX and torch, side by side."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import optree
from rich.table import Table

from ...compiler.ir import ArrayType
from ...runtime.artifact.loading import Reading
from ...runtime.artifact.saving import EXTENSION
from ...runtime.files.output_file import write_output
from ...runtime.gpu_programs.random_inputs import random_inputs
from ...runtime.machine.toolchain import working_toolchain
from ...runtime.variants.signature import ArraySpec, NumberSpec, Signature, StaticSpec
from ..arguments.argument_specs import describes_a_call
from ..arguments.described_call import DescribedCall, described_call
from ..bench.bars import check_picture, picture, shown, times
from ..bench.machine import machine_text
from ..bench.peers import PEERS
from ..bench.race import Contestant, Place, race
from ..terminal.output_path import FORCE, to_file
from ..terminal.wide_console import wide_console
from .artifact_options import reads_artifacts

BACKENDS: Final = ("numpy", "c", "triton")
ADVICE: Final = "pip install 'tracemill[bench]'"


@click.command("function")
@describes_a_call
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(BACKENDS),
    help="A backend to time. Default: numpy, and c if a compiler works. Repeatable.",
)
@click.option(
    "--vs",
    "peers",
    multiple=True,
    type=click.Choice(list(PEERS)),
    help="Another framework to time. Repeatable.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=21,
    show_default=True,
    help="Number of timing rounds; medians are shown.",
)
@reads_artifacts
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    callback=to_file("bars.svg"),
    help="Draw a bar chart to this .svg or .png file.",
)
@FORCE
def bench_function(
    function: str,
    described: tuple[str, ...],
    example: Path | None,
    transform: str | None,
    backends: tuple[str, ...],
    peers: tuple[str, ...],
    rounds: int,
    reading: Reading,
    as_json: bool,
    plot: Path | None,
    force: bool,
) -> None:
    """Time FUNCTION as plain NumPy and compiled, side by side.

    FUNCTION is package.module:function, path/file.py:function, or an artifact such as model.tmill. Describe its
    arguments as for `tracemill inspect`; arrays are filled with random numbers. For an artifact, or with --transform,
    the first row runs the program uncompiled, one operation at a time. JAX and torch run FUNCTION with np in its module
    replaced by their own namespace.
    """
    if plot is not None:
        check_picture(plot)
    if transform and peers:
        raise click.UsageError(
            "--vs compares FUNCTION itself, which --transform changes: leave one of them out"
        )
    if peers and function.endswith(EXTENSION):
        raise click.UsageError(
            f"--vs compares functions of Python, and {function} is an artifact: leave it out"
        )
    if missing := [peer for peer in peers if find_spec(peer) is None]:
        raise click.ClickException(f"{' and '.join(missing)} not installed: {ADVICE}")
    call = described_call(function, described, example, transform, reading)
    contestants = contestants_of(call, backends or _usual(), peers)
    console = wide_console(stderr=as_json)
    with console.status("") as status:  # silent in a pipe
        places = race(contestants, rounds, lambda name: status.update(f"measuring {name}"))
    title = f"{transform} of {function}" if transform else function
    if plot is not None:
        drawn = picture(places, title, call.shown_signature, plot.suffix)
        write_output(plot, drawn, overwrite=force)
    if as_json:
        about = {
            "function": function,
            "signature": call.shown_signature,
            "transform": transform,
            "rounds": rounds,
        }
        click.echo(
            json.dumps({**about, "machine": machine_text(), "places": [asdict(place) for place in places]})
        )
        return
    console.print(machine_text(), style="dim", highlight=False, soft_wrap=True)
    console.print(f"{title}({call.shown_signature})", markup=False, highlight=False, soft_wrap=True)
    console.print(_table(places))
    for place in places:
        if place.problem is not None:
            console.print(f"  {place.name}: {place.problem}", markup=False, highlight=False, soft_wrap=True)


def _usual() -> tuple[str, ...]:
    return ("numpy", "c") if working_toolchain() is not None else ("numpy",)


def contestants_of(
    call: DescribedCall, backends: tuple[str, ...], peers: tuple[str, ...]
) -> list[Contestant]:
    """The function itself, then each backend, then the peers; each gets its own arrays."""
    make = partial(arguments_of, call.sized_signature)
    is_plain = call.artifact is None and not call.is_transformed
    return [
        Contestant("NumPy as written" if is_plain else "uncompiled", lambda: _bound(call.uncompiled, make())),
        *(
            Contestant(f"tracemill {name}", partial(_compiled, call, name, make))
            for name in dict.fromkeys(backends)
        ),
        *(Contestant(name, partial(_in_peer, name, call.function, make)) for name in dict.fromkeys(peers)),
    ]


def _compiled(call: DescribedCall, backend: str, make: Callable[[], Any]) -> Callable[[], Any]:
    return _bound(call.compiled(backend), make())


def _in_peer(name: str, function: Callable[..., Any], make: Callable[[], Any]) -> Callable[[], Any]:
    return PEERS[name](function, make())


def _bound(function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    args, kwargs = arguments
    return lambda: function(*args, **kwargs)


def arguments_of(signature: Signature) -> Any:
    """Arguments for a signature: random arrays, the same in each call; numbers are 1."""
    types = [
        ArrayType(spec.dtype, spec.shape if isinstance(spec, ArraySpec) else ())
        for spec in signature.specs
        if not isinstance(spec, StaticSpec)
    ]
    drawn = iter(random_inputs(types))
    leaves: list[Any] = []
    for spec in signature.specs:
        if isinstance(spec, StaticSpec):
            leaves.append(spec.value)
            continue
        array = next(drawn)
        if isinstance(spec, NumberSpec):
            leaves.append(spec.type(1) if spec.type is not np.generic else array[()])
        else:
            leaves.append(array)
    return optree.tree_unflatten(signature.tree, leaves)


def _table(places: list[Place]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for title in ("median", "middle half", "times faster", "first call", "differs by"):
        table.add_column(title, justify="right", no_wrap=True)
    for place in places:
        if place.median is None:
            table.add_row(place.name, "—")
            continue
        spread = f"{shown(place.low)} – {shown(place.high)}"
        faster, differs = (
            times(place.times_faster),
            "" if place.difference is None else f"{place.difference:.1e}",
        )
        table.add_row(place.name, shown(place.median), spread, faster, shown(place.first), differs)
    return table
