"""`c_files`: a program as C files that need neither Python nor Tracemill."""

from collections.abc import Mapping, Sequence
from inspect import cleandoc

from ....errors import InternalError
from ....frontend.program import Program
from ....ir import Call, Graph
from ..function import CFunction, COptions
from ..layout import comment_lines
from ..module.graph import graph_function
from ..module.source import print_function
from ..sizes import size_variable
from .comments import paragraph, without_trigraphs
from .constants import without_large_constants
from .header import header_text
from .makefile import makefile_text
from .refusal import refusal
from .signature import signature_of
from .size_checks import checks_of, given_maxima, maximum_lengths, named_sizes
from .text import Exported

OPTIONS = COptions(alone=True)

_OPENING = """\
#include <complex.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(hidden)  // they are not part of the interface
#endif
"""
"""Comes before constants."""


def c_files(
    program: Program,
    doc: str | None = None,
    *,
    name: str | None = None,
    paths: Sequence[str] | None = None,
    source: Graph | None = None,
    producer: str = "Tracemill",
    fast_math: bool = False,
    errors: Sequence[str] = (),
) -> Mapping[str, str]:
    """``NAME.c``, ``NAME.h``, a ``Makefile``, and ``NAME_constants.c`` if there are large constants, by their names.

    `program` has been through all passes of the C backend and captures nothing; `source` is its graph before them,
    which the header shows. `doc` is the user's docstring; `name` is its name, if it differs from the graph's; `paths`
    are the Python expressions for its arguments; `fast_math` is that of `compile`. The same program gives the same
    text, byte for byte.

    After the outputs of `program`, its graph has the lengths that it finds out and that its results have, and, if it
    may raise, the records of its checks, which have these messages (`errors`).

    Sizes may have names if they can be compared in this context. The C function then checks the assumptions about
    them.

    Raises:
        ExportError: C cannot compute a call, or the constants are too large for a text.
    """
    if program.captured:
        raise InternalError("an exported program must not capture arrays")
    sizes = named_sizes(program.graph)
    most = maximum_lengths(program.graph)
    signature = signature_of(program, name, paths, (size_variable(size.text) for size in sizes), most)
    graph, constants = without_large_constants(program.graph, signature.name)
    may_fail = errors or given_maxima(program.graph)  # in that case, it must not have overwritten anything
    may_overwrite = {} if may_fail else {output: given for given, output in program.mutated}
    inner = "compute" if signature.name != "compute" else "run"
    found = graph_function(graph, inner, _function_of, may_overwrite, any_constants=True)
    assert found is not None  # `_function_of` has raised an error if there is none
    exported = Exported(signature, found, program.mutated, constants, tuple(errors))
    checks = checks_of(signature, sizes, graph, exported.workspace, most)
    about = [paragraph(cleandoc(doc))] if doc else []
    about.append(comment_lines(_opening(source or graph, signature.name)))
    heading = f"// {signature.name}: see {signature.name}.h. Made by {producer}.\n"
    text = exported.text(heading, checks)
    files = {
        f"{signature.name}.h": header_text(
            signature, exported.workspace, about, checks, exported.codes(checks), most
        ),
        f"{signature.name}.c": text,
    }
    if constants:
        named = [constant.definition for constant in constants]
        opening = f"// The constants of {signature.name}.c.\n\n{_OPENING}"
        files[f"{signature.name}_constants.c"] = "\n".join([opening, *named])
    sources = [file for file in files if file.endswith(".c")]
    files["Makefile"] = makefile_text(signature.name, sources, len(text), producer, fast_math=fast_math)
    return {file: without_trigraphs(text) for file, text in sorted(files.items())}


def _function_of(call: Call, name: str) -> CFunction:
    found = print_function(call, name, OPTIONS, in_loop=True, inner=_function_of)
    if found is None:
        raise refusal(call)
    return found


def _opening(graph: Graph, name: str) -> str:
    """The types of a graph's inputs and outputs, as in its text."""
    takes = [f"{given}: {value.type}" for given, value in zip(graph.input_names, graph.inputs, strict=False)]
    gives = ", ".join(str(value.type) for value in graph.outputs)
    return f"{name}({', '.join(takes)}) -> {gives if len(graph.outputs) == 1 else f'({gives})'}"
