"""Writes lock files: TOML, sorted, with a line for each timed choice."""

import json
from collections.abc import Mapping
from typing import Any, Final

from .lock_entry import Entries, LockEntry, Measured

FORMAT: Final = 1

HEADER: Final = """\
# What tm.compile(f, backend="triton", autotune=True) measured and chose. Commit this file:
# tracemill lock check verifies it, and a kernel that is not in it is measured again.
"""


def lock_text(entries: Entries) -> str:
    """The file with these entries, sorted."""
    parts = [f"{HEADER}format = {FORMAT}\n"]
    parts += (_entry_text(entry) for _, entry in sorted(entries.items()))
    return "\n".join(parts)


def _entry_text(entry: LockEntry) -> str:
    measured = "".join(f"    {_table(_measured_fields(x))},\n" for x in entry.measured)
    fast_math = "fast_math = true\n" if entry.fast_math else ""
    return (
        f"[{entry.target}.{entry.key}]\n"
        f"choice = {_table(entry.choice.fields)}\n"
        f"measured = [\n{measured}]\n"
        f"device = {_string(entry.device)}\n"
        f"versions = {_table(dict(sorted(entry.versions.items())))}\n"
        f"{fast_math}"
        f"graph = {_long_string(entry.graph)}\n"
    )


def _measured_fields(measured: Measured) -> dict[str, Any]:
    fields: dict[str, Any] = dict(measured.choice.fields)
    if measured.milliseconds is not None:
        fields["milliseconds"] = measured.milliseconds
    if measured.refused is not None:
        fields["refused"] = measured.refused
    return fields


def _table(fields: Mapping[str, Any]) -> str:
    items = (f"{k} = {_string(v) if isinstance(v, str) else repr(v)}" for k, v in fields.items())
    text = ", ".join(items)
    return f"{{ {text} }}" if text else "{}"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _long_string(text: str) -> str:
    """Lines as they are, unless they contain the closing quotes."""
    if "'''" in text or not all(c.isprintable() or c == "\n" for c in text):
        return _string(f"{text}\n")
    return f"'''\n{text}\n'''"
