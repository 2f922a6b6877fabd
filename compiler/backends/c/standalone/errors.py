"""Errors of the user's program as return codes of an exported C function, with their messages."""

from collections.abc import Sequence
from typing import Final

FIRST_ERROR: Final = 1001
"""The code of the first error."""


def error_codes(macro: str, messages: Sequence[str]) -> list[tuple[str, int, str]]:
    """The return codes of errors with these messages: names, numbers, and their meanings."""
    return [
        (f"{macro}_RAISED_{number + 1}", FIRST_ERROR + number, message)
        for number, message in enumerate(messages)
    ]


def c_string(text: str) -> str:
    """A text as a string literal, in UTF-8.

    >>> print(c_string('a "b" é?'))
    "a \\"b\\" \\303\\251\\?"
    """
    plainly = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    letters = (
        plainly.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in text.encode()
    )
    return f'"{"".join(letters)}"'
