"""`custom_rule`: your own derivative, batching or transpose of a function, instead of a derived one."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, TypeAlias, overload

import numpy as np

from ...compiler.arguments.leaves import argument_names, flatten_arguments
from ...compiler.builder import bind_all
from ...compiler.callers.function_names import describe, function_name
from ...compiler.dtypes import is_inexact
from ...compiler.errors import CustomRuleError, TransformArgumentError, TransformTypeError
from ...compiler.frontend.conversion import converted
from ...compiler.frontend.program import Argument, Static
from ...compiler.frontend.traced_program import trace
from ...compiler.nesting import shown
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_array import wrap
from ..derivatives.stop_gradient import stop_gradient
from ..eager.current_tape import is_recording, joined
from ..eager.run import as_argument, inputs_of, is_array, require_function, with_own_memory
from ..tracebacks import with_users_frames
from .rule_graphs import MAKERS
from .rule_site import Returned, RuleSite, line_of, named

Rule: TypeAlias = Callable[..., Any]


class CustomRule:
    """A function with its own rules. Made by `custom_rule`; call it like the function it wraps.

    Its methods `jvp`, `vjp`, `batch` and `transpose` add rules. Each returns the function, so you can use them as
    decorators and chain them.

    >>> import numpy as np, tracemill as tm
    >>> @tm.custom_rule
    ... def cube(x):
    ...     return x**3
    >>> @cube.jvp
    ... def _(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return cube(x), 3 * x**2 * dx
    >>> tm.grad(cube)(2.0)
    np.float64(12.0)
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Rule, nondiff: tuple[str, ...]) -> None:
        self._function = function
        self._nondiff = nondiff
        self._signature = _signature(function)
        self._rules: dict[str, Any] = {}
        self._where = f"custom_rule({describe(function)})"
        update_wrapper(self, function, updated=())
        for name in nondiff:
            if self._signature is None or name not in self._signature.parameters:
                raise TransformArgumentError(
                    f"{self._where}: nondiff names {shown(name)}, which is not a parameter"
                )

    # ---- rules ---------------------------------------------------------------------------------------

    def jvp(self, rule: Rule) -> "CustomRule":
        """``rule(primals, tangents, **nondiff) -> (output, tangent)``: forward mode, and reverse mode by transposing
        it.

        `primals` and `tangents` are tuples with an entry per argument that is not nondiff; arguments without a
        tangent, such as integers, have None. The tangent has the structure of the output and must be linear in
        `tangents`; None in it stands for zero.
        """
        return self._with("jvp", rule)

    def vjp(self, forward: Rule, backward: Rule) -> "CustomRule":
        """Reverse mode, and forward mode by transposing `backward` if that is linear.

        ``forward(*args, **kwargs) -> (output, residuals)`` is called like the function; the residuals are any pytree.
        ``backward(residuals, cotangents, **nondiff)`` returns a tuple with one cotangent per argument that is not
        nondiff, None for zero.
        """
        require_function(f"{self._where}.vjp", backward)
        self._rules["backward"] = backward
        return self._with("vjp", forward)

    def batch(self, rule: Rule) -> "CustomRule":
        """``rule(size, mapped, *primals, **nondiff) -> output``: what `vmap` runs.

        `mapped` has the structure of `primals`: True for an array with the batch, of that size, as its first axis.
        All arrays of the output must have it. Not called if a nondiff array is mapped.
        """
        return self._with("batch", rule)

    def transpose(self, rule: Rule) -> "CustomRule":
        """``rule(cotangents, **nondiff)``: one cotangent per argument that is not nondiff, as a tuple.

        Declares that the function is linear in these arguments together, so that it is its own derivative.
        """
        return self._with("transpose", rule)

    def _with(self, kind: str, rule: Rule) -> "CustomRule":
        require_function(f"{self._where}.{kind}", rule)
        self._rules[kind] = rule
        return self

    # ---- calling -------------------------------------------------------------------------------------

    @with_users_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._rules or not is_recording(flatten_arguments(args, kwargs)[0]):
            return with_own_memory(f"the result of {self._where}", self._function(*args, **kwargs))
        primals, settings = self._bound(args, kwargs)
        leaves, tree = flatten_arguments(primals, settings)
        count = tree.children()[0].num_leaves
        entering: list[Argument | Static] = []
        arrays: list[Any] = []
        differentiable: list[bool] = []
        for place, (leaf, name) in enumerate(zip(leaves, argument_names(tree), strict=True)):
            if not is_array(leaf):
                entering.append(Static(leaf))
                continue
            arrays.append(leaf if place < count else stop_gradient(leaf))
            entering.append(as_argument(leaf, name, known=True, shared=False))
            differentiable.append(place < count and is_inexact(leaf.dtype))
        program = trace(self._as_called(self._function), tree, entering)
        if program.mutated:
            raise CustomRuleError(
                f"{self._where}: the function writes to its arguments or to arrays from outside, which no rule "
                "can see: return the new values instead",
                line_of(self._function),
            )
        differentiable += [False] * len(program.captured)
        site = RuleSite(
            describe(self._function),
            self._rules,
            self._as_called,
            tree,
            tuple(map(_forgetting, entering)),
            tuple(differentiable),
            tuple(v.type for v in program.graph.inputs[len(arrays) :]),
            Returned.of(program),
        )
        rules: dict[str, Any] = {kind: make(site) for kind, make in MAKERS.items() if kind in self._rules}
        with joined():
            inputs = [as_value(x) for x in inputs_of(program, arrays)]
            outputs = bind_all(
                "custom_rule", *inputs, graph=program.graph, differentiable=site.differentiable, **rules
            )
            return program.result(list(map(wrap, outputs)))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._where} with {', '.join(sorted(self._rules)) or 'no rule'}>"

    def __reduce__(self) -> Any:
        """Pickled by name: rules are added to the function that has it."""
        return self.__qualname__

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position, except the nondiff ones, which are passed by name."""
        if self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        primals = tuple(value for name, value in given.items() if name not in self._nondiff)
        return primals, {name: given[name] for name in self._nondiff}

    def _as_called(self, function: Rule) -> Rule:
        """A function with the signature of this one, as a function of `_bound` arguments."""
        signature = self._signature
        if signature is None:
            return function

        def called(*primals: Any, **settings: Any) -> Any:
            rest = iter(primals)
            values = {
                name: settings[name] if name in settings else next(rest) for name in signature.parameters
            }
            arguments = inspect.BoundArguments(signature, values)
            return converted(function)(*arguments.args, **arguments.kwargs)

        return named(called, function_name(self._function), self._primal_names())

    def _primal_names(self) -> list[str]:
        """The parameters that are not nondiff."""
        parameters = () if self._signature is None else self._signature.parameters
        return [name for name in parameters if name not in self._nondiff]


@overload
def custom_rule(function: Rule, /, *, nondiff: str | Sequence[str] = ...) -> CustomRule: ...


@overload
def custom_rule(
    function: None = None, /, *, nondiff: str | Sequence[str] = ...
) -> Callable[[Rule], CustomRule]: ...


def custom_rule(function: Rule | None = None, /, *, nondiff: Any = ()) -> Any:
    """Give a function its own rules: a derivative, a batched form, a transpose.

    Works as ``@tm.custom_rule`` and ``@tm.custom_rule(nondiff=…)``. The result accepts rules through its methods;
    missing rules are derived. Without a `vjp` rule, reverse mode is the transpose of the `jvp` rule. Without a `jvp`
    rule, forward mode is the transpose of the `vjp` rule's backward function. A batch maps the rules.

    Args:
        function: any function of arrays, numbers and pytrees of them that does not write to them.
        nondiff: parameters without a derivative. Rules get them by name; no derivative flows into them.

    Returns:
        A `CustomRule`: call it like `function`.

    Raises:
        TransformArgumentError: (a ValueError) `nondiff` names no parameter.
        TransformTypeError: (a TypeError) `function` is not a function, or `nondiff` does not hold names.
        CustomRuleError: (when a transform uses a rule) it returned another number, structure, shape or dtype of
            things than it must, or a `jvp` rule is not linear in the tangents.

    Rules are traced without values: Python control flow on arrays raises `ConcretizationError`. Outside arrays that a
    rule uses are constants in it.

    >>> import numpy as np, tracemill as tm
    >>> @tm.custom_rule(nondiff="limit")
    ... def clip_gradient(x, limit):
    ...     return x
    >>> _ = clip_gradient.vjp(
    ...     lambda x, limit: (x, None),
    ...     lambda residuals, ct, limit: (np.clip(ct, -limit, limit),),
    ... )
    >>> tm.grad(lambda x: 5 * clip_gradient(x, 1.0))(2.0)
    np.float64(1.0)
    """
    names = (nondiff,) if isinstance(nondiff, str) else nondiff
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TransformTypeError(f"custom_rule: nondiff must be names of parameters, not {shown(nondiff)}")
    if function is None:
        return partial(custom_rule, nondiff=names)
    require_function("custom_rule", function)
    return CustomRule(function, tuple(names))


def _signature(function: Rule) -> inspect.Signature | None:
    """The parameters of a function; None for a ufunc, whose defaults exclude each other, and for functions without a
    signature."""
    if isinstance(function, np.ufunc):
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _forgetting(leaf: Argument | Static) -> Argument | Static:
    """Rules are traced later, when the current values may be gone."""
    return leaf if isinstance(leaf, Static) else replace(leaf, known=None)
