"""Orders in C: records of a key, as bits that compare like the entries, and of the entry's index, stably sorted.

Short rows are sorted by insertion and merging, long ones by their digits of eight bits, the last one first (Knuth, The
Art of Computer Programming, volume 3, 5.2.4 and 5.2.5). The largest few of many are kept in a heap (5.2.3).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import Any

from ....dtypes import DType, kind
from ....ir import Call, Value
from ....params import flag_param, int_param
from ....symbolic_size import SymbolicSize, is_known, max_expr, min_expr, quotient, typical, upper_bound
from ..function import CFunction
from ..parameters import memory_type, parameters
from ..sizes import factor_text, names_in_call, scaled
from ..types import element_type
from .chunks import chunk_size, over_chunks

LONGEST = 1 << 32
"""Indices are numbers of 32 bits."""

CHUNKS = 16
"""The maximum number of chunks if the amount of memory is unknown."""

STACK, MOST_SCRATCH = 1 << 14, 1 << 26
"""Bytes of records that a thread has on its stack, and about the bytes that all chunks may have together."""


HEAP_SHARE = 8
"""A heap is used for at most one in this many entries."""

# ---- records ---------------------------------------------------------------------------------------

_SMALL_RECORD = Template("""\
typedef uint64_t ${name}_record;  // key, index
static inline ${name}_record ${name}_make(uint64_t key, uint64_t index) { return key << 32 | index; }
static inline uint64_t ${name}_key(${name}_record record) { return record >> 32; }
static inline uint64_t ${name}_index(${name}_record record) { return (uint32_t)record; }
""")

_LARGE_RECORD = Template("""\
typedef struct { uint64_t key, index; } ${name}_record;
static inline ${name}_record ${name}_make(uint64_t key, uint64_t index) { return (${name}_record){key, index}; }
static inline uint64_t ${name}_key(${name}_record record) { return record.key; }
static inline uint64_t ${name}_index(${name}_record record) { return record.index; }
""")

_KEY = Template("""\
static inline uint64_t ${name}_key${place}(const $type *entry)  // in the order of the entries
{
    $bits_type bits;
    memcpy(&bits, entry, sizeof bits);
    $ordered
    return ($bits_type)$turned;
}
""")

_ORDERED_FLOAT = """\
const {bits} sign = ({bits})1 << {last}, size = bits & ({bits})~sign;
    bits = size > {infinity} ? ({bits})~({bits})0 : !size ? sign : bits & sign ? ({bits})~bits : bits | sign;\
"""


def _key_function(name: str, place: int, dtype: DType, descending: bool) -> str:
    width = 8 * dtype.itemsize
    bits = f"uint{width}_t"
    ordered = ""
    if kind(dtype) == "i":
        ordered = f"bits ^= ({bits})1 << {width - 1};"
    elif kind(dtype) == "f":
        exponents = {"float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}[dtype.name]
        infinity = ((1 << exponents) - 1) << (width - 1 - exponents)
        ordered = _ORDERED_FLOAT.format(bits=bits, last=width - 1, infinity=f"({bits}){infinity:#x}")
    return _KEY.substitute(
        name=name,
        place=place,
        type=element_type(dtype),
        bits_type=bits,
        ordered=ordered,
        turned="~bits" if descending else "bits",
    )


# ---- how records are sorted ------------------------------------------------------------------------

_BY_MERGING = Template("""\
static inline bool ${name}_after(${name}_record a, ${name}_record b)
{
    return ${name}_key(a) > ${name}_key(b)$tie;
}

