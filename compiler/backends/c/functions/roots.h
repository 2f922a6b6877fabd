// Cube roots and lengths that compilers inline into loops, with errors of at most 1 unit in the last place. They need
// fused multiply-adds, without which the C library computes them.

// x^(−1/3) on [1 / √8, √8].
static inline double tm_cbrt_tail_f64(double x)
{
    double p = fma(x, -0x1.246166a48ba1cp-5, 0x1.5697c30f707c7p-2);
    p = fma(p, x, -0x1.3c5635c8a4763p+0);
    p = fma(p, x, 0x1.273384136ac97p+1);
    p = fma(p, x, -0x1.31849658c5ac8p+1);
    return fma(p, x, 0x1.01f097a3cd3d9p+1);
}

static inline float tm_cbrt_tail_f32(float x)
{
    float p = fmaf(x, -0x1.246166p-5f, 0x1.5697c2p-2f);
    p = fmaf(p, x, -0x1.3c5634p+0f);
    p = fmaf(p, x, 0x1.273382p+1f);
    p = fmaf(p, x, -0x1.318494p+1f);
    return fmaf(p, x, 0x1.01f094p+1f);
}

// |x| = 2^3n m for m near 1. Steps improve c = m^(−1/3), with m c² as the root; the error of that is taken away.
static inline REAL tm_cbrt_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL least = (REAL)(sizeof(REAL) == 8 ? 0x1p-1022 : 0x1p-126);
    const REAL scale = fabsF(x) < least ? (REAL)(sizeof(REAL) == 8 ? 0x1p54 : 0x1p24) : 1;
    const REAL scaled_by = fabsF(x) < least ? (REAL)(sizeof(REAL) == 8 ? 18 : 8) : 0;
    const BITS bits = tm_log_bits_REAL(fabsF(x) * scale);
    const REAL k = tm_log_exponent_REAL(bits), n = rintF(k * ((REAL)1 / 3)), left = fmaF(-3, n, k);
    const REAL fraction = tm_log_fraction_REAL(bits) + 1, m = fraction * (left < 0 ? (REAL)0.5 : left > 0 ? 2 : 1);
    const REAL first = tm_cbrt_tail_REAL(m), gap = fmaF(-m, first * first * first, 1);
    const REAL series = fmaF(gap, fmaF(gap, (REAL)14 / 81, (REAL)2 / 9), (REAL)1 / 3);
    const REAL second = fmaF(first * gap, series, first);
    const REAL next = fmaF(-m, second * second * second, 1);
    const REAL third = fmaF(second * next, fmaF(next, (REAL)2 / 9, (REAL)1 / 3), second);
    const REAL c = sizeof(REAL) == 8 ? third : second;
    const REAL root = m * c * c, square = root * root;
    const REAL excess = fmaF(square, root, -m) + fmaF(root, root, -square) * root;
    const REAL found = fmaF(excess * ((REAL)-1 / 3), c * c, root);
    const REAL power = tm_two_to_REAL(tm_bits_REAL(n - scaled_by + rounding), 0);
    return (x == 0) | (fabsF(x) == (REAL)INFINITY) | (x != x) ? x : copysignF(found * power, x);
#else
    return cbrtF(x);
#endif
}

// √(a² + b²) less the error of its square divided by twice the root, of numbers scaled so that no square overflows.
static inline REAL tm_hypot_REAL(REAL x, REAL y)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL far = (REAL)(sizeof(REAL) == 8 ? 0x1p500 : 0x1p60);
    const REAL shrink = (REAL)(sizeof(REAL) == 8 ? 0x1p-600 : 0x1p-80);
    const REAL width = fabsF(x), height = fabsF(y);
    const REAL largest = width > height ? width : height, smallest = width > height ? height : width;
    const REAL scale = largest > far ? shrink : largest < 1 / far ? 1 / shrink : 1;
    const REAL back = largest > far ? 1 / shrink : largest < 1 / far ? shrink : 1;
    const REAL a = largest * scale, b = smallest * scale, square = a * a;
    const REAL root = sqrtF(fmaF(b, b, square)), whole = root * root;
    const REAL excess = fmaF(-b, b, whole - square) + (fmaF(root, root, -whole) - fmaF(a, a, -square));
    const bool is_finite = (root > 0) & (root < (REAL)INFINITY);
    const REAL found = (root - (is_finite ? excess / (root + root) : 0)) * back;
    return (width == (REAL)INFINITY) | (height == (REAL)INFINITY) ? (REAL)INFINITY : found;
#else
    return hypotF(x, y);
#endif
}
