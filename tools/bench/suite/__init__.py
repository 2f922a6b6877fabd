"""Tracemill against other compilers: the same functions, in turns, each in a process of its own."""
