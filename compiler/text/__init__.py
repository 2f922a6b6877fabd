"""Graphs as text that reads back, and as tables, HTML and FX nodes."""
