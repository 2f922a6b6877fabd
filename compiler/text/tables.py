"""Tables of text with aligned columns."""

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """The lines of a table whose first row is its heading; the columns in `right` are right-aligned.

    >>> print("\\n".join(aligned([("call", "bytes"), ("sin_1", "16"), ("sum_1", "1_024")], right=(1,))))
    call   bytes
    sin_1     16
    sum_1  1_024
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(_placed(cell, widths[i], i in right) for i, cell in enumerate(row)).rstrip() for row in rows
    ]


def _placed(cell: str, width: int, is_right: bool) -> str:
    return cell.rjust(width) if is_right else cell.ljust(width)
