"""Graphs on arrays of any size, as texts: what every printer must print once for all sizes."""
# ruff: noqa: E501  (a line of a graph is a line)

import tracemill as tm
from tracemill.compiler.ir import Graph

TEXTS = {
    "softmax": """
def softmax(x: f32[B, N], w: f32[N, 10]) -> (f32[B, 10], f32[B, N]):  # B in 2.., N in 2..
    max_1: f32[B] = max(x, axes=(1,))
    reshape_1: f32[B, 1] = reshape(max_1, shape=(B, 1))
    subtract_1: f32[B, N] = subtract(x, reshape_1)
    exp_1: f32[B, N] = exp(subtract_1)
    sum_1: f32[B] = sum(exp_1, axes=(1,))
    reshape_2: f32[B, 1] = reshape(sum_1, shape=(B, 1))
    divide_1: f32[B, N] = divide(exp_1, reshape_2)
    dot_1: f32[B, 10] = dot(divide_1, w, contract_x=(1,), contract_y=(0,))
    return dot_1, divide_1
""",
    "layout": """
def layout(x: f64[B, N], fill: f64[]) -> (f64[N, B], f64[B, N - 1], f64[B, N], f64[B*N], f64[3*B, 2*N + 4], f64[2*B, N]):  # B in 2.., N in 2..
    transpose_1: f64[N, B] = transpose(x, axes=(1, 0))
    flip_1: f64[N, B] = flip(transpose_1, axes=(0,))
    slice_1: f64[B, N - 1] = slice(x, start=(0, 0), stop=(B, N - 1), step=(1, 1))
    update_slice_1: f64[B, N] = update_slice(x, slice_1, start=(0, 1), stop=(B, N), step=(1, 1))
    reshape_1: f64[B*N] = reshape(x, shape=(B*N,))
    pad_1: f64[3*B, 2*N + 4] = pad(x, fill, low=(0, 2), high=(2*B, 3), interior=(0, 1))
    concatenate_1: f64[2*B, N] = concatenate(x, update_slice_1, axis=0)
    return flip_1, slice_1, update_slice_1, reshape_1, pad_1, concatenate_1
""",
    "creation": """
def creation(x: f32[B, N]) -> (f32[B, N], i64[], f64[B, 3], i32[B + N]):  # B in 2.., N in 2..
    iota_1: f32[N] = iota(length=N, dtype=f32)
    multiply_1: f32[B, N] = multiply(x, iota_1)
    size_1: i64[] = size(of=B*N)
    broadcast_to_1: f64[B, 3] = broadcast_to(f64(0.5), shape=(B, 3))
    iota_2: i32[B + N] = iota(length=B + N, dtype=i32)
    return multiply_1, size_1, broadcast_to_1, iota_2
""",
    "places": """
def places(x: f64[B, N], i: i64[B], j: i64[]) -> (f64[B, N], f64[N], f64[B, N], f64[B, N - 1], f64[B, N]):  # B in 2.., N in 2..
    gather_1: f64[B, N] = gather(x, i, axes=(0,))
    gather_2: f64[N] = gather(x, j, axes=(0,))
    scatter_1: f64[B, N] = scatter(x, gather_2, j, axes=(0,), mode="add")
    dynamic_slice_1: f64[B, N - 1] = dynamic_slice(x, i64(0), j, sizes=(B, N - 1))
    dynamic_update_slice_1: f64[B, N] = dynamic_update_slice(x, dynamic_slice_1, j, i64(1))
    return gather_1, gather_2, scatter_1, dynamic_slice_1, dynamic_update_slice_1
""",
    "products": """
def products(x: f64[B, N, 3], y: f64[B, 3, N], z: f64[N, 1]) -> (f64[B, N, N], f64[N, 3, 3, N], f64[B, 3, 1], f64[N, N], f64[]):  # B in 2.., N in 2..
    dot_1: f64[B, N, N] = dot(x, y, contract_x=(2,), contract_y=(1,), batch_x=(0,), batch_y=(0,))
    dot_2: f64[N, 3, 3, N] = dot(x, y, contract_x=(0,), contract_y=(0,))
    dot_3: f64[B, 3, 1] = dot(y, z, contract_x=(2,), contract_y=(0,))
    dot_4: f64[N, N] = dot(z, z, contract_x=(1,), contract_y=(1,))
    dot_5: f64[] = dot(x, y, contract_x=(0, 1, 2), contract_y=(0, 2, 1))
    return dot_1, dot_2, dot_3, dot_4, dot_5
""",
    "sums": """
def sums(x: f32[B, 4, N], y: f32[8*B, N]) -> (f32[B, 4], f32[B, N], f32[8*B], f32[N], f32[], i64[N]):  # B in 2.., N in 2..
    sum_1: f32[B, 4] = sum(x, axes=(2,))
    sum_2: f32[B, N] = sum(x, axes=(1,))
    sum_3: f32[8*B] = sum(y, axes=(1,))
    sum_4: f32[N] = sum(y, axes=(0,))
    sum_5: f32[] = sum(x, axes=(0, 1, 2))
    argmax_1: i64[N] = argmax(y, axis=0)
    return sum_1, sum_2, sum_3, sum_4, sum_5, argmax_1
""",
    "meanings": """
def meanings(x: f64[B, N]) -> (f64[B, N], f64[B, N], f64[B, N], f64[N, 2*B]):  # B in 2.., N in 2..
    erf_1: f64[B, N] = erf(x)
    cumsum_1: f64[B, N] = cumsum(erf_1, axis=1, reverse=False)
    sort_1: f64[B, N] = sort(x, axis=0, num_keys=1, descending=False)
    concatenate_1: f64[2*B, N] = concatenate(cumsum_1, sort_1, axis=0)
    transpose_1: f64[N, 2*B] = transpose(concatenate_1, axes=(1, 0))
    return erf_1, cumsum_1, sort_1, transpose_1
""",
    "a scan": """
def scanned(x: f64[B, N], c: f64[N]) -> (f64[N], f64[B, N], f64[N], f64[B]):  # B in 2.., N in 2..
    def step(c: f64[N], x: f64[N]) -> (f64[N], f64[N]):
        reshape_1: f64[1, N] = reshape(x, shape=(1, N))
        broadcast_to_1: f64[2, N] = broadcast_to(reshape_1, shape=(2, N))
        sum_1: f64[N] = sum(broadcast_to_1, axes=(0,))
        add_1: f64[N] = add(c, sum_1)
        return add_1, add_1
    def back(n: f64[], c: f64[N], x: f64[N]) -> (f64[N], f64[]):
        multiply_1: f64[N] = multiply(c, n)
        add_1: f64[N] = add(multiply_1, x)
        sum_1: f64[] = sum(add_1, axes=(0,))
        return add_1, sum_1
    scan_1: f64[N], scan_2: f64[B, N] = scan(c, x, graph=step, counts=(0, 1), length=B)
    scan_3: f64[N], scan_4: f64[B] = scan(f64(0.5), c, x, graph=back, counts=(1, 1), length=B, reverse=True, unroll=3)
    return scan_1, scan_2, scan_3, scan_4
""",
    "loops and branches": """
def looped(x: f64[B, N], n: i64[]) -> (f64[B, N], f64[B, N]):  # B in 2.., N in 2..
    def more(i: i64[], x: f64[B, N]) -> bool[]:
        size_1: i64[] = size(of=N)
        less_1: bool[] = less(i, size_1)
        return less_1
    def next(i: i64[], x: f64[B, N]) -> (i64[], f64[B, N]):
        add_1: i64[] = add(i, i64(1))
        flip_1: f64[B, N] = flip(x, axes=(1,))
        add_2: f64[B, N] = add(x, flip_1)
        return add_1, add_2
    def first(x: f64[B, N]) -> f64[B, N]:
        iota_1: f64[N] = iota(length=N, dtype=f64)
        add_1: f64[B, N] = add(x, iota_1)
        return add_1
    def second(x: f64[B, N]) -> f64[B, N]:
        negative_1: f64[B, N] = negative(x)
        return negative_1
    while_loop_1: i64[], while_loop_2: f64[B, N] = while_loop(n, x, cond=more, body=next, consts=0, max_steps=2*B)
    switch_1: f64[B, N] = switch(n, x, branches=(first, second))
    return while_loop_2, switch_1
""",
    "tiles": """
def tiled_sums(x: f64[B, N], w: f64[N]) -> (f64[B, N], f64[B], f64[]):  # B in 2.., N in 2..
    def part(x: f64[4, N], w: f64[N]) -> (f64[4, N], f64[4], f64[1]):
        add_1: f64[4, N] = add(x, w)
        exp_1: f64[4, N] = exp(add_1)
        sum_1: f64[4] = sum(exp_1, axes=(1,))
        sqrt_1: f64[4] = sqrt(sum_1)
        max_1: f64[] = max(sqrt_1, axes=(0,))
        reshape_1: f64[1] = reshape(max_1, shape=(1,))
        return exp_1, sqrt_1, reshape_1
    def part_2(x: f64[-4*((B + 3) // 4) + B + 4, N], w: f64[N]) -> (f64[-4*((B + 3) // 4) + B + 4, N], f64[-4*((B + 3) // 4) + B + 4], f64[1]):
        add_1: f64[-4*((B + 3) // 4) + B + 4, N] = add(x, w)
        exp_1: f64[-4*((B + 3) // 4) + B + 4, N] = exp(add_1)
        sum_1: f64[-4*((B + 3) // 4) + B + 4] = sum(exp_1, axes=(1,))
        sqrt_1: f64[-4*((B + 3) // 4) + B + 4] = sqrt(sum_1)
        max_1: f64[] = max(sqrt_1, axes=(0,))
        reshape_1: f64[1] = reshape(max_1, shape=(1,))
        return exp_1, sqrt_1, reshape_1
    tiled_1: f64[B, N], tiled_2: f64[B], tiled_3: f64[(B + 3) // 4] = tiled(x, w, graph=part, rest=part_2, cuts=(0, None), joins=(0, 0, 0), count=(B + 3) // 4 - 1)
    max_1: f64[] = max(tiled_3, axes=(0,))
    return tiled_1, tiled_2, max_1
""",
    "multiples": """
def multiples(x: f64[2*K + 1, K], y: f64[K // 3]) -> (f64[K, K // 2], f64[K + K // 3]):  # K in 6.., K % 6 == 0
    slice_1: f64[K, K // 2] = slice(x, start=(1, 0), stop=(2*K + 1, K), step=(2, 2))
    sum_1: f64[K] = sum(x, axes=(0,))
    concatenate_1: f64[K + K // 3] = concatenate(sum_1, y, axis=0)
    return slice_1, concatenate_1
""",
    "names that are taken": """
def B(B: f64[B, N], N: f64[N], mine: f64[2*len + 1], quiet: f64[np, idle + memory, idle, i]) -> (f64[B, N], f64[len], f64[i], f64[np*memory]):  # B in 2.., N in 2.., i in 2.., idle in 2.., len in 2.., memory in 2.., np in 2..
    def add_1(np: f64[i], x: f64[idle + memory, idle, i]) -> f64[i]:
        sum_1: f64[i] = sum(x, axes=(0, 1))
        sin_1: f64[i] = sin(np)
        add_1: f64[i] = add(sin_1, sum_1)
        return add_1
    add_1: f64[B, N] = add(B, N)
    slice_1: f64[len] = slice(mine, start=(0,), stop=(len,), step=(1,))
    zeros: f64[i] = broadcast_to(f64(0.0), shape=(i,))
    scan_1: f64[i] = scan(zeros, quiet, graph=add_1, counts=(0, 1), length=np)
    full_1: f64[np*memory] = broadcast_to(f64(2.0), shape=(np*memory,))
    exp_1: f64[np*memory] = exp(full_1)
    return add_1, slice_1, scan_1, exp_1
""",
}
"""Without the line of their version. The sizes are read off their inputs, and 2 or more."""


def graph_of(text: str) -> Graph:
    return tm.parse(f"# tracemill ir 1{text}")
