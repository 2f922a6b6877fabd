"""A function compiled for one signature, or for all calls that differ only in named sizes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from ...compiler.arguments.leaves import has_containers
from ...compiler.callers.function_names import describe
from ...compiler.error_state import is_strict
from ...compiler.errors import ArgumentValueError
from ...compiler.frontend.outside.outside_changes import are_containers_repeated
from ...compiler.frontend.outside.read_names import have_changed
from ...compiler.frontend.program import ArrayOutput, Program, Static, in_memory_order
from ...compiler.frontend.traced_program import trace
from ...compiler.interpreter import OtherValues
from ...compiler.ir import Graph, Shape
from ...compiler.op import EXPECTS, PRINTS, RAISES, effects_in
from ...compiler.shapes.dim import Comparison, Dim
from ...compiler.shapes.guards import Guards
from ...compiler.tracing.traced_memory import is_traced
from ..builder.build import build
from ..eager.numpy_generators import refusing_draws
from ..eager.one_call import answering_for_one_call
from ..eager.run import inputs_of, overwrite, run
from ..gpu.device_array import DeviceArray
from ..machine.target import Target, takes_symbolic_sizes
from ..stage_times import stage
from .compile_spec import CompileSpec
from .donation import donated_inputs, to_overwrite
from .generated_entry import always_miss, generate_entry, generate_size_reader
from .guarded_entries import are_repeated, unless_repeated, while_unchanged
from .handled_errors import (
    is_of_size,
    may_be_handled,
    may_be_too_large,
    with_changes_before_error,
    with_handlers,
    with_numpys_size_errors,
)
from .huge_arrays import are_huge, bytes_of_new_arrays
from .layout_guards import entering_orders, layout_guards
from .printed_lines import printing_at_end, prints_after_checks
from .signature import ArraySpec, NumberSpec, Signature, arguments_for, gpu_of
from .symbolic_call import SymbolicCall

SizeReading: TypeAlias = Callable[[Sequence[Shape]], dict[str, int] | None]
"""The sizes of dims from the shapes of all arrays of a call of the family; None for a call that does not fit."""


_PLAIN = (bool, int, float, complex, bytes, type(None))
"""Types that can hold neither a dim nor its name."""


def _none(shapes: Sequence[Shape]) -> None:
    """Nothing is read: no size has a name."""


class Variant:
    """The program of one signature, its build, and its generated entry.

    With a `symbolic` call it serves all calls of that signature, if `is_general`; otherwise nothing is built.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        spec: CompileSpec,
        symbolic: SymbolicCall | None = None,
    ) -> None:
        self.called = signature
        """The call for which it was compiled."""
        self.signature = signature
        """All calls that it serves."""
        self.function = function
        self.is_general = True
        """Whether it serves more than one signature, if that was intended."""
        self._sizes: SizeReading = _none
        self._new_arrays: tuple[Dim, ...] = ()
        """The bytes of the arrays that the function makes, by the sizes of a call."""
        self.guards = Guards()
        """The assumptions about sizes, with the lines of the user's that caused them."""
        self.symbolic = symbolic.called if symbolic else signature
        """The signature before any assumptions."""
        with symbolic.answering() if symbolic else answering_for_one_call():
            self._make(spec, symbolic)

    def _make(self, spec: CompileSpec, symbolic: SymbolicCall | None) -> None:
        signature = self.signature if symbolic is None else symbolic.called
        entering = arguments_for(signature)
        tracing = nullcontext() if symbolic is None else symbolic.tracing()
        with refusing_draws(self.function, signature.tree, entering), stage("trace"), tracing:
            program = trace(
                self.function,
                signature.tree,
                entering,
                is_kept=True,
                check_bounds=spec.check_bounds,
                convert=spec.convert,
                checks=spec.checks,
                changes="returned",
            )
        self.has_run = False
        """Whether it has computed a call, or tried to."""
        self._outside, program = program.outside, replace(program, outside=None)
        """What tracing has changed outside, until the first call has ended."""
        is_on_host = gpu_of(signature, program.captured) is None
        self.layouts = layout_guards(signature, entering) if is_on_host else ()
        """The memory orders of arguments that the program relies on."""
        self._entering = entering_orders(self.layouts)
        if is_on_host:
            program = in_memory_order(program, self._entering)
        self.program = program if symbolic is None else _with_facts(program, signature.dims)
        self.donated = donated_inputs(signature, spec.donate_argnums)
        """The inputs of the program whose memory results may use."""
        self.uses_variables = any(map(is_traced, self.program.captured))
        """The function uses variables: each call must be recorded, so nothing is built."""
        self.entry: Callable[..., Any] = always_miss
        """``entry(args, kwargs)``: the result, or MISS if the call needs the general path."""
        if self.uses_variables:
            return
        target = spec.target(gpu_of(signature, self.program.captured))
        if symbolic is None:
            self._build(target)
            return
        self.guards = symbolic.guards
        self.is_general = takes_symbolic_sizes(target.backend) and not symbolic.is_fixed
        if self.is_general:
            self._build(target, symbolic)

    def _build(self, target: Target, symbolic: SymbolicCall | None = None) -> None:
        self.build = build(self.program.graph, target, self.donated, symbolic.scope if symbolic else None)
        if symbolic is not None:
            self.guards, self.signature = symbolic.guards, symbolic.signature
            self._sizes = generate_size_reader(self.signature)
            self._new_arrays = bytes_of_new_arrays(self.program, {repr(dim) for dim in self.signature.dims})
        effects = effects_in(self.program.graph)
        is_on_host = gpu_of(self.signature, self.program.captured) is None
        self._can_run_again = (
            (self.program.falls_back or self._prints_before_error)
            and not (effects - {RAISES, EXPECTS, PRINTS} or self.donated)
            and is_on_host
        )
        """Whether the function itself runs after an error of the program: its handlers may see the error, or it prints
        less."""
        self._keeps_lines = PRINTS in effects and is_on_host and (self._can_run_again or EXPECTS in effects)
        """Whether lines appear at the end of the program, because another program or the function may run instead."""
        self._compute = self._printing_at_end(self._outputs)
        self.zero_d = {leaf.index: leaf for leaf in self.program.array_outputs}
        program = self.program
        if not (
            program.mutated
            or program.reshaped
            or program.frozen
            or program.changes_containers
            or program.repeats_objects
        ):
            self.entry = (
                generate_entry(
                    self.signature,
                    self.program,
                    self.build.function,
                    self.donated,
                    self.layouts,
                    self._new_arrays,
                )
                or always_miss
            )
            arrays = tuple(one for one in self.program.read if one.content is not None)
            if (self.program.reached or arrays) and self.entry is not always_miss:
                self.entry = while_unchanged(self.entry, self.program.reached, arrays)
            if self.program.asks_identity and self.entry is not always_miss:
                self.entry = unless_repeated(self.entry, self._arrays_from_outside)
            if self.entry is not always_miss:
                self.entry = self._printing_at_end(self.entry)
            if self._can_run_again and self.entry is not always_miss:
                self.entry = with_handlers(self.entry, self.function)
            elif self._may_be_too_large and self.entry is not always_miss:
                self.entry = with_numpys_size_errors(self.entry, self.function)
            elif self._changes_before_error and effects_in(program.graph) and self.entry is not always_miss:
                self.entry = with_changes_before_error(self.entry, self.function)

    def sizes(self, called: Signature) -> dict[str, int] | None:
        """The values of named sizes in a call of the same family; None if it does not serve the call."""
        return self._sizes(called.shapes)

    @property
    def served(self) -> Signature:
        """All calls that it serves, with the memory orders on which it relies, if they are not C order."""
        unusual = tuple(str(guard) for guard in self.layouts if not guard.is_row_major)
        return replace(self.signature, layouts=unusual)

    def takes_layouts_of(self, called: Signature) -> bool:
        """Whether the arguments of a call have the memory orders on which the program relies."""
        return not self.layout_changes(called)

    def layout_changes(self, called: Signature) -> list[str]:
        """How the memory orders of the arguments of a call differ, a line for each."""
        placed = [(guard, called.specs[guard.leaf]) for guard in self.layouts]
        return [
            guard.change(spec)
            for guard, spec in placed
            if isinstance(spec, ArraySpec) and not guard.holds(spec)
        ]

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        """The general path: run on the leaves of a call that has this signature. It may give `WithChanges`."""
        may_be_undone = False
        self.has_run = True
        try:
            return self._run(args, kwargs, leaves)
        except OtherValues:
            may_be_undone = True
            raise
        finally:
            if not may_be_undone:
                self._outside = None

    def undo_own_trace(self) -> bool:
        """After `OtherValues`: as `_undo_trace`, which is then no longer possible."""
        is_undone = self._undo_trace()
        self._outside = None
        return is_undone

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        arrays = [
            spec.dtype.type(leaf) if isinstance(spec, NumberSpec) else leaf
            for leaf, spec in zip(leaves, self.signature.specs, strict=True)
            if spec.is_traced
        ]
        if self._depends_on_identity(args, kwargs, arrays) or self._makes_huge_arrays(leaves):
            self._undo_trace()
            return self.function(*args, **kwargs)
        given = list(arrays)
        for number, order in self._entering.items():
            arrays[number] = arrays[number].transpose(order)
        inputs = inputs_of(self.program, arrays)
        argument_count = len(self.program.arguments)
        for index, _ in self.program.mutated:
            if isinstance(inputs[index], DeviceArray):
                self._check_alone(inputs, index)
            elif _overlaps(inputs, index) or (index < argument_count and self._has_read(inputs[index])):
                # The written memory is shared: run the function without compiling.
                self._undo_trace()
                return self.function(*args, **kwargs)
        for index in self.donated:
            inputs[index] = to_overwrite(inputs[index], inputs[:index] + inputs[index + 1 :])
        outputs = self._computed(leaves, inputs)
        if isinstance(
            outputs, BaseException
        ):  # outside of `except`, as an error of the function has no context
            return self._after_error(outputs, args, kwargs, inputs)
        for index, output in self.program.mutated:
            overwrite(inputs[index], outputs[output])
        return self._result(leaves, given, outputs)

    def _makes_huge_arrays(self, leaves: list[Any]) -> bool:
        if not self._new_arrays:
            return False
        return are_huge(self._new_arrays, self._sizes(_shapes(leaves, self.signature)) or {})

    def _result(self, leaves: list[Any], given: list[Any], outputs: Sequence[Any]) -> Any:
        """The result of a call, after the function has changed the shapes of arrays that it was `given`."""
        program = self.program
        for number, shape in program.reshaped:
            sizes = self._sizes(_shapes(leaves, self.signature)) or {}
            wanted = cast("tuple[Any, ...]", shape)
            if isinstance(given[number], np.ndarray):
                given[number].shape = tuple(dim.at(sizes) if isinstance(dim, Dim) else dim for dim in wanted)
        if any(isinstance(leaf, Static) and isinstance(leaf.value, Dim) for leaf in program.out_leaves):
            program = _with_sizes(program, self._sizes(_shapes(leaves, self.signature)) or {})
        return program.result([self._as_numpy_gives(i, out) for i, out in enumerate(outputs)])

    def _computed(self, leaves: Sequence[Any], inputs: list[Any]) -> Sequence[Any] | BaseException:
        """The results of the program, or its error."""
        try:
            return cast("Sequence[Any]", self._compute(leaves, inputs))
        except (Exception, SystemExit) as error:
            return error

    def _outputs(self, leaves: Sequence[Any], inputs: list[Any]) -> Sequence[Any]:
        if is_strict() and not any(isinstance(x, DeviceArray) for x in inputs):
            sizes = self._sizes(_shapes(leaves, self.signature))
            return run(_of_sizes(self.program.graph, sizes), inputs)
        outputs: Sequence[Any] = self.build.function(*inputs)
        return outputs

    def _after_error(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Any]
    ) -> Any:
        """The result of the function itself if it may handle an error of the program, which is raised otherwise."""
        is_again = (self._can_run_again and may_be_handled(error)) or (
            self._may_be_too_large and is_of_size(error)
        )
        if is_again and self._undo_trace():
            return self.function(*args, **kwargs)
        self._write_before_error(error, args, kwargs, inputs)
        raise error

    def _write_before_error(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Any]
    ) -> None:
        """Write to arrays, lists and dicts of the caller what Python writes before the error of the program.

        The program has written nothing. The function itself does, up to its error, if it has no other effects.
        """
        if not self._changes_before_error:
            return
        if isinstance(error, OtherValues):  # another program is made for this call
            return
        if not any(isinstance(x, DeviceArray) for x in inputs) and self._undo_trace():
            with suppress(Exception, SystemExit):
                self.function(*args, **kwargs)

    def _undo_trace(self) -> bool:
        """Undo what tracing has changed outside in this call, before the function itself does the same.

        False if it took something from an iterator: the function would take the next one.
        """
        return self._outside is None or self._outside.undo_all()

    def _printing_at_end(self, program: Callable[..., Any]) -> Callable[..., Any]:
        return printing_at_end(program, runs_function=self._can_run_again) if self._keeps_lines else program

    @property
    def _changes_before_error(self) -> bool:
        """Whether the function, run after an error of the program, may change what its caller sees."""
        return self._may_change and not self._has_effects

    @property
    def _may_change(self) -> bool:
        """Whether the function may change arrays, lists or dicts of its caller."""
        return bool(self.program.mutated) or has_containers(self.signature.tree)

    @property
    def _may_be_too_large(self) -> bool:
        """Whether the program makes arrays whose sizes do not come from other arrays, so that NumPy may refuse them."""
        is_on_host = gpu_of(self.signature, self.program.captured) is None
        by_ints = any(isinstance(one, ArraySpec) and one.is_length for one in self.signature.specs)
        return is_on_host and not self._has_effects and (by_ints or may_be_too_large(self.program.graph))

    @property
    def _prints_before_error(self) -> bool:
        """Whether the program prints, and Python may print less before an error, or also change something."""
        graph = self.program.graph
        if PRINTS not in effects_in(graph) or RAISES not in effects_in(graph):
            return False
        return self._may_change or prints_after_checks(graph)

    @property
    def _has_effects(self) -> bool:
        """Whether a program that raises has had effects that the function itself would have once more."""
        return bool(effects_in(self.program.graph) - {RAISES, EXPECTS} or self.donated)

    def _depends_on_identity(self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: list[Any]) -> bool:
        """Whether the result may be another one because arguments are the same object."""
        if self.program.asks_identity and are_repeated([*arrays, *self._arrays_from_outside]):
            return True
        if not (self.program.asks_identity or self.program.changes_containers):
            return False
        return are_containers_repeated(args, kwargs, self._objects_from_outside)

    @property
    def _arrays_from_outside(self) -> list[Any]:
        """The arrays that the function captures, or that names stand for, once each."""
        outside = [*self.program.captured, *(one.value for one in self.program.reached)]
        return list({id(x): x for x in outside}.values())

    @property
    def _objects_from_outside(self) -> list[Any]:
        """The objects that the function reaches by names, entries and attributes."""
        return [x for one in self.program.reached for x in (one.value, one.place)]

    def _has_read(self, written: Any) -> bool:
        """Whether the function itself, while it was traced, may have read what a call now writes to."""
        arrays = (found for one in self.program.read if (found := one.array()) is not None)
        return any(np.may_share_memory(written, array) for array in arrays)

    def _as_numpy_gives(self, index: int, output: Any) -> Any:
        """0-d results as the function would return them: arrays, NumPy scalars, or Python numbers."""
        leaf = self.zero_d.get(index)
        if leaf is not None and leaf.weak is not None:
            return output.item()
        if isinstance(output, DeviceArray) or np.ndim(output):
            return output
        is_scalar = leaf is not None and leaf.is_scalar
        return output[()] if is_scalar else np.asarray(output)

    def _check_alone(self, inputs: list[Any], index: int) -> None:
        """Raises `ArgumentValueError` if a written array on a GPU shares memory with others, which no program
        supports."""
        names = list(self.program.graph.input_names)
        for number, array in enumerate(self.program.captured, len(self.program.arguments)):
            names[number] = (
                f"an array {array.type} that it closes over" if isinstance(array, DeviceArray) else ""
            )
        shared = [name for name, x in zip(names, inputs, strict=True) if inputs[index].overlaps(x)]
        if len(shared) > 1:
            raise ArgumentValueError(
                f"{describe(self.function)} writes to {names[index]}, which has memory in common with"
                f" {' and '.join(name for name in shared if name != names[index])}: on a GPU, pass a copy, x.copy()"
            )

    @property
    def is_stale(self) -> bool:
        """Whether a captured array on whose elements the trace relied has changed since, or a name that it read."""
        return (
            have_changed(self.program.reached)
            or any(not _equal(array, copy) for array, copy in self.program.frozen)
            or any(one.has_changed for one in self.program.read)
        )

    @property
    def changes(self) -> tuple[str, ...]:
        """What has changed since of what the trace relied on, a line for each."""
        names = tuple(filter(None, (one.change for one in self.program.reached)))
        return names or ("an array that it closes over has changed",)


