"""Calls that are not loop nests in Triton, on arrays of any size, as texts by name."""
# ruff: noqa: E501  (a line of a graph is a line)

HINTS = {"B": 8, "N": 101, "M": 7}
"""Sizes with which they are made."""

SIZES = (
    {"B": 1, "N": 1, "M": 1},
    {"B": 2, "N": 64, "M": 33},
    {"B": 1, "N": 127, "M": 128},
    {"B": 3, "N": 65, "M": 31},
    {"B": 2, "N": 33, "M": 600},
)
"""With which they run: at the ends of tiles and blocks, and behind them."""

WHOLE_HINTS = {"B": 8, "N": 512, "M": 512}
WHOLE_SIZES = ({"B": 2, "N": 64, "M": 64}, {"B": 1, "N": 256, "M": 128})
"""The same for programs that are for whole tiles alone."""

STEPS = {
    "attention": """
def f(q: f32[B, N, 16], k: f32[B, M, 16], v: f32[B, M, 5]) -> f32[B, N, 5]:  # B in 1.., N in 1.., M in 1..
    o: f32[B, N, 5] = attention(q, k, v, scale=0.25, causal=False)
    return o
""",
    "attention_in_order": """
def f(q: bf16[B, 2, 3, N, 16], k: bf16[B, 2, 1, N, 16], v: bf16[B, 2, 1, N, 16]) -> bf16[B, 2, 3, N, 16]:  # B in 1.., N in 1..
    o: bf16[B, 2, 3, N, 16] = attention(q, k, v, scale=0.25, causal=True)
    return o
""",
    "attention_through_a_mask": """
def f(q: f32[B, N, 16], k: f32[M, 16], v: f32[M, 16], seen: bool[N, M]) -> f32[B, N, 16]:  # B in 1.., N in 1.., M in 1..
    o: f32[B, N, 16] = attention(q, k, v, seen, scale=0.25, causal=False)
    return o
""",
    "attention_with_a_bias": """
def f(q: f32[B, N, 16], k: f32[B, N, 16], v: f32[B, N, 16], bias: f32[B, 1, N]) -> f32[B, N, 16]:  # B in 1.., N in 1..
    o: f32[B, N, 16] = attention(q, k, v, bias, scale=0.25, causal=True)
    return o
""",
    "sums_of_attention": """
def f(q: f64[N, 7], k: f64[M, 7], v: f64[M, 16]) -> (f64[N, 16], f64[N], f64[N]):  # N in 1.., M in 1..
    o: f64[N, 16], l: f64[N], t: f64[N] = attention_with_sums(q, k, v, scale=0.25, causal=False)
    return o, l, t
""",
    "gradient_of_attention": """
def f(c: f32[B, N, 16], q: f32[B, N, 16], k: f32[N, 16], v: f32[N, 16], o: f32[B, N, 16], l: f32[B, N], t: f32[B, N]) -> (f32[B, N, 16], f32[N, 16], f32[N, 16]):  # B in 1.., N in 1..
    x: f32[B, N, 16], y: f32[N, 16], z: f32[N, 16] = attention_gradient_by_sums(c, q, k, v, o, l, t, scale=0.25, causal=True)
    return x, y, z
""",
    "bits": """
def f(k: u32[2], c: u32[4], x: u32[B, N]) -> u32[B, N]:  # B in 1.., N in 1..
    r: u32[B, N] = random_bits(k, c, shape=(B, N), dtype=u32)
    y: u32[B, N] = bitwise_xor(r, x)
    return y
""",
    "bits_of_many": """
def f(k: u32[B, 1, 2], c: u32[M, 4], x: u64[N]) -> u64[B, M, N]:  # B in 1.., N in 1.., M in 1..
    r: u64[B, M, N] = random_bits(k, c, shape=(N,), dtype=u64)
    y: u64[B, M, N] = bitwise_xor(r, x)
    return y
""",
    "bits_of_few": """
def f(k: u32[B, 2], c: u32[4]) -> u32[B, 3]:  # B in 1..
    r: u32[B, 3] = random_bits(k, c, shape=(3,), dtype=u32)
    return r
""",
    "counted": """
def f(x: i64[M, 3], y: i64[B, N], i: u32[N], j: i64[B, 1]) -> i64[M, 3]:  # B in 1.., N in 1.., M in 1..
    s: i64[M, 3] = scatter(x, y, i, j, axes=(0, 1), mode="add")
    return s
""",
    "running_sums": """
def f(x: f64[B, N]) -> f64[B, N]:  # B in 1.., N in 1..
    s: f64[B, N] = cumsum(x, axis=1, reverse=False)
    return s
""",
    "running_largest": """
def f(x: f32[B, N, M]) -> f32[B, N, M]:  # B in 1.., N in 1.., M in 1..
    s: f32[B, N, M] = cummax(x, axis=1, reverse=True)
    return s
""",
    "running_products_of_columns": """
def f(x: i16[N, M]) -> i16[N, M]:  # N in 1.., M in 1..
    s: i16[N, M] = cumprod(x, axis=0, reverse=False)
    return s
""",
    "convolution": """
def f(x: f32[1, B, 3, N], w: f32[1, 20, 3, 5]) -> f32[1, B, 20, N]:  # B in 1.., N in 1..
    y: f32[1, B, 20, N] = conv(x, w, strides=(1,), padding=((2, 2),), input_dilation=(1,), kernel_dilation=(1,))
    return y
""",
    "convolution_of_planes": """
def f(x: f32[2, 3, 3, N, B], w: f32[2, 5, 3, 3, 2]) -> f32[2, 3, 5, (N + 1) // 2, B]:  # B in 1.., N in 1..
    y: f32[2, 3, 5, (N + 1) // 2, B] = conv(x, w, strides=(2, 1), padding=((1, 1), (1, 0)), input_dilation=(1, 1), kernel_dilation=(1, 1))
    t: f32[2, 3, 5, (N + 1) // 2, B] = tanh(y)
    return t
""",
    "convolution_with_long_kernels": """
def f(x: f64[B, 2, 3, N], w: f64[B, 17, 3, B]) -> f64[B, 2, 17, B + 2*N]:  # B in 1.., N in 1..
    y: f64[B, 2, 17, B + 2*N] = conv(x, w, strides=(1,), padding=((B, B),), input_dilation=(2,), kernel_dilation=(1,))
    return y
""",
    "recurrence": """
def f(n: f64[], x: f64[M], N: f64[N, M], c: f64[N]) -> (f64[], f64[M], f64[N, M]):  # N in 1.., M in 1..
    def step(n: f64[], x: f64[M], M: f64[M], size_1: f64[]) -> (f64[], f64[M], f64[M]):
        a: f64[M] = multiply(x, size_1)
        b: f64[M] = add(a, M)
        t: f64[M] = tanh(b)
        m: f64[] = add(n, size_1)
        return m, t, b
    m: f64[], y: f64[M], r: f64[N, M] = scan(n, x, N, c, graph=step, counts=(0, 2), length=N, reverse=True)
    return m, y, r
""",
}

