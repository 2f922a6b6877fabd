"""Kernels as C: loop nests, the chunks that threads share, and reductions."""
