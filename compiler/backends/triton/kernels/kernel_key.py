"""The identity of a kernel in files that outlive a program: the text of its graph, and its digest."""

from dataclasses import replace
from hashlib import sha256
from typing import Final

from ....ir import Graph
from ....text.printer import to_text
from .constants import with_constants_as_inputs

DIGITS: Final = 32
"""Digits of a key, which are hexadecimal: 128 bits."""


def kernel_key(graph: Graph, *, fast_math: bool = False) -> str:
    """The key of a kernel's graph: the same for graphs with the same calls and types, whatever the names of inputs.

    With `fast_math` it is another kernel, with other timings.

    >>> from tracemill.compiler.text.parser import parse
    >>> kernel_key(parse('''# tracemill ir 1
    ... def double(x: f32[3]) -> f32[3]:
    ...     add_1: f32[3] = add(x, x)
    ...     return add_1'''))
    '...'
    """
    return key_of_text(kernel_text(known_graph(graph)), fast_math=fast_math)


def known_graph(graph: Graph) -> Graph:
    """The graph that a key identifies: arrays are inputs, so that its text is complete."""
    graph, _ = with_constants_as_inputs(graph)
    return replace(graph, name="kernel", input_names=())


def kernel_text(graph: Graph) -> str:
    """The text of a `known_graph`, which can be parsed again; the user's source lines are left out."""
    return to_text(graph, locations=False)


def key_of_text(text: str, *, fast_math: bool = False) -> str:
    known = f"{text}\n# fast_math" if fast_math else text
    return sha256(known.encode()).hexdigest()[:DIGITS]
