// Logarithms that compilers inline into loops. They need fused multiply-adds, without which the C library computes them.
//
// x = 2^k (1 + f) with 1 + f between √½ and √2, and log(1 + f) = 2 artanh(s) = f − (f²/2 − s (f²/2 + R)) for s = f / (2 + f),
// where R is the series of 2 artanh(s) / s − 2 in s².

// (2 artanh √x / √x − 2) / x on [0, (3 − √8)²].
static inline double tm_log_tail_f64(double x)
{
    double p = fma(x, 0x1.2f07fe7cee5d6p-3, 0x1.39a17bb85497bp-3);
    p = fma(p, x, 0x1.7466413876eedp-3);
    p = fma(p, x, 0x1.c71c51febeb4p-3);
    p = fma(p, x, 0x1.24924941fd60bp-2);
    p = fma(p, x, 0x1.999999997fceap-2);
    return fma(p, x, 0x1.5555555555592p-1);
}

static inline float tm_log_tail_f32(float x)
{
    float p = fmaf(x, 0x1.31e40cp-2f, 0x1.995ebp-2f);
    return fmaf(p, x, 0x1.55557ap-1f);
}

// The bits of x over √½, of which the first are those of k, the exponent of x = 2^k m.
static inline BITS tm_log_bits_REAL(REAL x)
{
    const BITS root = sizeof(REAL) == 8 ? (BITS)UINT64_C(0x3fe6a09e667f3bcd) : (BITS)0x3f3504f3;
    const BITS one = sizeof(REAL) == 8 ? (BITS)UINT64_C(0x3ff0000000000000) : (BITS)0x3f800000;
    return tm_bits_REAL(x) + (one - root);
}

static inline REAL tm_log_exponent_REAL(BITS bits)
{
    const BITS magic = sizeof(REAL) == 8 ? (BITS)UINT64_C(0x4330000000000000) : (BITS)0x4b000000;
    const REAL bias = (REAL)(sizeof(REAL) == 8 ? 0x1p52 + 1023 : 0x1p23 + 127);
    return tm_from_bits_REAL((bits >> (sizeof(REAL) == 8 ? 52 : 23)) | magic) - bias;
}

static inline REAL tm_log_fraction_REAL(BITS bits)
{
    const BITS root = sizeof(REAL) == 8 ? (BITS)UINT64_C(0x3fe6a09e667f3bcd) : (BITS)0x3f3504f3;
    const BITS digits = sizeof(REAL) == 8 ? (BITS)UINT64_C(0x000fffffffffffff) : (BITS)0x007fffff;
    return tm_from_bits_REAL((bits & digits) + root) - 1;
}

// The logarithm of a positive number, which is `near` unless infinite, and of all others. gcc 12 makes no vectors of two
// comparisons at once where it knows one of them for some numbers.
static inline REAL tm_log_of_any_REAL(REAL x, REAL near)
{
    const REAL positive = x < (REAL)INFINITY ? near : x;
    const REAL at_most_0 = x == 0 ? -(REAL)INFINITY : (REAL)NAN;
    return x > 0 ? positive : at_most_0;
}

static inline REAL tm_log_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29);
    const REAL least = (REAL)(sizeof(REAL) == 8 ? 0x1p-1022 : 0x1p-126);
    const REAL scale = x < least ? (REAL)(sizeof(REAL) == 8 ? 0x1p54 : 0x1p25) : 1;
    const REAL scaled_by = x < least ? (REAL)(sizeof(REAL) == 8 ? 54 : 25) : 0;
    const BITS bits = tm_log_bits_REAL(x * scale);
    const REAL k = tm_log_exponent_REAL(bits) - scaled_by, f = tm_log_fraction_REAL(bits);
    const REAL s = f / (f + 2), z = s * s, half_square = (REAL)0.5 * f * f;
    const REAL rest = fmaF(z, tm_log_tail_REAL(z), half_square);
    const REAL near = fmaF(k, log_2, f - (half_square - fmaF(s, rest, k * log_2_rest)));
    return tm_log_of_any_REAL(x, near);
