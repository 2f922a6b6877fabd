"""The memory layout that NumPy would give an array. It decides whether results are views or copies."""
