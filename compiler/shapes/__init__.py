"""Symbolic sizes: expressions of dims, known facts about them, what follows from these, and guards."""

from .dim import Comparison, Dim, answering
from .scope import Declared, Observed

__all__ = ["Comparison", "Declared", "Dim", "Observed", "answering"]
