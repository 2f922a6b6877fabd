"""Every op, by family. Importing this package fills the table of `compiler.op`."""

from . import arithmetic, comparison, contraction, conversion, creation, elementary, layout, reduction

__all__ = ["arithmetic", "comparison", "contraction", "conversion", "creation", "elementary", "layout", "reduction"]
