"""`print_module`: a graph as one readable Python module, with the statements of a backend."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...analysis.memory_plan import MemoryPlan
from ...ir import Graph
from ...op import lookup
from .empty_module import empty_module, entry_name, parameters_of
from .function import Function, has_effects, planned, unplanned
from .literals import array_text
from .module import CallWriter, Module
from .native_library import NativeLibrary
from .parts import called_library, constants_text, helper_functions, nested_functions
from .self_check import reference_function, self_check
from .tiles import tile_functions
from .workspace import IDLE, entry_functions, has_workspace


def print_module(
    graph: Graph,
    writer: CallWriter,
    *,
    check: bool = True,
    library: NativeLibrary | None = None,
    donated: Sequence[int] = (),
) -> str:
    """The source of a module with a function ``entry_name(graph)`` from the inputs to the tuple of outputs.

    Inputs are arrays of exactly the types of the graph's inputs, in any memory layout; those without axes may be
    NumPy numbers. Outputs are new arrays, and NumPy numbers if they have no axes: none shares memory with another,
    with an input, or with memory that the module keeps. The function may be called from several threads, and from
    within itself. Floating-point errors give NaN and infinity without a warning.

    With `check`, the module compares itself with the definitions of the ops, one by one, on random inputs, and times
    itself when it is run. The same graph gives the same text, byte for byte.

    The inputs that are `donated` are memory that results may use: they are contiguous, writeable arrays.

    With a `library`, native functions do what they can: they are collected there, and the module loads them from a
    shared library when its function ``link`` is called.
    """
    module = empty_module(graph, writer, library)
    name, effects = entry_name(graph), has_effects(graph)
    parameters = parameters_of(graph, module)
    main = planned(graph, module, parameters, donated)
    main.write()
    bodies: list[list[str]] = []
    is_checked = check and not effects and not donated  # which would be compared after being overwritten
    if is_checked:
        bodies.append(reference_function(graph, module, parameters))
    nested = nested_functions(module)
    of_tiles = tile_functions(module)
    nested += nested_functions(module, len(nested))  # those of tiles
    called = called_library(module)
    if is_checked:
        bodies += called.finding() if called else []
        bodies += self_check(graph, name, module, called.statements_of_check() if called else ())
    entry = entry_functions(graph, name, main, effects)
    functions = [
        *(called.linking() if called else ()),
        *helper_functions(module),
        *nested,
        *of_tiles,
        *entry,
        *bodies,
    ]
    # The imports come last because they depend on everything else.
    sections = [
        _header(name, module, is_checked),
        _imports(module, main, is_checked),
        constants_text(module) + module.known,
        [IDLE] if has_workspace(main) else [],
    ]
    blocks = ["\n".join(section) for section in sections if section]
    return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join("\n".join(lines) for lines in functions) + "\n"


def print_statements(graph: Graph, writer: CallWriter, numbers: Sequence[str] = ()) -> str:
    """The source of a module with a function as `print_module` prints it, without the costs of a call.

    The caller has set NumPy's error state. Results may share memory with each other and with the inputs, and every
    array is new memory. `numbers` has, for each input that is a Python number, the scalar type to make of it, otherwise
    an empty text.
    """
    module = empty_module(graph, writer)
    name = entry_name(graph)
    main = unplanned(graph, module, parameters_of(graph, module))
    main.write()
    nested = nested_functions(module)
    scalars = [
        f"    {parameter} = np.{kind}({parameter})"
        for parameter, kind in zip(main.parameters, numbers, strict=False)
        if kind
    ]
    main.may_warn = False
    entry = main.text(name, (), "", scalars)
    sections = [_imports(module, main, check=False), constants_text(module) + module.known]
    blocks = ["\n".join(section) for section in sections if section]
    functions = [*helper_functions(module), *nested, entry]
    return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join("\n".join(lines) for lines in functions) + "\n"


def memory_plan(
    graph: Graph, writer: CallWriter, library: NativeLibrary | None = None, donated: Sequence[int] = ()
) -> MemoryPlan:
    """The places of the results of calls of `graph` in the module that `print_module` prints."""
    module = empty_module(graph, writer, library)
    plan = planned(graph, module, parameters_of(graph, module), donated).plan
    assert plan is not None
    return plan


def callbacks(graph: Graph, writer: CallWriter) -> Mapping[str, Callable[..., Any]]:
    """The Python functions that the module calls, by the global variables in which it looks for them."""
    if not has_effects(graph):
        return {}
    module = empty_module(graph, writer)
    planned(graph, module, parameters_of(graph, module)).write()
    nested_functions(module)
    return {name: partial(lookup(call.op).numpy, **call.params) for name, call in module.callbacks}


def _header(name: str, module: Module, check: bool) -> list[str]:
    needs = "NumPy and ml_dtypes" if module.uses_bfloat16 else "only NumPy"
    run = (
        " Run this file to check it against the NumPy definition of every operation and to time it."
        if check
        else ""
    )
    called = called_library(module)
    beside = (
        [f"Its {called.language} functions are in the {called.language} file beside it.", ""]
        if called
        else []
    )
    return [
        f'"""{name}: NumPy statements made by Tracemill from the function of that name.',
        "",
        *beside,
        f"Needs {needs}.{run}",
        '"""',
    ]


def _imports(module: Module, main: Function, check: bool) -> list[str]:
    packed = any(array_text(constant.array) is None for _, constant in module.constants.values())
    called = called_library(module)
    standard = {
        *["base64"] * packed,
        *["collections", "os"] * bool(module.tiles),
        *["contextvars"] * (main.may_warn or bool(module.tiles)),
        *["sys", "time"] * check,
        *(called.imports if called else ()),
        *(called.imports_of_check if called and check else ()),
    }
    others = ["import ml_dtypes"] * module.uses_bfloat16 + ["import numpy as np"]
    return [*(f"import {name}" for name in sorted(standard)), "", *others]
