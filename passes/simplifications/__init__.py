"""The rules of `simplify`, by what they are about. Importing this package fills their table."""

from . import arithmetic, conversion, layout, logic, products, scattering

__all__ = ["arithmetic", "conversion", "layout", "logic", "products", "scattering"]
