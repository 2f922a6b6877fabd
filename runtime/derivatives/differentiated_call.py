"""`DifferentiatedCall`: one call of a function under a differentiating transform.

`TracedDerivative` traces the function, `EvaluatedDerivative` runs it with numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import argument_names, leaf_type, path_names, weak_type
from ...compiler.dtypes import dtype_name, is_complex, is_inexact
from ...compiler.errors import DTypeError, NotDifferentiableError, ShapeError, TreeMismatchError
from ...compiler.frontend.program import ArrayOutput, Static
from ...compiler.ir import ArrayType, Graph
from ...compiler.tracing.array_values import PYTHON_NUMBERS, as_value
from ...compiler.tracing.outside.foreign_array import in_native_order
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import convert
from ...passes.transforms.safe_where import safe_where
from ..eager.run import run, transformed, zeros
from ..trees import check_same_structure, flatten, show
from .argnums import Chosen


class DifferentiatedCall(ABC):
    """One call: its primals, the result to differentiate, and the graphs of its derivatives.

    The values of the arguments are known while the function runs, so Python control flow on them works. The function
    gets copies: its writes to arguments stay inside, but writes to closed-over arrays do not, and neither do draws from
    a random generator among the arguments.
    """

    primal_types: list[ArrayType]
    """The types of the differentiated leaves, in order."""
    inputs: list[Any]
    """The arrays with which `run_forward` calls a graph."""
    out_tree: Any
    """The structure of the result without aux."""
    out_leaves: Sequence[ArrayOutput | Static]
    batch: tuple[int, ...] = ()
    """The first axes of all arrays in the graphs of the derivative: the size of the batch that it is computed for."""

    def __init__(self, chosen: Chosen, arguments: Any, has_aux: bool, safe_where: bool) -> None:
        """`arguments` is the structure of the arguments."""
        self._argnums, self._function = (
            chosen.argnums,
            chosen.function,
        )  # without the arguments, which need memory
        self._arguments = arguments
        self._is_chosen = chosen.leaves(arguments)
        self.has_aux = has_aux
        self.safe_where = safe_where
        """The derivative must not be NaN because of a branch that a `where` does not choose."""

    # ---- names -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the function, for the graphs of its derivatives."""

    @property
    def where(self) -> str:
        """The transform of the function, in messages."""
        return self._argnums.named(self._function)

    @property
    def primal_paths(self) -> list[str]:
        names = argument_names(self._arguments)
        return [name for name, is_chosen in zip(names, self._is_chosen, strict=True) if is_chosen]

    @property
    def out_paths(self) -> list[str]:
        return path_names(self.out_tree, "output")

    # ---- outputs -----------------------------------------------------------------------------------------

    def _without_aux(self, tree: Any) -> Any:
        """The structure of the result without aux."""
        if not self.has_aux:
            return tree
        if tree.type is not tuple or tree.num_children != 2:
            raise TreeMismatchError(
                f"{self.where}: with has_aux=True the function must return a pair (output, aux), not "
                f"{show(tree)}"
            )
        return tree.children()[0]

    @abstractmethod
    def type_of(self, leaf: ArrayOutput) -> ArrayType:
        """The type of a leaf of the result."""

    def floating(self) -> list[ArrayOutput]:
        """The outputs that have tangents. Other numbers and arrays have zeros; other objects are an error."""
        for number, leaf in enumerate(self.out_leaves):
            if isinstance(leaf, Static) and not isinstance(leaf.value, PYTHON_NUMBERS):
                raise self._not_an_array(leaf, self.out_paths[number])
        arrays = [leaf for leaf in self.out_leaves if isinstance(leaf, ArrayOutput)]
        return [leaf for leaf in arrays if is_inexact(self.type_of(leaf).dtype)]

    def differentiable(self) -> list[ArrayOutput]:
        """The outputs, all of which must be floating-point arrays; at least one."""
        if not self.out_leaves:
            raise NotDifferentiableError(
                f"{self.where}: the function returns {show(self.out_tree)}, which holds no array"
            )
        leaves = []
        for number, leaf in enumerate(self.out_leaves):
            if isinstance(leaf, Static):
                raise self._not_an_array(leaf, self.out_paths[number])
            dtype = self.type_of(leaf).dtype
            if not is_inexact(dtype):
                raise NotDifferentiableError(
                    f"{self.where}: {self.out_paths[number]} has dtype {dtype_name(dtype)}, which has no derivative"
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
        depending = self._depending(leaves)
        for leaf, path in zip(self.out_leaves, self.out_paths, strict=True):
            if isinstance(leaf, Static) or leaf.index not in depending:
                raise NotDifferentiableError(
                    f"{self.where}: {path} does not depend on the primals (strict=True)"
                )

    @abstractmethod
    def _depending(self, leaves: Sequence[ArrayOutput]) -> set[int]:
        """The indices of those of the leaves that depend on the primals."""

    # ---- derivatives ------------------------------------------------------------------------------------

    @abstractmethod
    def jvp(self, leaves: Sequence[ArrayOutput]) -> Graph:
        """The graph from `inputs` and tangents to the outputs and their tangents."""

    @abstractmethod
    def linearize(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, Graph]:
        """The graphs that compute the outputs and the residuals, and the derivative."""

    @abstractmethod
    def vjp(self, leaves: Sequence[ArrayOutput], *, safe: bool = False) -> tuple[Graph, Graph]:
        """The graphs that compute the outputs and the residuals, and the backward pass.

        `safe` is ``safe_where=True``.
        """

    @abstractmethod
    def warn_of_masked_nan(self, found: Iterable[Any], again: Callable[[], Sequence[Any]]) -> None:
        """Warn of a NaN in a derivative that ``safe_where=True``, as computed by `again`, would not have.

        In reverse mode: in forward mode, a branch that is not chosen does not reach the result, whatever it is.
        """

    def _masked(self, graph: Graph, known: int) -> Graph:
        """A graph that is linear in its inputs after the first `known`, with ``safe_where=True``."""
        marks = [place >= known for place in range(len(graph.inputs))]
        return transformed(partial(safe_where, linear=marks), graph)

    # ---- running -----------------------------------------------------------------------------------------

    def run_forward(self, forward: Graph) -> tuple[list[Any], list[Any]]:
        """``(outputs, residuals)`` of a graph that computes the function and more."""
        return self.split(run(forward, self.inputs))

    def computing(self) -> AbstractContextManager[Any]:
        """In this block, the graphs of the derivative run."""
        return nullcontext()

    def of_example(self, found: Any) -> Any:
        """What a graph of the derivative has computed, as an array of one example of the batch."""
        return found

    @abstractmethod
    def split(self, results: list[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs of the function and the others; captured arrays are updated."""

    @abstractmethod
    def forget_arrays(self) -> None:
        """Release the inputs: later calls need the residuals and no other array."""

    @abstractmethod
    def value(self, outputs: Sequence[Any]) -> tuple[Any, Any]:
        """``(result, aux)``; aux is None unless asked for."""

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
        types = self.primal_types
        if primals.num_nodes == len(types) + 1 == len(tangents) + 1 and all(
            type(one) is np.ndarray and one.dtype is type_.dtype and one.shape == type_.shape
            for one, type_ in zip(tangents, types, strict=True)
        ):
            return list(tangents)
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
    given = in_native_order(given)
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
