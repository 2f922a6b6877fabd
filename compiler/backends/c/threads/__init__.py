"""Threads that share loops: the pool, which is C, and how programs hand loops to it."""