SORTED = {
    "written": """
def f(x: f32[N, M], y: f32[B, M], i: i64[B]) -> f32[N, M]:  # B in 1..700, N in 1..700, M in 1..700
    s: f32[N, M] = scatter(x, y, i, axes=(0,), mode="add")
    return s
""",
    "set_in_order": """
def f(x: i8[M, N, 3], y: i8[B, N, M], i: i32[B, N]) -> i8[M, N, 3]:  # B in 1..700, N in 1..700, M in 1..700
    s: i8[M, N, 3] = scatter(x, y, i, i, axes=(2, 1), mode="set")
    return s
""",
    "sorted_rows": """
def f(x: f32[B, N], y: i64[B, N]) -> (f32[B, N], i64[B, N]):  # B in 1..700, N in 1..700
    s: f32[B, N], t: i64[B, N] = sort(x, y, axis=1, num_keys=1, descending=False)
    return s, t
""",
    "sorted_columns": """
def f(x: i32[N, B, 2], y: f64[N, B, 2]) -> (i32[N, B, 2], f64[N, B, 2]):  # B in 1..700, N in 1..700
    s: i32[N, B, 2], t: f64[N, B, 2] = sort(x, y, axis=0, num_keys=2, descending=True)
    return s, t
""",
    "largest": """
def f(x: f32[B, N + 3]) -> (f32[B, 3], i64[B, 3]):  # B in 1..700, N in 1..700
    v: f32[B, 3], i: i64[B, 3] = top_k(x, k=3, axis=1)
    return v, i
""",
    "sorted_long_rows": """
def f(x: i16[B, 40*M]) -> i16[B, 40*M]:  # B in 1.., M in 1..700
    s: i16[B, 40*M] = sort(x, axis=1, num_keys=1, descending=False)
    return s
""",
}
"""Those for which sizes need a maximum: rows are sorted, or updates by their places."""

