"""The NumPy backend: how each call is written as NumPy statements."""
