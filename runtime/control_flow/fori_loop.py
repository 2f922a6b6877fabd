"""`fori_loop`: a loop over a range of integers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import is_array_like, leaf_type
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import INT64
from ...compiler.errors import TransformArgumentError, TransformTypeError
from ...compiler.frontend.conversion import converted
from ...compiler.frontend.program import Argument
from ...compiler.ir import ArrayType
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.size_values import size_of_value
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import located
from ...compiler.tracing.traced_memory import is_traced
from ..eager.nested_function import NestedFunction
from ..eager.run import require_function
from ..tracebacks import with_users_frames
from ..trees import structure
from .carry import Carry
from .python_loop import PythonLoop, known_number, running_bodies, runs_in_python
from .scan import Slices, run_loop
from .while_loop import run_while


@with_users_frames
def fori_loop(lo: Any, hi: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """A loop that runs ``carry = body(i, carry)`` for i in ``range(lo, hi)``.

    With known bounds it is a `scan`, which has reverse mode; with traced bounds it is a `while_loop`.

    Args:
        lo, hi: integers without axes.
        body: from the number of the step and the carry to the next carry, as of `while_loop`. The number takes the
            dtype of what it meets, as one of Python's does.
        init: the first carry, a pytree of arrays and numbers.

    Returns:
        The last carry.

    Raises:
        CarryMismatchError: (a TypeError and ValueError) `body` returns another carry than it gets.
        TransformTypeError: (a TypeError) the bounds are not integers.

    >>> import numpy as np
    >>> fori_loop(0, 5, lambda i, total: total + i, 0.5)
    10.5
    """
    require_function("fori_loop", body)
    return located(_fori_loop, lo, hi, body, init)


def _fori_loop(lo: Any, hi: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    where = f"fori_loop({describe(body)})"
    lo, hi = _as_size(lo), _as_size(hi)
    for name, bound in (("lo", lo), ("hi", hi)):
        if isinstance(bound, SymbolicSize):
            continue
        if not is_array_like(bound) or leaf_type(bound, name).dtype.kind not in "iu" or np.shape(bound):
            shown = leaf_type(bound, name) if is_array_like(bound) else type(bound).__name__
            raise TransformTypeError(f"{where}: {name} must be one integer, not {shown}")
        if _is_known(bound) and not -(2**63) <= int(bound) < 2**63:
            raise TransformArgumentError(f"{where}: {name} must fit into 64 bits with a sign, but is {bound}")
    carry = Carry(where, "init", init)
    if not isinstance(lo, SymbolicSize) and not isinstance(hi, SymbolicSize):
        first, last = known_number(lo), known_number(hi)
        is_python = runs_in_python([lo, hi, *carry.leaves], body, keeps_all=True)
        if is_python and first is not None and last is not None:
            return _in_python(where, int(first), int(last), body, carry)
    if _is_known(lo) and _is_known(hi):
        leaves = _known_loop(where, _whole(lo), _whole(hi), body, carry)
    else:
        leaves = _until(where, lo, hi, body, carry)
    return optree.tree_unflatten(carry.tree, leaves)


def _as_size(bound: Any) -> Any:
    """Also a symbolic size that became a number of the program."""
    found = size_of_value(bound._trace, bound.value) if is_traced(bound) else None
    return bound if found is None else found


def _is_known(bound: Any) -> bool:
    return not is_traced(bound) and (current_trace() is None or not isinstance(bound, np.ndarray))


def _whole(bound: Any) -> Any:
    return bound if isinstance(bound, SymbolicSize) else int(bound)


def _known_loop(where: str, lo: int, hi: int, body: Callable[[Any, Any], Any], carry: Carry) -> list[Any]:
    length = 0 if hi < lo else hi - lo
    number = Argument(ArrayType(INT64, ()), "i", int, is_scalar=True)
    tree = optree.treespec_tuple(
        [optree.treespec_tuple([structure(0), carry.tree]), structure({})], namespace=carry.tree.namespace
    )
    step = carry.settle(
        lambda: NestedFunction(where, body, tree, [number, *carry.arguments()], repeats=True),
        lambda step: step.tree,
    )
    last, _ = run_loop(step, carry, Slices([], [], length), {}, None, first=lo)
    return last


def _in_python(where: str, lo: int, hi: int, body: Callable[[Any, Any], Any], carry: Carry) -> Any:
    loop = PythonLoop(where, body, carry)
    with running_bodies() as ready:
        step = ready(body)
        for i in range(lo, hi):
            loop.follow(step(i, optree.tree_unflatten(carry.tree, loop.leaves)))
    return optree.tree_unflatten(carry.tree, loop.leaves)


def _until(where: str, lo: Any, hi: Any, body: Callable[[Any, Any], Any], carry: Carry) -> list[Any]:
    """The number of the step is carried, too."""

    def step(state: Any) -> Any:
        i, mine = state
        return i + 1, converted(body)(i, mine)

    with_number = carry.with_number(lo, "i")
    return run_while(where, with_number, lambda state: state[0] < hi, step, {}, body)[1:]
