"""The NumPy backend: a graph as one readable Python module that needs only NumPy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...analysis.memory_plan import MemoryPlan
from ...identifiers import identifier
from ...ir import Constant, Graph, Value
from ...op import lookup
from ..native_library import NATIVE_NAMES, NativeLibrary
from ..python_literals import array_text, dtype_text, packed_text, unpacking_text
from ..python_text import Names, tuple_text, wrapped

# Importing these enters their forms into the table.
from . import contraction, elementwise, indexing, layout, lengths, linalg, loops, nested, reduction, tiles
from .function import QUIET, Function, definition, has_effects, plain, planned, planned_nested, unplanned
from .module import RESERVED, Module
from .named_sizes import size_statements, size_variables, sizes_used
from .quoted_meaning import function_text
from .self_check import self_check, self_check_names

__all__ = [
    "FIXED_NAMES",
    "IDLE",
    "callbacks",
    "contraction",
    "elementwise",
    "entry_functions",
    "entry_name",
    "has_effects",
    "has_workspace",
    "helper_functions",
    "indexing",
    "layout",
    "lengths",
    "linalg",
    "loops",
    "memory_plan",
    "module_of",
    "nested",
    "nested_functions",
    "parameters_of",
    "print_module",
    "print_statements",
    "reduction",
    "tiles",
]


FIXED_NAMES = (
    "idle",
    "workspace",
    "statements",
    "mine",
    "outside",
    "outputs",
    "new_memory",
    *NATIVE_NAMES,
    *tiles.NAMES,
)
"""The names of a module's own functions and variables, except those of its self check."""

MEANING = "The NumPy definition of every operation, one by one."
"""The name of the reference function for the self check."""

NEW_MEMORY = """\
def new_memory(nbytes):
    \"\"\"Memory that begins where a line of the cache does: writing across lines takes twice as long.\"\"\"
    memory = np.empty(nbytes + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    return memory[start : start + nbytes]
"""

IDLE = "idle = []  # workspaces that no call is using now: each thread and each nested call takes its own"


