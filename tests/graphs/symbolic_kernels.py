"""Kernels on arrays of any size, as texts by name: what loops and C must do once for all sizes."""

from collections.abc import Mapping
from functools import cache
from zlib import crc32

import numpy as np

from c.compiling import shape_at
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.kernels.kernel import kernel_function
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import Graph
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.text.parser import parse
from tracemill.compiler.text.printer import HEADER

HINTS = {"B": 8, "N": 100, "M": 7}
"""Sizes with which they are printed."""

SIZES = (
    {"B": 2, "N": 2, "M": 2},
    {"B": 3, "N": 5, "M": 9},
    {"B": 33, "N": 64, "M": 31},
    {"B": 300, "N": 515, "M": 129},
)
"""Sizes with which they run."""

_SMALL = [{"B": 2, "N": 2, "M": 2}, {"B": 3, "N": 5, "M": 9}, {"B": 2, "N": 67, "M": 33}]

EMPTY = (
    {"B": 0, "N": 0, "M": 0},
    {"B": 3, "N": 0, "M": 2},
    {"B": 0, "N": 4, "M": 2},
    {"B": 3, "N": 4, "M": 0},
    {"B": 1, "N": 1, "M": 1},
)
"""Sizes of arrays without elements, and with one."""

OTHER_SIZES = {
    "few_columns": [{"B": b, "M": m} for b in (2, 17) for m in (2, 3, 4, 5, 600)],
    "halves": [{"N": 2}, {"N": 6}, {"N": 64}, {"N": 514}],
    "products": _SMALL,
    "running_largest": _SMALL,
    "tiles_without_rest": [{"B": 32, "N": 2}, {"B": 64, "N": 33}, {"B": 288, "N": 64}, {"B": 32, "N": 515}],
    "pairs_of_any_width": [*_SMALL, {"B": 33, "N": 64, "M": 31}, {"B": 5, "N": 1030, "M": 300}],
    "windows": [{"N": 4}, {"N": 5}, {"N": 64}, {"N": 515}],
}
"""The same for kernels that are not for all of these."""

