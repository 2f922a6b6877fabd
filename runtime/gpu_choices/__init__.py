"""The choices for GPU kernels, and the lock files that store them."""
