"""`RULES`: how to compute each op on arrays in which only the first entries are valid."""

from collections.abc import Mapping
from typing import Final

from . import computing, indexing, moving
from .padded_lengths import Rule

RULES: Final[Mapping[str, Rule]] = {**computing.RULES, **indexing.RULES, **moving.RULES}
"""A call without a rule keeps the lengths as they are."""
