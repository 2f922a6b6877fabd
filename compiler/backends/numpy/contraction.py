"""NumPy statements of `dot`: one `np.dot`, `np.vecdot` or `np.matmul` of transposed and reshaped views."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Call, Shape, Value
from ...params import ints_param
from ...symbolic_size import is_known
from ..python.module import Scope
from ..python.text import assigned
from .definition import DEFINITION
from .form import form
from .layout import reshaped, transposed


@dataclass(frozen=True, slots=True)
class Side:
    """One operand, and its axes by role."""

    value: Value
    scope: Scope
    batch: tuple[int, ...]
    contract: tuple[int, ...]

    @property
    def text(self) -> str:
        return self.scope.array(self.value)

    @property
    def free(self) -> tuple[int, ...]:
        taken = (*self.batch, *self.contract)
        return tuple(axis for axis in range(self.value.ndim) if axis not in taken)

    def dims(self, axes: Sequence[int]) -> Shape:
        return tuple(self.value.shape[axis] for axis in axes)

    def as_matrices(self, *, contract_last: bool) -> str:
        """A view with the batch axes, then one axis for the free and one for the contracted axes."""
        groups = (self.free, self.contract) if contract_last else (self.contract, self.free)
        text = transposed(self.text, (*self.batch, *groups[0], *groups[1]))
        if all(len(group) == 1 for group in groups):
            return text
        shape = (*self.dims(self.batch), *(math.prod(self.dims(group)) for group in groups))
        return reshaped(text, shape, self.scope)


@form("dot", into=True)
def _dot(call: Call, scope: Scope, target: str | None) -> list[str]:
    if call.outputs[0].dtype.name == "bfloat16":  # whose products NumPy returns as f32
        return DEFINITION.write(call, scope, None)
    left = Side(call.inputs[0], scope, ints_param(call, "batch_x", ()), ints_param(call, "contract_x"))
    right = Side(call.inputs[1], scope, ints_param(call, "batch_y", ()), ints_param(call, "contract_y"))
    shape = call.outputs[0].shape
    batch = left.dims(left.batch)
    if not batch and len(left.contract) == 1 and len(left.free) <= 1 and len(right.free) <= 1:
        return _plain(call, scope, left, right, target)
    if _is_outer(call):
        return _outer(call, scope, left, right, target)
    if not (left.free or right.free) and len(left.contract) == 1 and left.value.dtype.kind != "c":
        return _of_rows(call, scope, left, right, target)
    rows, columns = math.prod(left.dims(left.free)), math.prod(right.dims(right.free))
    function = "np.matmul" if batch else "np.dot"
    arguments = [left.as_matrices(contract_last=True), right.as_matrices(contract_last=False)]
    flat = (*batch, rows, columns)
    name = scope.name(call)
    if len(shape) == len(flat) and all(is_known(a == b) for a, b in zip(shape, flat, strict=True)):
        return assigned(name, function, arguments + ([f"out={target}"] if target else []))
    if target is None or not shape:
        lines = assigned(name, function, arguments)
        return [*lines, f"    {name} = {reshaped(name, shape, scope) if shape else f'{name}[0, 0]'}"]
    return [
        *assigned(name, function, [*arguments, f"out={reshaped(target, flat, scope)}"]),
        f"    {name} = {target}",
    ]


def returns_rows(call: Call) -> bool:
    """Whether `np.dot` allocates the result of a call: row-major, for any layout of its operands.

    `np.matmul` keeps the order of stacks of matrices.
    """
    if call.op != "dot" or call.outputs[0].dtype.name == "bfloat16":  # which `np.dot` does not accept
        return False
    return not call.params.get("batch_x") and not _is_outer(call)


def _is_outer(call: Call) -> bool:
    """Whether nothing is summed: the contracted axes have one entry."""
    axes = ints_param(call, "contract_x")
    return is_known(math.prod(call.inputs[0].shape[axis] for axis in axes) == 1)


def _plain(call: Call, scope: Scope, left: Side, right: Side, target: str | None) -> list[str]:
    """At most two axes each: `np.dot` itself, with transposed views."""
    x = transposed(left.text, (*left.free, *left.contract))
    y = transposed(right.text, (*right.contract, *right.free))
    return assigned(scope.name(call), "np.dot", [x, y, *([f"out={target}"] if target else [])])


def _of_rows(call: Call, scope: Scope, left: Side, right: Side, target: str | None) -> list[str]:
    """Each row with the same row of the other operand. For complex numbers, NumPy would conjugate one of them."""
    x, y = (transposed(side.text, (*side.batch, *side.contract)) for side in (left, right))
    return assigned(scope.name(call), "np.vecdot", [x, y, *([f"out={target}"] if target else [])])


def _outer(call: Call, scope: Scope, left: Side, right: Side, target: str | None) -> list[str]:
    """Nothing is summed: a product of broadcast views. Contracted axes of length 1 are dropped."""
    x = transposed(left.text, (*left.batch, *left.free, *left.contract))
    y = transposed(right.text, (*right.batch, *right.contract, *right.free))
    if len(left.contract) != len(right.free) and left.value.ndim:
        x = reshaped(x, (*left.dims(left.batch), *left.dims(left.free), *(1,) * len(right.free)), scope)
    if len(right.contract) != len(left.free) and (right.batch or right.contract):
        y = reshaped(y, (*right.dims(right.batch), *(1,) * len(left.free), *right.dims(right.free)), scope)
    return assigned(scope.name(call), "np.multiply", [x, y, *([f"out={target}"] if target else [])])
