"""Passes that make a program faster: fusion, tiles, loops, and computing things once."""
