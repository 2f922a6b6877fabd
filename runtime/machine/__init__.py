"""This machine: compilers, processor, threads, BLAS, and what was measured of it."""
