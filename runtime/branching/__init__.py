"""Blocks of which values decide whether, or how often, they run: what they set, and the choice between two."""
