"""Arrays and kernels on NVIDIA GPUs: memory, launches and graphs through the driver alone."""
