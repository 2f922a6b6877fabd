"""Kernels as loops over scalars: what a backend prints as C or Triton."""
