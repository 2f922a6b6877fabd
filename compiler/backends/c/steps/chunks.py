"""A C function whose work is a range of items: cut into chunks that do not depend on the number of threads."""

from collections.abc import Iterable, Sequence
from string import Template

from ....ir import Call
from ....loops.work import CHUNK, MOST_CHUNKS
from ..function import CFunction
from ..parameters import parameters

_PARALLEL = Template("""\
static void $name($parameters, long threads)
{
    #pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (long begin = 0; begin < $items; begin += $size)
        ${name}_chunk($arguments, begin, begin + $size < $items ? begin + $size : $items);
}
""")

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
    """How many of `items` belong together, where all of them take `work` nanoseconds; `most` chunks at most."""
    chunks = max(1, min(most, work // CHUNK, items))
    return -(-items // chunks)


def over_chunks(name: str, declared: Sequence[str], items: int, size: int) -> str:
    """The function ``name`` that runs ``name_chunk(…, begin, end)`` over `items`, `size` at a time."""
    form = _PARALLEL if size < items else _SERIAL
    arguments = ", ".join(names(declared))
    return form.substitute(
        name=name, parameters=", ".join(declared), arguments=arguments, items=items, size=size
    )


def nothing(call: Call, name: str) -> CFunction:
    """The function of a call whose results have no elements."""
    inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
    declared = ", ".join([*parameters(inputs, outputs), "long threads"])
    return CFunction(name, f"static void {name}({declared}) {{}}\n", inputs, outputs, frozenset(), 0)
