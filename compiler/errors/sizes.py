"""Errors about named sizes."""

from .arrays import ShapeError
from .tracemill_error import TracemillError


class ContradictoryConstraintsError(TracemillError, ValueError):
    """No sizes satisfy the constraints on dims, or two dims with different limits share a name.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.assumptions import Assumptions
    >>> A, B = tm.Dim("A", min=5), tm.Dim("B", max=8)
    >>> Assumptions([B >= 2 * A])
    Traceback (most recent call last):
    tracemill.compiler.errors.sizes.ContradictoryConstraintsError: the constraints hold for no sizes: A in 5..,...

    Fix: remove one of the constraints in the message, or widen the limits of a dim.
    """

    code = "E0801"


class UndecidedDimError(TracemillError, ValueError):
    """Python needs the value of a dim, or of a comparison of dims that is true for some sizes and false for others.

    >>> import tracemill as tm
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> "short" if A <= B else "long"
    Traceback (most recent call last):
    tracemill.compiler.errors.sizes.UndecidedDimError: whether A <= B is not known for all sizes: nothing is...

    Fix: add the constraint that the message names, or narrow the limits of a dim. `Dim.minimum` and `Dim.maximum`
    compute with dims without comparing them first.
    """

    code = "E0802"
    asked: str = ""
    """What Python needs to know of a length that depends on values, such as ``whether n_1 == n_2``."""

    def in_batch(self) -> "UndecidedDimError":
        """The error for a function under `vmap`, where each example has a length of its own."""
        if self.asked:
            self.message = (
                f"under vmap each example has another length, and the function needs to know {self.asked}: reduce the "
                "array first, as in x[mask].sum(), keep the shape, as in np.where(mask, x, 0), or loop over the "
                "examples instead, np.stack([f(x) for x in batch])"
            )
            self.asked = ""
        return self


class DimSpecError(TracemillError, ValueError):
    """A text cannot be read as a dim or a constraint, no size is within a dim's limits, or an expression is too long.

    >>> import tracemill as tm
    >>> tm.Dim("B", min=1, max=15, multiple_of=16)
    Traceback (most recent call last):
    tracemill.compiler.errors.sizes.DimSpecError: dim B: there is no size from 1 to 15 that is a multiple of 16...

    Fix: write a dim as ``"2*K + 1"``, and a constraint as ``"B in 1..4096"``, ``"B % 16 == 0"`` or ``"A <= B"``.
    """

    code = "E0803"


class DimMismatchError(ShapeError):
    """The shapes of a call do not fit the declared dims: a size is impossible, outside its limits, or inconsistent.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.arguments.solving import SizeReader
    >>> SizeReader(["x"], [(2 * tm.Dim("K") + 1,)]).read([(784,)])
    Traceback (most recent call last):
    tracemill.compiler.errors.sizes.DimMismatchError: axis 0 of x is 784, which is not of the form 2*K + 1...

    Fix: pass arrays of the declared shapes, or declare the dim so that it includes these sizes.
    """

    code = "E0804"


class UndeterminedDimError(TracemillError, ValueError):
    """The shapes of the arguments do not determine a dim.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.arguments.solving import SizeReader
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> SizeReader(["x"], [(A + B,)])
    Traceback (most recent call last):
    tracemill.compiler.errors.sizes.UndeterminedDimError: dim A cannot be determined from the shapes of the...

    Fix: give an argument an axis of that size, or express the dim by dims that the arguments determine.
    """

    code = "E0805"


class DimArithmeticError(TracemillError, TypeError):
    """A dim is combined with a float or an array outside a traced function, where it has no value yet.

    >>> import tracemill as tm
    >>> tm.Dim("B") / 2
    Traceback (most recent call last):
    tracemill.compiler.errors.sizes.DimArithmeticError: B has no value outside a traced function...

    Fix: compute only with ints and ``+ - * // %``, which give dims, or compute inside the function with the
    ``x.shape`` of its arguments.
    """

    code = "E0806"
