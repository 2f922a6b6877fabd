"""Loop nests as data: expressions of one element each, and the statements and loops that compute with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..affine import Affine, Variable
from ..dtypes import DType, dtype_name
from ..ir import Call, Constant
from ..op import Condition, Multiple

INDENT: Final = "    "

# ---- where elements lie ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory that holds `size` elements one after another."""

    name: str
    dtype: DType
    size: int


@dataclass(frozen=True, eq=False)
class Row(Buffer):
    """A small buffer in which one loop stores values for a later loop, both within the same outermost statement."""


@dataclass(frozen=True, eq=False)
class Copy(Buffer):
    """An input in another order, copied before all loops that read it."""


@dataclass(frozen=True, eq=False)
class Local:
    """A number that is computed once and then has a name."""

    name: str
    dtype: DType


@dataclass(frozen=True, eq=False)
class Accumulator:
    """The accumulated value of a reduction: one number, or `size` of them at once."""

    name: str
    op: str
    """The name of the reduction: ``sum``, ``argmax``, …"""
    dtype: DType
    """The dtype of the reduced numbers."""
    count: int
    """How many numbers are combined into one result."""
    call: Call
    """The reduction."""
    size: int | None = None


# ---- expressions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """A number that is known when the kernel is generated."""

    constant: Constant

    @property
    def dtype(self) -> DType:
        return self.constant.dtype


@dataclass(frozen=True)
class Position:
    """The value of an index expression, as a number of a dtype."""

    place: Affine
    dtype: DType


@dataclass(frozen=True)
class Load:
    """The element of a buffer at a place."""

    buffer: Buffer
    place: Affine

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


@dataclass(frozen=True)
class Apply:
    """An elementwise call, of one element each."""

    call: Call
    operands: "tuple[Expression, ...]"

    @property
    def dtype(self) -> DType:
        return self.call.outputs[0].dtype


@dataclass(frozen=True)
class Clamped:
    """An integer clipped to [0, last]."""

    number: "Expression"
    last: int
    dtype: DType


@dataclass(frozen=True)
class Fold:
    """A reduction of a few elements, at least one, that are all known at once."""

    op: str
    operands: "tuple[Expression, ...]"

    @property
    def dtype(self) -> DType:
        return self.operands[0].dtype


@dataclass(frozen=True)
class Result:
    """The final value of an accumulator; at a position if it holds many."""

    accumulator: Accumulator
    dtype: DType
    place: Affine | None = None


Expression: TypeAlias = Local | Literal | Position | Load | Apply | Clamped | Fold | Result


# ---- statements --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Let:
    """``local = expression``: the result of the call, if one is named."""

    local: Local
    expression: Expression
    call: Call | None = None


@dataclass(frozen=True)
class Choose:
    """``local = then if all conditions hold else otherwise``, with statements that only one of them needs."""

    local: Local
    conditions: tuple[Condition, ...]
    then_body: "Block"
    then: Expression
    else_body: "Block"
    otherwise: Expression
    call: Call


@dataclass(frozen=True)
class Store:
    """``buffer[place] = expression``."""

    buffer: Buffer
    place: Affine
    expression: Expression


@dataclass(frozen=True)
class Begin:
    """Reset the accumulators."""

    accumulators: tuple[Accumulator, ...]


@dataclass(frozen=True)
class Accumulate:
    """Add one number to an accumulator; at a position if it holds many."""

    accumulator: Accumulator
    expression: Expression
    place: Affine | None
    at: Affine | None
    """The number's index among the reduced numbers, for reductions that return an index."""


@dataclass(frozen=True)
class Loop:
    """The body for each value of the variable, in ascending order."""

    variable: Variable
    body: "Block"
    chunk: int | None = None
    """If threads share this loop: this many values belong together, for any number of threads."""
    is_unrolled: bool = False
    """Whether the loop is unrolled: the enclosing loop can then be vectorised."""


Statement: TypeAlias = Let | Choose | Store | Begin | Accumulate | Loop
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Nest:
    """A kernel as loops."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    constants: tuple[tuple[Buffer, Constant], ...]
    body: Block

    def __str__(self) -> str:
        names = ", ".join(f"{b.name}: {dtype_name(b.dtype)}[{b.size}]" for b in (*self.inputs, *self.outputs))
        return "\n".join([f"nest({names}):", *_lines(self.body, INDENT)])


# ---- walking, and the text for dumps -----------------------------------------------------------------


def operands(expression: Expression) -> Sequence[Expression]:
    """The operands of an expression."""
    match expression:
        case Apply() | Fold():
            return expression.operands
        case Clamped():
            return (expression.number,)
        case _:
            return ()


def text(expression: Expression) -> str:
    """The text of an expression in a dump."""
    match expression:
        case Local():
            return expression.name
        case Literal():
            return str(expression.constant.array[()])
        case Position():
            return f"{dtype_name(expression.dtype)}({expression.place})"
        case Load():
            return f"{expression.buffer.name}[{expression.place}]"
        case Apply():
            return f"{expression.call.op}({', '.join(map(text, expression.operands))})"
        case Clamped():
            return f"clamp({text(expression.number)}, 0, {expression.last})"
        case Fold():
            return f"{expression.op}({', '.join(map(text, expression.operands))})"
        case Result():
            place = "" if expression.place is None else f"[{expression.place}]"
            return f"{expression.accumulator.name}{place}"


def condition_text(condition: Condition) -> str:
    """The text of a condition in a dump."""
    if isinstance(condition, Multiple):
        return f"({condition.place}) % {condition.step} == 0"
    return f"{condition.low} <= {condition.place} < {condition.high}"


def _lines(body: Block, indent: str) -> list[str]:
    lines: list[str] = []
    for statement in body:
        match statement:
            case Let():
                lines.append(f"{indent}{statement.local.name} = {text(statement.expression)}")
            case Store():
                lines.append(
                    f"{indent}{statement.buffer.name}[{statement.place}] = {text(statement.expression)}"
                )
            case Begin():
                lines += [
                    f"{indent}begin {a.name}{'' if a.size is None else f'[{a.size}]'}: {a.op}"
                    for a in statement.accumulators
                ]
            case Accumulate():
                place = "" if statement.place is None else f"[{statement.place}]"
                lines.append(f"{indent}{statement.accumulator.name}{place} <- {text(statement.expression)}")
            case Choose():
                conditions = " and ".join(map(condition_text, statement.conditions))
                lines.append(f"{indent}if {conditions}:")
                lines += _lines(statement.then_body, indent + INDENT)
                lines.append(f"{indent}{INDENT}{statement.local.name} = {text(statement.then)}")
                lines.append(f"{indent}else:")
                lines += _lines(statement.else_body, indent + INDENT)
                lines.append(f"{indent}{INDENT}{statement.local.name} = {text(statement.otherwise)}")
            case Loop():
                variable = statement.variable
                chunk = "" if statement.chunk is None else f" in chunks of {statement.chunk}"
                lines.append(f"{indent}for {variable} in [{variable.low}, {variable.high}]{chunk}:")
                lines += _lines(statement.body, indent + INDENT)
    return lines
