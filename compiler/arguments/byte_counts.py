"""Amounts of memory as users write them: ``"512MB"``, ``"2GiB"``, a number of bytes."""

import re
from typing import Any

from ..errors import TransformArgumentError
from ..nesting import shown
from .option_checks import is_int

UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_bytes(where: str, given: Any, name: str = "memory_limit") -> int:
    """A number of bytes; raises `TransformArgumentError` for anything else.

    >>> parse_bytes("vmap", "1.5kB"), parse_bytes("vmap", "2 GiB"), parse_bytes("vmap", 4096)
    (1500, 2147483648, 4096)
    """
    if is_int(given, 1):
        return int(given)
    found = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B)\s*", given.upper())
        if isinstance(given, str)
        else None
    )
    if found is None or found[2] not in UNITS:
        raise TransformArgumentError(
            f"{where}: {name} must be a positive number of bytes or a text such as '512MB' or '2GiB', "
            f"not {shown(given)}"
        )
    return int(float(found[1]) * UNITS[found[2]])
