"""Facts about a finished graph: where its arrays are, how much memory and arithmetic it needs, what can be tiled."""
