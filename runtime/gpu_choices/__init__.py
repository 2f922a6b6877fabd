"""What was chosen of kernels on GPUs, and the lock files that keep it."""
