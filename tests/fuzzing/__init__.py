"""Damaged inputs for everything that is read from files: made by number, read in confined processes."""
