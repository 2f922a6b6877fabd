"""The size of the batch that is the first axis of cotangents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler.errors import ShapeError, TransformArgumentError
from ..int_options import joint_length


def batch_size(where: str, name: str, cotangents: Sequence[Any], paths: Sequence[str], option: str) -> int:
    """The length of their first axes, which must be the same; None has none.

    Args:
        where: the function that was called, for messages.
        name: what the cotangents are called there.
        cotangents: arrays or None.
        paths: how each is reached.
        option: what asks for a batch.
    """
    sizes: list[int] = []
    for cotangent, path in zip(cotangents, paths, strict=True):
        if cotangent is None:
            continue
        if not np.shape(cotangent):
            raise ShapeError(f"{where}: {path} is 0-d: with {option} it needs a batch in front")
        sizes.append(np.shape(cotangent)[0])
    if not sizes:
        raise TransformArgumentError(
            f"{where}: {option} needs {name}: none is given, so the size of the batch is unknown"
        )
    size = joint_length(sizes)
    if size is None:
        raise ShapeError(f"{where}: {name} have batches of different sizes {sizes}")
    return size
