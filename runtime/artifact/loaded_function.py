"""`LoadedFunction`: a function without its Python code, which is called, compiled and transformed by its graph."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import (
    NAMESPACE,
    argument_names,
    has_ordered_dict,
    is_array_like,
    leaf_type,
    users_name,
)
from ...compiler.callers.function_names import describe
from ...compiler.errors import (
    ArgumentMismatchError,
    DimMismatchError,
    DimSpecError,
    MissingPackageError,
    TransformTypeError,
)
from ...compiler.frontend.program import ArrayOutput
from ...compiler.interpreter import OtherValues
from ...compiler.ir import Graph, Shape
from ...compiler.nesting import shown
from ...compiler.shapes.arguments.solving import SizeReader
from ...compiler.symbolic_size import SymbolicSize, is_symbolic_shape
from ...compiler.tracing.outside.foreign_array import as_seen_inside
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..bundle.contents import Contents
from ..bundle.interface import Interface, StandIn
from ..compilation.compiled_function import CompiledFunction
from ..compilation.options import Options
from ..compilation.variant_compiler import VariantCompiler
from ..eager.nested_function import as_returned
from ..eager.run import is_array, overwrite, run
from ..gpu.device_array import DeviceArray
from ..tracebacks import with_users_frames
from ..trees import show, structure
from ..variants.dynamic_shapes import Dynamic
from ..variants.signature import ArraySpec, Signature, StaticLeaf, StaticSpec, sign
from ..variants.static_values import identity_of
from ..variants.symbolic_call import SymbolicCall
from ..variants.variant import Variant

_VARIANTS = 32


class LoadedFunction(CompiledFunction):
    """A function from an artifact. Made by `load`, and by `Artifact.function`; call it like the original function.

    It has the name, docstring and parameters of that function, takes arguments of the shapes and dtypes for which it
    was exported, and can be transformed and compiled as a part of other functions. It updates the same arguments, and
    its results have the same types.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.export(lambda x: np.sum(x**3), "x: f64[2]").function()
    >>> f
    <loaded function(x: f64[2]) -> f64[]>
    >>> tm.grad(f)(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """

    def __init__(self, artifact: Contents, backend: str) -> None:
        if not isinstance(getattr(artifact, "interface", None), Interface):
            raise TransformTypeError(
                f"LoadedFunction: artifact must be an Artifact, not {type(artifact).__name__}: "
                "tracemill.load(path) reads a function from a file"
            )
        self.artifact = artifact
        self._replay = _Replay(artifact)
        settings = artifact.settings
        options = Options(backend, settings.fast_math, (), (), _VARIANTS, settings.donate_argnums)
        if artifact.signature.dims:
            options = replace(options, dynamic=Dynamic())
        super().__init__(self._replay, options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args, kwargs = self._bound(args, kwargs)
        return super().__call__(*args, **kwargs)

    @with_users_frames
    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.artifact.interface.bound(args, kwargs)

    def __repr__(self) -> str:
        return f"<loaded {self.artifact}>"

    def __reduce__(self) -> Any:
        return type(self), (self.artifact, self._options.backend)

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        """The leaves of a call in the exported structure, settings as such."""
        leaves = self._replay.checked(args, kwargs)
        specs = self.artifact.signature.specs
        return [
            StaticLeaf(leaf) if isinstance(spec, StaticSpec) else as_seen_inside(leaf)
            for leaf, spec in zip(leaves, specs, strict=True)
        ], self.artifact.signature.tree

    def _signed(self, leaves: list[Any], tree: Any, kwargs: dict[str, Any]) -> Signature:
        """A dict may have its keys in any order; they are put in the exported order."""
        return sign(leaves, tree)

    def _variant_compiler(self) -> VariantCompiler:
        return _ArtifactCompiler(self._replay, self._options, self.artifact)


class _ArtifactCompiler(VariantCompiler):
    """Compiles the graph of an artifact for the sizes that it names."""

    def __init__(self, replay: "_Replay", options: Options, artifact: Contents) -> None:
        super().__init__(replay, options)
        self.code = artifact.code if artifact.trusts_code else {}
        self._artifact = artifact
        self._replay = replay

    def _compiled(self, called: Signature, stale: Variant | None, others: list[OtherValues]) -> Variant:
        try:
            return super()._compiled(called, stale, others)
        except MissingPackageError as error:
            if self._artifact.code and not self._artifact.trusts_code:
                error.message += (
                    "; or run the machine code that is in the file, if you trust it: tm.load(path, trust_code=True), or"
                    " --trust-code"
                )
            raise

    def symbolic(self, called: Signature) -> SymbolicCall | None:
        """The call with the named sizes of the artifact, if it has any."""
        signature = self._artifact.signature
        if not signature.dims or not self._names_sizes(called):
            return None
        specs = [
            replace(ours, gpu=theirs.gpu)
            if isinstance(ours, ArraySpec) and isinstance(theirs, ArraySpec)
            else ours
            for ours, theirs in zip(signature.specs, called.specs, strict=True)
        ]
        sizes = self._replay.read_sizes(called.shapes)
        return SymbolicCall(replace(signature, specs=tuple(specs)), sizes, self._replay.likely_sizes)


class _Replay(StandIn):
    """The graph as a Python function that can be traced: it checks its arguments and computes."""

    def __init__(self, artifact: Contents) -> None:
        super().__init__(artifact.interface)
        self.artifact = artifact
        graph, most = artifact.program.graph, artifact.max_steps
        if most is not None:
            from ...passes.lowering.limit_steps import limit_steps

            graph = limit_steps(graph, most)
        self._graph = graph
        self.names = [users_name(self, name) for name in argument_names(artifact.signature.tree)]
        arrays = [
            (name, spec.shape)
            for name, spec in zip(self.names, artifact.signature.specs, strict=True)
            if isinstance(spec, ArraySpec)
        ]
        self.reader = SizeReader(
            [name for name, _ in arrays],
            [shape for _, shape in arrays],
            [guard.comparison for guard in artifact.signature.guards.guards],
        )
        self._has_ordered = has_ordered_dict(artifact.signature.tree)
        self._fixed: dict[tuple[int, ...], Graph] = {}
        """The graph for the sizes of traced calls."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        program, specs = self.artifact.program, self.artifact.signature.specs
        leaves = self.checked(args, kwargs)
        inputs = [as_seen_inside(x) for x, spec in zip(leaves, specs, strict=True) if spec.is_traced]
        for index, _ in program.mutated:
            self._check_can_be_updated(inputs, index)
        for index in program.in_c_order:
            self._check_order(inputs[index], index)
        outputs = run(self._graph_for(leaves), inputs)
        results = [
            as_returned(outputs[leaf.index], leaf) if isinstance(leaf, ArrayOutput) else leaf.value
            for leaf in program.out_leaves
        ]
        for index, output in program.mutated:
            overwrite(inputs[index], outputs[output])
        return optree.tree_unflatten(program.out_tree, results)

    @cached_property
    def likely_sizes(self) -> Mapping[str, int] | None:
        """Sizes for which the program may be in the disk cache, where it was exported for C."""
        try:
            return self.artifact.likely_sizes
        except DimSpecError:
            return None

    def read_sizes(self, shapes: Sequence[Shape]) -> dict[str, int]:
        """The named sizes for arrays of these shapes. Raises `DimMismatchError` if they were not exported."""
        try:
            return self.reader.read(shapes)
        except DimMismatchError as error:
            error.message = f"{describe(self)}: {error.message}"
            raise

    def _graph_for(self, leaves: Sequence[Any]) -> Graph:
        """The graph for checked arguments of these sizes; traced code may have its own names for sizes."""
        graph = self._graph
        if not self.reader.dims:
            return graph
        sizes: dict[str, Any] = self.read_sizes(self._shapes(leaves))
        if all(sizes[repr(dim)] is dim for dim in self.reader.dims):
            return graph
        from ...passes.lowering.fix_sizes import fix_sizes

        key = tuple(sizes.values())
        if is_symbolic_shape(key):
            return fix_sizes(graph, sizes)
        if key not in self._fixed:
            self._fixed = {key: fix_sizes(graph, sizes)}
        return self._fixed[key]

    def _shapes(self, leaves: Sequence[Any]) -> list[Shape]:
        pairs = zip(leaves, self.artifact.signature.specs, strict=True)
        return [as_seen_inside(leaf).shape for leaf, spec in pairs if isinstance(spec, ArraySpec)]

    def checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The leaves, if they are what was exported. A setting may be a container.

        Raises:
            ArgumentMismatchError: it is not.
        """
        signature = self.artifact.signature
        call = self.artifact.interface.bound(args, kwargs)
        try:
            found: Sequence[Any] = signature.tree.flatten_up_to(call)
        except ValueError:
            wanted, given = show(signature.tree), show(structure(call))
            raise ArgumentMismatchError(
                f"{describe(self)} was exported for arguments of the structure {wanted}, and is called with {given},"
                " where * is an array, a number or a setting"
            ) from None
        if self._has_ordered:
            self._check_orders(signature.tree, call)
        for leaf, spec, name in zip(found, signature.specs, self.names, strict=True):
            if isinstance(spec, StaticSpec):
                self._check_setting(leaf, spec, name)
            else:
                self._check_data(as_seen_inside(leaf), spec, name)
        if self.reader.dims:
            self._check_sizes(found)
        if self.artifact.program.mutated:
            self._check_writeable(
                [x for x, spec in zip(found, signature.specs, strict=True) if spec.is_traced]
            )
        return found

    def _check_orders(self, tree: Any, given: Any) -> None:
        """If an OrderedDict was exported, its keys must be in its order."""
        if tree.is_leaf() or tree.type is NoneType:
            return
        if issubclass(tree.type, dict):
            keys = tree.entries()
            if tree.type is OrderedDict and list(given) != keys:
                raise ArgumentMismatchError(
                    f"{describe(self)} was exported for an OrderedDict with its keys in the order {shown(keys, 120)},"
                    f" and is called with {shown(list(given), 120)}"
                )
            parts = [given[key] for key in keys]
        else:
            parts = optree.tree_flatten_one_level(given, namespace=NAMESPACE)[0]
        for child, part in zip(tree.children(), parts, strict=True):
            self._check_orders(child, part)

    def _check_sizes(self, leaves: Sequence[Any]) -> None:
        """The shapes of arrays with known sizes."""
        shapes = self._shapes(leaves)
        if all(isinstance(size, int) for shape in shapes for size in shape):
            self.read_sizes(shapes)

    def _check_writeable(self, inputs: Sequence[Any]) -> None:
        """Before any argument is updated."""
        program = self.artifact.program
        for index, _ in program.mutated:
            if is_numpy_array(inputs[index]) and not inputs[index].flags.writeable:
                raise ArgumentMismatchError(
                    f"{describe(self)} updates {program.graph.input_names[index]} in place, which is read-only: pass a"
                    " copy, .copy()"
                )

    def _check_setting(self, leaf: Any, spec: StaticSpec, name: str) -> None:
        """A setting must be the one for which the graph was made."""
        if is_array(leaf) or identity_of(leaf) != spec.identity:
            raise ArgumentMismatchError(
                f"{describe(self)}: {name} is {shown(leaf)}, and it was exported with {name} = {shown(spec.value)}:"
                " export it again for another setting"
            )

    def _check_data(self, leaf: Any, spec: Any, name: str) -> None:
        if not isinstance(leaf, DeviceArray) and not is_array_like(leaf):
            raise ArgumentMismatchError(
                f"{describe(self)}: {name} is {type(leaf).__name__}, but it was exported for {spec}"
            )
        found = leaf.type if isinstance(leaf, DeviceArray) else leaf_type(leaf, f"{describe(self)}: {name}")
        if found.dtype == spec.dtype and _fits(
            found.shape, spec.shape if isinstance(spec, ArraySpec) else ()
        ):
            return
        given = (
            str(found)
            if isinstance(leaf, np.ndarray) or is_traced(leaf)
            else f"the number {shown(leaf, 40)}, {found}"
        )
        remedy = ""
        if found.dtype != spec.dtype:
            remedy = f": convert it, np.asarray({name}, np.{spec.dtype.name})"
        raise ArgumentMismatchError(
            f"{describe(self)}: {name} is {given}, but it was exported for {spec}{remedy}"
        )

    def _check_order(self, x: Any, index: int) -> None:
        """In another order, the function's writes would reach different views and copies."""
        if is_array(x) and not x.flags.c_contiguous:
            raise ArgumentMismatchError(
                f"{describe(self)} writes through views of {self.artifact.program.graph.input_names[index]} that are"
                " views only in C order: pass np.ascontiguousarray(...)"
            )

    def _check_can_be_updated(self, inputs: Sequence[Any], index: int) -> None:
        """An updated argument must be an array that owns its memory."""
        name = self.artifact.program.graph.input_names[index]
        x = inputs[index]
        if not is_array(x):
            raise ArgumentMismatchError(
                f"{describe(self)} updates {name} in place, which must be an array, not {type(x).__name__}"
            )
        others = [other for place, other in enumerate(inputs) if place != index and _share(x, other)]
        if others:
            raise ArgumentMismatchError(
                f"{describe(self)} updates {name}, which has memory in common with another argument: pass a copy of"
                " that, .copy()"
            )


def _fits(found: Shape, wanted: Shape) -> bool:
    """Whether a shape has the right axes, and the right sizes where these have no names."""
    return len(found) == len(wanted) and all(
        isinstance(size, SymbolicSize) or other == size for other, size in zip(found, wanted, strict=True)
    )


def _share(x: Any, other: Any) -> bool:
    if is_traced(x) and is_traced(other):
        return x._storage is other._storage
    return is_numpy_array(x) and is_numpy_array(other) and np.may_share_memory(x, other)
