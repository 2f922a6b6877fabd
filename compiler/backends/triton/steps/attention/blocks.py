"""The matrices of attention in Triton: their sizes and layouts, and which blocks are loaded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any, Final

from .....affine import Affine, aligned, flattened, unflattened
from .....dtypes import BOOL, DType, dtype_name
from .....ir import ArrayType, Shape
from .....ops.elementwise.broadcasting import broadcast_shapes
from .....symbolic_size import SymbolicSize, is_known, is_one
from ...kernels.assumed import pieces
from ...kernels.reductions import gathered_dtype
from ...literals import bare_literal
from ...types import triton_type
from ..places import broadcast_place, counting
from ..products.product import dot_text
from ..products.tile import LEAST
from ..step_sizes import StepSizes

LONGEST: Final = 256
"""Queries and values with more numbers leave no room for their tiles."""


@dataclass(frozen=True, slots=True)
class Attention:
    """The computation, for a batch of queries [rows, entries], keys [columns, entries] and values [columns, width]."""

    query: ArrayType
    key: ArrayType
    value: ArrayType
    mask: ArrayType | None
    scale: float
    causal: bool

    @classmethod
    def of(cls, types: Sequence[ArrayType], params: Any) -> "Attention":
        query, key, value, *mask = types
        return cls(query, key, value, mask[0] if mask else None, params["scale"], params["causal"])

    def has_kernels(self) -> bool:
        """Whether the blocks of queries, keys and values fit into registers, and tensor cores support them."""
        longest = LONGEST // max(self.dtype.itemsize // 2, 1)
        if dtype_name(self.dtype) not in ("f16", "bf16", "f32", "f64") or not is_known(self.columns > 0):
            return False
        sides = (self.entries, self.width)
        return all(not isinstance(side, SymbolicSize) and 0 < side <= longest for side in sides)

    @property
    def batch(self) -> Shape:
        leading = [ArrayType(t.dtype, t.shape[:-2]) for t in (self.query, self.key, self.value)]
        return broadcast_shapes("attention", leading)

    @property
    def matrices(self) -> int:
        return math.prod(self.batch)

    @property
    def key_matrices(self) -> int:
        """Keys may be shared by several queries of a batch."""
        return math.prod(self.key.shape[:-2])

    @property
    def rows(self) -> int:
        return self.query.shape[-2]

    @property
    def columns(self) -> int:
        return self.key.shape[-2]

    @property
    def entries(self) -> int:
        return self.query.shape[-1]

    @property
    def width(self) -> int:
        return self.value.shape[-1]

    @property
    def dtype(self) -> DType:
        """Of queries, keys and values."""
        return self.query.dtype

    @property
    def sum_dtype(self) -> DType:
        return gathered_dtype(self.dtype)

    @property
    def adds_mask(self) -> bool:
        return self.mask is not None and self.mask.dtype != BOOL

    @property
    def counts(self) -> tuple[int, ...]:
        """The elements of each array."""
        mask = self.mask.size if self.mask is not None else 0
        out = self.matrices * self.rows * max(self.width, self.entries)
        return self.query.size, self.key.size, self.value.size, mask, out


@dataclass(frozen=True, slots=True)
class Blocks:
    """The Triton lines for blocks with this many rows (queries) and columns (keys)."""

    attention: Attention
    row_count: int
    column_count: int
    sizes: StepSizes

    @property
    def entries(self) -> int:
        """The entries of a query, rounded up to a power of two."""
        return side(self.attention.entries)

    @property
    def width(self) -> int:
        """The entries of a value, rounded up to a power of two."""
        return side(self.attention.width)

    @property
    def tiles(self) -> int:
        """The blocks of the rows of a matrix."""
        return pieces(self.attention.rows, self.row_count)

    @property
    def column_tiles(self) -> int:
        """The blocks of the columns of a matrix."""
        return pieces(self.attention.columns, self.column_count)

    @property
    def rows_end(self) -> bool:
        """Whether the last block of rows may reach beyond their end."""
        return not is_known(self.attention.rows % self.row_count == 0)

    @property
    def columns_end(self) -> bool:
        """Whether the last block of columns may."""
        return not is_known(self.attention.columns % self.column_count == 0)

    # ---- numbers

    @property
    def sums(self) -> str:
        """Triton's name of the dtype of sums."""
        return triton_type(self.attention.sum_dtype)

    def dot(self, operands: str) -> str:
        """The product of two blocks, and what it is added to if they are three."""
        return dot_text(self.attention.dtype, operands)

    @property
    def in_base_two(self) -> bool:
        """Whether scores are multiplied by log₂e as part of their scale: exact enough for two-byte numbers.

        Not if a mask is added, since the smallest number times that would be −∞.
        """
        return self.attention.dtype.itemsize == 2 and not self.attention.adds_mask

    @property
    def exp(self) -> str:
        return "tl.exp2" if self.in_base_two else "tl.exp"

    def number(self, number: float) -> str:
        return bare_literal(self.attention.sum_dtype.type(number))

    @property
    def factor(self) -> str:
        """The factor of the products of queries and keys."""
        return self.number(self.attention.scale * (math.log2(math.e) if self.in_base_two else 1))

    # ---- places

    def matrix(self, type: ArrayType) -> str:
        """The start of an operand's matrix for number ``matrix`` of the batch."""
        batch = self.attention.batch
        number = broadcast_place(type.shape[:-2], batch, counting("matrix", math.prod(batch)))
        return self.sizes.place(number * math.prod(type.shape[-2:]))

    def load(self, name: str, type: ArrayType, along: str, inner: str, *, checked: bool) -> str:
        """The block of an operand, ``[along, inner]``, with zeros beyond its ends."""
        place, mask = self._block(type, along, inner, checked=checked)
        return f"tl.load({name}_ptr + {place}{mask and mask + ', other=0'})"

    def store(self, name: str, type: ArrayType, along: str, inner: str, block: str, *, checked: bool) -> str:
        """Store a block ``[along, inner]`` of a result."""
        place, mask = self._block(type, along, inner, checked=checked)
        return f"tl.store({name}_ptr + {place}, ({block}).to({triton_type(type.dtype)}){mask})"

    def _block(self, type: ArrayType, along: str, inner: str, *, checked: bool) -> tuple[str, str]:
        """The offsets of a block, and what of it is within the array: at the end `along` it is `checked`."""
        rows, columns = type.shape[-2:]
        bounds = [f"({along} < {self.sizes.text(rows)})[:, None]"] if checked else []
        if columns != side(columns):
            bounds.append(f"({inner} < {columns})[None, :]")
        return f"{self.matrix(type)} + {along}[:, None] * {columns} + {inner}[None, :]", _masked(bounds)

    def load_row(self, name: str) -> str:
        """A number of each row; 1 beyond their end."""
        place, mask = self.row
        return f"tl.load({name}_ptr + {place}{mask and mask + ', other=1'})"

    def store_row(self, name: str, block: str) -> str:
        place, mask = self.row
        return f"tl.store({name}_ptr + {place}, {block}{mask})"

    @property
    def row(self) -> tuple[str, str]:
        """The offsets of a number of each row, and which of them are within the array."""
        rows = self.attention.rows
        mask = f", mask=row < {self.sizes.text(rows)}" if self.rows_end else ""
        return f"matrix * {self.sizes.factor(rows)} + row", mask

    @property
    def _sharing(self) -> tuple[Shape, Shape]:
        """The axes of a batch by their lengths: of matrices with their own keys, and of those that share them."""
        batch = self.attention.batch
        lead = self.attention.key.shape[:-2]
        lead = (*(1 for _ in range(len(batch) - len(lead))), *lead)
        return lead, tuple(dim if is_one(mine) else 1 for dim, mine in zip(batch, lead, strict=True))

    def _number(self, name: str, shape: Shape) -> Affine:
        """The number in the batch of a matrix by its number among the axes that are as long as in `shape`."""
        batch = self.attention.batch
        return flattened(aligned(unflattened(counting(name, math.prod(shape)), shape), batch), batch)

    @property
    def first_matrix(self) -> str:
        """The first matrix of those that have number ``shared`` of the keys."""
        return self.sizes.place(self._number("shared", self._sharing[0]))

    def over_sharing(self, lines: list[str]) -> list[str]:
        """Lines for each matrix that shares the keys."""
        own, others = self._sharing
        if is_one(math.prod(others)):
            return lines
        place = self.sizes.place(self._number("shared", own) + self._number("sharing", others))
        body = [f"matrix = {place}", *lines]
        return [
            f"for sharing in range({self.sizes.text(math.prod(others))}):",
            *(indent(line, "    ") for line in body),
        ]

    def scores(self, product: str, *, ends: bool, diagonal: bool) -> list[str]:
        """Lines that make ``scores`` from a product of queries and keys: −∞ where a key is masked, or after the last.

        Only blocks on the `diagonal` have keys that come after a query, and only those at `ends` continue beyond the
        last.
        """
        known = self.attention
        lines = [f"scores = {product} * {self.factor}"]
        bounds = [f"(column < {self.sizes.text(known.columns)})[None, :]"] if ends else []
        seen = [*bounds, "(row[:, None] >= column[None, :])"] if diagonal else bounds
        if known.mask is not None:
            within = [f"(row < {self.sizes.text(known.rows)})[:, None]", *bounds] if self.rows_end else bounds
            mask = _masked(within)
            loaded = f"tl.load(mask_ptr + {self._mask_place(known.mask)}{mask and mask + ', other=0'})"
            if known.adds_mask:
                lines.append(f"scores += {loaded}")
            else:
                seen = [*seen, loaded]
        if seen:
            lines.append(f'scores = tl.where({" & ".join(seen)}, scores, -float("inf"))')
        return lines

    def _mask_place(self, mask: ArrayType) -> str:
        shape = (*(1 for _ in range(2 - mask.ndim)), *mask.shape)
        rows, columns = shape[-2:]
        down, across = ("0" if is_one(rows) else self.sizes.factor(columns)), (0 if is_one(columns) else 1)
        return f"{self.matrix(ArrayType(mask.dtype, shape))} + row[:, None] * {down} + column[None, :] * {across}"


def side(count: int) -> int:
    """The smallest power of two that a side of a block may have for this many numbers."""
    return max(LEAST, 1 << (count - 1).bit_length())


def _masked(bounds: Sequence[str]) -> str:
    return f", mask={' & '.join(bounds)}" if bounds else ""
