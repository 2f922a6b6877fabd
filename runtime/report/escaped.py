"""Text of users as it stands in HTML, and nothing but text."""

import html

LONGEST = 600
"""Characters of one line of text that are shown."""


def escaped(text: str) -> str:
    """Without a meaning to HTML; characters that cannot be seen, or turn the order of others, as escapes.

    >>> print(escaped("</script> & \\u202e"))
    &lt;/script&gt; &amp; \\u202e
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char in "\n\t" else _spelled(char) for char in text)
    return html.escape(text)


def shortened(text: str) -> str:
    """One line, escaped; a very long one in part, and how much is left out."""
    if len(text) <= LONGEST:
        return escaped(text)
    left_out = len(text) - LONGEST
    return f'{escaped(text[:LONGEST])}<span class="cut">… {left_out:,} more characters</span>'


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
