"""`Op`: everything Tracemill knows about one operation, in one record; and the table of all ops."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from .affine import Affine, Index
from .errors import InternalError
from .ir import ArrayType, Call, Constant, Graph, Value, called
from .symbolic_size import is_known

# The rules. `params` are the parameters of the call, passed by keyword. A rule of an op with one output may return it
# without a tuple.
TypeRule: TypeAlias = Callable[..., ArrayType | tuple[ArrayType, ...]]
"""``type(*input_types, **params)``: the types of the outputs; raises `ShapeError` or `DTypeError`."""

Meaning: TypeAlias = Callable[..., Any]
"""``numpy(*arrays, **params)``: the definition of the op in plain NumPy. It is self-contained: it uses only ``np``,
its arguments and tables of coefficients, because the NumPy backend quotes its source. It imports SciPy itself if the
user called a function of SciPy."""

JvpRule: TypeAlias = Callable[..., Any]
"""``jvp(inputs, tangents, outputs, **params)``: the tangents of the outputs, linear in ``tangents``. A tangent is
None if it is zero; at least one is not. Returns `Rebuilt` if another form of the call also gives the outputs."""

TransposeRule: TypeAlias = Callable[..., Any]
"""``transpose(cotangents, inputs, **params)``: one cotangent per input, or None for zero. An input in which the call
is linear arrives as `Linear`: only its type is known. Others are values."""

BatchRule: TypeAlias = Callable[..., Any]
"""``batch(inputs, size, **params)``: the outputs for a batch of ``size`` examples. Inputs and outputs are
`compiler.ops.batch_axes.Batched`: values that know where their batch axis lies; at least one input has one. A rule that
needs the axis in front is `compiler.ops.batch_axes.in_front`."""

IndexMap: TypeAlias = Callable[..., Index]
"""``index_map(index, source, result, **params)``: the index in the first input, of shape `source`, of the element at
`index` in the output, of shape `result`."""


@dataclass(frozen=True)
class Between:
    """``low <= place < high``."""

    place: Affine
    low: int
    high: int

    @property
    def truth(self) -> bool | None:
        """True if it holds for all values of its variables, False if for none, None if that is not known."""
        place = self.place
        if is_known(self.low <= place.low) and is_known(place.high < self.high):
            return True
        return False if is_known(place.high < self.low) or is_known(place.low >= self.high) else None


@dataclass(frozen=True)
class Multiple:
    """`step` divides ``place``."""

    place: Affine
    step: int

    @property
    def truth(self) -> bool | None:
        """Like that of `Between`."""
        rest = self.place % self.step
        if rest.terms:
            return None
        return True if is_known(rest.constant == 0) else False if is_known(rest.constant != 0) else None


Condition: TypeAlias = Between | Multiple

ElementCase: TypeAlias = tuple[Sequence[Condition], tuple[int, Index]]
"""Conditions under which an element of the result is the element of an input: its number, and the index in it."""

ReadIndex: TypeAlias = Callable[[int, Index, int], Affine]
"""``read(k, index, last)``: the element of input k at an index, an integer, clipped to [0, last]."""

CasesRule: TypeAlias = Callable[..., Sequence[ElementCase]]
"""``cases(index, shapes, read, **params)``: the elements of the inputs, of these shapes, among which the op chooses
the element at `index` of the result. The first case whose conditions hold counts; the last one has none. If there are
more than two, they are parts of one axis in ascending order: each but the last has one `Between`."""


class Aliasing(IntEnum):
    """How the memory of a result relates to that of the first input. A backend may still make a copy."""

    NONE = 0
    """New memory."""
    PART = 1
    """A view of some elements, or of repeated elements."""
    WHOLE = 2
    """A view of every element once, in another order or as another dtype."""
    SAME = 3
    """The same memory, with the elements in the same order, under another name."""


EVERY_INPUT: Final = sys.maxsize


class Rebuilt(NamedTuple):
    """The result of a JVP rule that recorded its call again: the replacements of the outputs, and their tangents."""

    outputs: tuple[Value, ...]
    tangents: tuple[Value | None, ...]


# An op with a graph among its parameters needs the passes, which are in a higher layer. Each pass gives itself to the
# op's rule as the keyword ``recurse``: `passes.transforms.transpose` and `.vmap` directly, jvp and linearize as:
DifferentiateGraph: TypeAlias = Callable[[Graph, Sequence[bool], Sequence[bool]], tuple[Graph, Graph | None]]
"""``recurse(graph, wrt, of)``: the derivative of a nested graph, from the inputs marked in `wrt` to the outputs
marked in `of`.

