"""The entry of a generated module, and the workspace in which it runs its statements: a context and memory.

Functions of nested graphs, such as the steps of loops, have memory of their own that is kept from call to call.
"""

from collections.abc import Sequence
from typing import Final

from ...ir import Graph
from .function import QUIET, Function, definition
from .literals import dtype_text
from .named_sizes import sizes_used
from .text import tuple_text, wrapped

IDLE: Final = (
    "idle = []  # workspaces that no call is using now: each thread and each nested call takes its own"
)


def has_workspace(main: Function) -> bool:
    """Whether a call needs a context or memory that is kept from call to call."""
    return main.may_warn or bool(main.buffers)


def entry_functions(graph: Graph, name: str, main: Function, effects: bool) -> list[list[str]]:
    """The function of the module, and those that run its statements in a workspace if they need one."""
    inputs = [f"{p}: {v.type}" for p, v in zip(main.parameters, graph.inputs, strict=True)]
    outputs = [f"{v.type}" for v in graph.outputs]
    doc = f"Inputs: {', '.join(inputs) or 'none'}. Outputs: {', '.join(outputs) or 'none'}."
    if not has_workspace(main):
        return [main.text(name, (), doc, main.reading(main.used_sizes))]
    sizes = sizes_used(main.module.sizes, [*_views(main), main.module.size(main.arena_bytes)])
    first = [*_first_parameters(effects), *main.used_sizes]
    run, arguments = ("mine[0].run(", ("statements", *first)) if main.may_warn else ("statements(", first)
    entry = [
        *definition(name, main.parameters),
        f'    """{doc}"""',
        *main.reading([*main.used_sizes, *sizes]),
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


def _first_parameters(effects: bool) -> tuple[str, ...]:
    return ("mine", "outside") if effects else ("mine",)


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


def with_kept_memory(function: Function, name: str, first: Sequence[str]) -> list[list[str]]:
    """The function that allocates the memory, and the one that takes it, or idle memory, while it runs.

    The system would give fresh memory in each call, page by page, which takes longer than to compute with it. Calls in
    other threads, and in this one before it has returned, have memory of their own.
    """
    module = function.module
    idle, memory = (module.names.claim(f"{stem}_{name}") for stem in ("idle", "memory_of"))
    module.known.append(f"{idle} = []  # memory that no call of {name} is using now")
    views = (
        f"np.ndarray({module.shape(type.shape)}, {dtype_text(type.dtype)}, memory, {module.size(offset)})"
        for offset, type in function.buffer_types
    )
    made = [
        f"def {memory}():",
        '    """Memory for results in between."""',
        f"    memory = {module.new_memory(function.arena_bytes)}",
        "    return (",
        *(f"        {view}," for view in (*["None"] * function.may_warn, *views)),
        "    )",
    ]
    taking = [
        "    try:",
        f"        mine = {idle}.pop()",
        "    except IndexError:",
        f"        mine = {memory}()",
    ]
    function.lines.append(f"    {idle}.append(mine)")
    return [made, function.text(name, first, statements=taking)]
