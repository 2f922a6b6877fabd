"""`DifferentiatedCall`: one call of a function, traced so that it can be differentiated."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import optree

from ...compiler.dtypes import dtype_name, is_complex, is_inexact
from ...compiler.errors import DTypeError, NotDifferentiableError, ShapeError, TreeMismatchError
from ...compiler.frontend.leaves import argument_names, flatten_arguments, leaf_type, path_names, weak_type
from ...compiler.frontend.program import Argument, ArrayOutput, Static
from ...compiler.frontend.traced_program import trace
from ...compiler.interpreter import depends_on
from ...compiler.ir import ArrayType, Graph
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import PYTHON_NUMBERS, as_value, is_traced
from ...compiler.value_ops import convert
from ...passes.transforms.jvp import jvp
from ...passes.transforms.linearize import linearize
from ...passes.transforms.safe_where import safe_where
from ...passes.transforms.vjp import vjp
from ..eager.by_reference import is_by_reference
from ..eager.run import as_argument, inputs_of, is_array, overwrite, run, transformed, zeros
from ..trees import check_same_structure, flatten, show
from .argnums import Chosen
from .masked_nan import warn_of_masked_nan


class DifferentiatedCall:
    """One call under a differentiating transform: its program, its primals, and the result to differentiate.

    The values of the arguments are known while tracing, so Python control flow on them works. The function gets
    copies: its writes to arguments stay inside, but writes to closed-over arrays do not, and neither do draws from a
    random generator among the arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        chosen: Chosen,
        has_aux: bool,
        safe_where: bool = False,
    ) -> None:
        self.where = chosen.where
        self.has_aux = has_aux
        self.safe_where = safe_where
        """The derivative must not be NaN because of a branch that a `where` does not choose."""
        self.primal_types: list[ArrayType] = []
        """The types of the differentiated leaves, in order."""
        self.primal_paths: list[str] = []
        self.wrt: list[bool] = []
        """Which inputs of the graph these are."""
        leaves, tree = flatten_arguments(args, kwargs, is_by_reference)
        entering: list[Argument | Static] = []
        traced: list[Any] = []
        for leaf, path, is_chosen in zip(leaves, argument_names(tree), chosen.leaves(tree), strict=True):
            if is_chosen:
                chosen.check(leaf, path)
                self.primal_types.append(leaf_type(leaf, path))
                self.primal_paths.append(path)
            if is_chosen or is_array(leaf):
                entering.append(as_argument(leaf, path, known=True, shared=False))
                traced.append(leaf)
                self.wrt.append(is_chosen)
            else:
                entering.append(Static(leaf))
        self._given = len(traced)
        self.program = trace(function, tree, entering)
        self.graph = self.program.graph
        self.inputs = inputs_of(self.program, traced)
        self.wrt += [False] * len(self.program.captured)
        self.out_tree = self._result_tree()
        self.out_leaves = self.program.out_leaves[: self.out_tree.num_leaves]
        self.out_paths = path_names(self.out_tree, "output")

    def _result_tree(self) -> Any:
        """The structure of the result without aux."""
        return self._checked_tree(self.program.out_tree)

    def _checked_tree(self, tree: Any) -> Any:
        if not self.has_aux:
            return tree
        if tree.type is not tuple or tree.num_children != 2:
            raise TreeMismatchError(
                f"{self.where}: with has_aux=True the function must return a pair (output, aux), not "
                f"{show(tree)}"
            )
        return tree.children()[0]

    # ---- outputs -----------------------------------------------------------------------------------------

    def type_of(self, leaf: ArrayOutput) -> ArrayType:
        return self.graph.outputs[leaf.index].type

    def marked(self, leaves: Sequence[ArrayOutput]) -> list[bool]:
        """Which outputs of the graph these leaves of the result are."""
        chosen = {leaf.index for leaf in leaves}
        return [i in chosen for i in range(len(self.graph.outputs))]

    def floating(self) -> list[ArrayOutput]:
        """The outputs that have tangents. Other numbers and arrays have zeros; other objects are an error."""
        for leaf, path in zip(self.out_leaves, self.out_paths, strict=True):
            if isinstance(leaf, Static) and not isinstance(leaf.value, PYTHON_NUMBERS):
                raise self._not_an_array(leaf, path)
        arrays = [leaf for leaf in self.out_leaves if isinstance(leaf, ArrayOutput)]
        return [leaf for leaf in arrays if is_inexact(self.type_of(leaf).dtype)]

    def differentiable(self) -> list[ArrayOutput]:
        """The outputs, all of which must be floating-point arrays; at least one."""
        if not self.out_leaves:
            raise NotDifferentiableError(
                f"{self.where}: the function returns {show(self.out_tree)}, which holds no array"
            )
        leaves = []
        for leaf, path in zip(self.out_leaves, self.out_paths, strict=True):
            if isinstance(leaf, Static):
                raise self._not_an_array(leaf, path)
            dtype = self.type_of(leaf).dtype
            if not is_inexact(dtype):
                raise NotDifferentiableError(
                    f"{self.where}: {path} has dtype {dtype_name(dtype)}, which has no derivative"
                )
            leaves.append(leaf)
        return leaves

    def _not_an_array(self, leaf: Static, path: str) -> NotDifferentiableError:
        return NotDifferentiableError(
            f"{self.where}: {path} is {type(leaf.value).__name__}, not an array. Return it as aux, with "
            "has_aux=True"
        )

    def check_complex(self, leaves: Sequence[ArrayOutput], *, holomorphic: bool) -> None:
        """Complex primals and outputs need ``holomorphic=True``, which needs only complex ones."""
        dtypes = [type.dtype for type in self.primal_types]
        dtypes += [self.type_of(leaf).dtype for leaf in leaves]
        for dtype, path in zip(dtypes, [*self.primal_paths, *self.out_paths], strict=True):
            if is_complex(dtype) and not holomorphic:
                raise NotDifferentiableError(
                    f"{self.where}: {path} is complex: pass holomorphic=True if the function is"
                )
            if holomorphic and not is_complex(dtype):
                raise NotDifferentiableError(
                    f"{self.where}: holomorphic=True needs complex arguments and results, but {path} has "
                    f"dtype {dtype_name(dtype)}"
                )

    def check_dependence(self, leaves: Sequence[ArrayOutput]) -> None:
        """Every output must depend on the primals."""
        reached = depends_on(self.graph, self.wrt)
        self._check_that_all_depend(
            {leaf.index for leaf in leaves if self.graph.outputs[leaf.index] in reached}
        )

    def _check_that_all_depend(self, depending: set[int]) -> None:
        for leaf, path in zip(self.out_leaves, self.out_paths, strict=True):
            if isinstance(leaf, Static) or leaf.index not in depending:
                raise NotDifferentiableError(
                    f"{self.where}: {path} does not depend on the primals (strict=True)"
                )

    # ---- derivatives ------------------------------------------------------------------------------------

    def jvp(self, leaves: Sequence[ArrayOutput]) -> Graph:
        """The graph that pushes tangents forward; see `passes.transforms.jvp`."""
        pushed = transformed(partial(jvp, wrt=self.wrt, of=self.marked(leaves)), self.graph)
        return self._masked(pushed, len(self.graph.inputs)) if self.safe_where else pushed

    def linearize(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, Graph]:
        """The graphs that compute the residuals, and the derivative; see `passes.transforms.linearize`."""
        forward, linear = transformed(partial(linearize, wrt=self.wrt, of=self.marked(leaves)), self.graph)
        known = len(linear.inputs) - sum(self.wrt)
        return forward, self._masked(linear, known) if self.safe_where else linear

    def vjp(self, leaves: Sequence[ArrayOutput], *, safe: bool = False) -> tuple[Graph, Graph]:
        """The graphs that compute the residuals, and the backward pass; see `passes.transforms.vjp`.

        `safe` is ``safe_where=True``.
        """
        safe = safe or self.safe_where
        return transformed(partial(vjp, wrt=self.wrt, of=self.marked(leaves), safe=safe), self.graph)

    def _masked(self, graph: Graph, known: int) -> Graph:
        marks = [place >= known for place in range(len(graph.inputs))]
        return transformed(partial(safe_where, linear=marks), graph)

    def warn_of_masked_nan(self, found: Iterable[Any], again: Callable[[], Sequence[Any]]) -> None:
        """Warn of a NaN in a derivative that ``safe_where=True``, as computed by `again`, would not have.

        In reverse mode: in forward mode, a branch that is not chosen does not reach the result, whatever it is.
        """
        if not self.safe_where:
            warn_of_masked_nan(self.where, self.graph, found, again)

    # ---- running -----------------------------------------------------------------------------------------

    def run_forward(self, forward: Graph) -> tuple[list[Any], list[Any]]:
        """``(outputs, residuals)`` of a graph that computes the function and more."""
        return self.split(run(forward, self.inputs))

    def split(self, results: list[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs of the function and the others; captured arrays are updated."""
        count = len(self.graph.outputs)
        outputs, rest = results[:count], results[count:]
        for index, output in self.program.mutated:
            if index >= self._given:
                overwrite(self.inputs[index], outputs[output])
        return outputs, rest

    def forget_arrays(self) -> None:
        """Release the inputs: later calls need the residuals and no other array."""
        del self.inputs, self.program

    def value(self, outputs: Sequence[Any]) -> tuple[Any, Any]:
        """``(result, aux)``; aux is None unless asked for."""
        result = self.program.result(outputs)
        return result if self.has_aux else (result, None)

    # ---- tangents ----------------------------------------------------------------------------------------

    def tangent_tree(self, leaves: Sequence[ArrayOutput], tangents: Sequence[Any]) -> Any:
        """Tangents of `leaves` in the structure of the result, with zeros for the other outputs."""
        given = {leaf.index: tangent for leaf, tangent in zip(leaves, tangents, strict=True)}

        def tangent(leaf: "ArrayOutput | Static") -> Any:
            if isinstance(leaf, Static):
                return type(leaf.value)(0)
            return given[leaf.index] if leaf.index in given else zeros(self.type_of(leaf))

        return optree.tree_unflatten(self.out_tree, list(map(tangent, self.out_leaves)))

    def directions(self, tangents: tuple[Any, ...], primals: Any) -> list[Any]:
        """Tangents as a flat list; they must have the structure `primals`, and the shapes and dtypes."""
        flat, tree = flatten(tangents)
        check_same_structure(f"{self.where}: tangents", tree, primals)
        return [
            fitting(tangent, type, type.shape, f"{self.where}: {path}", casting="no")
            for tangent, type, path in zip(flat, self.primal_types, path_names(tree, "tangents"), strict=True)
        ]


def fitting(given: Any, type: ArrayType, shape: tuple[int, ...], where: str, *, casting: Any) -> Any:
    """A tangent or cotangent of exactly this shape, and of this dtype or one that `casting` allows.

    Python numbers fit every dtype that can hold them.
    """
    found = leaf_type(given, where)
    if found.shape != shape:
        raise ShapeError(f"{where} has shape {found.shape}, expected {shape}")
    if found.dtype == type.dtype:
        return given
    weak = weak_type(given)
    fits = (
        np.can_cast(found.dtype, type.dtype, casting)
        if weak is None
        else np.result_type(weak(0), type.dtype) == type.dtype
    )
    if not fits:
        raise DTypeError(f"{where} has dtype {dtype_name(found.dtype)}, expected {dtype_name(type.dtype)}")
    if current_trace() is not None:
        return convert(as_value(given), type.dtype)
    return given.astype(type.dtype) if is_traced(given) else np.asarray(given, type.dtype)
