"""Differentiation and batching, each as a walk over the graph."""
