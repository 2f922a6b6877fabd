"""This machine: compilers, processor, threads, and measurements."""
