"""Errors about graphs and their text, and about bugs in Tracemill itself."""

from typing import Any

from .tracemill_error import TracemillError


class InternalError(TracemillError, RuntimeError):
    """Tracemill has a bug, or your program called its internal functions in the wrong way.

    >>> from tracemill.compiler.builder import bind
    >>> bind("sin")
    Traceback (most recent call last):
    tracemill.compiler.errors.graphs.InternalError: bind('sin') outside of any trace. This is a bug in Tracemill...

    Fix: run again with ``TRACEMILL_CHECK=1``, which verifies the graph after every pass and names the pass that broke
    it. Report that with the graph that ``tracemill inspect`` prints.
    """

    code = "E0001"

    def __init__(self, message: str, location: Any = None) -> None:
        super().__init__(
            f"{message}. This is a bug in Tracemill, not in your program. Please run again with TRACEMILL_CHECK=1 and "
            "report the message with the graph that `tracemill inspect` prints",
            location,
        )


class InvalidGraphError(InternalError):
    """A graph is malformed: a value is used before it is defined, defined twice, or has the wrong type.

    Raised by ``graph.lint()``, and after each pass when ``TRACEMILL_CHECK=1``.

    >>> from tracemill.compiler.dtypes import FLOAT64
    >>> from tracemill.compiler.ir import ArrayType, Graph, Value
    >>> Graph("f", (), (), (Value(ArrayType(FLOAT64, ())),)).lint()
    Traceback (most recent call last):
    tracemill.compiler.errors.graphs.InvalidGraphError: graph f, return: value 0 of its inputs (f64[]) is not...

    Fix: the message names the call, and the pass if one made it. Correct the code that built the graph.
    """

    code = "E0002"


class ParseError(TracemillError, ValueError):
    """A text cannot be read as a graph.

    >>> import tracemill as tm
    >>> tm.parse("def f(x: f64[]) -> f64[]:")
    Traceback (most recent call last):
    tracemill.compiler.errors.graphs.ParseError: line 1: expected '# tracemill ir 1', found 'def f(x:...

    Fix: correct the line that the message names. ``print(graph)`` shows the format.
    """

    code = "E0003"
