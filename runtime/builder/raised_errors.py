"""Raises the errors of the checks that a program contains."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.errors import OutOfBoundsError, TracemillError
from ...compiler.interpreter import evaluate
from ...compiler.ir import Graph
from ...compiler.op import PRINTS, has_effect
from ...compiler.users_errors import arrays_of_bits, error_at
from ...passes.lowering.collect_checks import NOTHING, Site
from ..gpu.device_array import DeviceArray

Function = Callable[..., tuple[Any, ...]]


def raising(function: Function, sites: Sequence[Site], graph: Graph, donated: Sequence[int]) -> Function:
    """The program without its last output, the results of its checks. It raises the error of the first that failed.

    An operation may raise an error that a check before it in the `graph` rules out, such as NumPy's for the inverse of
    a singular matrix. The check's error is raised then.
    """
    is_repeatable = not (donated or any(has_effect(call, PRINTS) for call in graph.calls))
    nothing = np.full(len(sites), NOTHING).tobytes()  # a comparison of bytes costs a tenth of one of arrays

    def run(*inputs: Any) -> tuple[Any, ...]:
        try:
            results = function(*inputs)
        except (np.linalg.LinAlgError, ValueError, IndexError) as error:
            if is_repeatable and not isinstance(error, TracemillError):
                _raise_in_order(graph, inputs)
            raise
        last = results[-1]
        found = last.numpy() if isinstance(last, DeviceArray) else last
        records = found.tobytes()
        if records != nothing and records[: len(nothing)] != nothing:
            raise _error(sites, np.reshape(found, -1))
        return results[:-1]

    return run


def _raise_in_order(graph: Graph, inputs: Sequence[Any]) -> None:
    """Raise the first error of a program, in the order of its operations."""
    if not any(isinstance(x, DeviceArray) for x in inputs):
        evaluate(graph, *inputs)


def _error(sites: Sequence[Site], found: Any) -> BaseException:
    """The error of the first check that failed."""
    lengths = iter(found[len(sites) :])
    sizes = [next(lengths) if site.has_symbolic_length else site.length for site in sites]
    place = int(np.argmax(found[: len(sites)] != NOTHING))
    site = sites[place]
    if site.error:
        parts = [
            i for i, one in enumerate(sites) if one.part and replace(one, part=0) == replace(site, part=0)
        ]
        return error_at(site.error, site.location, arrays_of_bits(site.error, [found[i] for i in parts]))
    return OutOfBoundsError(
        f"index {found[place]} is out of bounds for axis {site.axis} with size {sizes[place]}",
        site.location,
    )