#else
    return logF(x);
#endif
}

// The logarithm to another base: the factor 1 / log(base) and log(2) to that base come in two parts, like log(1 + f).
static inline REAL tm_log_to_base_REAL(REAL x, REAL factor, REAL factor_rest, REAL log_2, REAL log_2_rest)
{
    const REAL least = (REAL)(sizeof(REAL) == 8 ? 0x1p-1022 : 0x1p-126);
    const REAL scale = x < least ? (REAL)(sizeof(REAL) == 8 ? 0x1p54 : 0x1p25) : 1;
    const REAL scaled_by = x < least ? (REAL)(sizeof(REAL) == 8 ? 54 : 25) : 0;
    const BITS bits = tm_log_bits_REAL(x * scale);
    const REAL k = tm_log_exponent_REAL(bits) - scaled_by, f = tm_log_fraction_REAL(bits);
    const REAL s = f / (f + 2), z = s * s, half_square = (REAL)0.5 * f * f;
    const REAL first = f - half_square;
    const REAL low = fmaF(s, fmaF(z, tm_log_tail_REAL(z), half_square), (f - first) - half_square)
        - fmaF((REAL)0.5 * f, f, -half_square);
    const REAL product = first * factor;
    const REAL product_rest = fmaF(first, factor, -product) + fmaF(low, factor, first * factor_rest);
    const REAL whole = k * log_2, sum = whole + product;
    const REAL near = sum + (((whole - sum) + product) + fmaF(k, log_2_rest, product_rest));
    return tm_log_of_any_REAL(x, near);
}

static inline REAL tm_log2_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL factor = (REAL)(sizeof(REAL) == 8 ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
    const REAL factor_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.777d0ffda0d24p-56 : 0x1.4ae0cp-26);
    return tm_log_to_base_REAL(x, factor, factor_rest, 1, 0);
#else
    return log2F(x);
#endif
}

// The first part of log10(2) has so few bits that its product with k is exact.
static inline REAL tm_log10_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL factor = (REAL)(sizeof(REAL) == 8 ? 0x1.bcb7b1526e50ep-2 : 0x1.bcb7b2p-2);
    const REAL factor_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.95355baaafad3p-57 : -0x1.5b235ep-27);
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.34413509f78p-2 : 0x1.3442p-2);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.fef311f12b358p-46 : -0x1.95ec1p-19);
    return tm_log_to_base_REAL(x, factor, factor_rest, log_2, log_2_rest);
#else
    return log10F(x);
#endif
}

// log(1 + x + rest) + more log(2) for a small rest: the logarithm of u, which 1 + x rounds to, and what the rounding has
// taken away, relative to u.
static inline REAL tm_log1p_of_parts_REAL(REAL x, REAL rest, REAL more)
{
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29);
    const REAL u = x + 1, part = u - 1, lost = ((1 - (u - part)) + (x - part)) + rest;
    const BITS bits = tm_log_bits_REAL(u);
    const REAL k = tm_log_exponent_REAL(bits) + more, f = tm_log_fraction_REAL(bits);
    const REAL s = f / (f + 2), z = s * s, half_square = (REAL)0.5 * f * f;
    const REAL tail = fmaF(z, tm_log_tail_REAL(z), half_square);
    const REAL correction = u > (REAL)0x1p60 ? 0 : lost / u;
    return fmaF(k, log_2, f - (half_square - fmaF(s, tail, fmaF(k, log_2_rest, correction))));
}

static inline REAL tm_log1p_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL found = tm_log1p_of_parts_REAL(x, 0, 0);
    const REAL far = x == -1 ? -(REAL)INFINITY : (REAL)NAN;
    const REAL large = x > 0 ? x : far;
    return x != x ? x : x > -1 && x < (REAL)INFINITY ? copysignF(found, x) : large;
#else
    return log1pF(x);
#endif
}
