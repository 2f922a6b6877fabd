"""Versions for traced arrays of SciPy's functions that are written in C, or whose formulas lose derivatives."""

from . import fft, interpolate, linalg, matrices, ndimage, rank_filters, signal

__all__ = ["fft", "interpolate", "linalg", "matrices", "ndimage", "rank_filters", "signal"]
