"""Exceptions while tracing, and which of them the user's handlers see."""
