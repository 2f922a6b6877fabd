"""`with_source`: a name for text that is compiled, under which Python finds the text, as it does for files."""

import linecache
from hashlib import sha256


def with_source(text: str) -> str:
    """The name to compile a program under: functions that it defines are converted, as those of a file are."""
    name = f"<program {sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name
