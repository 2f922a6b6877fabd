"""`vmap`: turns a function of one example into a function of a batch."""

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import path_names
from ...compiler.arguments.option_checks import is_choice
from ...compiler.callers.function_names import describe
from ...compiler.callers.user_code import users_level
from ...compiler.errors import CallbackLoopWarning, TransformArgumentError, UndecidedDimError
from ...compiler.frontend.conversion import converted
from ...compiler.frontend.program import Argument, ArrayOutput, Program, Static
from ...compiler.frontend.traced_program import trace
from ...compiler.ir import Call, Graph, Value, called
from ...compiler.nesting import shown
from ...compiler.ops.collective_calls import mapped_values
from ...compiler.shapes.dim import ANSWERS
from ...compiler.tracing.exceptions.handlers import is_handled_later
from ...compiler.tracing.trace import ExampleIndex, Trace, current_trace, require_trace
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..eager.converting import Convert, converting
from ..eager.current_tape import joined
from ..eager.mapped_axes import RANDOMNESS, MappedAxis, all_indices, mapping
from ..eager.mapped_graph import BatchAxis, MappedGraph
from ..eager.numpy_generators import refusing_draws
from ..eager.one_call import answering_for_one_call
from ..eager.run import inputs_of, is_array, like_function, overwrite
from ..int_options import positive_int
from ..tracebacks import with_users_frames
from .arrays_outside import ArraysOutside, array_from_outside, unmapped_write
from .batch_arguments import BatchArguments, spread_dims
from .batched_trace import Batch, BatchedTrace, Examples, MustTraceSingleExamplesError, can_compute
from .chunk_size import Chunking, chunking
from .failing_examples import FailingExamplesError, batched_handler_error


@with_users_frames
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    kw_dims: Mapping[str, Any] | None = None,
    chunk_size: int | None = None,
    memory_limit: int | str | None = None,
    axis_size: int | None = None,
    axis_name: str | None = None,
    convert: Convert = None,
) -> Callable[..., Any]:
    """Map `func` over an axis of its arguments, like a loop over the slices, but without the loop.

    Args:
        func: a function of arrays (or pytrees of them) for one example.
        in_dims: which axis of each argument is the batch: an int for all, or a tuple with an entry per
            positional argument; an entry is an int, None (not mapped), or a tree of these that is a prefix of
            the argument.
        out_dims: where the batch axis goes in each output: an int, None (the output does not depend on the
            batch), or a tree that is a prefix of the output. Negative numbers count from the end of the
            result. An array that does not depend on the batch is repeated along that axis. What is not an array, such
            as a Python number, is returned as it is, unless it depends on the batch.
        randomness: what a draw of a `tracemill.random.Generator` means inside: "error" (an error), "same" (one
            draw for all examples) or "different" (each example has random numbers of its own).
        kw_dims: the same for keyword arguments, by name; those not named are not mapped.
        chunk_size: how many examples to run at once; default: all. The results are the same; each chunk is written
            into its part of one array, so that the peak of memory is the result and what one chunk needs. What
            does not depend on the batch is computed once.
        memory_limit: instead, how much memory a call may allocate, in bytes or as ``"512MB"``, ``"2GiB"``: it runs the
            largest chunk whose planned peak (results of all calls that are alive at one time) fits.
        axis_size: the batch size, needed only if no argument is mapped.
        axis_name: what `psum` and its kind call the axis inside `func`.
        convert: whose code is converted, as of `grad`.

    Returns:
        A function of the batched arguments. Value, shape and dtype equal those of the stacked results of the
        loop. What `func` writes to its mapped arguments is written to the caller's arrays.

    Raises:
        TransformArgumentError: (a ValueError) for dims that do not fit the arguments or the outputs, for a
            memory_limit below what one example at a time needs, and for writes to an array that is not mapped.
        TreeMismatchError: (a ValueError) for trees of dims that do not fit.

    >>> import numpy as np
    >>> vmap(np.dot)(np.ones((3, 2)), np.ones((3, 2)))
    array([2., 2., 2.])
    """
    func = converting(func, convert)
    where = f"vmap({describe(func)})"
    chunks = chunking(where, chunk_size, memory_limit)
    given: Any = axis_name
    if given is not None and (not isinstance(given, str) or not given):
        raise TransformArgumentError(
            f"{where}: axis_name must be a string that is not empty, not {shown(axis_name)}"
        )
    return _mapped(func, where, in_dims, out_dims, randomness, kw_dims or {}, axis_size, chunks, axis_name)


