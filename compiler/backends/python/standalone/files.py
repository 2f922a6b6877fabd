"""`python_files`: a program as one readable Python file that needs only NumPy."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from ....errors import ExportError
from ....ir import Call, Graph, called
from ....op import lookup
from ....params import function_param
from ..empty_module import FIXED_NAMES, module_of, parameters_of
from ..function import Function, has_effects, planned
from ..module import RESERVED, CallWriter, Module
from ..parts import helper_functions, nested_functions
from ..self_check import reference_function, self_check, self_check_names
from ..text import Names
from ..tiles import tile_functions
from ..workspace import IDLE, entry_functions, has_workspace
from .checks import CHECKS
from .constants import NAMES, Constants, constants_of
from .exported_function import ExportedFunction
from .raised_errors import RaisedError
from .traced_function import TracedFunction
from .unused_names import with_unused_marked

BFLOAT16: Final = """\
try:
    import ml_dtypes
except ImportError as error:
    raise ImportError("{name} computes with bfloat16, which NumPy lacks: pip install ml_dtypes") from error
"""


def python_files(
    function: TracedFunction, writer: CallWriter, errors: Sequence[RaisedError] = ()
) -> dict[str, str | bytes]:
    """A function as files by name: ``NAME.py``, which only needs NumPy, and ``NAME.npz`` if its constants are large.

    Its graph has been through all passes for NumPy, whose statements `writer` writes. If there are `errors`, its last
    output has the records of checks. The same function gives the same files, byte for byte.

    Raises:
        ExportError: the function needs more than NumPy; the message says what.
    """
    graph = function.program.graph
    _refuse(graph)
    name = Names([*RESERVED, *FIXED_NAMES, *self_check_names(), *NAMES, *CHECKS]).claim(function.name)
    arrays = f"{name}_of_arrays"
    module = module_of([name, arrays, *NAMES, *CHECKS], graph, writer)
    effects = has_effects(graph)
    parameters = parameters_of(graph, module)
    main = planned(graph, module, parameters)
    main.write()
    bodies: list[list[str]] = []
    if not effects:
        bodies.append(reference_function(graph, module, parameters))
    nested = nested_functions(module)
    known = list(module.known)
    of_tiles = tile_functions(module)
    constants = constants_of(module, known)
    exported = ExportedFunction(
        function.program, function.parameters, module.names, module.fixed_names, errors=errors
    )
    main_functions = entry_functions(graph, arrays, main, effects)
    if not effects:
        bodies += self_check(graph, arrays, module, ["    load()"] * bool(constants.load))
    *bodies, run = bodies if not effects else [[]]
    functions = [
        exported.text(name, arrays, function.doc, constants.flag),
        *main_functions,
        *nested,
        *of_tiles,
        *helper_functions(module),
        *(CHECKS[check].splitlines() for check in exported.checks),
        *(lines for lines in (constants.load, constants.unpacked) if lines),
        *bodies,
    ]
    for dtype in exported.dtypes:
        module.note_dtype(dtype)
    imports = _imports(name, module, constants, {*exported.imports, *_standard(main, module, effects)})
    statements = [
        *constants.statements,
        *module.known[len(known) :],
        *exported.tuple_statements,
        *([IDLE] if has_workspace(main) else []),
    ]
    head = [_header(name, module, constants, effects), imports, statements]
    tail = [[*constants.texts, *exported.alias_statements], run]
    texts = ["\n\n".join("\n".join(lines) for lines in head if lines)]
    texts += [with_unused_marked("\n".join(lines)) for lines in functions]
    texts += ["\n".join(lines) for lines in tail if lines]
    files: dict[str, str | bytes] = {f"{name}.py": "\n\n\n".join(texts) + "\n"}
    if constants.beside is not None:
        files[f"{name}.npz"] = constants.beside
    return files


def _refuse(graph: Graph) -> None:
    """Raises `ExportError` for operations that no file can contain."""
    for call in _calls(graph):
        if lookup(call.op).effect == "calls Python":
            called_function = function_param(call)
            raise ExportError(
                f"a callback of {getattr(called_function, '__qualname__', repr(called_function))} cannot be exported as"
                " Python: the file holds what was traced, and nothing else of yours",
                call.location,
            )


def _calls(graph: Graph) -> Iterator[Call]:
    for call in graph.calls:
        yield call
        for nested in called((call,)):
            yield from _calls(nested)


def _header(name: str, module: Module, constants: Constants, effects: bool) -> list[str]:
    needs = "NumPy 2 and ml_dtypes" if module.uses_bfloat16 else "only NumPy 2"
    run = (
        ""
        if effects
        else " Run it to check it against the NumPy definition of every operation and to time it."
    )
    beside = f" Its large constants are beside it in {name}.npz." if constants.beside is not None else ""
    text = f"Needs {needs}.{beside}{run}"
    lines = textwrap.wrap(text, 100)
    return [f'"""{name}: a function of NumPy, exported by Tracemill.', "", *lines, '"""']


def _standard(main: Function, module: Module, effects: bool) -> set[str]:
    """The Python modules that the functions of arrays import, as NumPy itself does."""
    needed = {
        "collections": bool(module.tiles),
        "contextvars": main.may_warn or effects,
        "os": bool(module.tiles),
        "sys": not effects,
        "time": not effects,
    }
    return {name for name, is_needed in needed.items() if is_needed}


def _imports(name: str, module: Module, constants: Constants, standard: set[str]) -> list[str]:
    if constants.beside is not None:
        standard = {*standard, "os"}
    bfloat16 = ["", *BFLOAT16.format(name=name).splitlines()] if module.uses_bfloat16 else []
    return [*(f"import {found}" for found in sorted(standard)), "", "import numpy as np", *bfloat16]
