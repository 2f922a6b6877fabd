"""Exceptions while tracing, and the handlers of the user's that see them."""