KERNELS = {
    "softmax": """
def f(x: f32[B, N]) -> f32[B, N]:  # B in 2.., N in 2..
    m: f32[B] = max(x, axes=(1,))
    mr: f32[B, 1] = reshape(m, shape=(B, 1))
    mb: f32[B, N] = broadcast_to(mr, shape=(B, N))
    d: f32[B, N] = subtract(x, mb)
    e: f32[B, N] = exp(d)
    s: f32[B] = sum(e, axes=(1,))
    sr: f32[B, 1] = reshape(s, shape=(B, 1))
    sb: f32[B, N] = broadcast_to(sr, shape=(B, N))
    o: f32[B, N] = divide(e, sb)
    return o
""",
    "column_statistics": """
def f(x: f32[B, N]) -> (f32[N], f32[N], f32[N]):  # B in 2.., N in 2..
    m: f32[N] = max(x, axes=(0,))
    n: f32[N] = min(x, axes=(0,))
    s: f32[N] = sum(x, axes=(0,))
    return m, n, s
""",
    "differences": """
def f(x: f32[B, N]) -> f32[B, N - 1]:  # B in 2.., N in 2..
    a: f32[B, N - 1] = slice(x, start=(0, 1), stop=(B, N), step=(1, 1))
    b: f32[B, N - 1] = slice(x, start=(0, 0), stop=(B, N - 1), step=(1, 1))
    d: f32[B, N - 1] = subtract(a, b)
    return d
""",
    "every_other_backwards": """
def f(x: f64[N]) -> f64[(N + 1) // 2]:  # N in 2..
    a: f64[(N + 1) // 2] = slice(x, start=(0,), stop=(N,), step=(2,))
    b: f64[(N + 1) // 2] = flip(a, axes=(0,))
    return b
""",
    "transposed": """
def f(x: f32[B, N], y: f32[N, B]) -> f32[B, N]:  # B in 2.., N in 2..
    t: f32[B, N] = transpose(y, axes=(1, 0))
    d: f32[B, N] = add(x, t)
    return d
""",
    "tiles_without_rest": """
def f(x: f32[B, N]) -> f32[N, B]:  # B in 32.., B % 32 == 0, N in 2..
    t: f32[N, B] = transpose(x, axes=(1, 0))
    d: f32[N, B] = negative(t)
    return d
""",
    "side_by_side": """
def f(x: f32[B, N], y: f32[B, M]) -> f32[B, M + N]:  # B in 2.., N in 2.., M in 2..
    t: f32[B, M + N] = concatenate(x, y, axis=1)
    d: f32[B, M + N] = square(t)
    return d
""",
    "side_by_side_flat": """
def f(x: f32[B, N], y: f32[B, M]) -> f32[B*M + B*N]:  # B in 2.., N in 2.., M in 2..
    t: f32[B, M + N] = concatenate(x, y, axis=1)
    d: f32[B, M + N] = square(t)
    r: f32[B*M + B*N] = reshape(d, shape=(B*M + B*N,))
    return r
""",
    "padded": """
def f(x: i32[B, N]) -> i32[B + 3, 2*N]:  # B in 2.., N in 2..
    p: i32[B + 3, 2*N] = pad(x, i32(7), low=(1, 0), high=(2, 1), interior=(0, 1))
    q: i32[B + 3, 2*N] = add(p, p)
    return q
""",
    "on_a_torus": """
def f(x: f64[N, N]) -> f64[N, N]:  # N in 2..
    a: f64[1, N] = slice(x, start=(N - 1, 0), stop=(N, N), step=(1, 1))
    b: f64[N - 1, N] = slice(x, start=(0, 0), stop=(N - 1, N), step=(1, 1))
    up: f64[N, N] = concatenate(a, b, axis=0)
    c: f64[N - 1, N] = slice(x, start=(1, 0), stop=(N, N), step=(1, 1))
    d: f64[1, N] = slice(x, start=(0, 0), stop=(1, N), step=(1, 1))
    down: f64[N, N] = concatenate(c, d, axis=0)
    e: f64[N, 1] = slice(x, start=(0, N - 1), stop=(N, N), step=(1, 1))
    f: f64[N, N - 1] = slice(x, start=(0, 0), stop=(N, N - 1), step=(1, 1))
    left: f64[N, N] = concatenate(e, f, axis=1)
    g: f64[N, N - 1] = slice(x, start=(0, 1), stop=(N, N), step=(1, 1))
    h: f64[N, 1] = slice(x, start=(0, 0), stop=(N, 1), step=(1, 1))
    right: f64[N, N] = concatenate(g, h, axis=1)
    rows: f64[N, N] = add(up, down)
    columns: f64[N, N] = add(left, right)
    s: f64[N, N] = add(rows, columns)
    return s
""",
    "windows": """
def f(x: f32[N], y: f32[N]) -> f32[N]:  # N in 4..
    u: f32[N - 2] = slice(y, start=(1,), stop=(N - 1,), step=(1,))
    w: f32[N] = update_slice(x, u, start=(1,), stop=(N - 1,), step=(1,))
    return w
""",
    "channels": """
def f(x: f32[B, N, 4]) -> f32[B, 4*N]:  # B in 2.., N in 2..
    t: f32[B, N, 4] = tanh(x)
    d: f32[B, N, 4] = multiply(t, x)
    r: f32[B, 4*N] = reshape(d, shape=(B, 4*N))
    return r
""",
    "taken_apart": """
def f(x: f32[B*N], y: f32[B, 1]) -> f32[B, N]:  # B in 2.., N in 2..
    r: f32[B, N] = reshape(x, shape=(B, N))
    s: f32[B, N] = broadcast_to(y, shape=(B, N))
    d: f32[B, N] = multiply(r, s)
    return d
""",
    "halves": """
def f(x: f32[N]) -> f32[N // 2]:  # N in 2.., N % 2 == 0
    r: f32[2, N // 2] = reshape(x, shape=(2, N // 2))
    s: f32[N // 2] = sum(r, axes=(0,))
    return s
""",
    "pairs": """
def f(x: f32[N, 3], y: f32[M, 3]) -> f32[N]:  # N in 2.., M in 2..
    xr: f32[N, 1, 3] = reshape(x, shape=(N, 1, 3))
    yr: f32[1, M, 3] = reshape(y, shape=(1, M, 3))
    xb: f32[N, M, 3] = broadcast_to(xr, shape=(N, M, 3))
    yb: f32[N, M, 3] = broadcast_to(yr, shape=(N, M, 3))
    d: f32[N, M, 3] = subtract(xb, yb)
    q: f32[N, M, 3] = square(d)
    s: f32[N, M] = sum(q, axes=(2,))
    g: f32[N, M] = negative(s)
    e: f32[N, M] = exp(g)
    o: f32[N] = sum(e, axes=(1,))
    return o
""",
    "long_pairs": """
def f(x: f32[N, 16], y: f32[M, 16]) -> (f32[N], i64[N]):  # N in 2.., M in 2..
    xr: f32[N, 1, 16] = reshape(x, shape=(N, 1, 16))
    yr: f32[1, M, 16] = reshape(y, shape=(1, M, 16))
    xb: f32[N, M, 16] = broadcast_to(xr, shape=(N, M, 16))
    yb: f32[N, M, 16] = broadcast_to(yr, shape=(N, M, 16))
    d: f32[N, M, 16] = subtract(xb, yb)
    q: f32[N, M, 16] = square(d)
    s: f32[N, M] = sum(q, axes=(2,))
    o: f32[N] = min(s, axes=(1,))
    a: i64[N] = argmin(s, axis=1)
    return o, a
""",
    "pairs_of_any_width": """
def f(x: f32[B, M], y: f32[N, M]) -> (f32[B], i64[B, N]):  # B in 2.., N in 2.., M in 2..
    xr: f32[B, 1, M] = reshape(x, shape=(B, 1, M))
    yr: f32[1, N, M] = reshape(y, shape=(1, N, M))
    xb: f32[B, N, M] = broadcast_to(xr, shape=(B, N, M))
    yb: f32[B, N, M] = broadcast_to(yr, shape=(B, N, M))
    d: f32[B, N, M] = subtract(xb, yb)
    q: f32[B, N, M] = square(d)
    s: f32[B, N] = sum(q, axes=(2,))
    r: f32[B, N] = sqrt(s)
    e: f32[B, N] = exp(r)
    o: f32[B] = max(e, axes=(1,))
    p: i64[B, N] = argmin(d, axis=2)
    return o, p
""",
    "few_columns": """
def f(x: f32[130*B, M], y: f32[M]) -> (f32[130*B, M], f32[M]):  # B in 2.., M in 2..
    n: i64[] = size(of=M)
    c: f32[] = convert(n, dtype=f32)
    q: f32[130*B, M] = square(x)
    s: f32[130*B] = sum(q, axes=(1,))
    cb: f32[130*B] = broadcast_to(c, shape=(130*B,))
    d: f32[130*B] = divide(s, cb)
    r: f32[130*B, 1] = reshape(d, shape=(130*B, 1))
    rb: f32[130*B, M] = broadcast_to(r, shape=(130*B, M))
    o: f32[130*B, M] = divide(x, rb)
    t: f32[M] = sum(q, axes=(0,))
    u: f32[M] = add(t, y)
    return o, u
""",
    "layer_norm": """
def f(x: f32[B, N], w: f32[N]) -> f32[B, N]:  # B in 2.., N in 2..
    n: i64[] = size(of=N)
    c: f32[] = convert(n, dtype=f32)
    s: f32[B] = sum(x, axes=(1,))
    cb: f32[B] = broadcast_to(c, shape=(B,))
    m: f32[B] = divide(s, cb)
    mr: f32[B, 1] = reshape(m, shape=(B, 1))
    mb: f32[B, N] = broadcast_to(mr, shape=(B, N))
    d: f32[B, N] = subtract(x, mb)
    q: f32[B, N] = square(d)
    v: f32[B] = sum(q, axes=(1,))
    vm: f32[B] = divide(v, cb)
    r: f32[B] = sqrt(vm)
    rr: f32[B, 1] = reshape(r, shape=(B, 1))
    rb: f32[B, N] = broadcast_to(rr, shape=(B, N))
    z: f32[B, N] = divide(d, rb)
    wr: f32[1, N] = reshape(w, shape=(1, N))
    wb: f32[B, N] = broadcast_to(wr, shape=(B, N))
    o: f32[B, N] = multiply(z, wb)
    return o
""",
    "largest_places": """
def f(x: f32[B, N]) -> (i64[B], i64[N]):  # B in 2.., N in 2..
    a: i64[B] = argmax(x, axis=1)
    b: i64[N] = argmin(x, axis=0)
    return a, b
""",
    "taken": """
def f(x: f32[N, M], i: i64[B], s: u64[]) -> (f32[B, M], f32[2]):  # B in 2.., N in 2.., M in 2..
    g: f32[B, M] = gather(x, i, axes=(0,))
    c: f32[M] = sum(x, axes=(0,))
    w: f32[2] = dynamic_slice(c, s, sizes=(2,))
    return g, w
""",
    "sums": """
def f(x: f64[B, N], y: c64[N]) -> (f64[], c64[], bool[B]):  # B in 2.., N in 2..
    s: f64[] = sum(x, axes=(0, 1))
    t: c64[] = sum(y, axes=(0,))
    g: bool[B, N] = greater(x, f64(0.5))
    a: bool[B] = any(g, axes=(1,))
    return s, t, a
""",
    "places": """
def f(x: f32[N]) -> f32[B, N]:  # B in 2.., N in 2..
    i: i32[N] = iota(length=N, dtype=i32)
    j: i32[1, N] = reshape(i, shape=(1, N))
    k: i32[B, N] = broadcast_to(j, shape=(B, N))
    c: f32[B, N] = convert(k, dtype=f32)
    r: f32[1, N] = reshape(x, shape=(1, N))
    b: f32[B, N] = broadcast_to(r, shape=(B, N))
    o: f32[B, N] = multiply(b, c)
    return o
""",
}

