"""What a program is, and how a kernel becomes source."""

from . import check, ir, nodes, ops, text

__all__ = ["ops"]  # importing it fills the table of ops

ir.Graph.faces = ir.Faces(
    text=text.to_text,
    code=text.to_code,
    nodes=nodes.nodes,
    tabular=nodes.tabular,
    mermaid=nodes.mermaid,
    check=check.check,
)
