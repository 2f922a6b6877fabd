"""Creating arrays and changing their shape: NumPy's chapters on creation and manipulation."""
