"""Contractions, factorisations, and functions of matrices."""
