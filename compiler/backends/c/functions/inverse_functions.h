// Inverse trigonometric and hyperbolic functions that compilers inline into loops, with errors of at most 1 unit in the
// last place. They need fused multiply-adds, without which the C library computes them.

// (arctan √x / √x − 1) / x on [0, (√2 − 1)²].
static inline double tm_atan_tail_f64(double x)
{
    double p = fma(x, -0x1.25a16a501788cp-6, 0x1.37ef1ca160ff9p-5);
    p = fma(p, x, -0x1.9cdcdfaf98bfp-5);
    p = fma(p, x, 0x1.df118fde47dfdp-5);
    p = fma(p, x, -0x1.10ebe05c982cfp-4);
    p = fma(p, x, 0x1.3b111ca370c51p-4);
    p = fma(p, x, -0x1.745cf90ef39ebp-4);
    p = fma(p, x, 0x1.c71c70e7cafa9p-4);
    p = fma(p, x, -0x1.24924922b1d3dp-3);
    p = fma(p, x, 0x1.999999999598dp-3);
    return fma(p, x, -0x1.555555555554p-2);
}

static inline float tm_atan_tail_f32(float x)
{
    float p = fmaf(x, -0x1.f2598p-5f, 0x1.b202cep-4f);
    p = fmaf(p, x, -0x1.23b6c4p-3f);
    p = fmaf(p, x, 0x1.9991aep-3f);
    return fmaf(p, x, -0x1.55554ap-2f);
}

// base + arctan(t) for a multiple of π/4 and t = numerator / denominator in two parts, where |t| is at most √2 − 1.
static inline REAL tm_atan_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL quarter = (REAL)(sizeof(REAL) == 8 ? 0x1.921fb54442d18p-1 : 0x1.921fb6p-1);
    const REAL quarter_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.1a62633145c07p-55 : -0x1.777a5cp-26);
    const REAL large = (REAL)(sizeof(REAL) == 8 ? 0x1p1000 : 0x1p120);
    const REAL y = fabsF(x) > large ? large : fabsF(x);
    const REAL steps = y > (REAL)2.4142135623730951 ? 2 : y > (REAL)0.41421356237309503 ? 1 : 0;
    const REAL near = y - 1, apart = y + 1;
    const REAL numerator = steps == 2 ? -1 : steps == 1 ? near : y;
    const REAL denominator = steps == 2 ? y : steps == 1 ? apart : 1;
    const REAL numerator_rest = steps == 1 ? y - (near + 1) : 0;
    const REAL above = y > 1 ? (y - apart) + 1 : (1 - apart) + y, denominator_rest = steps == 1 ? above : 0;
    const REAL inverse = 1 / denominator, t = numerator * inverse, z = t * t;
    const REAL missing = fmaF(-t, denominator, numerator) + fmaF(-t, denominator_rest, numerator_rest);
    const REAL rest = fmaF(missing, inverse, t * z * tm_atan_tail_REAL(z));
    const REAL base = steps * quarter, sum = base + t;
    const REAL near_0 = sum + (((base - sum) + t) + fmaF(steps, quarter_rest, rest));
    return x != x ? x : copysignF(near_0, x);
#else
    return atanF(x);
#endif
}

// (arcsin √x / √x − 1) / x on [0, 1/4].
static inline double tm_asin_tail_f64(double x)
{
    double p = fma(x, 0x1.0bafa0db43e1p-5, -0x1.595208078e667p-6);
    p = fma(p, x, 0x1.6490e51f3f6b2p-6);
    p = fma(p, x, 0x1.e2c48f6d7ccbap-9);
    p = fma(p, x, 0x1.61738bc296e2p-7);
    p = fma(p, x, 0x1.757b8d05566dap-7);
    p = fma(p, x, 0x1.ca20cbaf7f891p-7);
    p = fma(p, x, 0x1.1c49e2d55d8e7p-6);
    p = fma(p, x, 0x1.6e8bdfa4f598ep-6);
    p = fma(p, x, 0x1.f1c71a8dd0dbdp-6);
    p = fma(p, x, 0x1.6db6db7225e6cp-5);
    p = fma(p, x, 0x1.333333332df82p-4);
    return fma(p, x, 0x1.5555555555578p-3);
}

