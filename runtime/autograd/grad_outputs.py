"""The initial cotangents of `tracemill.autograd`: `grad_outputs`, checked against the outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import is_array_like
from ...compiler.dtypes import dtype_name, is_complex, is_inexact
from ...compiler.errors import (
    DTypeError,
    NonScalarOutputError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
)
from ...compiler.ir import ArrayType, Constant
from ...compiler.nesting import shown
from ...compiler.tracing.array_values import PYTHON_NUMBERS
from ..batching.batch_size import batch_size
from ..derivatives.differentiated_call import fitting


def cotangents(
    where: str, name: str, given: Any, types: Sequence[ArrayType], *, is_batched: bool
) -> tuple[list[Any], int | None]:
    """One cotangent per output, ones if none is needed, and the size of the batch.

    Args:
        where: the function that was called, for messages.
        name: the argument's name there.
        given: an array, None, or a sequence of them.
        types: the outputs'.
        is_batched: each cotangent has a batch in front.
    """
    each = list(given) if isinstance(given, (tuple, list)) else [given] * (len(types) if given is None else 1)
    if len(each) != len(types):
        raise TransformArgumentError(
            f"{where}: {name} must have an entry per output: there are {len(types)} outputs and {len(each)} entries"
        )
    names = [f"{name}[{place}]" for place in range(len(types))]
    paths = [f"{where}: {entry}" for entry in names]
    for array, path in zip(each, paths, strict=True):
        if array is not None and (isinstance(array, PYTHON_NUMBERS) and not isinstance(array, np.generic)):
            raise TransformTypeError(
                f"{path} must be an array or None, not {type(array).__name__}: {shown(array)}"
            )
        if array is not None and not is_array_like(array):
            raise TransformTypeError(
                f"{path} must be an array or None, not {type(array).__name__}: {shown(array)}"
            )
    batch = batch_size(where, name, each, names, "is_grads_batched=True") if is_batched else None
    return [
        _ones(where, place, type, batch) if array is None else _fitted(array, type, batch, path)
        for place, (array, type, path) in enumerate(zip(each, types, paths, strict=True))
    ], batch


def _ones(where: str, place: int, type: ArrayType, batch: int | None) -> Constant:
    """The meaning of None: allowed if the output is one real number."""
    if type.shape:
        raise NonScalarOutputError(
            f"{where}: output {place} has shape {type.shape}: only for one number may grad_outputs be left "
            "out. Sum it, or pass an array of its shape"
        )
    if not is_inexact(type.dtype) or is_complex(type.dtype):
        raise NonScalarOutputError(
            f"{where}: output {place} has dtype {dtype_name(type.dtype)}: only for a real scalar may grad_outputs be "
            "left out"
        )
    return Constant(np.ones(() if batch is None else (batch,), type.dtype))


def _fitted(array: Any, type: ArrayType, batch: int | None, path: str) -> Any:
    shape = type.shape if batch is None else (batch, *type.shape)
    found = np.shape(array)
    if batch is not None and found != shape:
        raise ShapeError(
            f"{path} has shape {found}: with is_grads_batched=True its first axis, of size {batch}, is the batch, and "
            f"the others must be those of the output, {type.shape}, not {found[1:]}"
        )
    if is_complex(type.dtype) != (array.dtype.kind == "c"):
        raise DTypeError(
            f"{path} has dtype {dtype_name(array.dtype)}, the output {dtype_name(type.dtype)}: a complex one goes with "
            "complex outputs, and with no other"
        )
    return fitting(array, type, shape, path, casting="safe")
