"""`grad`, `grad_and_value` and `value_and_grad`: derivatives of functions that return one number."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...compiler.dtypes import dtype_name, is_complex, is_inexact
from ...compiler.errors import NonScalarOutputError, NotDifferentiableError
from ...compiler.frontend.program import ArrayOutput
from ...compiler.nesting import shown
from ...compiler.value_ops import constant
from ..eager.converting import Convert, converting
from ..eager.run import like_function, run, zeros
from ..tracebacks import with_users_frames
from ..trees import show
from .argnums import Argnums
from .differentiated import differentiated
from .differentiated_call import DifferentiatedCall
from .evaluated_derivative import EvaluatedDerivative

Numbers: TypeAlias = int | Sequence[int] | None
Names: TypeAlias = str | Sequence[str] | None


@with_users_frames
def grad(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    safe_where: bool = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """The gradient of a function that returns one real number.

    Args:
        func: returns a 0-d float, or ``(float, aux)`` with ``has_aux=True``.
        argnums: which positional arguments to differentiate: an int (default 0) gives a bare gradient, a
            tuple gives a tuple. A pytree argument gives a gradient of the same structure, shapes and dtypes.
        argnames: keyword arguments to differentiate; gives a dict by name, beside `argnums` if both are
            given.
        holomorphic: the function is holomorphic; arguments and result are complex, the result is its
            derivative.
        safe_where: what a `where` does not choose has the derivative 0, also where its slope is infinite:
            ``where(x > 0, sqrt(x), 0)`` has the derivative 0 at 0. Without it that is NaN, with a `MaskedNaNWarning`.
        convert: whose code is converted, so that ``if`` and ``while`` on values that are traced become branches and
            loops: True (your own modules'), False (none), names of libraries such as ``("mylib",)``, or None: as the
            function around this call.

    Returns:
        A function with the arguments of `func` that returns the gradient, or ``(gradient, aux)``.

    Raises:
        NonScalarOutputError: (a TypeError) when the function returns an array or several things.
        TransformArgumentError: (a ValueError) for an argument that does not exist or is chosen twice.
        TransformTypeError: (a TypeError) for arguments that have no derivative, such as integers.

    Python control flow on values works. For complex arguments the gradient points uphill: d|z| at 1j is 1j.

    >>> import numpy as np
    >>> grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    func = converting(func, convert)
    both = Gradient("grad", func, argnums, has_aux, argnames, holomorphic, safe_where)

    @like_function(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        grads, _, aux = both(args, kwargs)
        return (grads, aux) if has_aux else grads

    return gradient


@with_users_frames
def grad_and_value(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    safe_where: bool = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """As `grad`, returning ``(gradient, value)``, or ``(gradient, (value, aux))`` with ``has_aux=True``.

    >>> import numpy as np
    >>> grad_and_value(np.sin)(0.0)
    (np.float64(1.0), np.float64(0.0))
    """
    func = converting(func, convert)
    both = Gradient("grad_and_value", func, argnums, has_aux, argnames, holomorphic, safe_where)

    @like_function(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        grads, value, aux = both(args, kwargs)
        return (grads, (value, aux)) if has_aux else (grads, value)

    return gradient_and_value


@with_users_frames
def value_and_grad(
    func: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    holomorphic: bool = False,
    safe_where: bool = False,
    convert: Convert = None,
) -> Callable[..., Any]:
    """As `grad`, returning ``(value, gradient)``, or ``((value, aux), gradient)`` with ``has_aux=True``.

    >>> import numpy as np
    >>> value_and_grad(np.sin)(0.0)
    (np.float64(0.0), np.float64(1.0))
    """
    func = converting(func, convert)
    both = Gradient("value_and_grad", func, argnums, has_aux, argnames, holomorphic, safe_where)

    @like_function(func)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        grads, value, aux = both(args, kwargs)
        return ((value, aux), grads) if has_aux else (value, grads)

    return value_and_gradient


class Gradient:
    """What `grad`, `grad_and_value` and `value_and_grad` share."""

    def __init__(
        self,
        transform: str,
        func: Callable[..., Any],
        argnums: Numbers,
        has_aux: bool,
        argnames: Names = None,
        holomorphic: bool = False,
        safe_where: bool = False,
    ) -> None:
        self.func, self.has_aux, self.holomorphic = func, has_aux, holomorphic
        self.safe_where = safe_where
        self.argnums = Argnums(transform, argnums, argnames)
        self._needs_value = has_aux or transform != "grad"

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        """``(gradients, value, aux)``; of `grad` without aux, the value is None if the function has run."""
        chosen = self.argnums.choose(self.func, args, kwargs)
        call = differentiated(self.func, args, kwargs, chosen, self.has_aux, self.safe_where, by_sweep=True)
        number = self._number(call)
        gradients: list[Any]
        is_evaluated = isinstance(call, EvaluatedDerivative)
        if isinstance(call, EvaluatedDerivative):
            gradients = self._evaluated(call, number)
            outputs = call.values(keeps=False) if self._needs_value else []
        elif number is None:
            outputs, _ = call.run_forward(call.graph)
            gradients = list(map(zeros, call.primal_types))
        else:
            forward, backward = call.vjp([number])
            outputs, residuals = call.run_forward(forward)
            given = [*residuals, constant(1, call.type_of(number).dtype)]
            gradients = run(backward, given)
            call.warn_of_masked_nan(gradients, lambda: run(call.vjp([number], safe=True)[1], given))
        if self.holomorphic:  # the derivative itself, not the direction uphill
            gradients = list(map(np.conjugate, gradients))
        if is_evaluated and not self._needs_value:
            return chosen.rebuild(gradients), None, None
        value, aux = call.value(outputs)
        return chosen.rebuild(gradients), value, aux

    def _evaluated(self, call: EvaluatedDerivative, number: ArrayOutput | None) -> list[Any]:
        """The gradients of a function that has run."""
        leaves = [] if number is None else [number]
        seeds = [np.array(1, call.type_of(leaf).dtype) for leaf in leaves]
        if self.safe_where and leaves:
            return call.pulled_with_masks(leaves, seeds)
        gradients = call.pull_back(leaves, seeds)
        call.warn_of_masked_nan(gradients, lambda: call.pulled_with_masks(leaves, seeds))
        if type(call) is EvaluatedDerivative and call.taped is None:  # nothing differentiates the call again
            call.release()
        return gradients

    def _number(self, call: DifferentiatedCall) -> ArrayOutput | None:
        """The output to differentiate; None if it is a Python float, which depends on nothing."""
        if call.out_tree.num_nodes != 1 or len(call.out_leaves) != 1:
            raise NonScalarOutputError(
                f"{call.where}: the function must return one number, not {show(call.out_tree)}. Use "
                "has_aux=True to return more than the number, vjp or jacrev for several arrays"
            )
        (leaf,) = call.out_leaves
        if not isinstance(leaf, ArrayOutput):
            if not isinstance(leaf.value, float):
                raise NonScalarOutputError(
                    f"{call.where}: the function must return a float, not {type(leaf.value).__name__}: "
                    f"{shown(leaf.value)}"
                )
            return None
        type_ = call.type_of(leaf)
        if type_.shape:
            raise NonScalarOutputError(
                f"{call.where}: the function must return one number, not an array of shape {type_.shape}. "
                "Sum it, or use vjp or jacrev for the derivative of an array"
            )
        if not is_inexact(type_.dtype):
            raise NotDifferentiableError(
                f"{call.where}: the result has dtype {dtype_name(type_.dtype)}, which has no derivative"
            )
        if self.holomorphic:
            call.check_complex([leaf], holomorphic=True)
        elif is_complex(type_.dtype):
            raise NotDifferentiableError(
                f"{call.where}: the result is complex. Return a real number, or pass holomorphic=True if the "
                "function is"
            )
        return leaf
