"""A graph as a plan of launches: which functions run, in what order, and where each array lies."""
