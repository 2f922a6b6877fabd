"""Errors about shapes, axes, dtypes and indices. NumPy raises the like."""

import numpy as np

from .tracemill_error import TracemillError


class ShapeError(TracemillError, ValueError):
    """Shapes do not fit together: they do not broadcast, or a reshape changes the number of elements.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, w: x * w)(np.ones((2, 3)), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.arrays.ShapeError: multiply of f64[2, 3] and f64[2]: shapes do not broadcast...

    Fix: change a shape so that the axes match, for example with ``w[:, None]``.
    """

    code = "E0101"


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis does not exist. This is NumPy's ``AxisError`` with the line of your program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: np.sum(x, axis=2))(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.arrays.AxisError: axis 2 is out of bounds for array of dimension 2...

    Fix: pass an axis from 0 to ``x.ndim - 1``, or from −1 downwards to count from the end.
    """

    code = "E0102"


class DTypeError(TracemillError, TypeError):
    """An operation does not exist for these dtypes, or a cast is not allowed by ``casting=``.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.bitwise_and)(np.ones(2), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.arrays.DTypeError: bitwise_and is not defined for (float64, float64)...

    Fix: convert the argument first, with ``x.astype(...)``.
    """

    code = "E0103"


class OutOfBoundsError(TracemillError, IndexError):
    """An index is outside its axis. It was known while tracing, or the program computed and checked it.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[3])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.arrays.OutOfBoundsError: index 3 is out of bounds for axis 0 with size 3...

    Fix: correct the index. ``compile(check_bounds=True)`` or ``TRACEMILL_CHECK=bounds`` also checks indices that are
    computed when the program runs. Without these checks, such an index reads the nearest entry, and a write is dropped.
    """

    code = "E0104"


class MatrixShapeError(ShapeError, np.linalg.LinAlgError):
    """Linear algebra needs matrices, or square matrices, and the array has another shape.

    This is also NumPy's ``LinAlgError``, with the line of your program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.linalg.inv)(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.arrays.MatrixShapeError: inv of f64[2, 3]: the last two axes must be square...

    Fix: put the matrices in the last two axes. The axes before them form a stack of matrices.
    """

    code = "E0105"