// Sorts the records. Returns `records` or `room`, whichever holds the result.
static ${name}_record *${name}_order(${name}_record *restrict records, ${name}_record *restrict room, int digits)
{
    (void)digits;
    for (long start = 0; start < $length; start += 16) {
        const long stop = start + 16 < $length ? start + 16 : $length;
        for (long i = start + 1; i < stop; i++) {
            const ${name}_record record = records[i];
            long at = i;
            for (; at > start && ${name}_after(records[at - 1], record); at--)
                records[at] = records[at - 1];
            records[at] = record;
        }
    }
    ${name}_record *from = records, *to = room;
    for (long width = 16; width < $length; width *= 2) {
        for (long start = 0; start < $length; start += 2 * width) {
            const long middle = start + width < $length ? start + width : $length;
            const long stop = start + 2 * width < $length ? start + 2 * width : $length;
            long left = start, right = middle;
            for (long at = start; at < stop; at++) {
                const bool later = left == middle || (right < stop && ${name}_after(from[left], from[right]));
                to[at] = from[later ? right : left];
                left += !later, right += later;
            }
        }
        ${name}_record *const sorted = to;
        to = from, from = sorted;
    }
    return from;
}
""")

_BY_DIGITS = Template("""\
// Sorts the records. Returns `records` or `room`, whichever holds the result.
static ${name}_record *${name}_order(${name}_record *restrict records, ${name}_record *restrict room, int digits)
{
    uint32_t counts[8][256] = {{0}};
    for (long i = 0; i < $length; i++)
        for (int digit = 0; digit < digits; digit++)
            counts[digit][${name}_key(records[i]) >> 8 * digit & 255]++;
    ${name}_record *from = records, *to = room;
    for (int digit = 0; digit < digits; digit++) {
        uint32_t *place = counts[digit], start = 0;
        if (place[${name}_key(from[0]) >> 8 * digit & 255] == $length)
            continue;  // they all have this digit
        for (int value = 0; value < 256; value++) {
            const uint32_t count = place[value];
            place[value] = start, start += count;
        }
        for (long i = 0; i < $length; i++)
            to[place[${name}_key(from[i]) >> 8 * digit & 255]++] = from[i];
        ${name}_record *const sorted = to;
        to = from, from = sorted;
    }
    return from;
}
""")


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one order: their C text and its parameters."""

    name: str
    keys: tuple[DType, ...]
    descending: bool
    length: int
    """How many are sorted."""
    by_index: bool = False
    """Of those with equal keys, the first in the array comes first, in any current order."""

    @property
    def nbytes(self) -> int:
        """Of one record. An index takes half of a small one."""
        return (
            8 if all(dtype.itemsize <= 4 for dtype in self.keys) and is_known(self.length < LONGEST) else 16
        )

    @property
    def longest_by_merging(self) -> int:
        """For more entries than this, digits are faster."""
        return 16 * max(dtype.itemsize for dtype in self.keys)

    @property
    def by_digits(self) -> bool:
        """Whether digits are faster than merging."""
        return not self.by_index and not is_known(self.length <= self.longest_by_merging)

    @property
    def work(self) -> float:
        """Nanoseconds for one row."""
        if isinstance(self.length, SymbolicSize):
            wide = sum(dtype.itemsize for dtype in self.keys)
            total: int = scaled(self.length, 2.0 * wide) + 200 * wide
            return total
        if self.by_digits:
            return sum(200 * dtype.itemsize + 2.0 * dtype.itemsize * self.length for dtype in self.keys)
        return len(self.keys) * self.length * (4 + 3 * math.log2(max(self.length, 2)))

    @property
    def text(self) -> str:
        record = _SMALL_RECORD if self.nbytes == 8 else _LARGE_RECORD
        keys = [_key_function(self.name, i, dtype, self.descending) for i, dtype in enumerate(self.keys)]
        tie = f"{self.name}_key(a) == {self.name}_key(b) && {self.name}_index(a) > {self.name}_index(b)"
        texts = {"name": self.name, "length": str(self.length)}
        texts["tie"] = f" || ({tie})" if self.by_index else ""
        order = (_BY_DIGITS if self.by_digits else _BY_MERGING).substitute(texts)
        if isinstance(self.length, SymbolicSize):
            order = self._by_either({**texts, "length": "length"})
        heap = _HEAP.substitute(texts, count=texts["length"]) if self.by_index else ""
        return record.substitute(name=self.name) + "".join(keys) + order + heap

    def _by_either(self, texts: Mapping[str, str]) -> str:
        """By digits or merging, whichever is faster for this many entries, which the functions receive."""
        ways = {
            "merging": _BY_MERGING.substitute(texts),
            "digits": _BY_DIGITS.substitute(texts)
            .replace("uint32_t", "uint64_t")
            .replace("== length", "== (uint64_t)length"),
        }
        named = (
            text.replace(f"*{self.name}_order(", f"*{self.name}_by_{way}(") for way, text in ways.items()
        )
        either = _BY_EITHER.substitute(texts, longest=self.longest_by_merging)
        return "".join([*named, either]).replace("int digits)", "int digits, long length)")

    def arguments(self, digits: int) -> str:
        """The last argument of the sorting function: how many digits keys have, and how many entries there are if
        that is unknown."""
        return (
            f"{digits}, {factor_text(self.length)}" if isinstance(self.length, SymbolicSize) else str(digits)
        )


