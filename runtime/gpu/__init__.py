"""Arrays and kernels on NVIDIA's GPUs: memory, launches and graphs through the driver alone."""
