"""Attention and its gradient without the matrix of weights."""