def print_module(
    graph: Graph, *, check: bool = True, library: NativeLibrary | None = None, donated: Sequence[int] = ()
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
    module = _module(graph)
    module.library = library
    name, effects = entry_name(graph), has_effects(graph)
    parameters = parameters_of(graph, module)
    main = planned(graph, module, parameters, donated)
    main.write()
    bodies: list[list[str]] = []
    is_checked = check and not effects and not donated  # which would be compared after being overwritten
    if is_checked:
        reference = plain(graph, module, parameters)
        reference.write()
        bodies.append(reference.text("reference", (), MEANING, reading(reference, reference.used_sizes)))
    nested = nested_functions(module)
    tile_functions = tiles.tile_functions(module)
    called = _called_library(module)
    if is_checked:
        bodies += called.finding() if called else []
        bodies += self_check(graph, name, module, called.statements_of_check() if called else ())
    entry = entry_functions(graph, name, main, effects)
    functions = [
        *(called.linking() if called else ()),
        *helper_functions(module),
        *nested,
        *tile_functions,
        *entry,
        *bodies,
    ]
    # The imports come last because they depend on everything else.
    sections = [
        _header(name, module, is_checked),
        _imports(module, main, is_checked),
        _constants(module) + module.known,
        [IDLE] if has_workspace(main) else [],
    ]
    blocks = ["\n".join(section) for section in sections if section]
    return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join("\n".join(lines) for lines in functions) + "\n"


def print_statements(graph: Graph, numbers: Sequence[str] = ()) -> str:
    """The source of a module with a function as `print_module` prints it, without the costs of a call.

    The caller has set NumPy's error state. Results may share memory with each other and with the inputs, and every
    array is new memory. `numbers` has, for each input that is a Python number, the scalar type to make of it, otherwise
    an empty text.
    """
    module = _module(graph)
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
    sections = [_imports(module, main, check=False), _constants(module) + module.known]
    blocks = ["\n".join(section) for section in sections if section]
    functions = [*helper_functions(module), *nested, entry]
    return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join("\n".join(lines) for lines in functions) + "\n"


@dataclass(frozen=True, slots=True)
class Compared:
    """The function that `print_compared` compares."""

    entry: Callable[[Sequence[str], Sequence[str]], str]
    """Its text, given the names of its parameters and of the `reads`."""
    inputs: Sequence[Value]
    """Its arguments, in the order of the graph's inputs."""
    reads: Sequence[Value]
    """Some of these, and constants."""
    taken: Sequence[str]
    """Names that its module uses."""
    before: Sequence[str] = ()
    """The first statements of the main program."""


def print_compared(graph: Graph, doc: str, imports: str, blocks: Sequence[str], compared: Compared) -> str:
    """A module that compares a function, given as text, with the definitions of the ops of the graph, and times it.

    The function is called ``entry_name(graph)``, and `blocks` are texts that it needs.
    """
    module = _module(graph)
    for name in compared.taken:
        module.names.claim(name)
    parameters = parameters_of(graph, module)
    reference = plain(graph, module, parameters)
    reference.write()
    names = dict(zip(compared.inputs, parameters, strict=True))
    reads = [module.constant(v) if isinstance(v, Constant) else names[v] for v in compared.reads]
    nested = nested_functions(module)
    functions = [
        *blocks,
        compared.entry(parameters, reads),
        *("\n".join(lines) for lines in (*helper_functions(module), *nested)),
        "\n".join(reference.text("reference", (), MEANING, reading(reference, reference.used_sizes))),
        *("\n".join(lines) for lines in self_check(graph, entry_name(graph), module, compared.before)),
    ]
    used = ["base64"] * any(array_text(constant.array) is None for _, constant in module.constants.values())
    standard = "\n".join(f"import {name}" for name in sorted([*used, "os", "sys", "time"]))
    others = "\n".join(["import ml_dtypes"] * module.uses_bfloat16 + ["import numpy as np"])
    head = [doc, f"{standard}\n\n{others}", imports, "\n".join(_constants(module) + module.known)]
    return "\n\n".join(filter(None, head)) + "\n\n\n" + "\n\n\n".join(functions) + "\n"


def memory_plan(
    graph: Graph, library: NativeLibrary | None = None, donated: Sequence[int] = ()
) -> MemoryPlan:
    """The places of the results of calls of `graph` in the module that `print_module` prints."""
    module = _module(graph)
    module.library = library
    plan = planned(graph, module, parameters_of(graph, module), donated).plan
    assert plan is not None
    return plan


def entry_name(graph: Graph) -> str:
    """The name of the module's function: that of the graph."""
    return Names([*RESERVED, *FIXED_NAMES, *self_check_names()]).claim(identifier(graph.name))


def callbacks(graph: Graph) -> Mapping[str, Callable[..., Any]]:
    """The Python functions that the module calls, by the global variables in which it looks for them."""
    if not has_effects(graph):
        return {}
    module = _module(graph)
    planned(graph, module, parameters_of(graph, module)).write()
    nested_functions(module)
    return {name: partial(lookup(call.op).numpy, **call.params) for name, call in module.callbacks}


def _module(graph: Graph) -> Module:
    return module_of([entry_name(graph)], graph)


def module_of(own: Sequence[str], graph: Graph) -> Module:
    """A module whose functions have these names in addition to those of all modules, for the sizes of a graph."""
    fixed = [*own, *FIXED_NAMES, *self_check_names()]
    sizes = size_variables(graph, (*RESERVED, *fixed))
    module = Module(fixed_names=[*fixed, *sizes.values()], sizes=sizes)
    for name in module.fixed_names:
        module.names.claim(name)
    return module


def parameters_of(graph: Graph, module: Module) -> list[str]:
    """The names of the inputs in the function that runs a graph."""
    return module.names.inner([identifier(name) for name in graph.input_names])


def _first_parameters(effects: bool) -> tuple[str, ...]:
    return ("mine", "outside") if effects else ("mine",)


# ---- the parts of a module -------------------------------------------------------------------------


def _header(name: str, module: Module, check: bool) -> list[str]:
    needs = "NumPy and ml_dtypes" if module.uses_bfloat16 else "only NumPy"
    run = (
        " Run this file to check it against the NumPy definition of every operation and to time it."
        if check
        else ""
    )
    called = _called_library(module)
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
    called = _called_library(module)
    standard = {
        *["base64"] * packed,
        *["collections", "os"] * bool(module.tiles),
        *["contextvars"] * main.may_warn,
        *["sys", "time"] * check,
        *(called.imports if called else ()),
        *(called.imports_of_check if called and check else ()),
    }
    others = ["import ml_dtypes"] * module.uses_bfloat16 + ["import numpy as np"]
    return [*(f"import {name}" for name in sorted(standard)), "", *others]


def _constants(module: Module) -> list[str]:
    lines: list[str] = []
    for name, constant in module.constants.values():
        text = array_text(constant.array)
        if text is None:
            bytes_name = f"{name}_bytes"
            lines += [f'{bytes_name} = """', *packed_text(constant.array), '"""']
            text = unpacking_text(bytes_name, constant.array)
        lines.append(f"{name} = {text}")
    lines += [
        f"{name} = None  # a Python function, set by whoever loads this module"
        for name, _ in module.callbacks
    ]
    if called := _called_library(module):
        lines += [f"{f.name} = None  # a {called.language} function, set by `link`" for f in called.functions]
    return lines


def _called_library(module: Module) -> NativeLibrary | None:
    """The library whose functions the module calls, if it calls any."""
    return module.library if module.library and module.library.functions else None


def helper_functions(module: Module) -> list[list[str]]:
    """The functions with the definitions of ops, and the one that allocates memory if it is used."""
    functions: list[list[str]] = [function_text(op, name) for op, name in module.helpers.items()]
    return [[*NEW_MEMORY.splitlines()], *functions] if module.makes_memory else functions


def nested_functions(module: Module) -> list[list[str]]:
    """Functions for the graphs that are called; writing one may find more."""
    functions: list[list[str]] = []
    done = 0
    while done < len(module.nested):
        nested, name = list(module.nested.items())[done]
        graph = nested.graph
        function = planned_nested(nested, module, parameters_of(graph, module))
        function.write()
        outside = ["outside"] if has_effects(graph) else []
        functions.append(function.text(name, (*outside, *module.sizes_in(graph))))
        done += 1
    return functions


def has_workspace(main: Function) -> bool:
    """Whether a call needs a context or memory that is kept from call to call."""
    return main.may_warn or bool(main.buffers)


def entry_functions(graph: Graph, name: str, main: Function, effects: bool) -> list[list[str]]:
    """The function of the module, and those that run its statements in a workspace if they need one."""
    inputs = [f"{p}: {v.type}" for p, v in zip(main.parameters, graph.inputs, strict=True)]
    outputs = [f"{v.type}" for v in graph.outputs]
    doc = f"Inputs: {', '.join(inputs) or 'none'}. Outputs: {', '.join(outputs) or 'none'}."
    if not has_workspace(main):
        return [main.text(name, (), doc, reading(main, main.used_sizes))]
    sizes = sizes_used(main.module.sizes, [*_views(main), main.module.size(main.arena_bytes)])
    first = [*_first_parameters(effects), *main.used_sizes]
    run, arguments = ("mine[0].run(", ("statements", *first)) if main.may_warn else ("statements(", first)
    entry = [
        *definition(name, main.parameters),
        f'    """{doc}"""',
        *reading(main, [*main.used_sizes, *sizes]),
        *(
            ["    outside = contextvars.copy_context()  # in which the Python functions run"]
            if effects
            else []
        ),
        "    try:",
        "        mine = idle.pop()",
        "    except IndexError:",
        *_made_workspace(main, sizes),
        *wrapped(f"outputs = {run}", [*arguments, *main.parameters], ")"),
        "    idle.append(mine)",
        "    return outputs",
    ]
    workspace = _sized_workspace(main, sizes) if sizes else _workspace(main)
    return [workspace, entry, main.text("statements", first)]


def reading(function: Function, used: Sequence[str]) -> list[str]:
    """Statements that read sizes from the inputs."""
    return size_statements(function.graph, function.parameters, function.module.sizes, used)


def _made_workspace(main: Function, sizes: Sequence[str]) -> list[str]:
    """Statements that allocate a workspace, or reallocate it for calls with other sizes."""
    if not sizes:
        return ["        mine = workspace()"]
    return [
        "        mine = None",
        f"    if mine is None or mine[{int(main.may_warn)}] != {tuple_text(sizes)}:",
        f"        mine = workspace({', '.join(['mine', *sizes])})",
    ]


def _sized_workspace(main: Function, sizes: Sequence[str]) -> list[str]:
    """`_workspace` for memory that depends on named sizes: it is kept until a call needs more."""
    may_warn = main.may_warn
    context = "a context that ignores floating-point errors, and " * may_warn
    doc = f"{context}memory for results, as far as `kept` has none."
    needed, new_memory = main.module.size(main.arena_bytes), main.module.new_memory(main.arena_bytes)
    lines = [
        *definition("workspace", ["kept", *sizes]),
        f'    """{doc[0].upper()}{doc[1:]}"""',
        "    if kept is None:",
        *(f"        {statement}" for statement in QUIET if may_warn),
        f"        memory = {new_memory}",
        "    else:",
        f"        {'quiet, ' * may_warn}_, memory, *_ = kept",
        f"        if memory.size < {needed}:",
        f"            memory = {new_memory}",
    ]
    kept = [*["quiet"] * may_warn, tuple_text(sizes), "memory", *_views(main)]
    return [*lines, "    return (", *(f"        {value}," for value in kept), "    )"]


def _views(main: Function) -> list[str]:
    """The buffers, as parts of the workspace's memory."""
    module = main.module
    return [
        f"np.ndarray({module.shape(type.shape)}, {dtype_text(type.dtype)}, memory, {module.size(offset)})"
        for offset, type in main.buffer_types
    ]


def _workspace(main: Function) -> list[str]:
    """Allocates what one call needs; ``idle`` keeps it from call to call."""
    parts = [
        *["a context that ignores floating-point errors"] * main.may_warn,
        *["memory for results in between"] * bool(main.buffers),
    ]
    doc = ", and ".join(parts)
    lines = ["def workspace():", f'    """{doc[0].upper()}{doc[1:]}."""']
    if main.may_warn:
        lines += [f"    {statement}" for statement in QUIET]
    if not main.buffers:
        return [*lines, "    return (quiet,)"]
    lines.append(f"    memory = {main.module.new_memory(main.arena_bytes)}")
    kept = [*["quiet"] * main.may_warn, *_views(main)]
    return [*lines, "    return (", *(f"        {value}," for value in kept), "    )"]
