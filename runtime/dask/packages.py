"""Dask's modules, which may not be installed."""

from typing import Any

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
