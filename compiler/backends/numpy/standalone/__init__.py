"""A program as a Python file for others, which needs NumPy alone: the user's function, checks, constants."""
