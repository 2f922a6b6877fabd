"""Readable times."""


def show_seconds(seconds: float) -> str:
    """A time with its unit: three digits.

    >>> show_seconds(0.0000123), show_seconds(0.00123), show_seconds(2)
    ('12.3 µs', '1.23 ms', '2 s')
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"
