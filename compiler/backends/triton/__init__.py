"""The Triton backend: kernels as functions on blocks of elements, which run on GPUs."""
