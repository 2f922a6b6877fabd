"""A C function whose work is a range of items: split into chunks that do not depend on the number of threads."""

from collections.abc import Iterable, Sequence
from string import Template

from ....ir import Call
from ....loops.loop_costs import CHUNK, MOST_CHUNKS
from ....symbolic_size import SymbolicSize, is_known, max_expr, min_expr, quotient
from ..function import CFunction
from ..parameters import parameters
from ..sizes import names_in_call, size_text

_PARALLEL = Template("""\
static void $name($parameters, long threads)
{
    #pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (long begin = 0; begin < $items; begin += $size)
        ${name}_chunk($arguments, begin, begin + $size < $items ? begin + $size : $items);
}
""")

_PARALLEL_BY_SIZES = Template("""\
static void $name($parameters, long threads)
{
$leaves    const long items = $items, per_chunk = $size;
    if (threads > 1 && per_chunk < items) {
        #pragma omp parallel for num_threads(threads) schedule(static)
        for (long begin = 0; begin < items; begin += per_chunk)
            ${name}_chunk($arguments, begin, begin + per_chunk < items ? begin + per_chunk : items);
    }
    else {
        for (long begin = 0; begin < items; begin += per_chunk)
            ${name}_chunk($arguments, begin, begin + per_chunk < items ? begin + per_chunk : items);
    }
}
""")

_LEAVES = """\
    if ({} == 0)
        return;
"""

_SERIAL = Template("""\
static void $name($parameters, long threads)
{
    ${name}_chunk($arguments, 0, $items);
}
""")


def names(declared: Iterable[str]) -> list[str]:
    """The names that are declared: ``x0`` of ``const float *x0``."""
    return [text.rsplit(" ", 1)[1].lstrip("*") for text in declared]


def chunk_size(items: int, work: int, *, most: int = MOST_CHUNKS) -> int:
    """How many of `items` belong together, if all of them take `work` nanoseconds; at most `most` chunks."""
    if any(isinstance(size, SymbolicSize) for size in (items, work)):
        several = max_expr(1, min_expr(most, quotient(work, CHUNK)))
        size: int = max_expr(1, quotient(items + several - 1, several))
        return size
    chunks = max(1, min(most, work // CHUNK, items))
    return -(-items // chunks)


def over_chunks(name: str, declared: Sequence[str], items: int, size: int, elements: int = 1) -> str:
    """The function ``name`` that runs ``name_chunk(…, begin, end)`` over `items`, `size` at a time.

    For named sizes, it does nothing if there turn out to be no `elements`.
    """
    arguments = ", ".join(names(declared))
    if any(isinstance(one, SymbolicSize) for one in (items, size, elements)):
        return _PARALLEL_BY_SIZES.substitute(
            name=name,
            parameters=", ".join(declared),
            arguments=arguments,
            items=size_text(items),
            size=size_text(size),
            leaves="" if is_known(elements >= 1) else _LEAVES.format(size_text(elements)),
        )
    form = _PARALLEL if size < items else _SERIAL
    return form.substitute(
        name=name, parameters=", ".join(declared), arguments=arguments, items=items, size=size
    )


def empty_function(call: Call, name: str) -> CFunction:
    """The function of a call whose results have no elements."""
    inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
    sizes = names_in_call(call)
    declared = ", ".join([*parameters(inputs, outputs, sizes=sizes), "long threads"])
    text = f"static void {name}({declared}) {{}}\n"
    return CFunction(name, text, inputs, outputs, frozenset(), 0, sizes=sizes)