LARGE = {
    "attention": """
def f(q: bf16[B, 8, N, 64], k: bf16[B, 8, N, 64], v: bf16[B, 8, N, 64]) -> bf16[B, 8, N, 64]:  # B in 1.., N in 1..
    o: bf16[B, 8, N, 64] = attention(q, k, v, scale=0.125, causal=False)
    return o
""",
    "attention_in_order": """
def f(q: bf16[B, 8, N, 128], k: bf16[B, 8, N, 128], v: bf16[B, 8, N, 128]) -> bf16[B, 8, N, 128]:  # B in 1.., N in 1..
    o: bf16[B, 8, N, 128] = attention(q, k, v, scale=0.125, causal=True)
    return o
""",
    "gradient_of_attention": """
def f(c: bf16[B, 8, N, 64], q: bf16[B, 8, N, 64], k: bf16[B, 8, N, 64], v: bf16[B, 8, N, 64], o: bf16[B, 8, N, 64], l: f32[B, 8, N], t: f32[B, 8, N]) -> (bf16[B, 8, N, 64], bf16[B, 8, N, 64], bf16[B, 8, N, 64]):  # B in 1.., N in 1..
    x: bf16[B, 8, N, 64], y: bf16[B, 8, N, 64], z: bf16[B, 8, N, 64] = attention_gradient_by_sums(c, q, k, v, o, l, t, scale=0.125, causal=True)
    return x, y, z
""",
    "product": """
def f(x: f32[B, N], y: f32[N, N]) -> f32[B, N]:  # B in 1.., N in 1..
    p: f32[B, N] = dot(x, y, contract_x=(1,), contract_y=(0,))
    return p
""",
    "product_of_16_bit_floats": """
def f(x: bf16[B, K], y: bf16[K, L]) -> bf16[B, L]:  # B in 1.., K in 1.., L in 1..
    p: bf16[B, L] = dot(x, y, contract_x=(1,), contract_y=(0,))
    return p
""",
    "product_of_transposed_16_bit_floats": """
def f(x: bf16[K, B], y: bf16[L, K]) -> bf16[B, L]:  # B in 1.., K in 1.., L in 1..
    p: bf16[B, L] = dot(x, y, contract_x=(0,), contract_y=(1,))
    return p
""",
    "convolution_of_batches": """
def f(x: f16[1, B, 64, 14, 14], w: f16[1, 128, 64, 3, 3]) -> f16[1, B, 128, 14, 14]:  # B in 1..
    y: f16[1, B, 128, 14, 14] = conv(x, w, strides=(1, 1), padding=((1, 1), (1, 1)), input_dilation=(1, 1), kernel_dilation=(1, 1))
    return y
""",
    "convolution_of_planes": """
def f(x: f16[1, 32, 64, H, W], w: f16[1, 128, 64, 3, 3]) -> f16[1, 32, 128, H, W]:  # H in 1.., W in 1..
    y: f16[1, 32, 128, H, W] = conv(x, w, strides=(1, 1), padding=((1, 1), (1, 1)), input_dilation=(1, 1), kernel_dilation=(1, 1))
    return y
""",
    "convolution_of_points": """
def f(x: f16[1, B, 64, H, W], w: f16[1, 128, 64, 1, 1]) -> f16[1, B, 128, H, W]:  # B in 1.., H in 1.., W in 1..
    y: f16[1, B, 128, H, W] = conv(x, w, strides=(1, 1), padding=((0, 0), (0, 0)), input_dilation=(1, 1), kernel_dilation=(1, 1))
    return y
""",
}
"""Those that are compiled only."""

LARGE_HINTS = {"B": 4096, "N": 1024, "M": 64, "K": 4096, "L": 4096, "H": 56, "W": 56}
ITERATIONS = {
    "product": 32,
    "product_of_16_bit_floats": 64,
    "product_of_transposed_16_bit_floats": 64,
    "convolution_of_batches": 18,
    "convolution_of_planes": 18,
    "convolution_of_points": 2,
}
"""How often the loop of a product runs then."""
