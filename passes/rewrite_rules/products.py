"""Matrix products over one entry, and of transposed matrices."""

from collections.abc import Sequence
from typing import Any

from ...compiler.builder import bind
from ...compiler.ir import Value
from ...compiler.params import ints_param
from ...compiler.symbolic_size import is_known, is_one, same_shape, typical
from ...compiler.value_ops import dot, multiply, reshape, transpose
from .rule import Site, rule


@rule("dot of transposes → dot along other axes", "dot")
def _dot_of_transpose(site: Site) -> Value | None:
    """If the free axes keep their order."""
    if not any(site.made_by(x, "transpose") for x in site.inputs):
        return None
    params = dict(site.params)
    inputs = list(site.inputs)
    for place, side in enumerate("xy"):
        inner = site.made_by(inputs[place], "transpose")
        if inner is None:
            continue
        axes = ints_param(inner, "axes")
        contract, batch = params[f"contract_{side}"], params.get(f"batch_{side}", ())
        free = [axes[axis] for axis in range(len(axes)) if axis not in contract and axis not in batch]
        if free == sorted(free):
            inputs[place] = inner.inputs[0]
            params[f"contract_{side}"] = tuple(axes[axis] for axis in contract)
            if batch:
                params[f"batch_{side}"] = tuple(axes[axis] for axis in batch)
    return None if tuple(inputs) == site.inputs else bind("dot", *inputs, **params)


@rule("dot of axes of length 1 → reshaped dot", "dot")
def _dot_without_ones(site: Site) -> Value | None:
    """If a reshape has added axes of length 1 to the free ones."""
    if not any(site.made_by(x, "reshape") for x in site.inputs):
        return None
    params = {"batch_x": (), "batch_y": (), **site.params}
    inputs = list(site.inputs)
    for place, side in enumerate("xy"):
        value, taken = inputs[place], (*params[f"contract_{side}"], *params[f"batch_{side}"])
        inner = site.made_by(value, "reshape")
        kept = [axis for axis in range(value.ndim) if axis in taken or not is_one(value.shape[axis])]
        shape = tuple(value.shape[axis] for axis in kept)
        if inner is None or not same_shape(inner.inputs[0].shape, shape):
            continue
        if len(kept) < value.ndim:
            inputs[place] = inner.inputs[0]
            for role in (f"contract_{side}", f"batch_{side}"):
                params[role] = tuple(kept.index(axis) for axis in params[role])
    if tuple(inputs) == site.inputs:
        return None
    contract, batch = ((params[f"{role}_x"], params[f"{role}_y"]) for role in ("contract", "batch"))
    return reshape(dot(inputs[0], inputs[1], contract, batch), site.type.shape)


@rule("dot over one entry → product", "dot")
def _dot_of_one(site: Site) -> Value | None:
    """An outer product, such as the gradient of a weight for one example: a loop that can be fused with others."""
    (x, y), params = site.inputs, {"batch_x": (), "batch_y": (), **site.params}
    if not all(is_one(x.shape[axis]) for axis in params["contract_x"]):
        return None
    left = _batch_first(x, params["batch_x"], params["contract_x"])
    right = _batch_first(y, params["batch_y"], params["contract_y"])
    batch, free = len(params["batch_x"]), right.ndim - len(params["batch_y"])
    spread = (*right.shape[:batch], *(1,) * (left.ndim - batch), *right.shape[batch:])
    return multiply(reshape(left, (*left.shape, *(1,) * free)), reshape(right, spread))


@rule("transpose of an outer product → outer product of transposes", "transpose")
def _transpose_of_outer_product(site: Site) -> Value | None:
    """If both factors are smaller than the product: it is then computed in the wanted order."""
    (product,) = site.inputs
    inner = site.made_by(product, "multiply")
    if inner is None or not site.used_once(product) or is_known(product.type.size == 0):
        return None
    if any(2 * typical(factor.type.size) > typical(product.type.size) for factor in inner.inputs):
        return None
    padded = (reshape(x, ((1,) * (product.ndim - x.ndim) + x.shape)) for x in inner.inputs)
    x, y = (transpose(factor, ints_param(site, "axes")) for factor in padded)
    return multiply(x, y)


def _batch_first(x: Value, batch: Sequence[int], gone: Sequence[int]) -> Value:
    """The batch axes, then the free ones; contracted axes of length 1 are dropped."""
    kept = [*batch, *(axis for axis in range(x.ndim) if axis not in batch and axis not in gone)]
    moved = transpose(x, (*kept, *gone))
    return reshape(moved, moved.shape[: len(kept)])


@rule("transpose of a dot → the dot the other way round", "transpose")
def _transpose_of_dot(site: Site) -> Value | None:
    (product,) = site.inputs
    inner = site.made_by(product, "dot")
    if inner is None or not site.used_once(product):
        return None
    (x, y), params = inner.inputs, inner.params
    axes: Any = {"batch_x": (), "batch_y": (), **params}
    batch = len(axes["batch_x"])
    free_x = x.ndim - len(axes["contract_x"]) - batch
    swapped = (*range(batch), *range(batch + free_x, product.ndim), *range(batch, batch + free_x))
    if ints_param(site, "axes") != swapped:
        return None
    return dot(y, x, (axes["contract_y"], axes["contract_x"]), (axes["batch_y"], axes["batch_x"]))
