"""How the calls of a graph compute with padded arrays, of which only the first entries are valid."""
