"""Attention: means of values, weighted by how well keys match queries."""

import math
from typing import Any

import numpy as np

from ..arguments.option_checks import flag, number
from ..dtypes import BOOL
from ..numpy_surface.ufuncs.eager_ops import as_numbers
from ..symbolic_size import SymbolicSize
from .arguments import call, in_one_dtype


def attention(
    query: Any, key: Any, value: Any, mask: Any = None, *, causal: bool = False, scale: float | None = None
) -> Any:
    """``softmax(scale * query @ key.T + mask) @ value``, stable for large products.

    A. Vaswani et al., "Attention is all you need" (2017).

    Args:
        query: an array [..., L, E].
        key: an array [..., S, E].
        value: an array [..., S, V]. The axes before the last two broadcast among the three.
        mask: None, or an array that broadcasts to [..., L, S]: booleans say which keys a query sees, numbers are
            added to the scores.
        causal: query i sees the keys 0 to i only, and of these what the mask lets through.
        scale: by default ``1 / sqrt(E)``.

    Returns:
        An array [..., L, V]. A query that sees no key, because of False or of −∞, gives zeros, with derivatives 0.

    Raises:
        ShapeError: (a ValueError) the shapes do not fit.

    >>> import numpy as np
    >>> attention(np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0], [3.0]])).tolist()
    [[2.0]]
    """
    if mask is not None and as_numbers(mask).dtype == BOOL:
        mask = as_numbers(mask)
        query, key, value = in_one_dtype(query, key, value)
    else:
        query, key, value, mask = in_one_dtype(query, key, value, optional=(mask,))
    if scale is None:
        width: Any = query.shape[-1] if query.ndim else 1
        if isinstance(width, SymbolicSize):
            query, scale = query / np.sqrt(np.maximum(width.as_number(), 1)), 1.0
        else:
            scale = 1 / math.sqrt(max(width, 1))
    return call(
        "attention", query, key, value, mask, scale=number("scale", scale), causal=flag("causal", causal)
    )