@with_users_frames
def chunk_vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    chunks: int = 2,
    *,
    convert: Convert = None,
) -> Callable[..., Any]:
    """Like `vmap`, with the batch in this many chunks that run one after another, each of ceil(size / chunks)
    examples.

    `convert` as in `grad`.

    Raises:
        TransformArgumentError: (a ValueError) `chunks` is not a positive int; and the errors of `vmap`.

    >>> import numpy as np
    >>> chunk_vmap(np.sum, chunks=2)(np.ones((5, 3)))
    array([3., 3., 3., 3., 3.])
    """
    func = converting(func, convert)
    where = f"chunk_vmap({describe(func)})"
    pieces = Chunking(count=positive_int(f"{where}: chunks", chunks, TransformArgumentError))
    return _mapped(func, where, in_dims, out_dims, randomness, {}, None, pieces)


def _mapped(
    func: Callable[..., Any],
    where: str,
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    kw_dims: Mapping[str, Any],
    axis_size: int | None,
    chunks: Chunking,
    axis_name: str | None = None,
) -> Callable[..., Any]:
    if not is_choice(randomness, RANDOMNESS):
        raise TransformArgumentError(
            f"{where}: randomness must be one of {', '.join(map(repr, RANDOMNESS))}, not {shown(randomness)}"
        )

    @like_function(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        batch = BatchArguments(where, in_dims, out_dims, kw_dims, axis_size, args, kwargs)
        with _around(batch.leaves):
            return _Mapping(batch, func, randomness, axis_name, at_once=chunks == Chunking()).result(chunks)

    return mapped


def _around(leaves: Sequence[Any]) -> AbstractContextManager[Any]:
    """The trace that computes the batch: the tape if an argument is a variable, and otherwise the current one."""
    return joined() if current_trace() is None and any(map(is_traced, leaves)) else nullcontext()


@contextmanager
def _lengths_of_examples() -> Generator[None]:
    """Within the block, an error about a length that depends on values says that each example has its own."""
    try:
        yield
    except UndecidedDimError as error:
        raise error.in_batch() from None


class _Mapping:
    """A function traced for one example, ready to run on the batch."""

    def __init__(
        self,
        batch: BatchArguments,
        func: Callable[..., Any],
        randomness: str,
        name: str | None,
        *,
        at_once: bool,
    ) -> None:
        """The whole batch may be computed `at_once`, while the function runs; otherwise it is computed later."""
        self.batch, self.where = batch, batch.where
        self.trace: Any = None
        """The trace of the example."""
        axis = ExampleIndex(batch.size)

        @like_function(func)
        def example(*args: Any, **kwargs: Any) -> Any:
            self.trace = require_trace()
            with mapping(MappedAxis(batch.where, randomness, self.trace, axis, name)):
                return converted(func)(*args, **kwargs)

        entering = batch.arguments()
        answers = answering_for_one_call() if ANSWERS.get() is None else nullcontext()
        arrays = [place for place, leaf in enumerate(batch.leaves) if is_array(leaf)]
        made: Callable[..., Trace] = Trace
        outside = ArraysOutside((func, *(leaf.value for leaf in entering if isinstance(leaf, Static))))
        if at_once and can_compute(batch.leaves):
            dims = [batch.dims[i] for i in arrays]
            given = Batch(batch.size, [batch.leaves[i] for i in arrays], dims, outside)
            made = partial(BatchedTrace, batch=given)
        with _lengths_of_examples(), answers, refusing_draws(func, batch.tree, entering, clocks=False):
            try:
                self.program: Program = self._traced(example, entering, made)
            except MustTraceSingleExamplesError:
                self.program = trace(example, batch.tree, entering)
        outside.refuse_writes(self.where)
        self.graph = self.program.graph
        captured = self.program.captured
        self.inputs = inputs_of(self.program, [batch.leaves[place] for place in arrays])
        self.inputs = [all_indices(axis) if x is axis else x for x in self.inputs]
        self.in_axes: list[BatchAxis] = [batch.dims[place] for place in arrays]
        self.in_axes += [0 if x is axis or isinstance(x, Examples) else None for x in captured]
        self.names = [batch.names[place] for place in arrays]
        self.names += [
            "the index of the example"
            if isinstance(x, ExampleIndex)
            else "an array of the batch"
            if isinstance(x, Examples)
            else array_from_outside(x)
            for x in captured
        ]
        self.reached = mapped_values(self.graph, [axis is not None for axis in self.in_axes])

    def _traced(
        self, example: Callable[..., Any], entering: "list[Argument | Static]", made: Callable[..., Trace]
    ) -> Program:
        """The program of a function. An error of some examples is one of the call, whatever the function catches."""
        try:
            program = trace(example, self.batch.tree, entering, made=made)
        except (Exception, FailingExamplesError) as error:
            failure, frames = self._failure(), error.__traceback__
            if failure is None:
                raise
        else:
            failure = self._failure()
            if failure is None:
                return program
            frames = failure.__traceback__
        raise failure.with_traceback(frames)

    def _failure(self) -> Exception | None:
        return self.trace.failure if isinstance(self.trace, BatchedTrace) else None

    def result(self, chunks: Chunking) -> Any:
        """The batched result; arrays that the function wrote to are updated."""
        program, batch = self.program, self.batch
        out_axes = self._out_axes()
        for index, output in program.mutated:
            if index in program.in_step:
                out_axes[output] = 0 if self.graph.outputs[output] in self.reached else None
            else:
                self._check_mutation(index)
                out_axes[output] = self.in_axes[index]
        for call in _looped_callbacks(self.graph, self.reached):
            at = "" if call.location is None else f" at {call.location}"
            warnings.warn(
                f"{self.where}: {describe(call.params['function'])}{at} is opaque Python code, which has no "
                f"batch: it will run {batch.size} times, once per example",
                CallbackLoopWarning,
                stacklevel=users_level(),
            )
        mapped, inputs = MappedGraph(self.graph, self.in_axes, out_axes, batch.size), self.inputs
        if isinstance(self.trace, BatchedTrace):
            mapped, inputs = self.trace.rest(mapped, inputs)
        try:
            outputs = chunks.run(self.where, mapped, inputs)
        except Exception as error:
            if self.trace is None or not is_handled_later(self.trace, error):
                raise
            raise batched_handler_error(error) from error
        for index, output in program.mutated:
            target, new = self.inputs[index], outputs[output]
            if index in program.in_step and out_axes[output] is not None:
                new = np.maximum(target, np.max(new, axis=0, initial=0))
            overwrite(target, new)
        return replace(program, out_leaves=tuple(self._as_stacked(program, out_axes))).result(outputs)

    @staticmethod
    def _as_stacked(program: Program, out_axes: Sequence[BatchAxis]) -> Iterator[ArrayOutput | Static]:
        """The leaves of the result, where stacked examples can be written to, as those of ``np.stack`` can."""
        for leaf in program.out_leaves:
            if isinstance(leaf, ArrayOutput) and out_axes[leaf.index] is not None:
                yield replace(leaf, is_read_only=False)
            else:
                yield leaf

    def _out_axes(self) -> list[BatchAxis]:
        """The batch axis of each output of the graph."""
        program = self.program
        axes: list[BatchAxis] = [None] * len(self.graph.outputs)
        dims = spread_dims(self.batch.out_dims, program.out_tree, f"{self.where}: out_dims")
        paths = path_names(program.out_tree, "output")
        for leaf, dim, path in zip(program.out_leaves, dims, paths, strict=True):
            if isinstance(leaf, ArrayOutput):
                axes[leaf.index] = self._out_axis(leaf, dim, path)
        return axes

    def _out_axis(self, leaf: ArrayOutput, dim: BatchAxis, path: str) -> BatchAxis:
        value = self.graph.outputs[leaf.index]
        if leaf.weak is not None and value not in self.reached:  # a number of Python, no array: it stays one
            return None
        if dim is None:
            if value in self.reached:
                raise TransformArgumentError(
                    f"{self.where}: {path} depends on the batch, so its out_dim cannot be None: say where "
                    "the axis goes"
                )
            return None
        ndim = value.ndim + 1
        if not -ndim <= dim < ndim:
            raise TransformArgumentError(
                f"{self.where}: out_dim {dim} is out of range for {path}, which has {ndim} axes with the "
                f"batch; the valid range is {-ndim} to {ndim - 1}"
            )
        return int(dim) % ndim

    def _check_mutation(self, index: int) -> None:
        """Examples may write to their own slices only: a loop would read what earlier examples wrote."""
        axis, target = self.in_axes[index], self.inputs[index]
        name = self.names[index]
        if axis is None:
            raise unmapped_write(self.where, name)
        for other, other_axis in zip(self.inputs, self.in_axes, strict=True):
            if _share_memory(other, target) and not (other is target and other_axis == axis):
                raise TransformArgumentError(
                    f"{self.where}: the function writes to {name}, which it also reaches along another axis, as a "
                    "whole, or through another view: examples would see each other's writes. Pass a copy"
                )


def _share_memory(x: Any, y: Any) -> bool:
    return x is y or (is_numpy_array(x) and is_numpy_array(y) and np.shares_memory(x, y))


def _looped_callbacks(graph: Graph, reached: set[Value]) -> list[Call]:
    """The callbacks that depend on a mapped value, also those in nested graphs."""
    found: list[Call] = []
    for call in graph.calls:
        if any(v in reached for v in call.inputs):
            found += _callbacks(call)
    return found


def _callbacks(call: Call) -> list[Call]:
    inner = [found for graph in called((call,)) for nested in graph.calls for found in _callbacks(nested)]
    return [call, *inner] if call.op == "callback" and "method" not in call.params else inner
