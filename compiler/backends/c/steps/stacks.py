"""Stacks of matrix products in C: Tracemill's threads share them, and BLAS computes each on the calling thread."""

from collections.abc import Mapping, Sequence
from string import Template

from ....symbolic_size import is_known
from ..blas import BATCH, HERE, ON_ONE_THREAD
from ..sizes import factor_text
from ..threads.shared_loop import SharedLoop

_BODY = Template("""\
    const long batch = part / parts, i0 = part % parts * $rows / parts;
    const long end = (part % parts + 1) * $rows / parts;
    $multiply($turned, $right_turned, end - i0, $columns, $length, x$left + ($left_batch) + ($left_row),
              $left_apart, x$right + ($right_batch), $right_apart, out0 + batch * $size + i0 * $columns);\
""")

_TEXT = Template("""\
$function
static void $name($parameters, long threads)
{
    if (!tm_blas || !tm_blas->$batches$without) {
        ${name}_here($arguments, threads);
        return;
    }
    const long cut = tm_parts($count, $rows, $columns * $length), parts = cut ? cut : 1;
    const long at_once = !cut ? 1 : threads < TM_CALLS ? threads : TM_CALLS;
    $call
}
""")


def is_for_threads(rows: int, columns: int, length: int) -> bool:
    """Whether BLAS can compute such a product, or parts of its rows, on one thread; for named sizes, C checks."""
    each = columns * length
    return not is_known(rows * each <= BATCH) or not is_known(each > ON_ONE_THREAD)


def stack_text(
    texts: Mapping[str, object], declared: Sequence[str], batches: int, multiplications: int, dtype: str
) -> str:
    """The function of a stack with the `declared` parameters; `texts` are those of `products.Product` and of its
    operands in the form for BLAS."""
    multiply, field = HERE[dtype]
    without = "" if is_known(multiplications >= 1) else f" || {factor_text(multiplications)} == 0"
    count = factor_text(batches)
    body = _BODY.substitute(texts, multiply=multiply).splitlines()
    loop = SharedLoop(str(texts["name"]), [*declared, "const long parts"], body, "part")
    return _TEXT.substitute(
        texts,
        function=loop.function,
        batches=field,
        count=count,
        without=without,
        call=loop.call(f"{count} * parts", "at_once"),
    )
