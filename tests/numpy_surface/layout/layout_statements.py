"""Statements for random programs about memory layout: templates, and how their fields are filled in.

A template is NumPy code with fields: ``{x}`` is a live array, ``{axis}`` one of its axes, and so on; see `Draw`. Most
drawn statements run. NumPy decides: statements that it refuses are dropped from the program.
"""

import re
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np

VIEWS = (
    "{x1}[{slices}]",
    "{x1}[{slices}]",
    "{x2}[:, {one}]",
    "{x1}[::-1]",
    "{x1}[..., {one}]",
    "{x}[None]",
    "{x}[..., None]",
    "{x}[...]",
    "{x}.T",
    "{x2}.mT",
    "{x2}.transpose({axes})",
    "np.transpose({x2}, {axes})",
    "np.permute_dims({x3}, {axes})",
    "np.matrix_transpose({x2})",
    "{x2}.swapaxes({axis}, {axis})",
    "np.swapaxes({x2}, {axis}, {axis})",
    "np.moveaxis({x2}, {axis}, {axis})",
    "np.rollaxis({x2}, {axis})",
    "{x}.reshape({shape})",
    "{x}.reshape({shape}, order={order})",
    "np.reshape({x}, {shape})",
    "np.reshape({x}, {shape}, order={order})",
    "np.reshape({x}, {shape}, copy={copy})",
    "{x}.reshape(-1)",
    "{x}.ravel()",
    "{x}.ravel(order={order})",
    "np.ravel({x}, order={order})",
    "{x2}.diagonal()",
    "np.diagonal({x2}, {offset}, {axis}, {axis})",
    "np.diag({x2})",
    "{x}.real",
    "np.real({x})",
    "{z}.imag",
    "np.imag({z})",
    "{x}.view()",
    "{f}.view(np.int64)",
    "{z}.view(np.float64)",
    "{f1}.view(np.complex128)",
    "{x}.squeeze()",
    "np.squeeze({x})",
    "np.expand_dims({x}, {newaxis})",
    "np.lib.stride_tricks.sliding_window_view({x1}, 2, axis={axis})",
    "np.flip({x})",
    "np.flip({x1}, {axis})",
    "np.flipud({x1})",
    "np.fliplr({x2})",
    "np.rot90({x2}, {count})",
    "np.broadcast_to({x}, (2, *{x}.shape))",
    "np.broadcast_to({x}, {larger})",
    "np.split({x1}, [1], axis={axis})[{bit}]",
    "np.array_split({x1}, 2, axis={axis})[{bit}]",
    "np.hsplit({x2}, [1])[{bit}]",
    "np.vsplit({x2}, [1])[{bit}]",
    "np.unstack({x1}, axis={axis})[0]",
    "np.atleast_1d({x})",
    "np.atleast_2d({x})",
    "np.atleast_3d({x})",
    "np.asarray({x})",
    "np.asanyarray({x})",
    "{x}.flat[{flat_index}]",
    "{x}.flat[1:3]",
    "{x}.flat[::2]",
)
"""What gives a view of an array, or does wherever the layout of the array allows it."""

COPIES = (
    "np.ascontiguousarray({x})",
    "np.asfortranarray({x})",
    "np.asfortranarray({x})",
    "np.require({x}, requirements={requirements})",
    "np.asarray({x}, order={order})",
    "np.asarray({x}, dtype={dtype})",
    "np.array({x}, dtype={dtype}, order={order})",
    "np.asarray({x}, dtype={dtype}, order={order})",
    "np.asarray({x}, copy=True)",
    "np.asanyarray({x}, order={order})",
    "np.array({x})",
    "np.array({x}, order={order})",
    "np.array({x}, order={order}, copy=None)",
    "np.array({x}, copy=None)",
    "np.array({x}, ndmin=3)",
    "np.array({x}, ndmin=3, copy=None, order={order})",
    "{x}.copy()",
    "{x}.copy({order})",
    "{x}.copy(order={order})",
    "np.copy({x})",
    "np.copy({x}, order={order})",
    "{x}.astype({dtype})",
    "{x}.astype({dtype}, copy=False)",
    "{x}.astype({dtype}, order={order}, copy=False)",
    "{x}.astype({dtype}, order={order})",
    "np.astype({x}, {dtype}, copy=False)",
    "{x}.flatten()",
    "{x}.flatten({order})",
    "np.nan_to_num({x}, copy=False)",
    "np.nan_to_num({x})",
    "+{x}",
)
"""What gives a copy, or gives one unless the array already is as it should be."""

