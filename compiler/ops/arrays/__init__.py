"""Ops that make, move, index, order and combine elements."""
