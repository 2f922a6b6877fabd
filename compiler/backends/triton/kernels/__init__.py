"""Kernels as Triton functions: the stages of a kernel, its blocks, and the expressions of one element."""
