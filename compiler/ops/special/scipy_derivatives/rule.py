"""The type of a rule in the tables of derivatives."""

from collections.abc import Callable
from typing import Any, TypeAlias

Rule: TypeAlias = Callable[..., Any]
"""``rule(result, *arguments)``: a derivative, or a tuple of one per result; all are `Term`."""
