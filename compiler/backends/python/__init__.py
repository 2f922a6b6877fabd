"""The Python module around the statements of any backend: entry, memory, nested graphs, loops, tiles, self-check."""
