"""The calls of a nest: numbers in C variables, and single elements that are read and written in place."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....affine import ZERO, Affine, Index, Variable, of
from ....analysis.fusible_ops import is_elementwise, is_loop_call
from ....analysis.op_costs import element_cost
from ....dtypes import kind
from ....intervals import maximum, minimum, quotient, remainder
from ....ir import Call, Constant, Shape, Value
from ....loops.moved_elements import Element, cases, moved
from ....memory_layout.strides import filled_strides
from ....op import is_move, is_renamed
from ....params import ints_param, text_param
from ....symbolic_size import SymbolicSize, is_none, is_one
from ...python.text import Names
from ..expression import expression
from ..kernels.loops import is_narrower
from ..layout import bare
from ..literals import MOST_CONSTANTS, c_array, c_literal
from ..names import variable_name
from ..sizes import factor_text, size_text
from ..steps.scattering import joined
from ..types import c_type, element_type
from .bounds import (
    Known,
    LinearForm,
    interval_of,
    is_exact,
    lies_between,
    lower_bound,
    product,
    union,
    upper_bound,
    within,
)
from .statements import Statements


class NotOfNumbersError(Exception):
    """The nest does more than compute numbers and read and write single elements."""


@dataclass(eq=False, slots=True)
class Memory:
    """An array in memory."""

    pointer: str
    is_writable: bool = False
    """Whether the nest may write to it."""
    version: object = field(default_factory=object)
    """Its contents: another object after each write."""


@dataclass(frozen=True, slots=True)
class Item:
    """A value of the graph in C: a number, as a name or a literal; or an array, as it is at one time."""

    text: str
    known: Known = None
    """For an integer of 64 bits."""
    truth: bool | None = None
    """For a bool whose value follows from bounds."""
    memory: Memory | None = None
    version: object = None

    @property
    def is_current(self) -> bool:
        """Whether the array is unchanged; true for numbers."""
        return self.memory is None or self.memory.version is self.version


def is_number(value: Value) -> bool:
    """Whether a value is one element, which a C variable can hold."""
    return is_one(value.type.size)


@dataclass(slots=True)
class Numbers:
    """The values of a nest so far, and the statements that compute them."""

    names: Names
    lines: Statements
    function: str
    any_constants: bool
    items: dict[Value, Item] = field(default_factory=dict[Value, Item])
    needs: set[str] = field(default_factory=set[str])
    arrays: list[str] = field(default_factory=list[str])
    """Definitions of constant arrays."""
    written: set[Memory] = field(default_factory=set[Memory])
    """The arrays written so far in the current graph."""

    # ---- values --------------------------------------------------------------------------------------

    def item(self, value: Value) -> Item:
        if isinstance(value, Constant):
            return self._constant(value)
        found = self.items[value]
        if not found.is_current:
            raise NotOfNumbersError("an array is read as it was before a write")
        return found

    def memory(self, value: Value) -> Memory:
        found = self.item(value).memory
        assert found is not None
        return found

    def _constant(self, value: Constant) -> Item:
        if is_number(value):
            number = value.array.reshape(())
            known = LinearForm(int(number)) if number.dtype.name == "int64" else None
            return Item(c_literal(number), known, truth=bool(number) if number.dtype.kind == "b" else None)
        if value not in self.items:
            if not value.array.size or (value.array.size > MOST_CONSTANTS and not self.any_constants):
                raise NotOfNumbersError("a constant is not part of a C text")
            name = f"{self.function}_constant_{len(self.arrays) + 1}"
            self.arrays.append(f"{c_array(name, value.array)}  // {value.type}\n")
            self.items[value] = array_item(Memory(name))
        return self.items[value]

    def claim(self, name: str) -> str:
        """A new name in C, like this one."""
        return self.names.claim(variable_name(name))

    def define(self, call: Call, text: str, *, is_volatile: bool = False, is_cheap: bool = False) -> str:
        """A name for the number that a call computes."""
        self.lines.comment(call)
        name = self.names.numbered(variable_name(call.op))
        type = c_type(call.outputs[0].dtype)
        self.lines.define(f"volatile {type}" if is_volatile else type, name, bare(text), is_cheap=is_cheap)
        return name

    # ---- calls ---------------------------------------------------------------------------------------

    def write(self, call: Call) -> float:
        """Write the statements of a call without nested graphs; returns its nanoseconds."""
        if any(value.dtype.itemsize == 2 and value.dtype.kind not in "iu" for value in call.inputs):
            raise NotOfNumbersError("C does not compute with 16-bit floats")
        match call.op:
            case "scatter":
                self._scatter(call)
            case "update_slice" | "dynamic_update_slice":
                self._update(call)
            case _ if is_renamed(call):
                self.items[call.outputs[0]] = self.item(call.inputs[0])
            case _ if is_move(call):
                self._moved(call)
            case _:
                self._compute(call)
                return 0.2 * element_cost(call)
        return 1.0

    def _compute(self, call: Call) -> None:
        if not (is_elementwise(call) and is_loop_call(call) and all(map(is_number, call.outputs))):
            raise NotOfNumbersError(f"{call.op} of arrays")
        (output,) = call.outputs
        operands = [self.item(value) for value in call.inputs]
        if call.op == "where" and operands[0].truth is not None:
            self.items[output] = operands[1 if operands[0].truth else 2]
            return
        found = expression(call, [operand.text for operand in operands])
        self.needs |= found.needs
        given = call.inputs[0].dtype
        # GCC 12 drops the rounding of vectors that are widened right after.
        rounds = call.op == "convert" and is_narrower(output.dtype, given)
        name = self.define(call, found.text, is_volatile=rounds, is_cheap=element_cost(call) <= 1)
        known, truth = None, None
        if all(value.dtype.name == "int64" for value in call.inputs[-1:]):
            if output.dtype.name == "int64":
                known = known_result(call.op, [one.known for one in operands])
            elif output.dtype.kind == "b":
                truth = known_truth(call.op, [one.known for one in operands])
        self.items[output] = Item(name, known, truth)

    def place(self, call: Call, value: Value, size: Any) -> str:
        """The index at which a call reads, clipped to the axis; a name or a number."""
        item = self.item(value)
        if isinstance(size, SymbolicSize):
            less: Any = size
            last = size_text(less - 1)
        elif lies_between(item.known, 0, size - 1):
            return item.text
        else:
            last = str(size - 1)
        text = item.text if value.dtype.name == "int64" else f"(int64_t){item.text}"
        if kind(value.dtype) == "u":
            clamped = f"{item.text} > (uint64_t)({last}) ? {last} : {text}"
        else:
            clamped = f"{text} < 0 ? 0 : {text} > {last} ? {last} : {text}"
        name = self.names.numbered(f"{variable_name(call.op)}_at")
        self.lines.define("int64_t", name, clamped)
        return name

    def _moved(self, call: Call) -> None:
        """The one element that a call moves."""
        (output,) = call.outputs
        if not is_number(output):
            raise NotOfNumbersError(f"{call.op} of more than an element")
        self.lines.comment(call)
        source, index = self._source(call)
        item = self.item(source)
        if item.memory is None:
            self.items[output] = item
            return
        places = [place.text(factor_text) for place in index]
        self.items[output] = Item(self.define(call, f"{item.text}[{_offset(source.shape, places)}]"))

    def _source(self, call: Call) -> Element:
        """Where the element is: an operand, and the index in it, whose variables are names or numbers in C."""
        first = (ZERO,) * call.outputs[0].ndim

        def read(k: int, index: Index, last: int) -> Affine:
            return (
                ZERO if is_none(last) else of(Variable(self.place(call, call.inputs[k], last + 1), 0, last))
            )

        for conditions, element in cases(call, first, read) or ():
            truths = [one.truth for one in conditions]
            if all(truths):
                return element
            if False not in truths:
                raise NotOfNumbersError(f"{call.op} of an element that depends on numbers")
        found = moved(call, first)
        assert found is not None, "an op that moves elements has an index map or cases"
        return found

    def _starts(self, call: Call, starts: Sequence[Value], shape: Shape) -> list[str]:
        return [self.place(call, start, size) for start, size in zip(starts, shape, strict=True)]

    # ---- writes ----------------------------------------------------------------------------------------

    def _update(self, call: Call) -> None:
        source, part, *starts = call.inputs
        if not is_number(part):
            raise NotOfNumbersError("a write of more than an element")
        if is_number(source):
            self.items[call.outputs[0]] = self.item(part)
            return
        self.lines.comment(call)
        places = list(map(factor_text, ints_param(call, "start"))) if "start" in call.params else []
        places = places or self._starts(call, starts, source.shape)
        memory = self._written(call)
        self.lines.line(f"{memory.pointer}[{_offset(source.shape, places)}] = {self.item(part).text};")

    def _scatter(self, call: Call) -> None:
        source, part, *indices = call.inputs
        if not is_number(part) or is_number(source) or not all(map(is_number, indices)):
            raise NotOfNumbersError("a write of more than an element")
        if kind(source.dtype) == "c" and text_param(call, "mode") not in ("set", "add"):
            raise NotOfNumbersError("a product of complex numbers in place")
        self.lines.comment(call)
        places, conditions = ["0"] * source.ndim, list[str]()
        for axis, index in zip(ints_param(call, "axes"), indices, strict=True):
            item, size = self.item(index), source.shape[axis]
            places[axis] = item.text if index.dtype.name == "int64" else f"(long){item.text}"
            if isinstance(size, SymbolicSize) or not lies_between(item.known, 0, size - 1):
                most = f"(uint64_t){factor_text(size)}" if isinstance(size, SymbolicSize) else f"{size}u"
                conditions.append(
                    f"(uint64_t){item.text} < {most}"
                )  # as such, a negative index is outside, too
        memory, new = self._written(call), self.item(part).text
        element = f"{memory.pointer}[{_offset(source.shape, places)}]"
        condition = f"if ({' && '.join(conditions)}) " if conditions else ""
        if text_param(call, "mode") == "set":
            self.lines.line(f"{condition}{element} = {new};")
            return
        with self.lines.block(condition.rstrip()):
            type = element_type(source.dtype)
            self.lines.line(f"{type} *const old = &{element};")
            self.lines.line(f"const {type} new = {new};")
            self.lines.line(f"*old = {joined(text_param(call, 'mode'), kind(source.dtype), type)};")

    def _written(self, call: Call) -> Memory:
        """The memory of the first operand, from now on that of the result."""
        memory = self.memory(call.inputs[0])
        if not memory.is_writable:
            raise NotOfNumbersError("a write to what others read")
        memory.version = object()
        self.written.add(memory)
        self.items[call.outputs[0]] = array_item(memory)
        return memory


def array_item(memory: Memory) -> Item:
    """The current array in memory."""
    return Item(memory.pointer, memory=memory, version=memory.version)


def _offset(shape: Shape, places: Sequence[str]) -> str:
    """The position of an element, given its position along each axis."""
    terms = [
        place if is_one(stride) else f"{factor_text(stride)} * {place}"
        for place, stride in zip(places, filled_strides(shape), strict=True)
        if place != "0"
    ]
    return " + ".join(terms) or "0"


# ---- what is known of results --------------------------------------------------------------------------


def known_result(op: str, operands: Sequence[Known]) -> Known:
    """The known bounds of the integer that a call computes from integers."""
    match op, operands:
        case "add", [LinearForm() as x, LinearForm() as y]:
            known: Known = x + y
        case "subtract", [LinearForm() as x, LinearForm() as y]:
            known = x - y
        case "negative", [LinearForm() as x]:
            known = x.times(-1)
        case "multiply", [x, y]:
            known = product(x, y)
        case "square", [x]:
            known = product(x, x)
        case "where", [_, x, y]:
            known = union(x, y)
        case "minimum" | "maximum", [x, y]:
            known = _extreme(op, x, y)
        case "remainder" | "floor_divide", [LinearForm() as x, LinearForm() as y] if (
            not y.terms and y.constant > 0
        ):
            known = _divided(op, x, y.constant)
        case _:
            known = None
    return known


def _divided(op: str, x: LinearForm, divisor: int) -> Known:
    """The remainder or the quotient, rounded down, of a division by a positive number."""
    if op == "remainder" and lies_between(x, 0, divisor - 1):
        return x
    mine, by = interval_of(x), (divisor, divisor)
    found = remainder(mine, by) if op == "remainder" else None if mine is None else quotient(mine, by)
    return None if found is None else within(*found)


def _extreme(op: str, x: Known, y: Known) -> Known:
    mine, theirs = interval_of(x), interval_of(y)
    if mine is None or theirs is None:
        return None
    return within(*(minimum if op == "minimum" else maximum)(mine, theirs))


def known_truth(op: str, operands: Sequence[Known]) -> bool | None:
    """Whether a comparison of integers is true, if bounds decide it."""
    if op not in ("less", "less_equal", "greater", "greater_equal"):
        return None
    x, y = operands
    if x is None or y is None:
        return None
    found = _is_less(x, y) if op in ("less", "greater_equal") else _is_less(y, x)
    return found if found is None or op in ("less", "greater") else not found


def _is_less(x: LinearForm, y: LinearForm) -> bool | None:
    """Decided where neither side wraps around."""
    if not (is_exact(x) and is_exact(y)):
        return None
    low, high = lower_bound(x - y), upper_bound(x - y)
    if high is not None and high < 0:
        return True
    return False if low is not None and low >= 0 else None
