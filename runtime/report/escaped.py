"""Users' text in HTML, fully escaped."""

import html

LONGEST = 600
"""The maximum number of characters shown of one line."""


def escaped(text: str) -> str:
    """Escaped for HTML; invisible characters, and those that change the direction of others, are shown as escapes.

    >>> print(escaped("</script> & \\u202e"))
    &lt;/script&gt; &amp; \\u202e
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char in "\n\t" else _spelled(char) for char in text)
    return html.escape(text)


def shortened(text: str) -> str:
    """One line, escaped; a very long one is shortened, with the number of omitted characters."""
    if len(text) <= LONGEST:
        return escaped(text)
    left_out = len(text) - LONGEST
    return f'{escaped(text[:LONGEST])}<span class="cut">… {left_out:,} more characters</span>'


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
