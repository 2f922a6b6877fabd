"""A program for GPUs as a Python file that needs torch and triton: its kernels, and the function that launches them."""
