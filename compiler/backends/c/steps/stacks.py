"""Stacks of products of matrices in C: our threads share them, and BLAS computes each on the thread that asks."""

import math
from collections.abc import Mapping
from string import Template

from ..blas import BATCH, HERE, ON_ONE_THREAD

PARTS = 16
"""Parts that a short stack is cut into, so that there is work for several threads."""

LEAST = 1 << 22
"""Multiplications of a part that is worth a call of its own: a call reorders what it reads first."""

_TEXT = Template("""\
static void $name($parameters, long threads)
{
    if (!tm_blas || !tm_blas->$batches) {
        ${name}_here($arguments, threads);
        return;
    }
    const long at_once = threads < TM_CALLS ? threads : TM_CALLS;
    #pragma omp parallel for num_threads(at_once) schedule(static) if (at_once > 1)
    for (long part = 0; part < $count; part++) {
        const long batch = part / $parts, i0 = part % $parts * $rows / $parts;
        const long end = (part % $parts + 1) * $rows / $parts;
        $multiply($turned, $right_turned, end - i0, $columns, $length, x$left + ($left_batch) + ($left_row),
                  $left_apart, x$right + ($right_batch), $right_apart, out0 + batch * $size + i0 * $columns);
    }
}
""")


def parts_of(batches: int, rows: int, columns: int, length: int) -> int | None:
    """Into how many parts of about as many rows each product is cut; None if BLAS would take threads of its own.

    That depends on the sizes alone, and so do the results.
    """
    each = columns * length
    if rows * each > BATCH:
        wanted = min(-(-PARTS // batches), rows * each // LEAST)
        return max(1, wanted)
    most = ON_ONE_THREAD // each  # rows
    return math.ceil(rows / most) if most else None


def stack_text(texts: Mapping[str, object], batches: int, parts: int, dtype: str) -> str:
    """The function of a stack; `texts` are those of `products.Product` and of its operands as BLAS takes them."""
    multiply, field = HERE[dtype]
    return _TEXT.substitute(texts, multiply=multiply, batches=field, parts=parts, count=batches * parts)
