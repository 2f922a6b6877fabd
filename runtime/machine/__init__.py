"""This machine: compilers, processor, threads, BLAS, and measurements."""
