"""A program as a Python file for others, which needs only NumPy: the user's function, checks, constants."""
