"""Graphs as text that can be parsed again, and as tables, HTML and FX nodes."""
