"""Tiles as statements: a function that computes one, and the functions that distribute them to threads."""

from collections.abc import Sequence
from dataclasses import replace

from ...identifiers import identifier
from ...ir import ArrayType, Call, Extent, Graph, Value
from ...op import is_view
from ...params import graph_param, int_param, ints_param, optional_graph_param, optional_ints_param
from ...symbolic_size import same_shape, typical
from .form import form
from .function import QUIET, Function, plain_tile, planned_tile
from .literals import dtype_text
from .module import Module, Nested, Scope, Tile
from .nested import operand_text, run_text
from .planes import PLANES, has_short_rows, wants_planes
from .text import assigned_tuple, operand, slice_text, tuple_text, wrapped

THREADS = '''\
def threads():
    """The number of threads for tiles: OMP_NUM_THREADS, or the number of cores that this process may use."""
    try:
        return int(os.environ["OMP_NUM_THREADS"])
    except (KeyError, ValueError):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
'''

POOL = '''\
def pool():
    """Threads that wait for tiles; a forked process makes its own."""
    if (process := os.getpid()) not in pools:
        import concurrent.futures  # takes long, and a single thread does not need it

        pools.setdefault(process, concurrent.futures.ThreadPoolExecutor(64, "tiles"))
    return pools[process]
'''

IN_TILES = '''\
def in_tiles(tile, memory, count, *arrays):
    """Compute this many tiles, here and in other threads if each gets at least two."""
    numbers = collections.deque(range(count))
    helpers = []
    try:
        for _ in range(min(threads(), count // 2) - 1):
            helpers.append(pool().submit(some_tiles, numbers, tile, memory, arrays))
    except RuntimeError:  # the interpreter is shutting down
        pass
    try:
        some_tiles(numbers, tile, memory, arrays)
    finally:
        numbers.clear()
        errors = [helper.exception() for helper in helpers if not helper.cancel()]
    for error in errors:
        if error is not None:
            raise error
'''

FEW = """\
    if count < 4:  # where sizes have names, there may be none but the rest
        return some_tiles(numbers, tile, memory, sizes, arrays) if count else None
"""

SOME_TILES = '''\
def some_tiles(numbers, tile, memory, arrays):
    """Compute tiles until none is left."""
    try:
        quiet, arena = idle_arenas.pop()
    except IndexError:
        arena = {arena}
        {quiet}
    mine = memory(arena)
    while numbers:
        try:
            number = numbers.popleft()
        except IndexError:
            break
        quiet.run(tile, number, mine, *arrays)
    idle_arenas.append((quiet, arena))
'''

SOME_TILES_OF_SIZES = '''\
def some_tiles(numbers, tile, memory, sizes, arrays):
    """Compute tiles until none is left."""
    try:
        quiet, arena = idle_arenas.pop()
    except IndexError:
        arena = np.empty(0, np.uint8)
        {quiet}
    arena, mine = memory(arena, *sizes)
    while numbers:
        try:
            number = numbers.popleft()
        except IndexError:
            break
        quiet.run(tile, number, mine, *sizes, *arrays)
    idle_arenas.append((quiet, arena))
'''
"""The same in modules with named sizes, whose arena is as large as the calls so far have needed."""

NAMES = ("threads", "pool", "pools", "in_tiles", "some_tiles", "in_planes", "idle_arenas")
"""The names of the functions and of their state.

The loader of the module may replace ``threads`` by its own function, and ``pools`` by a dict that modules share.
"""


SMALL = 1 << 16
"""With named sizes, values with up to this many bytes are computed without tiles, which cost some microseconds."""


