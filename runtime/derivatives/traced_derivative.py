"""`TracedDerivative`: one call of a function, traced so that it can be differentiated."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any

from ...compiler.arguments.leaves import argument_names, flatten_arguments, leaf_type
from ...compiler.frontend.program import Argument, ArrayOutput, Static
from ...compiler.frontend.traced_program import trace
from ...compiler.interpreter import depends_on
from ...compiler.ir import ArrayType, Graph
from ...compiler.tracing.trace import current_trace
from ...passes.transforms.jvp import jvp
from ...passes.transforms.linearize import linearize
from ...passes.transforms.vjp import vjp
from ..eager.by_reference import is_by_reference
from ..eager.run import as_argument, inputs_of, is_array, overwrite, transformed
from ..evaluation.shared_arguments import refuse_shared_writes
from .argnums import Chosen
from .differentiated_call import DifferentiatedCall
from .masked_nan import warn_of_masked_nan


class TracedDerivative(DifferentiatedCall):
    """The program of a function; its derivative is another program."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        chosen: Chosen,
        has_aux: bool,
        safe_where: bool = False,
    ) -> None:
        leaves, tree = flatten_arguments(args, kwargs, is_by_reference)
        super().__init__(chosen, tree, has_aux, safe_where)
        self.primal_types = []
        self.wrt: list[bool] = []
        """Which inputs of the graph are differentiated."""
        entering: list[Argument | Static] = []
        traced: list[Any] = []
        for leaf, path, is_chosen in zip(leaves, argument_names(tree), self._is_chosen, strict=True):
            if is_chosen:
                chosen.check(leaf, path)
                self.primal_types.append(leaf_type(leaf, path))
            if is_chosen or is_array(leaf):
                entering.append(as_argument(leaf, path, known=True, shared=False))
                traced.append(leaf)
                self.wrt.append(is_chosen)
            else:
                entering.append(Static(leaf))
        self._given = len(traced)
        self.program = trace(function, tree, entering)
        self._refuse_shared_writes(function, tree, leaves, entering)
        self.graph = self.program.graph
        self.inputs = inputs_of(self.program, traced)
        self.wrt += [False] * len(self.program.captured)
        self.out_tree = self._without_aux(self.program.out_tree)
        self.out_leaves = self.program.out_leaves[: self.out_tree.num_leaves]

    def _refuse_shared_writes(
        self,
        function: Callable[..., Any],
        tree: Any,
        leaves: list[Any],
        entering: Sequence[Argument | Static],
    ) -> None:
        mutated = {index for index, _ in self.program.mutated}
        numbers = count()
        written = [isinstance(one, Argument) and next(numbers) in mutated for one in entering]
        refuse_shared_writes(function, tree, leaves, written)
        if any(written) and (around := current_trace()) is not None:
            around.outermost().writes_to_copies = True

    @property
    def name(self) -> str:
        return self.graph.name

    def type_of(self, leaf: ArrayOutput) -> ArrayType:
        return self.graph.outputs[leaf.index].type

    def _marked(self, leaves: Sequence[ArrayOutput]) -> list[bool]:
        """Which outputs of the graph these leaves of the result are."""
        chosen = {leaf.index for leaf in leaves}
        return [i in chosen for i in range(len(self.graph.outputs))]

    def _depending(self, leaves: Sequence[ArrayOutput]) -> set[int]:
        reached = depends_on(self.graph, self.wrt)
        return {leaf.index for leaf in leaves if self.graph.outputs[leaf.index] in reached}

    # ---- derivatives ------------------------------------------------------------------------------------

    def jvp(self, leaves: Sequence[ArrayOutput]) -> Graph:
        """See `passes.transforms.jvp`."""
        pushed = transformed(partial(jvp, wrt=self.wrt, of=self._marked(leaves)), self.graph)
        return self._masked(pushed, len(self.graph.inputs)) if self.safe_where else pushed

    def linearize(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, Graph]:
        """See `passes.transforms.linearize`."""
        forward, linear = transformed(partial(linearize, wrt=self.wrt, of=self._marked(leaves)), self.graph)
        known = len(linear.inputs) - sum(self.wrt)
        return forward, self._masked(linear, known) if self.safe_where else linear

    def vjp(self, leaves: Sequence[ArrayOutput], *, safe: bool = False) -> tuple[Graph, Graph]:
        """See `passes.transforms.vjp`."""
        safe = safe or self.safe_where
        return transformed(partial(vjp, wrt=self.wrt, of=self._marked(leaves), safe=safe), self.graph)

    def warn_of_masked_nan(self, found: Iterable[Any], again: Callable[[], Sequence[Any]]) -> None:
        if not self.safe_where:
            warn_of_masked_nan(self.where, self.graph, found, again)

    # ---- running -----------------------------------------------------------------------------------------

    def split(self, results: list[Any]) -> tuple[list[Any], list[Any]]:
        count = len(self.graph.outputs)
        outputs, rest = results[:count], results[count:]
        for index, output in self.program.mutated:
            if index >= self._given:
                overwrite(self.inputs[index], outputs[output])
        return outputs, rest

    def forget_arrays(self) -> None:
        del self.inputs, self.program

    def value(self, outputs: Sequence[Any]) -> tuple[Any, Any]:
        result = self.program.result(outputs)
        return result if self.has_aux else (result, None)
