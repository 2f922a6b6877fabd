"""Traced arrays: the recording of NumPy calls, views, writes and memory layout."""
