"""The NumPy backend: a graph as one readable Python module; what has C functions calls them from there."""
