"""Compiled functions on the blocks of Dask arrays: on all cores, on many machines, and on arrays larger than memory.

Dask schedules; Tracemill computes each block. The functions have the names of Dask's own, and their results are lazy
Dask arrays:

>>> import numpy as np, tracemill as tm, dask.array as da
>>> x = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
>>> tm.dask.map_blocks(lambda x: np.tanh(x) ** 2, x)
dask.array<function, shape=(1000, 3), dtype=float64, chunksize=(250, 3), chunktype=numpy.ndarray>

A function is traced once for each shape of its blocks, without data. What travels to the workers is the text of its
graph, which they check and compile, once per machine: they need Tracemill, and not your code.
"""

from .block_arrays import blockwise, map_blocks
from .data_parallel import value_and_grad
from .mapped import jacobian, vmap
from .overlap import map_overlap
from .reduction import reduction

__all__ = ["blockwise", "jacobian", "map_blocks", "map_overlap", "reduction", "value_and_grad", "vmap"]
