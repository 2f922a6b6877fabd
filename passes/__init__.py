"""Graph -> Graph: each file is one pass and has the name of its function."""
