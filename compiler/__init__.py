"""What a program is, and how a kernel becomes source code."""

from . import ir, numpy_surface, ops
from . import verifier as check
from .text import fx_nodes as nodes
from .text import html as notebook
from .text import printer as text

__all__ = ["numpy_surface", "ops"]  # importing them registers the ops and NumPy's functions

ir.Graph.faces = ir.GraphViews(
    text=text.to_text,
    code=text.to_code,
    nodes=nodes.nodes,
    tabular=nodes.tabular,
    mermaid=nodes.mermaid,
    check=check.check,
    html=notebook.code_html,
)