Joint: ``(graph, None)`` of ``(*inputs, *tangents) -> (*outputs, *tangents)``. Split, for linearize: ``(forward,
linear)`` of ``inputs -> (*outputs, *residuals)`` and ``(*residuals, *tangents) -> tangents``. The JVP rule records
its call with these, so nothing is computed twice, and returns it as `Rebuilt`.
"""


@dataclass(frozen=True, slots=True)
class Linear:
    """Stands for an input of a linear call while transposing: its type is known, but not its value."""

    type: ArrayType

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. No rule has a default: every record says what its op cannot do."""

    name: str
    family: str
    type: TypeRule
    numpy: Meaning
    jvp: JvpRule
    transpose: TransposeRule
    batch: BatchRule
    spelling: Mapping[str, str] | None
    """Per backend ("numpy", "c", "triton"), an expression with ``{0}``, ``{1}`` for the inputs. None if the op is not
    elementwise, or if only the quoted definition works.

    C has several, for operands of different kinds: ``c_bool``, ``c_int`` (signed and unsigned), ``c_real`` and
    ``c_complex`` take precedence over ``c``. ``c_real_int``, from the kind of the first operand to that of the
    result, takes precedence over these. The fields are the params by name, the names of the dtypes of the first
    operand ``{t}`` and of the result ``{r}`` (``f32``), their C types ``{type}`` and ``{result}``, and ``{f}``, the
    suffix of math.h for floats. ``tm_name_{t}`` is a C function of backends/c/functions, or else the NumPy definition
    of the op ``name`` in C: ``tm_name_2_{t}`` with the params 2.

    Triton's are the same, with ``triton_f64`` first: then ``triton_int``, ``triton_real_bool``, and so on. Its
    functions ``tm_name`` are in backends/triton/kernels/functions; ``{type}`` and ``{result}`` are its own types."""
    effect: str | None
    """None for a pure op; otherwise its side effect ("calls Python")."""
    doc: str
    aliasing: Aliasing = Aliasing.NONE
    moves: int = 0
    """The number of first inputs whose elements, found by index, make up the result. 0 for an op that computes."""
    index_map: IndexMap | None = None
    """Which element of the first input is at an index of the result, if there is one for all values and indices."""
    cases: CasesRule | None = None
    """Instead of `index_map`, for an op that moves elements of several inputs, or whose indices are values."""
    keeps_order: bool = False
    """Whether the result has elements of the first input, each at most once, in the same row-major order."""
    updates: bool = False
    """Whether the result is the first input with some elements replaced: it may be written in the same memory."""
    may_fail: bool = False
    """Whether it raises NumPy's `LinAlgError` for some matrices."""
    shape_param: str | None = None
    """The parameter with the lengths of the axes of the result, or where they end in the first input."""


PRINTS: Final = "prints"
RAISES: Final = "raises"
EXPECTS: Final = "expects values"
DONE_ONCE: Final = frozenset({PRINTS, RAISES, EXPECTS})
"""Side effects that a derivative need not repeat when it computes its function again."""