static inline float tm_asin_tail_f32(float x)
{
    float p = fmaf(x, 0x1.59dacep-5f, 0x1.8ba252p-6f);
    p = fmaf(p, x, 0x1.748c64p-5f);
    p = fmaf(p, x, 0x1.33014ep-4f);
    return fmaf(p, x, 0x1.5555cap-3f);
}

// Above a half, π/2 − 2 arcsin s for s = √((1 − |x|) / 2) in two parts.
static inline REAL tm_asin_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL half_pi = (REAL)(sizeof(REAL) == 8 ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0);
    const REAL half_pi_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
    const REAL tiny = (REAL)(sizeof(REAL) == 8 ? 0x1p-1000 : 0x1p-100);
    const REAL y = fabsF(x);
    const bool is_large = y > (REAL)0.5;
    const REAL half = fmaF((REAL)-0.5, y, (REAL)0.5), z = is_large ? half : y * y;
    const REAL root = sqrtF(half), s = is_large ? root : y;
    const REAL series = s * z * tm_asin_tail_REAL(z);
    const REAL rest = fmaF(-root, root, half) / (root + tiny) * (REAL)0.5 + series;
    const REAL sum = half_pi - 2 * root;
    const REAL large = sum + (((half_pi - sum) - 2 * root) + fmaF(-2, rest, half_pi_rest));
    return x != x ? x : copysignF(is_large ? large : y + series, x);
#else
    return asinF(x);
#endif
}

static inline REAL tm_acos_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL half_pi = (REAL)(sizeof(REAL) == 8 ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0);
    const REAL half_pi_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
    const REAL tiny = (REAL)(sizeof(REAL) == 8 ? 0x1p-1000 : 0x1p-100);
    const REAL y = fabsF(x);
    const bool is_large = y > (REAL)0.5;
    const REAL half = fmaF((REAL)-0.5, y, (REAL)0.5), z = is_large ? half : x * x;
    const REAL root = sqrtF(half), s = is_large ? root : x;
    const REAL series = s * z * tm_asin_tail_REAL(z);
    const REAL rest = fmaF(-root, root, half) / (root + tiny) * (REAL)0.5 + series;
    const REAL below = x > 0 ? 2 : -2, quarters = !is_large ? 1 : x > 0 ? 0 : 2;
    const REAL first = is_large ? below * root : -x, second = is_large ? below * rest : -series;
    const REAL base = quarters * half_pi, sum = base + first;
    return sum + (((base - sum) + first) + fmaF(quarters, half_pi_rest, second));
#else
    return acosF(x);
#endif
}

// log(1 + x + (√(1 + x²) − 1)), with the root in two parts; from 2^28 on log(2x).
static inline REAL tm_asinh_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL y = fabsF(x);
    const bool is_large = y > (REAL)0x1p28;
    const REAL square = y * y, length = square + 1, part = length - square;
    const REAL length_rest = ((square - (length - part)) + (1 - part)) + fmaF(y, y, -square);
    const REAL root = sqrtF(length), more = root - 1, sum = y + more;
    const REAL root_rest = (fmaF(-root, root, length) + length_rest) / (root + root);
    const REAL rest = is_large ? 0 : ((y - sum) + more) + root_rest;
    const REAL found = tm_log1p_of_parts_REAL(is_large ? y - 1 : sum, rest, is_large ? 1 : 0);
    return y < (REAL)INFINITY ? copysignF(y < (REAL)(sizeof(REAL) == 8 ? 0x1p-28 : 0x1p-13) ? y : found, x) : x;
#else
    return asinhF(x);
#endif
}

