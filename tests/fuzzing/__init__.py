"""Damaged inputs for everything that reads files. A number determines each input, and confined processes read them."""
