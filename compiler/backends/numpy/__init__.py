"""The NumPy backend: a graph as one readable Python module, which also calls C functions."""
