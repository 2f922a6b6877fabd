"""The user's names as identifiers: valid in Python, not keywords, and unique."""

import re
from collections.abc import Sequence
from keyword import iskeyword
from unicodedata import normalize


def identifier(name: str) -> str:
    """The identifier closest to `name`; `name` itself if it is one.

    >>> identifier("<lambda>"), identifier("layers[0].w"), identifier("2nd")
    ('lambda_', 'layers_0_w', '_2nd')
    """
    if not name.isascii():
        name = normalize("NFKC", name)  # Python reads identifiers in this form
    if not name.isidentifier():
        valid = "".join(char if f"_{char}".isidentifier() else "_" for char in name)
        name = re.sub("_+", "_", valid).strip("_")
        if not name.isidentifier():
            name = f"_{name}"
    return f"{name}_" if iskeyword(name) else name


def unique_identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """`names` as identifiers; a repeated one gets a number: ``x, x`` become ``x, x_2``."""
    valid = [identifier(name) for name in names]
    taken = set(valid)
    if len(taken) == len(valid):
        return tuple(valid)
    seen: dict[str, int] = {}
    result: list[str] = []
    for name in valid:
        number = seen[name] = seen.get(name, 0) + 1
        unique = name
        while number > 1 and unique in taken:
            unique = f"{name}_{number}"
            number += 1
        if unique != name:
            seen[name] = number - 1
            taken.add(unique)
        result.append(unique)
    return tuple(result)