PRODUCERS = (
    "{x} + {y}",
    "{x} * {y}",
    "{x} - {same}",
    "{x} * {same}",
    "{same} + {x}.T",
    "{x} * 2",
    "-{x}",
    "abs({x})",
    "{x} > {y}",
    "{x} == {same}",
    "np.add({x}, {same}, order={order})",
    "np.multiply({x}, {y}, order={order})",
    "np.negative({x}, order={order})",
    "np.maximum({x}, {y})",
    "np.square({x})",
    "np.sqrt(np.abs({x}))",
    "np.tanh({x})",
    "np.conj({x})",
    "{x}.conj()",
    "np.exp2({f}, order={order})",
    "np.add(*np.broadcast_arrays({x}, {y}))",
    "np.add.outer({x}, [1, 2])",
    "np.add.reduce({x1}, axis={axis})",
    "np.add.accumulate({x1}, axis={axis})",
    "np.add.reduceat({x1}, [0, 1], axis={axis})",
    "np.divmod({x}, 3)[{bit}]",
    "np.modf({f})[{bit}]",
    "np.where({mask}, {x}, {same})",
    "np.where({x} > 0, {x}, {y})",
    "np.select([{mask}], [{x}], 3)",
    "np.choose({mask}.astype(int), [{x}, {same}])",
    "np.zeros_like({x})",
    "np.zeros_like({x}, order={order})",
    "np.ones_like({x}, order={order})",
    "np.full_like({x}, 3, order={order})",
    "np.full_like({x}, 3, dtype={dtype})",
    "np.zeros_like({x}, shape={larger})",
    "np.add(np.zeros({x}.shape, order={c_or_f}), {x})",
    "np.ones({x}.shape, order={c_or_f})",
    "np.full({x}.shape, {x}, order={c_or_f})",
    "{new} = np.empty_like({x}, order={order}); {new}.fill(2)",
    "{new} = np.empty_like({x}); {new}[...] = {x}",
    "{new} = np.empty({x}.shape, order={c_or_f}); {new}[...] = {x}",
    "{x1}[{index}]",
    "{x2}[:, {index}]",
    "{x2}[{index}, {index}]",
    "{x3}[:, :, {index}]",
    "{x3}[:, {index}, {index}]",
    "{x3}[{index}, :, {index}]",
    "{x2}[{index}, None, :]",
    "{x2}[:, np.array([[1, 0], [0, 1]])]",
    "{x2}[1:, {index}]",
    "{x2}.T[:, {index}]",
    "np.take({x}, {index})",
    "np.take({x1}, {index}, axis={axis})",
    "{x1}.take({index}, axis={axis})",
    "np.take_along_axis({x2}, np.argsort({x2}, axis={axis}, kind='stable'), axis={axis})",
    "np.compress([True, False, True], {x1}, axis={axis})",
    "np.delete({x1}, 0, axis={axis})",
    "np.delete({x1}, [0, 1], axis={axis})",
    "np.delete({x1}, [], axis={axis})",
    "np.insert({x1}, 1, 5, axis={axis})",
    "np.append({x1}, {same}, axis={axis})",
    "np.concatenate([{x1}, {same}])",
    "np.concatenate([{x1}, {same}], axis={axis})",
    "np.concatenate([{x2}, {x}], axis=1)",
    "np.concatenate([{x1}, {same}], axis=None)",
    "np.concat([{x2}, {x}.copy('F')], axis=1)",
    "np.stack([{x}, {same}])",
    "np.stack([{x}, {same}], axis={newaxis})",
    "np.stack([{x}, {same}], axis=-1)",
    "np.vstack([{x2}, {same}])",
    "np.hstack([{x2}, {same}])",
    "np.dstack([{x2}, {same}])",
    "np.column_stack([{x2}, {same}])",
    "np.block([[{x2}, {same}], [{same}, {x}]])",
    "np.cumsum({x})",
    "np.cumsum({x1}, axis={axis})",
    "{x1}.cumsum(axis={axis})",
    "np.cumprod({b} + 1, axis={axis})",
    "np.cumulative_sum({x1}, axis={axis}, include_initial=True)",
    "np.sort({x1})",
    "np.sort({x1}, axis={axis})",
    "np.sort({x}, axis=None)",
    "np.argsort({x1}, axis={axis}, stable=True)",
    "np.partition({x1}, 1, axis=0)[:1]",
    "np.sum({x})",
    "np.sum({x1}, axis={axis})",
    "np.sum({x2}, axis={axis}, keepdims=True)",
    "{x3}.sum(axis={axis})",
    "np.mean({x2}, axis={axis})",
    "np.mean({x2}, axis={axis}, keepdims={boolean})",
    "{x3}.mean(axis=(0, 1))",
    "np.max({x2}, axis={axis}, keepdims={boolean})",
    "{x3}.min(axis={axis})",
    "np.any({x3}, axis={axis})",
    "np.var({x3}, axis={axis})",
    "np.argmax({x2}, axis={axis})",
    "np.count_nonzero({x3}, axis={axis})",
    "np.ptp({x3}, axis={axis})",
    "np.median({x3}, axis={axis})",
    "np.linalg.norm({x3}, axis={axis})",
    "np.einsum('ij->ji', {x2})",
    "np.einsum('ij,ij->ij', {x2}, {same})",
    "np.einsum('ij,ij->ji', {x2}, {same})",
    "np.einsum('ij,kj->ik', {x2}, {same})",
    "np.einsum('ij,kj->ki', {x2}, {same})",
    "np.einsum('ijk->kij', {x3})",
    "np.einsum('ijk,ijk->kj', {x3}, {same})",
    "np.einsum('ij->i', {x2})",
    "np.einsum('ij->ij', {x2}, order={order})",
    "np.einsum('ii->i', {x2})",
    "{x2} @ {same}.T",
    "{x2}.mT @ {same}",
    "np.matmul({x2}, {same}.mT)",
    "np.matmul({x2}, {same}.mT, order={order})",
    "np.dot({x2}, {same}.T)",
    "np.dot({x2}, 2)",
    "{x2}.dot({same}.T)",
    "np.tensordot({x2}, {same}, axes=({axis}, {axis}))",
    "np.inner({x2}, {same})",
    "np.outer({x}, [1, 2])",
    "np.kron({x2}, np.eye(2))",
    "np.cross({x}, {same})",
    "np.vecdot({x1}, {same})",
    "np.repeat({x1}, 2, axis={axis})",
    "np.repeat({x}, 2)",
    "np.tile({x}, 2)",
    "np.tile({x}, (2, 1))",
    "np.tile({x}, 1)",
    "np.pad({x1}, 1)",
    "np.pad({x1}, 1, mode='edge')",
    "np.pad({x1}, 1, mode='wrap')",
    "np.roll({x1}, 1)",
    "np.roll({x1}, 1, axis={axis})",
    "np.clip({x}, -1, 2)",
    "{x}.clip(-1, 2)",
    "np.round({x}, 1)",
    "{x}.round()",
    "np.diff({x1})",
    "np.diff({x1}, axis={axis})",
    "np.gradient({f}, axis={axis})",
    "np.tril({x2})",
    "np.triu({x2}, 1)",
    "np.diagflat({x})",
    "np.trace({x3})",
    "np.apply_along_axis(np.cumsum, {axis}, {x2})",
    "np.apply_over_axes(np.sum, {x2}, [{axis}])",
    "np.vander({x1}, 3)",
    "np.meshgrid({x1}, {x1}, indexing='ij')[{bit}]",
    "np.meshgrid({x1}, {x1}, copy=False)[{bit}] + 1",
    "np.ix_([0], [0])[{bit}] + {x}",
    "np.interp({f}, [-1.0, 0.0, 2.0], [0.0, 3.0, 1.0])",
    "np.searchsorted([-1, 0, 1], {x})",
    "np.digitize({f}, [-1.0, 0.0, 1.0])",
    "np.isin({x}, [1, 2])",
    "np.isclose({x}, {y})",
    "np.trim_zeros(np.array([0, 1, 0]))",
    "np.resize({x1}, (3, 2))",
    "np.piecewise({f}, [{f} > 0], [1.0, 2.0])",
    "np.fft.fft({x2}, axis={axis})",
    "np.linalg.inv({f2} @ {f2}.mT + 50 * np.eye({f2}.shape[-2]))",
    "{x} * (2 if {x}.flags.c_contiguous else 3)",
    "{x} + (2 if {x}.flags.f_contiguous else 3)",
    "{x} + (2 if {x}.flags['FORC'] else 3)",
    "{x} + (2 if {x}.flags.writeable else 3)",
    "np.array([{x}.flags.c_contiguous, {x}.flags.f_contiguous, {x}.flags.fnc])",
    "np.array([s for s, n in zip({x}.strides, {x}.shape) if n > 1])",
    "np.array([np.isfortran({x})])",
    "np.array([row * 2 for row in {x1}])",
    "np.array([number + 1 for number in {x}.flat])",
)
"""What always gives an array of its own; its memory order is what is asked."""