@form("tiled")
def _tiled(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``if`` there is enough for tiles, these, ``else`` a call of the function that computes everything at once."""
    whole = optional_graph_param(call, "whole")
    inputs = [operand_text(value, scope) for value in call.inputs]
    outputs = scope.name_outputs(call)
    if whole is None or (scope.is_plain and not _is_same(whole, call)):
        return _in_tiles(call, scope, inputs, outputs, target)
    at_once = assigned_tuple(
        outputs, run_text(Nested(whole, is_plain=scope.is_plain), inputs, scope), indent=8
    )
    if scope.is_plain:
        return [line[4:] for line in at_once]
    return [
        f"    if {_pay(call, scope)}:",
        *_in_tiles(call, scope, inputs, outputs, target, indent=8),
        "    else:",
        *at_once,
    ]


def _is_same(whole: Graph, call: Call) -> bool:
    """Whether a graph returns what a call does for all sizes: for parts that are reduced later, it returns one."""
    return all(same_shape(x.shape, y.shape) for x, y in zip(whole.outputs, call.outputs, strict=True))


def _pay(call: Call, scope: Scope) -> str:
    """The condition under which tiles are worth it."""
    if not _is_same(graph_param(call, "whole"), call):
        return f"{scope.size(int_param(call, 'count'))} > 0"
    largest = max(_made(graph_param(call, "whole")), key=lambda value: typical(value.type.nbytes))
    return f"{scope.size(largest.type.nbytes)} > {SMALL}"


def _made(graph: Graph) -> list[Value]:
    """The results in memory."""
    return [call.outputs[0] for call in graph.calls if not is_view(call)]


def _in_tiles(
    call: Call,
    scope: Scope,
    inputs: list[str],
    outputs: Sequence[str],
    target: str | None,
    *,
    indent: int = 4,
) -> list[str]:
    """Outputs are joined in memory into which each tile writes its part."""
    lines = [
        f"{' ' * indent}{output} = {target or f'np.empty({scope.type(value.type)})'}"
        for output, value in zip(outputs, call.outputs, strict=True)
    ]
    tile = Tile(
        graph_param(call),
        optional_ints_param(call, "cuts"),
        ints_param(call, "joins"),
        is_plain=scope.is_plain,
    )
    parts = [(tile, int_param(call, "count"))]
    rest = optional_graph_param(call, "rest")
    if rest is not None:
        parts.append((replace(tile, graph=rest, is_last=True), 1))
    if wants_planes(tile.graph) and not scope.is_plain:
        inputs = [
            f"in_planes({text})" if cut is None and has_short_rows(value.type) else text
            for text, value, cut in zip(inputs, call.inputs, tile.cuts, strict=True)
        ]
    for tile, count in parts:
        sizes = [tuple_text(scope.module.sizes_in(tile.graph))] if scope.module.sizes else []
        arguments = [*scope.module.tile(tile), *sizes, scope.size(count), *inputs, *outputs]
        lines += wrapped("in_tiles(", arguments, ")", indent=indent)
    return lines


def tile_functions(module: Module) -> list[list[str]]:
    """The functions of all tiles and, if there are any, those that run them."""
    functions: list[list[str]] = []
    arena_bytes = 0
    waiting = list(module.tiles)
    for tile in waiting:
        name, memory = module.tiles[tile]
        function, lines = _tile(tile, name, module)
        waiting += list(module.tiles)[len(waiting) :]  # those of tiles in tiles
        functions += [_memory(memory, function, module.sizes_in(tile.graph)), lines]
        if not module.sizes:
            arena_bytes = max(arena_bytes, function.arena_bytes)
    if functions:
        module.known += [
            "idle_arenas = []  # memory that no tile is using now",
            "pools = {}  # of threads, by process",
        ]
        functions = [*(text.splitlines() for text in _shared(module, arena_bytes)), *functions]
    return functions


def _shared(module: Module, arena_bytes: int) -> Sequence[str]:
    """The functions that distribute tiles."""
    planes = [PLANES] * any(wants_planes(tile.graph) for tile in module.tiles)
    quiet = "\n        ".join(QUIET)
    if not module.sizes:
        some_tiles = SOME_TILES.format(arena=module.new_memory(arena_bytes), quiet=quiet)
        return (THREADS, POOL, IN_TILES, some_tiles, *planes)
    in_tiles = IN_TILES.replace("memory, count", "memory, sizes, count")
    in_tiles = in_tiles.replace("memory, arrays", "memory, sizes, arrays")
    in_tiles = in_tiles.replace("    helpers = []\n", FEW + "    helpers = []\n")
    return (THREADS, POOL, in_tiles, SOME_TILES_OF_SIZES.format(quiet=quiet), *planes)


def _tile(tile: Tile, name: str, module: Module) -> tuple[Function, list[str]]:
    """``def name(number, mine, inputs, outputs)``."""
    graph = tile.graph
    wanted = [*map(identifier, graph.input_names), *(f"out_{i + 1}" for i in range(len(graph.outputs)))]
    number, *variables = module.names.inner(["number", *wanted])
    inputs, outputs = variables[: len(graph.inputs)], variables[len(graph.inputs) :]
    function = (plain_tile if tile.is_plain else planned_tile)(graph, module, inputs, outputs)
    for variable, value, axis in zip(
        variables, (*graph.inputs, *graph.outputs), (*tile.cuts, *tile.joins), strict=True
    ):
        if axis is not None:
            rows = value.shape[axis]
            part = slice_text([module.size(-rows), ""]) if tile.is_last else _part(number, module.size(rows))
            function.lines.append(f"    {variable} = {variable}[{':, ' * axis}{part}]")
    function.write()
    return function, function.text(name, (number, "mine", *module.sizes_in(graph)))


def _part(number: str, rows: str) -> str:
    """``64 * number : 64 * number + 64``."""
    first = number if rows == "1" else f"{operand(rows)} * {number}"
    return f"{first} : {first} + {rows}"


def _memory(name: str, function: Function, sizes: Sequence[str]) -> list[str]:
    """``def name(arena)``: the buffers of a tile. With named sizes the arena is returned, too, or a larger one."""
    module = function.module
    views = [f"        {_buffer(type, offset, function)}," for offset, type in function.buffer_types]
    head = f"def {name}({', '.join(['arena', *sizes])}):"
    result = "arena, " if module.sizes else ""
    if not views:
        return [head, f"    return {result}()"]
    lines = [f"    return {result}(", "        None,", *views, "    )"]
    if not module.sizes:
        return [head, *lines]
    needed, new_memory = module.size(function.arena_bytes), module.new_memory(function.arena_bytes)
    return [head, f"    if arena.size < {needed}:", f"        arena = {new_memory}", *lines]


def _buffer(type: ArrayType, offset: Extent, function: Function) -> str:
    in_planes = function.planes and has_short_rows(type)
    shape = (type.shape[-1], *type.shape[:-1]) if in_planes else type.shape
    module = function.module
    text = f"np.ndarray({module.shape(shape)}, {dtype_text(type.dtype)}, arena, {module.size(offset)})"
    return f"np.moveaxis({text}, 0, -1)" if in_planes else text
