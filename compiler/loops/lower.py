"""`lower`: turns the graph of a kernel into a loop nest, by finding what one element of each output needs.

Every value is a function of an index. An element is computed once, in the outermost loop in which all variables of
its index are known: loop-invariant values move out of a loop, and two results share what both need. A sum creates a
loop where the index of the sum is known; independent sums share a loop.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from ..affine import ZERO, Affine, Index, Variable, aligned, flattened, of
from ..analysis.fusible_ops import PLACES, REDUCTIONS, combines_everything, is_elementwise, reduced_axes
from ..analysis.op_costs import element_cost
from ..dtypes import INT64, DType
from ..errors import InternalError
from ..ir import Call, Constant, Graph, Shape, Value
from ..op import Condition, is_move, is_reshaped
from ..params import int_param
from ..symbolic_size import SymbolicSize, is_known, is_none, is_one, lower_bound, max_expr, min_expr
from ..text.naming import Naming
from .building import MOST_COLUMNS, SO_FAR, Loops, TooWideError, run_across
from .moved_elements import Case, Element, cases, halves, is_of_columns, moved
from .nest import (
    Accumulate,
    Accumulator,
    Apply,
    Begin,
    Block,
    Buffer,
    Choose,
    Clamped,
    Expression,
    Fold,
    Literal,
    Load,
    Local,
    Nest,
    Position,
    Result,
    Row,
    Store,
)
from .scope import Branch, Scope
from .walk import reset_in, statements

FEW_PARTS: Final = 8
"""Among more parts of a concatenation, the one at an index is found by halving."""

UNROLLED: Final = 4
"""Up to this many numbers are reduced without a loop, and an axis of that length is unrolled."""

SLOW: Final = 10
"""A value that costs as much as this many additions is not computed twice if a row can store it."""

LARGEST_ROWS: Final = 1 << 17
"""Bytes of all rows in the body of a loop: they are on the stack, and should stay in a core's cache."""


def lower(graph: Graph, reserved: Sequence[str] = (), *, plain: bool = False, rows: int = 0) -> Nest:
    """The loop nest that computes the outputs of a kernel's graph. Names are identifiers other than `reserved`.

    A `plain` nest is for backends that compute blocks of elements at once: loops are not split; each
    result of a reduction has its own loop; and nothing is stored in rows. With `rows`, first axes with this many
    entries share no loop with the axes after them.
    """
    for adds_columns in (True, False):
        nest = _Lowering(graph, reserved, plain, rows, adds_columns).nest()
        if _adds_everything(nest.body):
            return nest
    raise InternalError(f"the loops of {graph.name} leave a reduction out")


def _adds_everything(body: Block) -> bool:
    """Whether something is added to all accumulators. The results of columns cannot be accumulated before a loop that
    stores what they are made of and needs them, too."""
    begun = reset_in(body)
    return begun <= {s.accumulator for s in statements(body) if isinstance(s, Accumulate)}


