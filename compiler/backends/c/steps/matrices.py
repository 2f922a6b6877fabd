"""Linear systems in C without LAPACK: elimination, substitution and square roots, row by row.

They read and write along rows, so that the loops are vectorised, and are meant for matrices that fit into a cache.
The algorithms are those of Golub and Van Loan, Matrix Computations, 3.1, 3.4 and 4.2.
"""

import math
from collections.abc import Callable, Mapping
from string import Template
from typing import Final

from ....affine import same
from ....analysis.memory_plan import aligned
from ....ir import Call, Extent, Value
from ....params import flag_param
from ....symbolic_size import max_expr, min_expr
from ..function import CFunction
from ..literals import function_suffix
from ..parameters import memory_type, parameters
from ..sizes import factor_text, names_in_call, scaled, size_parameters, size_variable
from ..types import element_type

FAILED: Final = "tm_failed"
"""Contained in a text whose functions may meet a matrix that they cannot factor."""

DECLARATIONS: Final = """\
// Whether this thread has found a matrix that is singular, or not positive definite.
static _Thread_local bool tm_failed;
"""
"""Comes before these functions, in the text of a program."""

_LOOP: Final = Template("""\
static void $name($parameters, long threads)
{
    (void)threads;
    for (long batch = 0; batch < $batches; batch++) {
$body
    }
}
""")

_CHOLESKY: Final = """\
        const $type *restrict x = x0 + batch * $square;
        $type *restrict out = out0 + batch * $square;
        bool is_positive = true;
        for (long i = 0; i < $size; i++) {
            for (long j = 0; j <= i; j++) {
                $type sum = 0;
                #pragma omp simd reduction(+ : sum)
                for (long k = 0; k < j; k++)
                    sum += out[i * $size + k] * out[j * $size + k];
                const $type left = x[i * $size + j] - sum;
                if (i == j)
                    is_positive &= left > 0;
                out[i * $size + j] = i == j ? sqrt$f(left) : left / out[j * $size + j];
            }
            for (long j = i + 1; j < $size; j++)
                out[i * $size + j] = 0;
        }
        if (!is_positive) {
            tm_failed = true;
            for (long i = 0; i < $square; i++)
                out[i] = NAN;
        }\
"""

_TRIANGULAR: Final = """\
        const $type *restrict a = x0 + batch * $square, *restrict b = x1 + batch * $right;
        $type *restrict x = out0 + batch * $right;
        bool is_regular = true;
        memcpy(x, b, $right * sizeof *x);
        for (long step = 0; step < $size; step++) {
            const long i = $row;
            for (long before = 0; before < step; before++) {
                const long k = $other;
                const $type factor = a[$entry];
                #pragma omp simd
                for (long j = 0; j < $columns; j++)
                    x[i * $columns + j] -= factor * x[k * $columns + j];
            }
$divide
        }
        if (!is_regular) {
            tm_failed = true;
            for (long i = 0; i < $right; i++)
                x[i] = NAN;
        }\
"""

_DIVIDE: Final = """\
            const $type divisor = a[i * $size + i];
            is_regular &= divisor != 0;
            for (long j = 0; j < $columns; j++)
                x[i * $columns + j] /= divisor;\
"""

_ELIMINATE: Final = Template("""\
// L and U in place of a matrix, with its rows permuted by partial pivoting, and the permutation. Returns 1 or -1 for
// an even or an odd permutation, 0 if the matrix is singular.
static int ${name}_eliminate(${taken}$type *restrict a, int64_t *restrict places)
{
    int sign = 1;
    for (long i = 0; i < $rows; i++)
        places[i] = i;
    for (long k = 0; k < $least; k++) {
        long pivot = k;
        for (long i = k + 1; i < $rows; i++)
            pivot = fabs$f(a[i * $width + k]) > fabs$f(a[pivot * $width + k]) ? i : pivot;
        if (pivot != k) {
            const int64_t place = places[k];
            places[k] = places[pivot], places[pivot] = place;
            sign = -sign;
            for (long j = 0; j < $width; j++) {
                const $type entry = a[k * $width + j];
                a[k * $width + j] = a[pivot * $width + j], a[pivot * $width + j] = entry;
            }
        }
        const $type divisor = a[k * $width + k];
        if (divisor == 0) {
            sign = 0;
            continue;
        }
        for (long i = k + 1; i < $rows; i++) {
            const $type factor = a[i * $width + k] /= divisor;
            #pragma omp simd
            for (long j = k + 1; j < $width; j++)
                a[i * $width + j] -= factor * a[k * $width + j];
        }
    }
    return sign;
}

""")

_LU: Final = """\
        memcpy(out0 + batch * $square, x0 + batch * $square, $square * sizeof *out0);
        ${name}_eliminate(${given}out0 + batch * $square, out1 + batch * $rows);\
"""

_FACTORED: Final = """\
        $type *restrict a = ($type *)$memory;
        int64_t *restrict places = (int64_t *)($memory + $behind);
        memcpy(a, x0 + batch * $square, $square * sizeof *a);
        const int sign = ${name}_eliminate(${given}a, places);
"""

