"""What generated modules call for the memory of large results."""

from typing import Final

LARGE: Final = 1 << 25
"""Bytes from which on malloc gives memory back to the system when an array dies."""

LARGE_ARRAY: Final = "large_array"
"""The name of the function that makes results of this size and more: `np.empty`, or what the module is passed."""
