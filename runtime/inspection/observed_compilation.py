"""Records of each compilation on request: log lines by ``TRACEMILL_LOG``, a folder by ``TRACEMILL_DUMP``."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...compiler.errors.tracemill_error import text_of
from ...compiler.ir import called
from ..eager.transform_log import SeenTransform, seen_transforms
from ..log import complain_once, is_observed, logger
from ..stage_times import StageTimes, measured_stages

if TYPE_CHECKING:
    from ...passes.fusion.report import FusedKernel, Report
    from ..lowering.lowered_program import LoweredProgram
    from ..variants.variant import Variant

_NAMES = 6
"""The maximum number of calls in a kernel's line."""
_REASONS = 3
"""The maximum number of reasons against fusion: the most frequent ones."""


def observed(
    make: Callable[[], "Variant"], lower: Callable[["Variant", Sequence[SeenTransform]], "LoweredProgram"]
) -> "Variant":
    """The result of `make`. If logs or dumps are requested, they are written, with what `lower` finds out about it."""
    if not is_observed():
        return make()
    folder = os.environ.get("TRACEMILL_DUMP")
    with measured_stages() as times, seen_transforms() as transforms:
        variant = make()
    _say_times(variant, times)
    is_shown = bool(folder) or logger("fusion") is not None
    if variant.uses_variables or not variant.is_general or not is_shown:
        return variant
    try:
        lowered = lower(variant, transforms)
        with lowered.answering():
            _show(lowered, times, folder)
    except Exception as error:  # observing must not make a computation fail
        complain_once(
            f"cannot show how {variant.program.graph.name} is compiled: {type(error).__name__}: {text_of(error)}"
        )
    return variant


def _show(lowered: "LoweredProgram", times: StageTimes, folder: str | None) -> None:
    log = logger("fusion")
    if log is not None:
        log.info("%s: %s", lowered.graph.name, fusion_line(lowered))
    if folder:
        from .dump import dump

        dump(lowered, times, folder)


def _say_times(variant: "Variant", times: StageTimes) -> None:
    log = logger("timing")
    if log is not None:
        where = ", from the disk cache" if times.from_disk else ""
        log.info("%s(%s): %s%s", variant.program.graph.name, variant.signature, times, where)


def fusion_line(lowered: "LoweredProgram") -> str:
    """What was fused, and the reasons for which most other calls were not."""
    if lowered.backend == "numpy":
        tiled = [
            graph.name for call in lowered.optimised.calls if call.op == "tiled" for graph in called((call,))
        ]
        return (
            f"in tiles: {', '.join(tiled)}"
            if tiled
            else "no tiles: arrays are small, or one call computes all"
        )
    report = lowered.fusion
    count = len(report.kernels)
    line = f"{count} kernel{'s' * (count != 1)}, {report.bytes_after:_} bytes moved instead of {report.bytes_before:_}"
    if count:
        line += f": {'; '.join(map(_kernel, report.kernels))}"
    return line + _reasons(report)


def _kernel(kernel: "FusedKernel") -> str:
    names = (
        kernel.calls if len(kernel.calls) <= _NAMES else (*kernel.calls[: _NAMES - 1], "…", kernel.calls[-1])
    )
    return (
        f"{kernel.name} of {len(kernel.calls)} calls ({', '.join(names)}) saves {kernel.bytes_saved:_} bytes"
    )


def _reasons(report: "Report") -> str:
    counts = Counter(pair.reason for pair in report.not_fused).most_common(_REASONS)
    if not counts:
        return ""
    first = {pair.reason: pair for pair in reversed(report.not_fused)}
    parts = [f"{count} × {reason.name.lower()}, such as {first[reason]}" for reason, count in counts]
    return f"; not fused: {'; '.join(parts)}"
