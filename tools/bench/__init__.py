"""Measurements of Tracemill itself: what a call, a compilation and a training step cost."""