// log(1 + t + √(t² + 2t)) for t = x − 1; from 2^28 on log(2x).
static inline REAL tm_acosh_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL tiny = (REAL)(sizeof(REAL) == 8 ? 0x1p-1000 : 0x1p-100);
    const bool is_large = x > (REAL)0x1p28;
    const REAL t = x - 1, square = fmaF(t, t, t + t), square_rest = fmaF(t, t, (t + t) - square);
    const REAL root = sqrtF(square), missing = fmaF(-root, root, square) + square_rest, sum = root + t;
    const REAL rest = is_large ? 0 : ((root - sum) + t) + missing / (root + tiny) * (REAL)0.5;
    const REAL found = tm_log1p_of_parts_REAL(is_large ? t : sum, rest, is_large ? 1 : 0);
    const REAL outside = x < 1 ? (REAL)NAN : x;
    return x >= 1 && x < (REAL)INFINITY ? found : outside;
#else
    return acoshF(x);
#endif
}

// log(1 + q) / 2 for q = 2x / (1 − x) in two parts.
static inline REAL tm_atanh_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL y = fabsF(x), left = 1 - y, left_rest = (1 - left) - y, inverse = 1 / left, quotient = 2 * y * inverse;
    const REAL missing = fmaF(-quotient, left_rest, fmaF(-quotient, left, 2 * y));
    const REAL found = (REAL)0.5 * tm_log1p_of_parts_REAL(quotient, missing * inverse, 0);
    const REAL outside = y == 1 ? (REAL)INFINITY : (REAL)NAN;
    const REAL inside = y < (REAL)(sizeof(REAL) == 8 ? 0x1p-28 : 0x1p-13) ? y : found;
    return x != x ? x : copysignF(y < 1 ? inside : outside, x);
#else
    return atanhF(x);
#endif
}

// The angle of (x, y): a multiple of π/4, and plus or minus arctan(t) as above for the quotient of the smaller by the larger.
static inline REAL tm_atan2_REAL(REAL y, REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL quarter = (REAL)(sizeof(REAL) == 8 ? 0x1.921fb54442d18p-1 : 0x1.921fb6p-1);
    const REAL quarter_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.1a62633145c07p-55 : -0x1.777a5cp-26);
    const REAL far = (REAL)(sizeof(REAL) == 8 ? 0x1p900 : 0x1p100);
    const REAL shrink = (REAL)(sizeof(REAL) == 8 ? 0x1p-100 : 0x1p-24);
    const REAL width = fabsF(x), height = fabsF(y);
    const bool is_steep = height > width, is_left = tm_signbit_REAL(x);
    const REAL largest = is_steep ? height : width, smallest = is_steep ? width : height;
    const bool is_infinite = largest == (REAL)INFINITY;
    const REAL scale = largest > far ? shrink : smallest < 1 / far ? 1 / shrink : 1;
    const REAL corner = smallest == largest ? 1 : 0;
    const REAL low = is_infinite ? corner : smallest * scale;
    const REAL high = is_infinite || largest == 0 ? 1 : largest * scale;
    const bool is_middle = low > (REAL)0.41421356237309503 * high;
    const REAL numerator = is_middle ? low - high : low, denominator = is_middle ? low + high : high;
    const REAL numerator_rest = is_middle ? low - (numerator + high) : 0;
    const REAL denominator_rest = is_middle ? (high - denominator) + low : 0;
    const REAL inverse = 1 / denominator, t = numerator * inverse, z = t * t;
    const REAL missing = fmaF(-t, denominator, numerator) + fmaF(-t, denominator_rest, numerator_rest);
    const REAL rest = fmaF(missing, inverse, t * z * tm_atan_tail_REAL(z));
    const REAL octant = is_middle ? 1 : 0, upper = is_steep ? 2 - octant : octant;
    const REAL steps = is_left ? 4 - upper : upper;
    const REAL sign = is_steep != is_left ? -1 : 1;
    const REAL base = steps * quarter, base_rest = fmaF(steps, quarter, -base) + steps * quarter_rest;
    const REAL sum = base + sign * t, angle = sum + (((base - sum) + sign * t) + fmaF(sign, rest, base_rest));
    return (x != x) | (y != y) ? x + y : copysignF(angle, y);
#else
    return atan2F(y, x);
#endif
}
