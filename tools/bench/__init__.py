"""Benchmarks of Tracemill itself: the cost of a call, a compilation and a training step."""