_SOLVE: Final = (
    _FACTORED
    + """\
        $type *restrict x = out0 + batch * $right;
        for (long i = 0; i < $rows; i++) {
            for (long j = 0; j < $columns; j++)
                x[i * $columns + j] = $entry;
            for (long k = 0; k < i; k++) {
                const $type factor = a[i * $rows + k];
                #pragma omp simd
                for (long j = 0; j < $columns; j++)
                    x[i * $columns + j] -= factor * x[k * $columns + j];
            }
        }
        for (long i = $rows - 1; i >= 0; i--) {
            for (long k = i + 1; k < $rows; k++) {
                const $type factor = a[i * $rows + k];
                #pragma omp simd
                for (long j = 0; j < $columns; j++)
                    x[i * $columns + j] -= factor * x[k * $columns + j];
            }
            for (long j = 0; j < $columns; j++)
                x[i * $columns + j] /= a[i * $rows + i];
        }
        if (!sign) {
$fails            for (long i = 0; i < $right; i++)
                x[i] = NAN;
        }\
"""
)

_DET: Final = (
    _FACTORED
    + """\
        $type product = ($type)sign;
        for (long i = 0; i < $rows; i++)
            product *= a[i * $rows + i];
        out0[batch] = product;\
"""
)

_SLOGDET: Final = (
    _FACTORED
    + """\
        $type logarithm = 0;
        int turned = sign;
        for (long i = 0; i < $rows; i++) {
            const $type entry = a[i * $rows + i];
            turned = entry < 0 ? -turned : turned;
            logarithm += log$f(fabs$f(entry));
        }
        out0[batch] = logarithm != logarithm ? logarithm : ($type)turned;
        out1[batch] = sign ? logarithm : -($type)INFINITY;\
"""
)


def matrix_step(call: Call, name: str) -> CFunction | None:
    """The C function of a call that LAPACK computes otherwise; None for unsupported dtypes."""
    x = call.inputs[0]
    if x.dtype.name not in ("float32", "float64"):
        return None
    return MATRIX_STEPS[call.op](call, name, x)


def _texts(call: Call, name: str, x: Value) -> dict[str, object]:
    rows, width = x.shape[-2:]
    b = call.inputs[-1]
    sizes = {
        "batches": math.prod(x.shape[:-2]),
        "size": rows,
        "rows": rows,
        "width": width,
        "least": min_expr(rows, width),
        "square": rows * width,
        "columns": b.shape[-1],
        "right": rows * b.shape[-1],
    }
    named = names_in_call(call)
    return {
        **{what: factor_text(size) for what, size in sizes.items()},
        "name": name,
        "type": element_type(x.dtype),
        "f": function_suffix(x.dtype),
        "taken": "".join(f"{parameter}, " for parameter in size_parameters(named)),
        "given": "".join(f"{size_variable(size)}, " for size in named),
    }


def _function(
    call: Call, texts: Mapping[str, object], body: str, before: str = "", memory: Extent = 0
) -> CFunction:
    name, rows, width = str(texts["name"]), call.inputs[0].shape[-2], call.inputs[0].shape[-1]
    inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
    if not same(memory, 0):
        outputs = (*outputs, memory_type(memory))
    filled = Template(body).substitute(texts)
    sizes = names_in_call(call)
    declared = ", ".join(parameters(inputs, outputs, sizes=sizes))
    text = before + _LOOP.substitute(texts, parameters=declared, body=filled)
    size = max_expr(call.inputs[-1].shape[-1], width)
    work = 1 + scaled(math.prod(call.inputs[0].shape[:-2]) * rows * width * size, 0.3)
    return CFunction(name, text, inputs, outputs, frozenset(), work, sizes=sizes)


def _cholesky(call: Call, name: str, x: Value) -> CFunction:
    return _function(call, _texts(call, name, x), _CHOLESKY)


def _triangular(call: Call, name: str, x: Value) -> CFunction:
    """From the first row on, or from the last."""
    texts = _texts(call, name, x)
    forward = flag_param(call, "lower") != flag_param(call, "transposed")
    last, width = factor_text(x.shape[-1] - 1), factor_text(x.shape[-1])
    texts["row"] = "step" if forward else f"{last} - step"
    texts["other"] = "before" if forward else f"{last} - before"
    texts["entry"] = f"k * {width} + i" if flag_param(call, "transposed") else f"i * {width} + k"
    texts["divide"] = "" if flag_param(call, "unit_diagonal") else Template(_DIVIDE).substitute(texts)
    return _function(call, texts, _TRIANGULAR)


def _lu(call: Call, name: str, x: Value) -> CFunction:
    texts = _texts(call, name, x)
    return _function(call, texts, _LU, _ELIMINATE.substitute(texts))


def _factored(body: str, given: str = "", fails: bool = False) -> Callable[[Call, str, Value], CFunction]:
    def function(call: Call, name: str, x: Value) -> CFunction:
        texts = _texts(call, name, x)
        behind = aligned(x.shape[-1] ** 2 * x.dtype.itemsize)
        texts["memory"], texts["behind"] = f"out{len(call.outputs)}", factor_text(behind)
        texts["entry"] = Template(given).substitute(texts)
        says = fails and not call.params.get("nan_if_singular", False)
        texts["fails"] = f"            {FAILED} = true;\n" if says else ""
        memory = max_expr(behind + aligned(8 * x.shape[-1]), 1)
        return _function(call, texts, body, _ELIMINATE.substitute(texts), memory)

    return function


MATRIX_STEPS: Final[Mapping[str, Callable[[Call, str, Value], CFunction]]] = {
    "cholesky": _cholesky,
    "det": _factored(_DET),
    "inv": _factored(_SOLVE, "places[i] == j", fails=True),
    "lu": _lu,
    "slogdet": _factored(_SLOGDET),
    "solve": _factored(_SOLVE, "x1[batch * $right + places[i] * $columns + j]", fails=True),
    "triangular_solve": _triangular,
}
"""The function of each op."""
