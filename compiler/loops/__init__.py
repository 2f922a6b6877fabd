"""Kernels as loops over scalars, which backends print as C or Triton."""
