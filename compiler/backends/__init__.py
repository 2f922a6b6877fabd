"""Printers: a graph of kernels in, source text out, and nothing else."""
