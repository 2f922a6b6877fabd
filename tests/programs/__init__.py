"""Whole programs in plain NumPy, as people write them: each must compile, batch and differentiate unchanged."""
