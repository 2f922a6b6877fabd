"""Functions of nested graphs, such as the steps of loops, with memory that is kept from call to call."""

from collections.abc import Sequence

from .function import Function
from .literals import dtype_text


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
