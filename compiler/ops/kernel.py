"""A fused kernel: a call that holds the graph of what one generated loop nest computes."""

from ..op import Op, register
from ..trace import evaluate
from .graph_call import batched_call, differentiated_call, result_types, transposed_call

FAMILY = "kernel"

register(
    Op(
        "kernel",
        FAMILY,
        lambda *inputs, graph: result_types("kernel", graph, inputs),
        lambda *inputs, graph: evaluate(graph, *inputs),
        differentiated_call("kernel"),
        transposed_call("kernel"),
        batched_call("kernel"),
        spelling=None,
        effect=None,
        doc="The outputs of a graph that runs as one loop nest; made by `fuse`.",
    )
)
