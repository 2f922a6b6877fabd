"""``np.vectorize(f)`` of traced arrays: `f` is traced once, for one element, and then batched."""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import is_array_like
from ...compiler.callers.user_code import user_location
from ...compiler.errors import ArgumentValueError
from ...compiler.tracing.traced_memory import is_traced
from ..batching.vmap import vmap
from ..branching.python_numbers import PYTHON_KINDS, as_python_number
from ..branching.watching import watching


def vectorized(
    function: Any, callee: Callable[[Any], Any], given: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """The result of an ``np.vectorize`` object. Its dtype fits all results, not only the first."""
    keys: list[Any] = [key for key in (*range(len(given)), *named) if key not in function.excluded]
    arguments: dict[Any, Any] = dict(enumerate(given)) | named
    arrays = [_array(arguments[key]) for key in keys]
    if not any(map(is_traced, arrays)) or not all(map(is_array_like, arrays)):
        return function(*given, **named)
    ranks = _ranks(function.signature, len(arrays))
    leads = [np.shape(one)[: np.ndim(one) - rank] for one, rank in zip(arrays, ranks, strict=True)]
    lead = np.broadcast_shapes(*leads)

    def one_element(*cells: Any) -> Any:
        found = [
            cell if function.signature else as_python_number(cell, PYTHON_KINDS[cell.dtype.kind])
            for cell in cells
        ]
        filled = arguments | dict(zip(keys, found, strict=True))
        positional = [filled[place] for place in range(len(given))]
        return callee(function.pyfunc)(*positional, **{name: filled[name] for name in named})

    rows = [
        np.reshape(np.broadcast_to(one, lead + np.shape(one)[np.ndim(one) - rank :]), (-1, *_core(one, rank)))
        for one, rank in zip(arrays, ranks, strict=True)
    ]
    if not np.prod(lead, dtype=int):
        raise ArgumentValueError(
            "np.vectorize of an empty array: its function is traced for an element, and there is none",
            user_location(),
        )
    with watching("np.vectorize", {}, user_location()):  # it is traced once for all elements
        found = vmap(one_element)(*rows)
    dtypes = function.otypes or None
    results = found if isinstance(found, tuple) else (found,)
    shaped = tuple(
        np.reshape(one, lead + np.shape(one)[1:]).astype(one.dtype if dtypes is None else dtypes[number])
        for number, one in enumerate(results)
    )
    if function.signature is None:  # then it is a ufunc
        shaped = tuple(_in_order_of(one, arrays) for one in shaped)
    return shaped if isinstance(found, tuple) else shaped[0]


def _in_order_of(result: Any, arrays: Sequence[Any]) -> Any:
    """The result in the memory order of a ufunc of the arrays."""
    if np.ndim(result) < 2:
        return result
    ordered = np.empty_like(reduce(np.logical_or, arrays, np.bool_(False)), dtype=result.dtype)
    ordered[...] = result
    return ordered


def _array(x: Any) -> Any:
    return x if is_array_like(x) and not isinstance(x, int | float | complex) else np.asarray(x)


def _core(array: Any, rank: int) -> tuple[Any, ...]:
    return tuple(np.shape(array)[np.ndim(array) - rank :])


def _ranks(signature: "str | None", count: int) -> list[int]:
    """The number of axes that one call of the function gets, for each argument."""
    if signature is None:
        return [0] * count
    inputs = signature.partition("->")[0]
    return [
        len([name for name in one.split(",") if name.strip()]) for one in re.findall(r"\(([^)]*)\)", inputs)
    ]
