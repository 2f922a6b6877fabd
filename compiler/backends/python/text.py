"""Writes Python like the formatter: calls that wrap when a line is full."""

import ast
from collections.abc import Iterable, Sequence

WIDTH = 110
"""The maximum line length, the same as in Tracemill's own sources, which generated modules quote."""


def wrapped(head: str, items: Sequence[str], tail: str, *, indent: int = 4) -> list[str]:
    """``head`` + comma-separated items + ``tail`` on one line; or the items on one; or one line each.

    The formatter knows the second form for calls only, not for lists.
    """
    space = " " * indent
    joined = ", ".join(items)
    if len(space + head + joined + tail) <= WIDTH or not items:
        return [space + head + joined + tail]
    if len(space) + 4 + len(joined) <= WIDTH and head.endswith("("):
        return [space + head, f"{space}    {joined}", space + tail]
    return [space + head, *(f"{space}    {item}," for item in items), space + tail]


def call_parts(text: str) -> tuple[str, list[str], str]:
    """An expression for `wrapped`: ``f(``, the arguments of `f`, ``)``; other expressions as they are."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call):
        return text, [], ""
    arguments = [ast.get_source_segment(text, part) or "" for part in (*node.args, *node.keywords)]
    return f"{ast.get_source_segment(text, node.func)}(", arguments, ")"


def assigned(name: str, function: str, arguments: Sequence[str], *, indent: int = 4) -> list[str]:
    """``name = function(arguments)``."""
    return wrapped(f"{name} = {function}(", arguments, ")", indent=indent)


def slice_text(parts: Sequence[str]) -> str:
    """``1:N``, or ``1 : N - 1 : 2``, as the formatter writes it."""
    if any(" " in part for part in parts):
        return " : ".join(parts).strip().replace(":  :", "::")
    return ":".join(parts)


def tuple_text(items: Sequence[object]) -> str:
    """``(1, 2)``, ``(1,)``, ``()``."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(map(str, items))})"


def bare_tuple(head: str, items: Sequence[str], tail: str = "", *, indent: int = 4) -> list[str]:
    """A tuple without its parentheses if it fits on the line: ``return a, b``, ``a, b = c``."""
    space = " " * indent
    inner = f"{items[0]}," if len(items) == 1 else ", ".join(items)
    if head and len(items) == 1:
        inner = f"({inner})"
    line = f"{space}{head}{inner}{tail}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{space}{head}(", *(f"{space}    {item}," for item in items), f"{space}){tail}"]


def assigned_tuple(names: Sequence[str], text: str, *, indent: int = 4) -> list[str]:
    """``call_1, call_2 = text``."""
    if len(names) == 1:
        return [f"{' ' * indent}({names[0]},) = {text}"]
    return bare_tuple("", names, f" = {text}", indent=indent) if names else [f"{' ' * indent}{text}"]


class Names:
    """Identifiers, each used once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._inner: set[str] = set()
        self._next: dict[str, int] = {}

    def inner(self, wanted: Sequence[str]) -> list[str]:
        """Different names for the parameters of one function, which may be the same as those of another.

        Later claims avoid them, so that they hide nothing that the function refers to.
        """
        names = Names(self._taken)
        inner = [names.claim(name) for name in wanted]
        self._inner.update(inner)
        return inner

    def claim(self, wanted: str) -> str:
        """`wanted`, with underscores appended if it is taken."""
        name = self.free(wanted)
        self._taken.add(name)
        return name

    def free(self, wanted: str) -> str:
        """The result of `claim`, without claiming it."""
        while wanted in self._taken or wanted in self._inner:
            wanted += "_"
        return wanted

    def numbered(self, stem: str) -> str:
        """``stem_1``, ``stem_2``, …"""
        while True:
            number = self._next[stem] = self._next.get(stem, 0) + 1
            if (name := f"{stem}_{number}") not in self._taken:
                self._taken.add(name)
                return name


def operand(text: str) -> str:
    """An expression that can follow any operator, in Python or in C."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"