STEPS = {
    "running_sums": """
def f(x: f64[B, N]) -> f64[B, N]:  # B in 2.., N in 2..
    s: f64[B, N] = cumsum(x, axis=1, reverse=False)
    return s
""",
    "running_largest": """
def f(x: f32[B, N, M]) -> f32[B, N, M]:  # B in 2.., N in 2.., M in 2..
    s: f32[B, N, M] = cummax(x, axis=1, reverse=True)
    return s
""",
    "sorted_pairs": """
def f(x: f32[B, N], y: i64[B, N]) -> (f32[B, N], i64[B, N]):  # B in 2.., N in 2..
    s: f32[B, N], t: i64[B, N] = sort(x, y, axis=1, num_keys=1, descending=False)
    return s, t
""",
    "sorted_columns": """
def f(x: i32[N, B], y: f64[N, B]) -> (i32[N, B], f64[N, B]):  # B in 2.., N in 2..
    s: i32[N, B], t: f64[N, B] = sort(x, y, axis=0, num_keys=2, descending=True)
    return s, t
""",
    "largest": """
def f(x: f32[B, N + 3]) -> (f32[B, 3], i64[B, 3]):  # B in 2.., N in 2..
    v: f32[B, 3], i: i64[B, 3] = top_k(x, k=3, axis=1)
    return v, i
""",
    "written": """
def f(x: f32[N, M], y: f32[B, M], i: i64[B]) -> f32[N, M]:  # B in 2.., N in 2.., M in 2..
    s: f32[N, M] = scatter(x, y, i, axes=(0,), mode="add")
    return s
""",
    "part_written": """
def f(x: f32[B, 2*N], y: f32[B, N], i: i64[], j: u32[]) -> f32[B, 2*N]:  # B in 2.., N in 2..
    s: f32[B, 2*N] = dynamic_update_slice(x, y, i, j)
    return s
""",
    "bits": """
def f(k: u32[2], c: u32[4]) -> u32[B, N]:  # B in 2.., N in 2..
    r: u32[B, N] = random_bits(k, c, shape=(B, N), dtype=u32)
    return r
""",
    "bits_of_many": """
def f(k: u32[B, 2], c: u32[B, 4]) -> u64[B, N]:  # B in 2.., N in 2..
    r: u64[B, N] = random_bits(k, c, shape=(N,), dtype=u64)
    return r
""",
    "products": """
def f(x: i64[B, N, M], y: i64[B, M, N]) -> i64[B, N, N]:  # B in 2.., N in 2.., M in 2..
    p: i64[B, N, N] = dot(x, y, contract_x=(2,), contract_y=(1,), batch_x=(0,), batch_y=(0,))
    return p
""",
    "products_of_rows": """
def f(x: i32[N, M], y: i32[B, M]) -> i32[N, B]:  # B in 2.., N in 2.., M in 2..
    p: i32[N, B] = dot(x, y, contract_x=(1,), contract_y=(1,))
    return p
""",
    "product_with_vector": """
def f(x: f64[N, M], y: f64[M]) -> f64[N]:  # N in 2.., M in 2..
    p: f64[N] = dot(x, y, contract_x=(1,), contract_y=(0,))
    return p
""",
    "recurrence": """
def f(w: f64[M, M], x: f64[M], y: f64[N, M]) -> (f64[M], f64[N, M]):  # M in 2.., N in 2..
    def step(w: f64[M, M], h: f64[M], y: f64[M]) -> (f64[M], f64[M]):
        p: f64[M] = dot(w, h, contract_x=(1,), contract_y=(0,))
        q: f64[M] = multiply(p, f64(0.01))
        a: f64[M] = add(q, y)
        t: f64[M] = tanh(a)
        s: f64[M] = cumsum(t, axis=0, reverse=False)
        return t, s
    h: f64[M], r: f64[N, M] = scan(w, x, y, graph=step, counts=(1, 1), length=N, reverse=True)
    return h, r
""",
    "repeated": """
def f(x: f64[N], n: i64[]) -> (f64[N], i64[]):  # N in 2..
    def goes_on(x: f64[N], n: i64[]) -> bool[]:
        c: bool[] = greater(n, i64(0))
        return c
    def step(x: f64[N], n: i64[]) -> (f64[N], i64[]):
        y: f64[N] = flip(x, axes=(0,))
        z: f64[N] = cos(y)
        m: i64[] = subtract(n, i64(1))
        return z, m
    y: f64[N], m: i64[] = while_loop(x, n, cond=goes_on, body=step, consts=0)
    return y, m
""",
    "chosen": """
def f(i: i64[], x: f64[N]) -> f64[N]:  # N in 2..
    def one(x: f64[N]) -> f64[N]:
        y: f64[N] = sin(x)
        return y
    def two(x: f64[N]) -> f64[N]:
        s: f64[N] = cumsum(x, axis=0, reverse=False)
        y: f64[N] = exp(s)
        return y
    y: f64[N] = switch(i, x, branches=(one, two))
    return y
""",
}
"""Calls that are not loop nests, each alone in a graph."""


