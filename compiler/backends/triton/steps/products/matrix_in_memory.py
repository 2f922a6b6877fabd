"""Operands of products that are matrices in memory: GPUs from sm_90 on copy their blocks in hardware."""

from dataclasses import dataclass

from .....affine import Variable
from .....loops.nest import Buffer, Load
from .product import WIDE


@dataclass(frozen=True, slots=True)
class MatrixInMemory:
    """The rows of a matrix, one after another, starting at the first number of an array."""

    buffer: Buffer
    rows: int
    columns: int
    stride: int
    """The distance between rows."""
    is_turned: bool
    """Whether its rows are the columns of the operand."""

    @classmethod
    def of(cls, load: Load, row: Variable, column: Variable) -> "MatrixInMemory | None":
        """The matrix whose elements are loaded, in rows and columns of the operand.

        None if they are not, or not in a form that the hardware copies: rows begin at multiples of 16 bytes.
        """
        place = load.place
        if place.constant or not place.is_linear or place.variables != frozenset({row, column}):
            return None
        is_turned = place.factor(column) != 1
        down, across = (column, row) if is_turned else (row, column)
        stride = place.factor(down) or 0
        is_wide = stride >= across.extent and stride * load.dtype.itemsize % WIDE == 0
        if place.factor(across) != 1 or not is_wide:
            return None
        return cls(load.buffer, down.extent, across.extent, stride, is_turned)

    def described(self, rows: int, columns: int) -> str:
        """The description for hardware copies of blocks with this many rows and columns of the operand."""
        block = f"[{columns}, {rows}]" if self.is_turned else f"[{rows}, {columns}]"
        shape = f"[{self.rows}, {self.columns}]"
        return f"tl.make_tensor_descriptor({self.buffer.name}_ptr, {shape}, [{self.stride}, 1], {block})"

    def block(self, description: str, row: str, column: str) -> str:
        """The block of the operand that starts at a row and a column, with zeros beyond the ends."""
        if self.is_turned:
            return f"tl.trans({description}.load([{column}, {row}]))"
        return f"{description}.load([{row}, {column}])"
