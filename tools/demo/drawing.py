"""Small pictures in characters: bars, and images in shades."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES, _PLAIN_SHADES = " ░▒▓█", " .:*#"


def bar(part: float, width: int, *, plain: bool = False) -> str:
    """A bar of ``part`` (0 to 1) of ``width`` characters, to an eighth of a character; a nonzero part is always
    visible.

    With `plain`, it uses whole ASCII characters.

    >>> bar(0.5, 3), bar(0.001, 3), bar(0.0, 3), bar(0.5, 3, plain=True)
    ('█▌', '▏', '', '##')
    """
    if plain:
        return "#" * math.ceil(part * width)
    eighths = round(part * width * 8)
    if part > 0:
        eighths = max(eighths, 1)
    return (_EIGHTHS[8] * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def picture(image: NDArray[np.float32], *, plain: bool = False) -> list[str]:
    """An image, float of shape (height, width) from 0 to 1, as lines: two characters per pixel.

    With `plain`, they are ASCII characters.

    >>> picture(np.array([[0.0, 0.5, 1.0]], np.float32))
    ['  ▒▒██']
    """
    shades = _PLAIN_SHADES if plain else _SHADES
    levels = np.rint(image * (len(shades) - 1)).astype(int)
    return ["".join(2 * shades[level] for level in row) for row in levels]


def side_by_side(blocks: Sequence[Sequence[str]], gap: int) -> list[str]:
    """Blocks with the same number of lines, side by side.

    >>> side_by_side([["a", "bb"], ["c", "d"]], gap=2)
    ['a   c', 'bb  d']
    """
    widths = [max(map(len, block)) for block in blocks]
    rows = zip(*blocks, strict=True)
    return [
        (" " * gap).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