WRITES = (
    "{w} *= 3",
    "{w} += {y}",
    "{w} -= {same}",
    "{w} += {same}",
    "{w}[...] = 2",
    "{w}[...] = {same}",
    "{w1}[0] = 5",
    "{w1}[-1] = {w}[0]",
    "{w2}[:, 0] = 4",
    "{w1}[{slices}] = 6",
    "{w1}[{slices}] *= 2",
    "{w1}[{index}] += 1",
    "{w2}[:, {index}] = 7",
    "{w}[{mask}] = 1",
    "{w}.T[...] = 8",
    "{w}.flat = 3",
    "{w}.flat[{flat_index}] = 9",
    "{w}.flat[1:3] = 9",
    "{w}.reshape(-1)[:2] = 5",
    "{w}.ravel()[:2] = 5",
    "{w}.ravel({order})[:2] = 5",
    "{w}.ravel({order})[1:] *= 2",
    "{w}.reshape({shape})[0] = 7",
    "np.asfortranarray({w})[...] += 1",
    "np.ascontiguousarray({w})[...] += 1",
    "np.asarray({w}, order={order})[...] = 2",
    "np.add({w}, 1, out={w})",
    "np.add({same}, {x}, out={w_same})",
    "np.multiply({x}, {y}, out={w_same})",
    "np.negative({x}, out={w_same})",
    "np.add({w}.T, 1, out={w}.T)",
    "np.add({w}, 1, out={w}, where={mask})",
    "np.clip({x}, -1, 1, out={w_same})",
    "np.cumsum({x1}, axis={axis}, out={w_same})",
    "np.take({x1}, {index}, axis={axis}, out={w})",
    "np.round({x}, out={w_same})",
    "np.sum({x2}, axis={axis}, out={w})",
    "np.mean({x2}, axis={axis}, out={w})",
    "np.max({x2}, axis={axis}, out={w})",
    "np.matmul({x2}, {same}.mT, out={w})",
    "np.dot({x2}, {same}.T, out={w})",
    "np.einsum('ij->ji', {x2}, out={w})",
    "np.concatenate([{x1}, {same}], out={w})",
    "np.copyto({w}, 2)",
    "np.copyto({w_same}, {x}, casting='unsafe')",
    "np.copyto({w}, 2, where={mask})",
    "{w}.fill(4)",
    "{w1}.sort()",
    "{w1}.sort(axis={axis})",
    "{w}.put([0, 1], [5, 6])",
    "np.put({w}, [0, -1], 3)",
    "np.putmask({w}, {mask}, 2)",
    "np.place({w}, {mask}, [1, 2])",
    "np.put_along_axis({w1}, np.zeros_like({w}[:1], dtype=int), 4, axis=0)",
    "np.fill_diagonal({w2}, 6)",
    "np.add.at({w1}, {index}, 2)",
    "np.multiply.at({w1}, (..., {index}), 2)",
    "np.nan_to_num({w}, copy=False)",
    "{w}.real = 2",
    "{w}.real *= 2",
    "{w2}[0], {w2}[1] = {w}[1], {w}[0]",
    "{w2}.swapaxes(0, 1)[0] += 1",
    "np.split({w1}, [1])[0][...] = 3",
)
"""What writes to an array."""

