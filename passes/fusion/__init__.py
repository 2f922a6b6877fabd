"""How calls are grouped into kernels: what may be fused, what is worth it, and what was not and why."""
