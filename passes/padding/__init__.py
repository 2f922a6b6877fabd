"""How the calls of a graph compute with arrays that are longer than what counts of them."""
