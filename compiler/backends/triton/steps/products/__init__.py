"""Products of matrices, and convolutions as products."""
