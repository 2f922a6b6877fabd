"""Tracemill: derivatives, batching and compiled kernels for plain NumPy functions."""
