"""Passes that remove calls that need not be computed."""
