"""Graph -> Graph: each file is one pass, named as its function."""
