"""The demo: a small network that learns to read digits."""
