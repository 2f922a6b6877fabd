"""Dask's modules, which may not be installed."""

from typing import Any

import numpy as np

from ...compiler.errors import MissingPackageError


def dask_array(where: str) -> Any:
    """The module `dask.array`. `where` says who asks.

    Raises:
        MissingPackageError: Dask is not installed.
    """
    try:
        import dask.array
    except ImportError as error:
        raise MissingPackageError(
            f'{where} needs Dask, which is not installed: pip install "tracemill[dask]"'
        ) from error
    return dask.array


def shared(value: Any, name: str) -> Any:
    """`value` as one key of the task graph, which each worker receives once, and not as a part of every task."""
    from dask.delayed import delayed

    return delayed(value, name=name, traverse=False)


def passed_on(block: Any, name: str) -> Any:
    """A block as a key of its own, which Dask does not fuse into the tasks that need it, as it would `block`."""
    from dask.delayed import delayed

    return delayed(np.asarray)(block, dask_key_name=name)
