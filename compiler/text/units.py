"""Readable amounts of memory."""

from ..symbolic_size import SymbolicSize


def show_bytes(amount: int) -> str:
    """A readable amount: ``1.6 kB``, exact below 1000 bytes; an expression is kept, ``4*N B``.

    >>> show_bytes(512), show_bytes(1_600_000)
    ('512 B', '1.6 MB')
    """
    if isinstance(amount, SymbolicSize):
        return f"{amount} B"
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if amount >= unit:
            return f"{amount / unit:.4g} {name}"
    return f"{amount} B"


def exact_bytes(amount: int) -> str:
    """All digits of an amount, ``1_600_000``; an expression is kept."""
    return str(amount) if isinstance(amount, SymbolicSize) else f"{amount:_}"
