"""What a program is, and how a kernel becomes source code."""

from . import numpy_surface, ops
from . import verifier as check
from .ir import Graph, GraphViews, Node
from .text import printer as text

__all__ = ["numpy_surface", "ops"]  # importing them registers the ops and NumPy's functions


def _nodes(graph: Graph) -> tuple[Node, ...]:
    from .text.fx_nodes import nodes

    return nodes(graph)


def _tabular(graph: Graph) -> str:
    from .text.fx_nodes import tabular

    return tabular(graph)


def _mermaid(graph: Graph) -> str:
    from .text.fx_nodes import mermaid

    return mermaid(graph)


def _html(code: str) -> str:
    from .text.html import code_html

    return code_html(code)


Graph.faces = GraphViews(
    text=text.to_text,
    code=text.to_code,
    nodes=_nodes,
    tabular=_tabular,
    mermaid=_mermaid,
    check=check.check,
    html=_html,
)