def in_c(name: str, text: str) -> tuple[Graph, CFunction]:
    """The graph of a text, and its C function."""
    graph = parse(f"{HEADER}{text}")
    if name in KERNELS:
        function = kernel_function(graph, f"c_{name}", COptions(), in_place=True)
    else:
        (call,) = graph.calls
        function = print_function(call, f"c_{name}", COptions(), in_loop=True)
    assert function is not None
    return graph, function


@cache
def printed(name: str) -> tuple[Graph, CFunction, Observed]:
    """A kernel or a step, its C function, and what was assumed when that was printed."""
    scope = Observed(HINTS)
    with answering(scope):
        return *in_c(name, {**KERNELS, **STEPS}[name]), scope


def drawn(graph: Graph, sizes: Mapping[str, int], seed: str) -> list[Array]:
    rng = np.random.default_rng(crc32(repr((seed, sorted(sizes.items()))).encode()))
    arrays: list[Array] = []
    for value in graph.inputs:
        shape, dtype = shape_at(value.type, sizes), value.dtype
        if dtype.kind in "iu":
            arrays.append(rng.integers(0 if dtype.kind == "u" else -1, 4, shape).astype(dtype))
        elif dtype.kind == "c":
            arrays.append((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype))
        else:
            arrays.append(rng.normal(size=shape).astype(dtype))
    return arrays
