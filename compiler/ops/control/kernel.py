"""A fused kernel: a call that holds the graph of what one generated loop nest computes."""

from .graph_call import register_call

FAMILY = "kernel"

register_call("kernel", FAMILY, "The outputs of a graph that runs as one loop nest; made by `fuse`.")
