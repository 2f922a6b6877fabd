"""Functions of `math`, `cmath` and `round` for traced Python numbers."""