_TABLE: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Add an op to the table. Every op has one record."""
    if op.name in _TABLE:
        raise InternalError(f"op {op.name!r} is registered twice")
    _TABLE[op.name] = op
    return op


def lookup(name: str) -> Op:
    """The record of the op called `name`; KeyError if there is none."""
    return _TABLE[name]


def has_effect(call: Call, effect: str | None = None) -> bool:
    """Whether a call, or one in its nested graphs, has side effects; or has this one."""
    own = lookup(call.op).effect
    if own is not None and effect in (None, own):
        return True
    for graph in called((call,)):
        found = effects_in(graph)
        if found if effect is None else effect in found:
            return True
    return False


def effects_in(graph: Graph) -> frozenset[str]:
    """The side effects of the calls of a graph and of those nested in it."""
    found: frozenset[str] | None = graph.facts.get("effects")
    if found is None:
        own = {effect for call in graph.calls if (effect := lookup(call.op).effect) is not None}
        found = graph.facts["effects"] = frozenset(own.union(*map(effects_in, called(graph.calls))))
    return found


def failure_of(call: Call) -> type[Exception] | None:
    """The class of the error that NumPy raises for some values of the operands of a call; None if there is none."""
    if lookup(call.op).may_fail:
        return np.linalg.LinAlgError
    return None if is_natural_power(call) else ValueError


def is_natural_power(call: Call) -> bool:
    """Whether a call cannot be an integer to a negative power, for which NumPy raises an error."""
    if call.op != "power" or call.inputs[0].dtype.kind != "i":
        return True
    exponent = call.inputs[1]
    return isinstance(exponent, Constant) and bool((exponent.array >= 0).all())


def is_view(call: Call) -> bool:
    """Whether the result can be a view of the first input, which costs nothing."""
    return lookup(call.op).aliasing > Aliasing.NONE


def is_renamed(call: Call) -> bool:
    """Whether the result is the memory of the first input, under another name."""
    return lookup(call.op).aliasing == Aliasing.SAME


def is_reshaped(call: Call) -> bool:
    """Whether the result has all elements of the first input in the same row-major order, in another shape."""
    op = lookup(call.op)
    return op.aliasing == Aliasing.SAME and op.moves == 1


def is_move(call: Call) -> bool:
    """Whether a call only moves elements and computes none."""
    return lookup(call.op).moves > 0


def moved_inputs(call: Call) -> Sequence[Value]:
    """The inputs whose elements make up the result; none if the call computes."""
    return call.inputs[: lookup(call.op).moves]


def all_ops() -> Mapping[str, Op]:
    """Every op by name."""
    return _TABLE


# ---- rules that say "no", "zero", or "by other ops" --------------------------------------------------


def zero_derivative(
    inputs: tuple[Value, ...], tangents: Any, outputs: tuple[Value, ...], **params: Any
) -> Any:
    """The JVP rule of a piecewise constant op."""
    return (None,) * len(outputs)


def not_linear(cotangents: Any, inputs: Any, **params: Any) -> Any:
    """The transpose rule of an op that is linear in no input, and so never occurs in a linear graph."""
    raise InternalError("transpose of an op that is not linear")


def never_batched(inputs: Any, mapped: Any, size: int, **params: Any) -> Any:
    """The batch rule of an op without inputs, which is never mapped."""
    raise InternalError("batching of an op without inputs")


REFUSALS: dict[Callable[..., Any], str] = {}
"""The rules that raise a named error instead of giving a derivative, and why there is none."""

Refusing = TypeVar("Refusing", bound=Callable[..., Any])


def refuses(why: str) -> Callable[[Refusing], Refusing]:
    """Mark a rule that raises a named error instead of giving a derivative."""

    def mark(rule: Refusing) -> Refusing:
        REFUSALS[rule] = why
        return rule

    return mark


def by_decomposition(*inputs: Any, **params: Any) -> Any:
    """A rule that a composite op does not need: passes decompose its calls before they ask for it."""
    raise InternalError("a composite op is asked for a rule that it has by its decomposition only")
