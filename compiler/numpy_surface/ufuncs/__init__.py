"""ufuncs and their methods, reductions, operators, and the functions made of them."""
