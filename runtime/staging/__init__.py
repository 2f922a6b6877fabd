"""Branches and loops of the user's Python that depend on traced values: what converted functions call."""
