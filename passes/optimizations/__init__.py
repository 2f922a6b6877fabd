"""Passes that make a program faster: fusion, tiles, loops, and what is computed once."""
