"""`debug_print`: prints values when a program runs, not when it is traced."""

from string import Formatter
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import leaf_type, weak_type
from ...compiler.builder import Builder, bind_all, recording
from ...compiler.callers.user_code import user_location
from ...compiler.errors import ArgumentValueError
from ...compiler.ir import Graph, Value
from ...compiler.nesting import shown
from ...compiler.tracing.outside.foreign_array import as_seen_inside
from ..trees import changed_leaves
from .run import is_array, run


def debug_print(fmt: str, *args: Any, **kwargs: Any) -> None:
    """``print(fmt.format(*args, **kwargs))`` when the program runs, compiled or not, in the order of the program.

    Under `vmap` it prints one line per example, or one line if it prints nothing that is mapped. In a branch or loop
    that only some examples run, the line of an example outside shows the values of one inside. Differentiating a
    function prints once, like running it; the backward pass prints nothing. It is never optimised away.

    Args:
        fmt: a format string, as `str.format` takes it: ``"x = {}, y = {y:.3f}"``. Only numbers take a format spec.
        args, kwargs: arrays, numbers, containers of them, and anything else, which is written down when traced.

    Raises:
        ArgumentValueError: (a ValueError) the string does not fit the arguments. Raised when tracing.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     tm.debug_print("x = {}, twice that {y:.1f}", x, y=2 * x)
    ...     return np.sin(x)
    >>> tm.compile(tm.vmap(f))(np.array([0.0, 1.0]))
    x = 0.0, twice that 0.0
    x = 1.0, twice that 2.0
    array([0.        , 0.84147098])
    """
    log_line(fmt, args, kwargs)


def log_line(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any], **to: Any) -> None:
    """The same for a line that goes elsewhere, such as to a logger: `to` is a parameter of the op."""
    template = _Template(args, kwargs)
    try:
        text = template.text(fmt)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentValueError(
            f"debug_print: {shown(fmt)} does not fit {len(args)} arguments and the names "
            f"{sorted(kwargs)}: {type(error).__name__}: {error}",
            user_location(),
        ) from None
    inputs = [Value(leaf_type(x, "debug_print")) for x in template.arrays]
    with recording(Builder()) as builder:
        builder.location = user_location()
        bind_all("debug_print", *inputs, text=text, **to)
    run(Graph("debug_print", tuple(inputs), tuple(builder.calls), ()), template.arrays)


class _Template:
    """Arguments of a format string: arrays become inputs by number, everything else becomes text."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.arrays: list[Any] = []
        self._next = 0

    def text(self, fmt: str) -> str:
        """The format string in terms of the arrays."""
        parts: list[str] = []
        for literal, field, spec, conversion in Formatter().parse(fmt):
            parts.append(escaped(literal))
            if field is not None:
                parts.append(self._field(field, spec or "", conversion))
        return "".join(parts)

    def _field(self, field: str, spec: str, conversion: str | None) -> str:
        given = self._argument(field)
        how = f"!{conversion}" if conversion else ""
        filled = self.text(spec)
        if is_array(given) or isinstance(given, np.generic):
            how = _repr_of(given) if conversion == "r" else how
            return f"{{{self._number(given)}{how}{':' if filled else ''}{filled}}}"
        marked = changed_leaves("an argument of debug_print", self._marked, given)
        text = f"{{0{how}:{filled}}}".format(marked)
        return _unmarked(text)

    def _argument(self, field: str) -> Any:
        """The name in a field; without a name or number it is the next argument."""
        if not field or field[0] in ".[":
            field = f"{self._next}{field}"
            self._next += 1
        found, _ = Formatter().get_field(field, self.args, self.kwargs)
        return as_seen_inside(found)

    def _number(self, array: Any) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _marked(self, leaf: Any) -> Any:
        leaf = as_seen_inside(leaf)
        is_shown = is_array(leaf) or isinstance(leaf, np.generic)
        return _Mark(f"{self._number(leaf)}{_repr_of(leaf)}") if is_shown else leaf


class _Mark:
    """Stands for an array in the text of a container."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __repr__(self) -> str:
        return f"\0{self.field}\0"


def _repr_of(x: Any) -> str:
    """The conversion that gives the `repr` of a value: the program holds Python's numbers as NumPy's."""
    return "!r" if weak_type(x) is None else "!s"


def escaped(literal: str) -> str:
    return literal.replace("{", "{{").replace("}", "}}")


def _unmarked(text: str) -> str:
    pieces = text.split("\0")
    return "".join(f"{{{piece}}}" if i % 2 else escaped(piece) for i, piece in enumerate(pieces))