_BY_EITHER = Template("""\
static ${name}_record *${name}_order(${name}_record *restrict records, ${name}_record *restrict room, int digits)
{
    return length > $longest ? ${name}_by_digits(records, room, digits, length)
                             : ${name}_by_merging(records, room, digits, length);
}
""")


def _can_be_keys(values: tuple[Value, ...], length: int) -> bool:
    """Whether the bits of entries can be ordered: those of complex numbers cannot."""
    is_short = isinstance(length, SymbolicSize) or length < LONGEST
    return is_short and all(value.dtype.kind != "c" for value in values)


# ---- sort ------------------------------------------------------------------------------------------

_ROWS = Template("""\
static void ${name}_chunk($parameters, long begin, long end)
{
$memory
    for (long row = begin; row < end; row++) {
        const long start = row / $inner * $slab + row % $inner;
$body
    }
}
""")

_FIRST_KEY = Template("""\
        for (long i = 0; i < $length; i++)
            records[i] = ${name}_make(${name}_key${place}(x$place + start + i * $inner), (uint64_t)i);
        ${name}_record *sorted = ${name}_order(records, records + $length, $digits);
""")

_NEXT_KEY = Template("""\
        for (long i = 0; i < $length; i++) {
            const uint64_t index = ${name}_index(sorted[i]);
            sorted[i] = ${name}_make(${name}_key${place}(x$place + start + (long)index * $inner), index);
        }
        sorted = ${name}_order(sorted, sorted == records ? records + $length : records, $digits);
""")

_WRITE = Template("""\
        for (long i = 0; i < $length; i++)
            out$place[start + i * $inner] = x$place[start + (long)${name}_index(sorted[i]) * $inner];
""")

SHORT = 64
"""NumPy sorts a single operand faster, unless it has so few entries that the call costs more."""


def sort(call: Call, name: str, *, any_length: bool = False) -> CFunction | None:
    """The C function of a call of ``sort``; `any_length` if NumPy is not faster for any."""
    axis, count = int_param(call, "axis"), int_param(call, "num_keys")
    x = call.inputs[0]
    length, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    keys = call.inputs[:count]
    if not _can_be_keys(keys, length) or (
        len(call.inputs) == 1 and not is_known(x.type.size <= SHORT) and not any_length
    ):
        return None
    records = Records(name, tuple(value.dtype for value in keys), flag_param(call, "descending"), length)
    texts = {"name": name, "length": factor_text(length), "inner": factor_text(inner)}
    body = [
        (_FIRST_KEY if place == count - 1 else _NEXT_KEY).substitute(
            texts, place=place, digits=records.arguments(keys[place].dtype.itemsize)
        )
        for place in reversed(range(count))
    ]
    body += [_WRITE.substitute(texts, place=place) for place in range(len(call.inputs))]
    row_work = records.work + 3 * length * len(call.inputs)
    return _over_rows(call, records, "".join(body), axis, 2 * length, row_work)


