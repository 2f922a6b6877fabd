"""Symbolic sizes: expressions of dims, what is known of them, what follows, and guards."""

from .dim import Comparison, Dim, answering
from .scope import Declared, Observed

__all__ = ["Comparison", "Declared", "Dim", "Observed", "answering"]
