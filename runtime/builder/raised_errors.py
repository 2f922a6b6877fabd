"""Raises the errors of the checks that a program contains."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.symbolic_size import SymbolicSize
from ...compiler.users_errors import arrays_of_bits, error_at, index_error
from ...passes.lowering.collect_checks import NOTHING, Site
from ..gpu.device_array import DeviceArray

Function = Callable[..., tuple[Any, ...]]


def raising(function: Function, sites: Sequence[Site]) -> Function:
    """The program without its last output, the results of its checks. It raises the error of the first that failed."""
    nothing = np.full(len(sites), NOTHING).tobytes()  # a comparison of bytes costs a tenth of one of arrays

    def run(*inputs: Any) -> tuple[Any, ...]:
        results = function(*inputs)
        last = results[-1]
        found = last.numpy() if isinstance(last, DeviceArray) else last
        records = found.tobytes()
        if records != nothing and records[: len(nothing)] != nothing:
            raise _error(sites, np.reshape(found, -1))
        return results[:-1]

    return run


def _error(sites: Sequence[Site], found: Any) -> Exception:
    """The error of the first check that failed."""
    lengths = iter(found[len(sites) :])
    sizes = [next(lengths) if isinstance(site.length, SymbolicSize) else site.length for site in sites]
    place = int(np.argmax(found[: len(sites)] != NOTHING))
    site = sites[place]
    if site.error:
        parts = [
            i for i, one in enumerate(sites) if one.part and replace(one, part=0) == replace(site, part=0)
        ]
        return error_at(site.error, site.location, arrays_of_bits(site.error, [found[i] for i in parts]))
    where = f"{site.function}: " if site.function else ""
    return index_error(
        site.function,
        f"{where}index {found[place]} is out of bounds for axis {site.axis} with size {sizes[place]}",
        site.location,
    )