def _over_rows(call: Call, records: Records, body: str, axis: int, room: int, row_work: Any) -> CFunction:
    """A function that runs `body` for each row along an axis, with memory for `room` records."""
    x, sizes = call.inputs[0], names_in_call(call)
    rows, inner = quotient(x.type.size, x.shape[axis]), math.prod(x.shape[axis + 1 :])
    work: Any = 1 + (rows * row_work if isinstance(row_work, SymbolicSize) else scaled(rows, row_work))
    nbytes = room * records.nbytes
    on_stack = upper_bound(nbytes) <= STACK
    if not on_stack and any(isinstance(number, SymbolicSize) for number in (rows, nbytes)):
        size = max_expr(1, quotient(rows + (CHUNKS - 1), CHUNKS))
        chunks = min_expr(rows, CHUNKS)
    else:
        size = chunk_size(rows, work, most=64 if on_stack else max(8, min(64, MOST_SCRATCH // nbytes)))
        chunks = quotient(rows + (size - 1), size)
    inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
    if not on_stack:
        outputs = (*outputs, memory_type(chunks * nbytes))
    declared = parameters(inputs, outputs, sizes=sizes)
    kept = f"{records.name}_record"
    memory = f"    {kept} records[{STACK // records.nbytes if isinstance(room, SymbolicSize) else room}];"
    if not on_stack:
        place = f"begin / {factor_text(size)} * {factor_text(room)}"
        memory = f"    {kept} *records = ({kept} *)out{len(outputs) - 1} + {place};"
    text = _ROWS.substitute(
        name=records.name,
        parameters=", ".join(declared),
        memory=memory,
        inner=factor_text(inner),
        slab=factor_text(x.shape[axis] * inner),
        body=body,
    )
    driver = over_chunks(records.name, declared, rows, size, x.type.size)
    text = records.text + text + driver
    return CFunction(records.name, text, inputs, outputs, frozenset(), work, sizes=sizes)


# ---- top_k -----------------------------------------------------------------------------------------

_HEAP = Template("""\
// The heap holds the smallest records, with the largest of them on top: a smaller record replaces it and sinks.
static inline void ${name}_sink(${name}_record *heap, long at, ${name}_record record)
{
    for (long below; (below = 2 * at + 1) < $count; at = below) {
        if (below + 1 < $count && ${name}_after(heap[below + 1], heap[below]))
            below++;
        if (!${name}_after(heap[below], record))
            break;
        heap[at] = heap[below];
    }
    heap[at] = record;
}

""")

_SELECT = Template("""\
        for (long i = 0; i < $count; i++)
            records[i] = ${name}_make(${name}_key0(x0 + start + i * $inner), (uint64_t)i);
        for (long i = $count / 2 - 1; i >= 0; i--)
            ${name}_sink(records, i, records[i]);
        for (long i = $count; i < $length; i++) {
            const uint64_t key = ${name}_key0(x0 + start + i * $inner);
            if (key < ${name}_key(records[0]))
                ${name}_sink(records, 0, ${name}_make(key, (uint64_t)i));
        }
        ${name}_record *sorted = ${name}_order(records, records + $count, 0);
""")

_WRITE_TOP = Template("""\
        const long to = row / $inner * $count * $inner + row % $inner;
        for (long i = 0; i < $count; i++) {
            const long index = (long)${name}_index(sorted[i]);
            out0[to + i * $inner] = x0[start + index * $inner];
            out1[to + i * $inner] = index;
        }
""")


def top_k(call: Call, name: str) -> CFunction | None:
    """The C function of a call of ``top_k``."""
    axis, count = int_param(call, "axis"), int_param(call, "k")
    (x,) = call.inputs
    length, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if not _can_be_keys(call.inputs, length) or isinstance(count, SymbolicSize):
        return None
    texts = {key: factor_text(n) for key, n in (("length", length), ("inner", inner), ("count", count))}
    texts["name"] = name
    write = _WRITE_TOP.substitute(texts)
    if not is_known(count * HEAP_SHARE <= length):
        records = Records(name, (x.dtype,), descending=True, length=length)
        first = _FIRST_KEY.substitute(texts, place=0, digits=records.arguments(x.dtype.itemsize))
        return _over_rows(call, records, first + write, axis, 2 * length, records.work + 6 * count)
    records = Records(name, (x.dtype,), descending=True, length=count, by_index=True)
    if isinstance(length, SymbolicSize):
        deep = math.log2(max(typical(length), 2 * count) / count)
        row_work = scaled(length, 1.5) + round(count * deep * 10) + round(records.work)
    else:
        row_work = 1.5 * length + count * math.log2(length / count) * 10 + records.work
    return _over_rows(call, records, _SELECT.substitute(texts) + write, axis, 2 * count, row_work)
