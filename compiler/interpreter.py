"""Running a graph call by call (`evaluate`, `Interpreter`), and rebuilding one (`Transformer`)."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .builder import Builder, as_tuple, bind_all, current_builder, not_recording, recording, require_graph
from .dtypes import Array
from .error_state import quiet_unless_strict, under
from .errors import (
    ArgumentTypeError,
    OutOfBoundsError,
    TracemillError,
    TransformArgumentError,
    TransformTypeError,
)
from .errors.tracemill_error import text_of
from .free_sizes import bound_size
from .ir import Call, Constant, Graph, Value, last_reads
from .op import EXPECTS, has_effect, lookup
from .substitution import fixed_call
from .users_errors import error_at, message_values_at_first

Observer: TypeAlias = Callable[[Call, Sequence[Any], tuple[Any, ...]], None]
"""Called for each call that runs by its NumPy definition, with its inputs and outputs."""


class _Current(threading.local):
    """The observer of calls, per thread."""

    observer: Observer | None = None


_current = _Current()


@contextmanager
def observing_calls(observer: Observer) -> Generator[None]:
    """Call `observer` for each call that runs in this thread. Compiled functions are interpreted meanwhile."""
    previous = _current.observer
    _current.observer = observer
    try:
        yield
    finally:
        _current.observer = previous


def are_calls_observed() -> bool:
    """Whether calls in this thread are observed."""
    return _current.observer is not None


def is_idle() -> bool:
    """Whether nothing is recorded or observed in this thread, so calls can simply run."""
    return current_builder() is None and _current.observer is None


class OtherValues(Exception):  # noqa: N818 (not an error: another program is for them)
    """The values of a call are not those that a program expects."""

    def __init__(self, call: Call, found: str) -> None:
        super().__init__()
        self.call = call
        """What expects something else."""
        self.found = found
        """What was found instead, for explanations."""


class Interpreter:
    """Runs a graph on arrays, one call at a time, by the NumPy definitions of its ops.

    Override `call` to watch or change what runs:

    >>> class Trace(Interpreter):
    ...     def call(self, call, inputs):
    ...         print(call.op)
    ...         return super().call(call, inputs)
    """

    def __init__(self, graph: Graph) -> None:
        require_graph(type(self).__name__, graph)
        self.graph = graph

    def run(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs for these inputs. Intermediate arrays are released after their last use.

        >>> import numpy as np, tracemill as tm
        >>> graph = tm.compile(lambda x: np.sum(np.sin(x))).lower(np.zeros(3)).graph
        >>> tm.Interpreter(graph).run(np.zeros(3))
        (np.float64(0.0),)
        """
        graph = self.graph
        if len(inputs) != len(graph.inputs):
            raise ArgumentTypeError(f"{graph.name} takes {len(graph.inputs)} inputs, not {len(inputs)}")
        env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
        dying = self._dying
        sizes: dict[str, int] = {}
        for index, call in enumerate(graph.calls):
            sized = fixed_call(call, sizes) if sizes else call
            outputs = _one_per_output(call, self.call(sized, [self.value(v, env) for v in call.inputs]))
            env.update(zip(call.outputs, outputs, strict=True))
            if (size := bound_size(call)) is not None:
                sizes[str(size)] = outputs[0].shape[0]
            for value in dying.get(index, ()):
                del env[value]
        return tuple(self.value(v, env) for v in graph.outputs)

    @cached_property
    def _dying(self) -> dict[int, list[Value]]:
        return last_uses(self.graph)

    def value(self, value: Value, env: Mapping[Value, Any]) -> Any:
        """The value of an input of a call."""
        if isinstance(value, Constant):
            return value.array
        try:
            return env[value]
        except KeyError:
            self.graph.lint()  # raises an error that says what is wrong with a handwritten graph
            raise

    def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of one call."""
        return run_call(call, inputs)


def _one_per_output(call: Call, result: Any) -> tuple[Any, ...]:
    """The results of an overridden `call`, which may return a single one without a tuple."""
    outputs = as_tuple(result)
    if len(outputs) != len(call.outputs):
        raise TransformArgumentError(
            f"{call.op} has {len(call.outputs)} outputs, but `call` gave {len(outputs)} for it", call.location
        )
    return outputs


def run_call(call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Run one call on arrays by the NumPy definition of its op."""
    errors = () if call.location is None else call.location.errors
    try:
        with under(errors):
            outputs = as_tuple(lookup(call.op).numpy(*inputs, **call.params))
    except OtherValues:  # of a call in a graph of this one
        raise
    except TracemillError as error:
        error.locate(call.location)
        raise
    except Exception as error:
        if call.op == "check_index":
            raise OutOfBoundsError(text_of(error), call.location) from None
        if call.op == "raise_if":
            message_values = message_values_at_first(inputs[0], inputs[1:])
            raise error_at(text_of(error), call.location, message_values) from None
        if has_effect(call, EXPECTS):
            raise OtherValues(call, text_of(error)) from None
        error.add_note(f"while running {call.op} at {call.location}")
        raise
    if _current.observer is not None:
        _current.observer(call, inputs, outputs)
    return outputs


