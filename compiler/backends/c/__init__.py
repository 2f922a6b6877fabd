"""The C backend: kernels, steps and whole graphs as C functions, and how Python calls them."""
