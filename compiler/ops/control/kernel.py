"""A fused kernel: a call that holds the graph computed by one generated loop nest."""

from .graph_call import register_call

FAMILY = "kernel"

register_call("kernel", FAMILY, "The outputs of a graph that runs as one loop nest; made by `fuse`.")
