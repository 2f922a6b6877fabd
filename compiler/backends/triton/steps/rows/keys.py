"""Sort keys: words of 32 bits, which compare as unsigned numbers like the entries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .....dtypes import DType, kind
from .....ir import Value


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a key, and how it is computed from an entry."""

    operand: int
    """Which of the operands is the key."""
    form: str

    def of(self, entry: str) -> str:
        return self.form.format(entry)


def words(keys: Sequence[Value], *, descending: bool) -> Iterator[Word]:
    """The words of keys, the least significant one first. The first key is the most significant.

    Stable sorts by one word after another sort rows by the keys.
    """
    turned = " ^ 0xFFFFFFFF" if descending else ""
    for place in reversed(range(len(keys))):
        dtype = keys[place].dtype
        rank = _rank(dtype)
        parts = (
            [f"({rank})"]
            if dtype.itemsize < 8
            else [f"({rank}).to(tl.uint32)", f"({rank} >> 32).to(tl.uint32)"]
        )
        for part in parts:
            yield Word(place, f"{part}{turned}")


def _rank(dtype: DType) -> str:
    """An expression of an entry: of 32 bits, or of 64 if the entries have as many."""
    is_long = dtype.itemsize == 8
    if kind(dtype) == "f":
        return "tm_rank_double({0})" if is_long else "tm_rank_real({0}.to(tl.float32))"
    if kind(dtype) == "i":
        return "tm_rank_long({0})" if is_long else "tm_rank_int({0})"
    return "{0}" if is_long else "{0}.to(tl.uint32)"
