"""Amounts of memory for people to read."""


def show_bytes(amount: int) -> str:
    """An amount in words: ``1.6 kB``, exact below 1000 bytes.

    >>> show_bytes(512), show_bytes(1_600_000)
    ('512 B', '1.6 MB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if amount >= unit:
            return f"{amount / unit:.4g} {name}"
    return f"{amount} B"
