"""`debug_print`: prints values while a program runs."""

import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from string import Formatter
from typing import Any, Final, TypeAlias

import numpy as np

from ...builder import bind_all
from ...errors import ArgumentValueError, ShapeError
from ...ir import ArrayType, Value
from ...nesting import shown
from ...op import PRINTS, Op, not_linear, register, zero_derivative
from ..batch_axes import in_front

FAMILY = "printing"

_SPEC: Final = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?[0-9]{0,3}[,_]?(?:\.[0-9]{1,3})?[a-zA-Z%]?", re.DOTALL)

Loops: TypeAlias = tuple[tuple[int, tuple[bool, ...]], ...]
"""Per loop around the call, outermost first: its length, and the inputs over which it runs."""


Target: TypeAlias = tuple[str | int, ...]
"""Where a line goes: to standard output if it is empty. ``("stream", name, end)`` is ``stdout`` or ``stderr`` of `sys`,
and what follows the text; ``("log", logger, level, file, line, function)`` a record of a logger, and
``("warn", class, file, line, module)`` a warning of a class ``module.Name``."""

_TARGETS: Final = {
    "stream": (str, str, str),
    "log": (str, str, int, str, int, str),
    "warn": (str, str, str, int, str),
}
_STREAMS: Final = ("stdout", "stderr")


def _type(*inputs: ArrayType, text: str, loops: Loops = (), to: Target = ()) -> tuple[ArrayType, ...]:
    is_place = not to or tuple(map(type, to)) == _TARGETS.get(str(to[0]))
    if not is_place or (to[:1] == ("stream",) and to[1] not in _STREAMS):
        raise ArgumentValueError(f"debug_print: {shown(to, 80)} is no place for a line")
    examples = []
    for place, x in enumerate(inputs):
        over = tuple(length for length, mapped in loops if mapped[place])
        if x.shape[: len(over)] != over:
            raise ShapeError(f"debug_print: input {place} is {x}, the loops run over {over}")
        has_axes = len(x.shape) > len(over)
        examples.append(np.ones((1,) * has_axes, x.dtype)[()])  # a large array would take long to print
    try:
        _check_fields(text)
        text.format(*examples)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        given = ", ".join(map(str, inputs)) or "no array"
        raise ArgumentValueError(
            f"debug_print: {text!r} cannot be filled with {given}: {error}. Numbers take a format, such as "
            "{:.3f}; arrays take none"
        ) from None
    return ()


def _check_fields(text: str) -> None:
    """A field is the number of an input with a short format: attributes of arrays cannot be printed."""
    for _, field, spec, conversion in Formatter().parse(text):
        if field is None:
            continue
        if not (field.isascii() and field.isdigit()) or conversion not in (None, "r", "s", "a"):
            raise ValueError(f"{{{field}}} is not the number of an input")
        if not _SPEC.fullmatch(spec or ""):
            raise ValueError(
                f"{shown(spec, 40)} is not a format, or has a width or precision of more than three digits"
            )


def _print(*inputs: Any, text: str, loops: Any = (), to: Any = ()) -> Any:
    logging, sys, warnings = map(
        __import__, ("logging", "sys", "warnings")
    )  # a definition refers to np alone
    keep = globals().get("keep_line")  # Tracemill sets it in the modules that it loads
    if keep is not None and keep(inputs, text, loops, to):
        return ()
    for index in np.ndindex(*[length for length, _ in loops]):
        own = [
            x[tuple(at for at, (_, mapped) in zip(index, loops, strict=True) if mapped[place])]
            for place, x in enumerate(inputs)
        ]
        said = text.format(*own)
        if not to:
            print(said)
        elif to[0] == "stream":
            print(said, end=to[2], file=sys.stderr if to[1] == "stderr" else sys.stdout)
        elif to[0] == "log":
            _, name, level, file, line, function = to
            logger = logging.getLogger(name)
            if logger.isEnabledFor(level):
                logger.handle(logger.makeRecord(logger.name, level, file, line, said, (), None, function))
        else:
            _, kind, file, line, module = to
            place, _, name = kind.rpartition(".")
            found = getattr(sys.modules.get(place), name, None)
            if not (isinstance(found, type) and issubclass(found, Warning)):
                found = UserWarning
            seen = (
                vars(sys.modules[module]).setdefault("__warningregistry__", {})
                if module in sys.modules
                else {}
            )
            warnings.warn_explicit(said, found, file, line, module, seen)
    return ()


_KEPT: Final = threading.local()
"""The lines that a thread prints later. It is not a context variable, because a program runs in its own context."""


def keep_line(inputs: Sequence[Any], text: str, loops: Any, to: Any) -> bool:
    """Keep a line for later if the current thread is within `keeping_lines`; False otherwise."""
    kept: list[Callable[[], Any]] | None = getattr(_KEPT, "lines", None)
    if kept is None:
        return False
    copies = [np.array(x) for x in inputs]  # the program may use their memory again
    kept.append(partial(_print, *(x if x.ndim else x[()] for x in copies), text=text, loops=loops, to=to))
    return True


@contextmanager
def keeping_lines() -> "Generator[list[Callable[[], Any]]]":
    """Within the block, programs of this thread keep their lines in the list that this gives.

    At the end, also after an exception, those that are still in the list are printed.
    """
    before = getattr(_KEPT, "lines", None)
    kept: list[Callable[[], Any]] = []
    _KEPT.lines = kept
    try:
        yield kept
    finally:
        _KEPT.lines = before
        for line in kept:
            line()


@in_front
def _batch(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, *, text: str, loops: Loops = (), **to: Any
) -> tuple[Value, ...]:
    """One line per example."""
    return bind_all("debug_print", *inputs, text=text, loops=((size, tuple(mapped)), *loops), **to)


register(
    Op(
        "debug_print",
        FAMILY,
        _type,
        _print,
        zero_derivative,
        not_linear,
        _batch,
        spelling=None,
        effect=PRINTS,
        doc="Nothing. Prints ``text.format(*inputs)``, once per entry of each of `loops` (length, which inputs have it "
        "as an axis in front). `to` names a stream, a logger or a class of warnings instead.",
    )
)
