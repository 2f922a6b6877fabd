"""Passes that leave out what need not be computed."""
