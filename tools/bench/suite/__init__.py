"""Tracemill compared with other compilers: the same functions, in turns, each in its own process."""
