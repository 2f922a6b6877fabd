"""The rules of `simplify`, by subject. Importing this package fills their table."""

from . import arithmetic, conversion, gathering, layout, logic, products, ranges, reductions, scattering

__all__ = [
    "arithmetic",
    "conversion",
    "gathering",
    "layout",
    "logic",
    "products",
    "ranges",
    "reductions",
    "scattering",
]
