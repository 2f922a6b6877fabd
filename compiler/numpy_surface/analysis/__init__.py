"""Differences, interpolation, convolution, polynomials, and functions that call functions."""
