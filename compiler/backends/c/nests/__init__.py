"""Loops and branches over numbers and single elements, each nest of them as one C function."""
