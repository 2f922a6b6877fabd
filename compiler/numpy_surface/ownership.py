"""Whether results own their memory (``x.flags.owndata``): many of NumPy's are views of internal arrays.

``np.require(x, requirements="O")`` copies arrays that do not own their memory, and shares those that do. A function
that is in no table here keeps the default: new arrays own their memory, and views do not.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from ..ops.installed_numpy import EIGENVALUES_MAY_BE_REAL, TENSORSOLVE_OWNS
from ..tracing.array_values import as_value
from ..tracing.registry import FUNCTIONS, enter_all
from ..tracing.traced_array import TracedArray, wrap
from ..tracing.traced_memory import is_traced
from .result_order import arrays_among, function_named, signature_of, tuple_like

Rule: TypeAlias = Callable[[dict[str, Any], TracedArray], bool | None]
"""From the arguments by name and a new array that the function returns, to its flag; None if that is not known."""

_RULES: dict[str, Rule] = {}


def give_results_numpys_ownership() -> None:
    """Wrap the registered functions that have a rule."""
    for name, rule in _RULES.items():
        function = function_named(name)
        if function in FUNCTIONS:
            FUNCTIONS[function] = _owned(function, name, rule)


def _owned(function: Any, name: str, rule: Rule) -> Callable[..., Any]:
    implementation = FUNCTIONS[function]

    @wraps(implementation)
    def owned(*args: Any, **kwargs: Any) -> Any:
        result = implementation(*args, **kwargs)
        memory = {id(x._storage) for x in arrays_among((*args, *kwargs.values())) if is_traced(x)}

        def flagged(one: Any) -> Any:
            if not is_traced(one) or one.is_scalar or id(one._storage) in memory:
                return one
            owndata = rule(signature_of(function).bind(*args, **kwargs).arguments, one)
            if owndata is None:
                one._unknown_owner = f"np.{name}"
            elif owndata != one._owns_memory:
                return wrap(one.value, is_scalar=False, layout=one.layout) if owndata else one.through()
            return one

        if isinstance(result, (tuple, list)):
            return tuple_like(result, map(flagged, result))
        return flagged(result)

    return owned


# ---- rules -------------------------------------------------------------------------------------------


def is_view(named: dict[str, Any], one: TracedArray) -> bool | None:
    return False


def is_new(named: dict[str, Any], one: TracedArray) -> bool | None:
    return True


def depends(named: dict[str, Any], one: TracedArray) -> bool | None:
    """Based on the installed NumPy, or on values."""
    return None


def chosen(named: dict[str, Any], one: TracedArray) -> bool | None:
    """The positions of nonzero entries are views, as for ``np.nonzero``."""
    return "x" in named


def real_if_known(named: dict[str, Any], one: TracedArray) -> bool | None:
    """NumPy computes in complex128. Real eigenvalues of a real matrix are views of the real parts."""
    if one.dtype == np.complex128 and as_value(named["a"]).dtype.kind != "c" and one.concrete() is None:
        return None
    return one.dtype != np.float64


def squeezed(named: dict[str, Any], one: TracedArray) -> bool | None:
    return one.ndim > 1


def resized(named: dict[str, Any], one: TracedArray) -> bool | None:
    """Repetitions, viewed in the new shape; zeros if there is nothing to repeat."""
    return None if 0 in (one.size, np.size(named["a"])) else False


enter_all(
    _RULES,
    is_view,
    """
    argwhere flatnonzero isclose nonzero tensordot unravel_index linalg.tensordot
    """,
)
enter_all(
    _RULES,
    is_new,
    """
    digitize interp linalg.cond packbits poly unpackbits
    """,
)
enter_all(
    _RULES,
    depends,
    """
    broadcast_arrays einsum geomspace histogram2d histogramdd iscomplex kron linspace median nanmedian nanpercentile
    nanquantile percentile polydiv quantile
    linalg.lstsq linalg.matrix_norm linalg.norm linalg.qr linalg.svd linalg.vector_norm
    """,
)
enter_all(_RULES, real_if_known if EIGENVALUES_MAY_BE_REAL else is_new, "linalg.eig linalg.eigvals")
enter_all(_RULES, is_new if TENSORSOLVE_OWNS else is_view, "linalg.tensorsolve")
enter_all(_RULES, chosen, "where")
enter_all(_RULES, squeezed, "cov")
enter_all(_RULES, resized, "resize")
