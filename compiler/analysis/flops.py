"""The arithmetic of a graph: operations on numbers, and separately transcendental functions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..ir import Call, Graph, called
from ..op import has_effect, lookup
from ..ops.composite import COMPOSITES, definition
from ..params import graph_param, int_param, ints_param, optional_graph_param, text_param
from .fusible_ops import is_elementwise


@dataclass(frozen=True, slots=True)
class Work:
    """Operations are counted as in papers: a sum of n numbers is n − 1, a matrix product 2mnk."""

    flops: int = 0
    """Additions, multiplications, divisions, square roots and comparisons of numbers. A product of complex numbers
    counts as six, a sum as two."""
    transcendentals: int = 0
    """Values of ``exp``, ``sin``, ``erf`` and similar functions: how many flops one takes depends on the machine."""
    is_lower_bound: bool = False
    """The counts are a lower bound: a loop with an unknown number of iterations counts as one iteration, and the work
    of Python or of a library on its own counts as 0."""

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.is_lower_bound or other.is_lower_bound,
        )

    def times(self, count: int) -> "Work":
        """The same, this many times."""
        return Work(self.flops * count, self.transcendentals * count, self.is_lower_bound)


def work_of_graph(graph: Graph) -> Work:
    """The total of all calls of a graph.

    >>> import numpy as np, tracemill as tm
    >>> graph = tm.compile(lambda x, w: np.tanh(x @ w)).lower(np.ones((8, 3)), np.ones((3, 2))).graph
    >>> work_of_graph(graph)
    Work(flops=96, transcendentals=16, is_lower_bound=False)
    """
    return sum(map(work_of, graph.calls), Work())


def work_of(call: Call) -> Work:
    """The arithmetic of one call, including its nested graphs."""
    if call.op in _BY_OP:
        return _BY_OP[call.op](call)
    if call.op in COMPOSITES:
        return work_of_graph(definition(call.op, tuple(value.type for value in call.inputs), call.params))
    if is_elementwise(call):
        return _of_elements(call)
    family = lookup(call.op).family
    if family == "reduction":
        given, made = call.inputs[0].type.size, call.outputs[0].type.size
        return Work(max(0, given - made) * _of_a_sum(call))
    if call.op == "cumlogsumexp":
        return Work(call.inputs[0].type.size, 2 * call.inputs[0].type.size)
    if family == "cumulative":
        return Work(call.inputs[0].type.size * _of_a_sum(call))
    if family in _MATRICES:
        return Work(is_lower_bound=True)
    nested = sum(map(work_of_graph, called((call,))), Work())
    return nested + Work(is_lower_bound=has_effect(call))


# ---- element by element ------------------------------------------------------------------------------

_FREE: Final = frozenset({"control", "conversion", "layout", "indexing"})
_COUNTED: Final = frozenset({"arithmetic", "comparison"})
_SLOW: Final = frozenset({"power", "cbrt"})
"""The arithmetic ops that consist of logarithms and exponentials."""
_COMPLEX: Final[Mapping[str, int]] = {"multiply": 6, "square": 6, "divide": 11, "reciprocal": 11}
"""Real operations in one complex operation; two for all others."""


def is_transcendental(call: Call) -> bool:
    """Whether an elementwise call computes a function such as ``exp``, ``sin`` or ``erf``."""
    family = lookup(call.op).family
    is_counted = family in _COUNTED and call.op not in _SLOW
    return not (family in _FREE or call.op == "where" or is_counted)


def _of_elements(call: Call) -> Work:
    size, family = call.outputs[0].type.size, lookup(call.op).family
    if family in _FREE or call.op == "where":
        return Work()
    if is_transcendental(call):
        return Work(transcendentals=size)
    return Work(size * (_COMPLEX.get(call.op, 2) if _is_complex(call) else 1))


def _is_complex(call: Call) -> bool:
    return any(value.dtype.kind == "c" for value in (*call.inputs, *call.outputs))


def _of_a_sum(call: Call) -> int:
    """Operations of a step of a cumulative sum or product."""
    if not _is_complex(call):
        return 1
    return 6 if "prod" in call.op else 2


# ---- products ----------------------------------------------------------------------------------------


def _dot(call: Call) -> Work:
    """A multiplication and an addition for each element of the result and each contracted one."""
    axes = ints_param(call, "contract_x")
    terms = math.prod(call.inputs[0].shape[axis] for axis in axes)
    return Work((8 if _is_complex(call) else 2) * call.outputs[0].type.size * terms)


def _conv(call: Call) -> Work:
    """The same, for each element of a kernel: of ``[G, O, C, *K]`` those of a channel out."""
    return Work(
        (8 if _is_complex(call) else 2) * call.outputs[0].type.size * math.prod(call.inputs[1].shape[2:])
    )


# ---- loops and choices -------------------------------------------------------------------------------


def _scan(call: Call) -> Work:
    length = int_param(call, "length")
    return sum(map(work_of_graph, called((call,))), Work()).times(length)


def _tiled(call: Call) -> Work:
    work = work_of_graph(graph_param(call)).times(int_param(call, "count"))
    rest = optional_graph_param(call, "rest")
    return work if rest is None else work + work_of_graph(rest)


def _while_loop(call: Call) -> Work:
    return sum(map(work_of_graph, called((call,))), Work(is_lower_bound=True))


def _switch(call: Call) -> Work:
    """The most expensive branch."""
    return max(map(work_of_graph, called((call,))), key=lambda work: (work.flops, work.transcendentals))


def _custom_rule(call: Call) -> Work:
    return work_of_graph(next(called((call,))))


# ---- matrices and transforms -------------------------------------------------------------------------

_MATRICES: Final = frozenset(
    {
        "determinant",
        "factorization",
        "least_squares",
        "linear_systems",
        "matrix_exponential",
        "polar",
        "spectral",
    }
)


def _of_matrices(count: Callable[[int, int], float]) -> Callable[[Call], Work]:
    """For a stack of matrices ``[..., m, n]``: this many operations each, four times as many if they are complex."""

    def work(call: Call) -> Work:
        *stack, rows, columns = call.inputs[0].shape
        factor = 4 if _is_complex(call) else 1
        return Work(factor * math.prod(stack) * round(count(rows, columns)))

    return work


def _right_sides(call: Call) -> int:
    return call.inputs[1].type.size // max(1, call.inputs[0].shape[-1])


def _triangular_solve(call: Call) -> Work:
    n = call.inputs[0].shape[-1]
    return Work((4 if _is_complex(call) else 1) * n * n * _right_sides(call))


def _solve(call: Call) -> Work:
    return _of_matrices(lambda m, n: 2 * n**3 / 3)(call) + _triangular_solve(call).times(2)


def _fft(call: Call) -> Work:
    """5 n log₂ n for the usual algorithm on complex numbers, and half of that if one side is real."""
    axis = int_param(call, "axis")
    value = max((call.inputs[0], call.outputs[0]), key=lambda value: value.shape[axis])
    n = value.shape[axis]
    is_half = call.op in ("rfft", "irfft")
    return Work(round((2.5 if is_half else 5) * value.type.size * math.log2(max(n, 1))))


def _scatter(call: Call) -> Work:
    """An operation for each update, unless it replaces the old value."""
    updates = call.inputs[1].type.size
    return Work(updates * (2 if _is_complex(call) else 1) if text_param(call, "mode") != "set" else 0)


_BY_OP: Final[Mapping[str, Callable[[Call], Work]]] = {
    "dot": _dot,
    "conv": _conv,
    "scan": _scan,
    "tiled": _tiled,
    "while_loop": _while_loop,
    "switch": _switch,
    "custom_rule": _custom_rule,
    # Golub and Van Loan, Matrix Computations, 4th edition: sections 3.2, 4.2, 5.2, 7.5, 8.3 and figure 8.6.1.
    "cholesky": _of_matrices(lambda m, n: n**3 / 3),
    "lu": _of_matrices(lambda m, n: max(m, n) * min(m, n) ** 2 - min(m, n) ** 3 / 3),
    "qr": _of_matrices(lambda m, n: 4 * max(m, n) * min(m, n) ** 2 - 4 * min(m, n) ** 3 / 3),
    "triangular_solve": _triangular_solve,
    "solve": _solve,
    "inv": _of_matrices(lambda m, n: 2 * n**3),
    "det": _of_matrices(lambda m, n: 2 * n**3 / 3),
    "slogdet": _of_matrices(lambda m, n: 2 * n**3 / 3),
    "eigvalsh": _of_matrices(lambda m, n: 4 * n**3 / 3),
    "eigh": _of_matrices(lambda m, n: 9 * n**3),
    "eigvals": _of_matrices(lambda m, n: 10 * n**3),
    "eig": _of_matrices(lambda m, n: 25 * n**3),
    "svdvals": _of_matrices(lambda m, n: 4 * max(m, n) * min(m, n) ** 2 - 4 * min(m, n) ** 3 / 3),
    "svd": _of_matrices(lambda m, n: 14 * max(m, n) * min(m, n) ** 2 + 8 * min(m, n) ** 3),
    "fft": _fft,
    "ifft": _fft,
    "rfft": _fft,
    "irfft": _fft,
    "scatter": _scatter,
}
