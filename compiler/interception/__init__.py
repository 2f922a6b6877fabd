"""What is replaced in NumPy and in the user's frames while a function is traced."""