FAMILIES = (*[VIEWS] * 2, *[COPIES] * 2, *[PRODUCERS] * 2, *[WRITES] * 3)
"""What statements are drawn from, the more often the more it is there."""

NOT_SMOOTH = (
    "> ", "==", "mask", "abs", "sqrt", "max", "min", "sort", "partition", "median", "ptp", "norm", "clip", "round",
    "divmod", "modf", "nonzero", "any(", "isin", "isclose", "digitize", "piecewise", "interp", "int64", "searchsorted",
    "int)", "{z}", "{b}", "fft",
)  # fmt: skip
"""Occurs in templates with results that jump, have a kink, or are not real."""


def differentiable(templates: Iterable[str]) -> tuple[str, ...]:
    """Templates with results that have a derivative everywhere."""
    return tuple(x for x in templates if not any(word in x for word in NOT_SMOOTH))


def sizeless(templates: Iterable[str]) -> tuple[str, ...]:
    """Those that mean the same for arrays of other sizes."""
    return tuple(x for x in templates if "{shape}" not in x and "{larger}" not in x)


ORDERS = ("'C'", "'F'", "'A'", "'K'")
REQUIREMENTS = ("'C'", "'F'", "'A'", "'W'", "'O'", "['C', 'W']", "['F', 'O']", "None")
CASTS = ("np.float64", "np.float64", "np.float32", "np.int64", "np.complex128", "bool")
KINDS = {"f": "f", "z": "c", "i": "i", "b": "b"}