class _Lowering(Loops):
    def __init__(
        self, graph: Graph, reserved: Sequence[str], plain: bool, rows: int, adds_columns: bool
    ) -> None:
        super().__init__(reserved, plain)
        self.graph = graph
        self.adds_columns = adds_columns
        """Whether the results of neighbouring columns may be accumulated side by side."""
        self.rows = rows
        self.makers = {output: call for call in graph.calls for output in call.outputs}
        self.stems = _stems(graph)
        self.inputs = {
            v: self.buffer(name, v) for v, name in zip(graph.inputs, graph.input_names, strict=True)
        }
        self.constants: dict[Value, Buffer] = {}
        self.costs: dict[str, float] = {}
        """How many additions a local costs, including its loops."""
        self.positions: dict[tuple[Index, Shape], Affine] = {}
        self.outputs = [self.buffer("out", value) for value in graph.outputs]
        self.slow = _slow(graph)
        self.slow_outputs: dict[Value, Buffer] = {}
        """Where outputs are stored from which others may be computed."""

    def nest(self) -> Nest:
        outputs = zip(self.graph.outputs, self.outputs, strict=True)
        for value, buffer in sorted(outputs, key=lambda output: self.joins_others(output[0])):
            self.output(value, buffer)
        constants = tuple((b, v) for v, b in self.constants.items() if isinstance(v, Constant))
        return Nest(tuple(self.inputs.values()), tuple(self.outputs), constants, self.root.body())

    # ---- elements ----------------------------------------------------------------------------------

    def element(self, value: Value, index: Index) -> Expression:
        """The element of a value at an index, for the current scope."""
        waiting = [(value, index)]
        while waiting:
            source, place = self.source(*waiting[-1])
            if (direct := self.direct(source, place) or self.computed_element(source, place)) is not None:
                waiting.pop()
                if not waiting:
                    self.uses(direct)
                    return direct
                continue
            call, home = self.makers[source], self.home_of(source, place)
            if is_elementwise(call):
                with self.inside(home):
                    kept = self.kept(call, place)
                if kept is not None:
                    home.known[source, place] = kept
                    continue
                if missing := self.missing(call, place):
                    waiting += missing
                    continue
            with self.inside(home):
                home.known[source, place] = self.made(call, place)
        raise InternalError("nothing was asked for")

    def source(self, value: Value, index: Index) -> Element:
        """Where an element comes from if it is only moved."""
        while (call := self.makers.get(value)) is not None:
            if is_reshaped(call) and self.is_stored(call.inputs[0]):
                return value, index
            found = moved(call, index)
            if found is None:
                break
            value, index = found
        return value, index

    def is_stored(self, value: Value) -> bool:
        """Whether a value is contiguous in memory: then only the position in row-major order counts."""
        while (call := self.makers.get(value)) is not None and is_reshaped(call):
            value = call.inputs[0]
        return value not in self.makers

    def direct(self, value: Value, index: Index) -> Expression | None:
        """An element that need not be computed."""
        shape = value.shape
        while (call := self.makers.get(value)) is not None and is_reshaped(call):
            value = call.inputs[0]
        if isinstance(value, Constant) and value.array.size == 1:
            return Literal(Constant(value.array.reshape(())))
        if call is not None and call.op not in PLACES:
            return None
        if call is not None and call.op == "size":
            size = int_param(call, "of")
            return Position(Affine(size), value.dtype)
        place = self.place(index, shape)
        return self.load(self.memory(value), place) if call is None else Position(place, value.dtype)

    def place(self, index: Index, shape: Shape) -> Affine:
        """The position of an element, which loops that are only tried ask for as well."""
        found = self.positions.get((index, shape))
        if found is None:
            found = self.positions[index, shape] = flattened(index, shape)
        self.check_flat(found)
        return found

    def load(self, buffer: Buffer, place: Affine) -> Load:
        if self.places is not None:
            self.places.append(place)
        return Load(buffer, place)

    def computed_element(self, value: Value, index: Index) -> Expression | None:
        """An element that has been computed."""
        return self.recall(value, index) or self.stored(value, index)

    def stored(self, value: Value, index: Index) -> Expression | None:
        """A value that is slow to compute, from the output that holds it; not in the loop that stores it, which knows
        it."""
        if value not in self.slow_outputs:
            return None
        output = self.slow_outputs[value]
        _, level = self.homes[output.name]
        around = [scope for scope in self.current.chain() if scope.variable is not None]
        is_later = not around or around[-1].level >= level
        if not is_later and self.is_known_beside(value, index, around):
            return None
        return self.load(output, self.place(index, value.shape))

    def is_known_beside(self, value: Value, index: Index, around: Sequence[Scope]) -> bool:
        """Whether loops over the same variables, from the inside out, have computed an element."""
        scopes = [self.root]
        for scope in reversed(around):
            loops = [loop for outer in scopes for level in outer.levels for loop in level.loops]
            scopes = [loop for loop in loops if loop.variable == scope.variable]
            if any((value, index) in loop.known for loop in scopes):
                return True
        return False

    def memory(self, value: Value) -> Buffer:
        if value in self.inputs:
            return self.inputs[value]
        if value not in self.constants:
            with self.inside(self.root):
                self.constants[value] = self.buffer("constant", value)
        return self.constants[value]

    def missing(self, call: Call, index: Index) -> list[Element]:
        """The elementwise operands that are not known yet: asking for them one by one needs no recursion."""
        found: list[Element] = []
        for operand in call.inputs:
            source, place = self.source(operand, aligned(index, operand.shape))
            maker = self.makers.get(source)
            if maker is not None and is_elementwise(maker) and self.computed_element(source, place) is None:
                found.append((source, place))
        return found

    def made(self, call: Call, index: Index) -> Expression:
        """Compute an element in the current scope."""
        if is_elementwise(call):
            return self.computed(call, index)
        if call.op in REDUCTIONS:
            return self.reduced(call, index)
        found = cases(
            call, index, lambda k, at, last: self.clamped(call, self.element(call.inputs[k], at), last)
        )
        if found is None:
            raise InternalError(f"a kernel cannot contain {call.op}")
        return self.chosen(call, found)

    def computed(self, call: Call, index: Index) -> Expression:
        """An element of an elementwise call, from those of its operands."""
        elements = tuple(self.element(x, aligned(index, x.shape)) for x in call.inputs)
        local = self.let(self.stem(call), call.outputs[0].dtype, Apply(call, elements), call)
        names = {e.name for e in elements if isinstance(e, Local) and self.homes[e.name][0] is self.current}
        self.costs[local.name] = element_cost(call) + sum(self.costs.get(name, 0) for name in names)
        return local

    def kept(self, call: Call, index: Index) -> Expression | None:
        """A value that is slow to compute, from a row in which the loop before this one stores it."""
        scope, value = self.current, call.outputs[0]
        outer, variable = scope.parent, scope.variable
        if self.plain or outer is None or outer is self.root or variable is None or scope.is_trial:
            return None
        nbytes = variable.extent * value.dtype.itemsize
        for loop in (loop for level in outer.levels[: scope.level] for loop in level.loops):
            local = loop.known.get((value, index))
            if loop.variable != variable or not isinstance(local, Local):
                continue
            if self.costs.get(local.name, 0) < SLOW:
                continue
            place = of(variable) + -variable.low
            if local not in loop.rows:
                if lower_bound(outer.row_bytes() + nbytes) > LARGEST_ROWS:
                    return None
                with self.inside(outer):
                    row = Row(self.claim(f"{local.name}_row"), value.dtype, variable.extent)
                loop.rows[local] = row
                loop.at(self.homes[local.name][1]).statements.append(Store(row, place, local))
            return Load(loop.rows[local], place)
        return None

    def stem(self, call: Call) -> str:
        return self.stems[call.outputs[0]]

    # ---- indices read from arrays --------------------------------------------------------------------

    def clamped(self, call: Call, number: Expression, last: int) -> Affine:
        """An index that is known at run time, clipped to [0, last]."""
        if is_known(last <= 0):
            return ZERO
        if isinstance(number, Literal):
            at = max(int(number.constant.array), 0)
            if not isinstance(last, SymbolicSize) or is_known(last >= at):
                return Affine(min_expr(at, last))
        if isinstance(number, Position) and number.place.is_below(last + 1):
            return number.place
        if not is_known(last >= 0):
            last = max_expr(last, 0)  # no element of an empty array is read
        local = self.let(f"{self.stem(call)}_at", INT64, Clamped(number, last, INT64))
        variable = Variable(local.name, 0, last)
        self.homes[local.name][0].bound.add(variable)
        return of(variable)

    # ---- choices ---------------------------------------------------------------------------------------

    def chosen(self, call: Call, found: Sequence[Case]) -> Expression:
        """The element of the first case whose conditions hold."""
        if len(found) == 1 and not found[0][0]:
            return self.element(*found[0][1])
        if len(found) > FEW_PARTS:
            conditions, first, others = halves(found)
        else:
            conditions, first, others = found[0][0], [((), found[0][1])], found[1:]
        open_: list[Condition] = []
        for condition in conditions:
            truth = condition.truth
            if truth is False:
                return self.chosen(call, others)
            if truth is None:
                open_.append(condition)
        return self.choice(call, open_, first, others) if open_ else self.chosen(call, first)

    def choice(
        self, call: Call, open_: Sequence[Condition], chosen: Sequence[Case], others: Sequence[Case]
    ) -> Expression:
        """What some cases give if the conditions hold, which only the program knows, and otherwise others."""
        level = 0
        for condition in open_:
            self.check_flat(condition.place)
            level = max(level, self.uses_place(condition.place))
            self.note_switches(condition)
        then, otherwise = Scope(self.current, guarded=True), Scope(self.current, guarded=True)
        with self.inside(then):
            first = self.chosen(call, chosen)
        with self.inside(otherwise):
            second = self.chosen(call, others)
        level = max(level, then.level, otherwise.level)
        local = Local(self.claim(self.stem(call)), call.outputs[0].dtype)
        self.homes[local.name] = self.current, level
        self.add(Branch(Choose(local, tuple(open_), (), first, (), second, call), then, otherwise), level)
        return local

    # ---- reductions ------------------------------------------------------------------------------------

    def reduced(self, call: Call, index: Index) -> Expression:
        """An element of a reduction, from a loop in the current scope."""
        shape = call.inputs[0].shape
        extents = tuple(shape[axis] for axis in reduced_axes(call))
        count, dtype = math.prod(extents), call.outputs[0].dtype
        finds = call.op in ("argmax", "argmin")
        if is_none(count):
            return Literal(Constant(_of_nothing(call.op, dtype)))
        if is_one(count) and finds:
            return Literal(Constant(np.zeros((), dtype)))
        if (
            is_known(count <= UNROLLED)
            and not any(isinstance(n, SymbolicSize) for n in extents)
            and not finds
        ):
            places = product(*(map(Affine, range(extent)) for extent in extents))
            elements = tuple(self.operand(call, index, reduced) for reduced in places)
            return self.let(self.stem(call), dtype, Fold(call.op, elements), call)
        outer, self.places = self.places, []
        accumulator, steps = self.along(call, index, extents)
        loads, self.places = self.places, outer
        if outer is not None:
            outer += loads
        place = None
        across = self.current.variable if self.adds_columns and not self.plain else None
        if across is not None and self.is_column(index, across) and run_across(loads, across, steps):
            self.taken.discard(accumulator.name)
            accumulator, place = self.across(call, index, extents, across)
        return self.let(self.stem(call), dtype, Result(accumulator, dtype, place), call)

    def operand(self, call: Call, index: Index, reduced: Index) -> Expression:
        """The element that a reduction reads, given its position along the reduced axes."""
        (x,) = call.inputs
        places, rest = dict(zip(reduced_axes(call), reduced, strict=True)), iter(index)
        return self.element(x, tuple(places[a] if a in places else next(rest) for a in range(x.ndim)))

    def begin(self, call: Call, count: int, size: int | None) -> Accumulator:
        name = self.claim(f"{self.stem(call)}{SO_FAR}")
        accumulator = Accumulator(name, call.op, call.inputs[0].dtype, count, call, size)
        self.add(Begin((accumulator,)), 0)
        return accumulator

    def gather(
        self,
        call: Call,
        accumulator: Accumulator,
        index: Index,
        reduced: Index,
        extents: Shape,
        place: Affine | None,
    ) -> None:
        """Add one element to an accumulator."""
        element = self.operand(call, index, reduced)
        at = flattened(reduced, extents) if call.op in ("argmax", "argmin") else None
        level = max(self.uses(element), *(self.uses_place(p) for p in (place, at)))
        self.add(Accumulate(accumulator, element, place, at), level)

    def along(self, call: Call, index: Index, extents: Shape) -> tuple[Accumulator, Variable]:
        """Accumulate one result, and return the variable of the innermost loop."""
        accumulator = self.begin(call, math.prod(extents), None)
        steps: list[Variable] = []

        def body(reduced: Index) -> None:
            assert self.current.variable is not None
            steps.append(self.current.variable)
            self.gather(call, accumulator, index, reduced, extents, None)

        level = self.loops(extents, body, apart=self.axes_of_rows(call))
        self.homes[accumulator.name] = self.current, level
        return accumulator, steps[-1]

    def joins_others(self, value: Value) -> bool:
        """Whether an output is one element that the loops of other outputs can find in passing: it comes after them."""
        call = self.makers.get(value)
        while call is not None and not combines_everything(call) and value.shape == ():
            call = next((self.makers[x] for x in call.inputs if x in self.makers), None)
        return call is not None and combines_everything(call)

    def axes_of_rows(self, call: Call) -> int:
        """How many first axes a reduction goes over in a loop that another output has there."""
        if self.plain or self.current is not self.root or not combines_everything(call):
            return 0
        shape, loops = call.inputs[0].shape, {loop.variable for loop in self.root.at(0).loops}
        return next((n for n in range(1, len(shape)) if self.variable(math.prod(shape[:n])) in loops), 0)

    def is_column(self, index: Index, across: Variable) -> bool:
        """Whether the results for all values of the current loop's variable can be accumulated before that loop."""
        variables = {variable for place in index for variable in place.variables}
        return not self.current.guarded and self.current.bound & variables == {across}

    def across(
        self, call: Call, index: Index, extents: Shape, across: Variable
    ) -> tuple[Accumulator, Affine]:
        """Accumulate the results for all values of a variable at once: adjacent elements are added side by side."""
        scope = self.current.parent
        assert scope is not None
        variables = {variable for place in index for variable in place.variables}
        while scope.parent is not None and not (scope.guarded or scope.bound & variables):
            scope = (
                scope.parent
            )  # a loop that the results do not depend on would accumulate them again and again
        if not is_known(across.extent <= MOST_COLUMNS):
            raise TooWideError(across)
        with self.inside(scope):
            key = call.outputs[0], index
            if key not in scope.columns:
                accumulator = self.begin(call, math.prod(extents), across.extent)

                def body(reduced: Index) -> None:
                    def add_column(column: Affine) -> None:
                        places = tuple(place.at(across, column + across.low) for place in index)
                        self.gather(call, accumulator, places, reduced, extents, column)

                    self.loop(Variable(self.counter(), 0, across.extent - 1), add_column)

                level = self.loops(extents, body)
                self.homes[accumulator.name] = scope, level
                scope.columns[key] = accumulator
            return scope.columns[key], of(across) + -across.low

    # ---- outputs ---------------------------------------------------------------------------------------

    def output(self, value: Value, buffer: Buffer) -> None:
        """Store all elements of an output; short last axes are unrolled."""
        shape = value.shape
        short = bool(shape) and not isinstance(shape[-1], SymbolicSize) and 1 < shape[-1] <= UNROLLED
        short = short and (not self.plain or (value in self.makers and is_of_columns(self.makers[value])))

        def store(index: Index) -> None:
            place = self.place(index, shape)
            expression = self.element(value, index)
            self.add(Store(buffer, place, expression), max(self.uses(expression), self.uses_place(place)))

        def written_out(index: Index) -> None:
            for last in range(shape[-1]):
                store((*index, Affine(last)))

        if any(map(is_none, shape)):
            return
        if short and not self.is_flat([[*shape]], store):
            level = self.loops(shape[:-1], written_out)
        else:
            level = self.loops(shape, store, apart=self.row_axes(shape))
        if value in self.slow and not self.plain:
            self.slow_outputs[value] = buffer
            self.homes[buffer.name] = self.root, level

    def row_axes(self, shape: Shape) -> int:
        """How many axes of an output are the rows."""
        return next((n for n in range(len(shape)) if is_known(math.prod(shape[:n]) == self.rows)), 0)


def _of_nothing(op: str, dtype: DType) -> Any:
    """The reduction of no numbers."""
    return np.asarray(op in ("prod", "all")).astype(dtype)


def _slow(graph: Graph) -> set[Value]:
    """Values that take longer to compute from the inputs of a graph than to read."""
    costs: dict[Value, float] = {}
    for call in graph.calls:
        own = math.inf if call.op in REDUCTIONS else element_cost(call)
        costs[call.outputs[0]] = own + sum(costs.get(x, 0.0) for x in call.inputs)
    return {call.outputs[0] for call in graph.calls if not is_move(call) and costs[call.outputs[0]] >= SLOW}


def _stems(graph: Graph) -> dict[Value, str]:
    """The names of the calls' results in the text of the graph."""
    naming = Naming(graph)
    stems: dict[Value, str] = {}
    for call in graph.calls:
        list(naming.introduce(call.inputs))
        stems.update(zip(call.outputs, naming.make(call), strict=True))
    return stems
