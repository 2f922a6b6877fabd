"""Every op, by family. Importing this package fills the table of `compiler.op`."""

from . import (
    arithmetic,
    comparison,
    contraction,
    control,
    conversion,
    creation,
    cumulative,
    elementary,
    indexing,
    layout,
    random,
    reduction,
    sort,
)

__all__ = [
    "arithmetic",
    "comparison",
    "contraction",
    "control",
    "conversion",
    "creation",
    "cumulative",
    "elementary",
    "indexing",
    "layout",
    "random",
    "reduction",
    "sort",
]