def evaluate(graph: Graph, *inputs: Any) -> tuple[Array, ...]:
    """The outputs of `graph` on `inputs` by the NumPy definitions of its ops: the reference for every backend.

    Floating-point errors are ignored, unless `np.errstate` asks for more than NumPy's default.
    """
    with not_recording(), quiet_unless_strict():
        return tuple(np.asarray(out) for out in Interpreter(graph).run(*inputs))


class Transformer(Interpreter):
    """Rebuilds a graph call by call. Override `call` to emit something else: it takes and returns values.

    >>> class SineToCosine(Transformer):
    ...     def call(self, call, inputs):
    ...         return super().call(replace(call, op="cos") if call.op == "sin" else call, inputs)
    """

    def value(self, value: Value, env: Mapping[Value, Any]) -> Any:
        return value if isinstance(value, Constant) else env[value]

    def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return bind_all(call.op, *inputs, **call.params)

    def transform(self) -> Graph:
        """The rebuilt graph.

        >>> import numpy as np, tracemill as tm
        >>> graph = tm.compile(np.sin).lower(np.zeros(3)).graph
        >>> tm.Transformer(graph).transform() == graph
        True
        """
        graph = self.graph
        inputs = tuple(Value(v.type) for v in graph.inputs)
        with recording(Builder()) as builder:
            env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
            for call in graph.calls:
                builder.location = call.location
                outputs = _one_per_output(call, self.call(call, [self.value(v, env) for v in call.inputs]))
                _require_values(call, outputs)
                env.update(zip(call.outputs, outputs, strict=True))
            outputs = tuple(self.value(v, env) for v in graph.outputs)
        return Graph(graph.name, inputs, tuple(builder.calls), outputs, graph.input_names)


def _require_values(call: Call, outputs: Sequence[Any]) -> None:
    for output in outputs:
        if not isinstance(output, Value):
            kind = type(output).__name__
            raise TransformTypeError(f"`call` gave a {kind} for {call.op}, not a Value", call.location)


def last_uses(graph: Graph) -> dict[int, list[Value]]:
    """For each call's index, the values that nothing needs after it, including unused outputs."""
    kept = set(graph.outputs)
    dying: dict[int, list[Value]] = {}
    for value, index in last_reads((*call.inputs, *call.outputs) for call in graph.calls).items():
        if value not in kept and not isinstance(value, Constant):
            dying.setdefault(index, []).append(value)
    return dying


def depends_on(graph: Graph, inputs: Sequence[bool]) -> set[Value]:
    """Every value of `graph` that depends on an input marked True, including these inputs."""
    reached = {value for value, marked in zip(graph.inputs, inputs, strict=True) if marked}
    for call in graph.calls:
        if any(value in reached for value in call.inputs):
            reached.update(call.outputs)
    return reached
