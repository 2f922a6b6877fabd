"""How calls are grouped into kernels: what may be fused, what is worth fusing, and why other calls were not."""