def _shapes(leaves: Sequence[Any], signature: Signature) -> list[Shape]:
    """The shapes of all arrays among the leaves of a call."""
    return [
        leaf.shape for leaf, spec in zip(leaves, signature.specs, strict=True) if isinstance(spec, ArraySpec)
    ]


def _with_facts(program: Program, dims: Sequence[Dim]) -> Program:
    """A return value that depends on sizes, such as ``x.shape[0] > 8`` or a text with a size, becomes constant: it is
    not a size."""
    leaves: list[ArrayOutput | Static] = []
    for leaf in program.out_leaves:
        if isinstance(leaf, Static) and not isinstance(leaf.value, Dim):
            if isinstance(leaf.value, Comparison):
                leaf = Static(bool(leaf.value))
            elif not isinstance(leaf.value, _PLAIN):
                text = repr(leaf.value)
                for dim in dims:
                    if repr(dim) in text:
                        int(dim)  # it is the same for this size only
        leaves.append(leaf)
    return replace(program, out_leaves=tuple(leaves))


def _with_sizes(program: Program, sizes: Mapping[str, int]) -> Program:
    """With the sizes of one call in place of the sizes that the function returns."""
    return replace(
        program,
        out_leaves=tuple(
            Static(leaf.value.at(sizes)) if isinstance(leaf, Static) and isinstance(leaf.value, Dim) else leaf
            for leaf in program.out_leaves
        ),
    )


def _overlaps(inputs: list[Any], index: int) -> bool:
    """Whether the memory of one input may overlap that of another."""
    others = (x for i, x in enumerate(inputs) if i != index and isinstance(x, np.ndarray))
    return any(np.may_share_memory(inputs[index], other) for other in others)


def _equal(array: Any, copy: Any) -> bool:
    return bool(np.array_equal(array, copy, equal_nan=copy.dtype.kind in "fc"))


def _of_sizes(graph: Graph, sizes: Mapping[str, int] | None) -> Graph:
    """The graph for these values of its named sizes, if it has any."""
    if not sizes:
        return graph
    from ...passes.lowering.fix_sizes import fix_sizes

    return fix_sizes(graph, sizes)
