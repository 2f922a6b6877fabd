"""Blocks that run or not depending on values: what they change, and the choice between two branches."""
