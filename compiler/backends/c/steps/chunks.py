"""A C function whose work is a range of items: split into chunks that do not depend on the number of threads."""

from collections.abc import Sequence
from string import Template

from ....ir import Call
from ....loops.loop_costs import CHUNK, MOST_CHUNKS
from ....symbolic_size import SymbolicSize, is_known, max_expr, min_expr, quotient
from ..function import CFunction
from ..parameters import parameters
from ..sizes import names_in_call, size_text
from ..threads.shared_loop import SharedLoop, names

_SHARED = Template("""\

$function
static void $name($parameters, long threads)
{
$lines}
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
    given, lines = list(declared), ""
    if any(isinstance(one, SymbolicSize) for one in (items, size, elements)):
        lines = "" if is_known(elements >= 1) else _LEAVES.format(size_text(elements))
        lines += f"    const long items = {size_text(items)}, per_chunk = {size_text(size)};\n"
        given += ["const long items", "const long per_chunk"]
        last, length, count = "items", "per_chunk", "(items + per_chunk - 1) / per_chunk"
    elif size < items:
        last, length, count = str(items), str(size), str(-(-items // size))
    else:
        arguments = ", ".join(names(declared))
        return _SERIAL.substitute(name=name, parameters=", ".join(declared), arguments=arguments, items=items)
    body = [
        f"    const long begin = {length} * chunk, end = begin + {length};",
        f"    {name}_chunk({', '.join(names(declared))}, begin, end < {last} ? end : {last});",
    ]
    loop = SharedLoop(name, given, body)
    return _SHARED.substitute(
        name=name,
        function=loop.function,
        parameters=", ".join(declared),
        lines=f"{lines}    {loop.call(count)}\n",
    )


def empty_function(call: Call, name: str) -> CFunction:
    """The function of a call whose results have no elements."""
    inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
    sizes = names_in_call(call)
    declared = ", ".join([*parameters(inputs, outputs, sizes=sizes), "long threads"])
    text = f"static void {name}({declared}) {{}}\n"
    return CFunction(name, text, inputs, outputs, frozenset(), 0, sizes=sizes)
