"""Products, einsum, `numpy.linalg` and `numpy.fft`, and the linear algebra that NumPy lacks."""
