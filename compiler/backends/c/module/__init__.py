"""A whole program as one C file, and how Python calls it."""
