"""From an optimised graph to a function that runs, from the disk cache or new."""
