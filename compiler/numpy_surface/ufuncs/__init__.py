"""ufuncs and their methods, reductions, operators, and functions built on them."""