class NoOperandError(Exception):
    """No live array fits a field of the template."""


class Draw:
    """Fills in the fields of templates with what fits the arrays that are live.

    ``x`` is an array, ``x2`` one of at least two axes, ``f`` one of floating-point numbers, ``z`` of complex ones,
    ``b`` of truth values, ``w`` one that may be written to. The other fields refer to the last of these: ``y``
    broadcasts with it, ``same`` and ``mask`` have its shape, ``w_same`` does and may be written to, and ``axis`` is
    one of its axes.
    A field that occurs twice is drawn once if it names an array, and anew if not.
    """

    def __init__(self, rng: Random, live: dict[str, Any], new: str, casts: Sequence[str] = CASTS) -> None:
        self.rng = rng
        self.casts = casts
        self.live = {name: value for name, value in live.items() if isinstance(value, np.ndarray)}
        self.new = new
        self.drawn: dict[str, str] = {}
        self.shape: tuple[int, ...] = ()

    def fill(self, template: str) -> str:
        """The template with all fields drawn."""
        return re.sub(r"\{(\w+)\}", self._field, template)

    def _field(self, found: "re.Match[str]") -> str:
        field = found[1]
        if field in self.drawn:
            return self.drawn[field]
        if operand := re.fullmatch(r"([xfzbw])(\d?)", field):
            if operand[2] and operand[1] in self.drawn:  # no field with this many axes has been drawn
                raise ValueError(f"{field} after {operand[1]}")
            name = self._operand(operand[1], int(operand[2] or 0))
            self.drawn[field] = self.drawn[operand[1]] = name
            return name
        drawn = str(getattr(self, f"draw_{field}")())
        if field in {"y", "same", "mask", "w_same", "new"}:
            self.drawn[field] = drawn
        return drawn

    def _operand(self, letter: str, rank: int) -> str:
        name = self._choose(
            name
            for name, array in self.live.items()
            if array.ndim >= rank
            and (letter not in KINDS or array.dtype.kind == KINDS[letter])
            and (letter != "w" or array.flags.writeable)
        )
        self.shape = self.live[name].shape
        return name

    def _choose(self, names: Any) -> str:
        names = list(names)
        if not names:
            raise NoOperandError
        return str(self.rng.choice(names))

    def draw_new(self) -> str:
        return self.new

    def draw_same(self) -> str:
        return self._choose(name for name, array in self.live.items() if array.shape == self.shape)

    def draw_w_same(self) -> str:
        return self._choose(
            name for name, array in self.live.items() if array.shape == self.shape and array.flags.writeable
        )

    def draw_y(self) -> str:
        broadcasting = [name for name, array in self.live.items() if self._broadcasts(array.shape)]
        return str(self.rng.choice([*broadcasting, "2", "0.5"]))

    def _broadcasts(self, shape: tuple[int, ...]) -> bool:
        """Whether `shape` broadcasts to that of the operand, so that the operand could be written to as well."""
        return len(shape) <= len(self.shape) and all(
            n in {1, m} for n, m in zip(shape[::-1], self.shape[::-1], strict=False)
        )

    def draw_mask(self) -> str:
        masks = [
            name for name, array in self.live.items() if array.shape == self.shape and array.dtype == bool
        ]
        return self.rng.choice([*masks, f"({self.draw_same()} > 0)"])

    def draw_axis(self) -> int:
        if not self.shape:
            raise NoOperandError
        return self.rng.randrange(-len(self.shape), len(self.shape))

    def draw_axes(self) -> tuple[int, ...]:
        return tuple(self.rng.sample(range(len(self.shape)), len(self.shape)))

    def draw_newaxis(self) -> int:
        return self.rng.randint(-1, len(self.shape))

    def draw_order(self) -> str:
        return self.rng.choice(ORDERS)

    def draw_c_or_f(self) -> str:
        return self.rng.choice(ORDERS[:2])

    def draw_requirements(self) -> str:
        return self.rng.choice(REQUIREMENTS)

    def draw_dtype(self) -> str:
        return self.rng.choice(self.casts)

    def draw_copy(self) -> bool | None:
        return self.rng.choice((True, False, None))

    def draw_boolean(self) -> bool:
        return self.rng.random() < 0.5

    def draw_bit(self) -> int:
        return self.rng.randrange(2)

    def draw_one(self) -> int:
        return self.rng.choice((0, 1, -1))

    def draw_count(self) -> int:
        return self.rng.randint(1, 3)

    def draw_offset(self) -> int:
        return self.rng.randint(-1, 1)

    def draw_flat_index(self) -> int:
        return self.rng.randint(0, 2)

    def draw_index(self) -> str:
        return self.rng.choice(("[1, 0]", "[0]", "[0, 0, 1]", "[-1, 0]", "np.array([0, 1])"))

    def draw_slices(self) -> str:
        texts = ("1:", ":-1", "::2", "::-1", ":", "::-2", "1:3", "...")
        drawn = [self.rng.choice(texts) for _ in range(self.rng.randint(1, max(1, len(self.shape))))]
        return ", ".join(drawn)

    def draw_larger(self) -> tuple[int, ...]:
        """A shape to which that of the operand broadcasts."""
        return tuple(3 if n == 1 and self.rng.random() < 0.7 else n for n in self.shape)

    def draw_shape(self) -> tuple[int, ...]:
        """A shape with the same number of elements: neighbouring axes merged, one split, or one inserted."""
        shape = list(self.shape)
        for _ in range(self.rng.randint(1, 3)):
            place = self.rng.randrange(len(shape) + 1)
            change = self.rng.random()
            if change < 0.4 and place + 1 < len(shape):
                shape[place : place + 2] = [shape[place] * shape[place + 1]]
            elif change < 0.8 and place < len(shape) and shape[place] > 1:
                factors = [n for n in (2, 3, 5, 4) if shape[place] % n == 0]
                if factors:
                    factor = self.rng.choice(factors)
                    shape[place : place + 1] = [factor, shape[place] // factor]
            elif len(shape) < 4:
                shape.insert(place, 1)
        return tuple(shape)
