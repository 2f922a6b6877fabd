// Powers with a known exponent, by products, quotients and square roots, within 2.5 units in the last place. They
// overflow, underflow and lose bits where the power does. An odd multiple of 1/2 as exponent makes -infinity positive.

static inline REAL tm_power_5_REAL(REAL x)
{
    return (x * x) * (x * x) * x;
}

static inline REAL tm_power_6_REAL(REAL x)
{
    return (x * x) * (x * x) * (x * x);
}

static inline REAL tm_power_minus_3_REAL(REAL x)
{
    const REAL inverse = 1 / x;
    return inverse * inverse * inverse;
}

static inline REAL tm_power_1_half_REAL(REAL x)
{
    const REAL root = sqrtF(x + 0);
    return x == (REAL)-INFINITY ? (REAL)INFINITY : root;
}

static inline REAL tm_power_3_halves_REAL(REAL x)
{
    const REAL product = x * sqrtF(x);
    return x == (REAL)-INFINITY ? (REAL)INFINITY : product;
}

static inline REAL tm_power_minus_1_half_REAL(REAL x)
{
    const REAL quotient = 1 / sqrtF(x + 0);
    return x == (REAL)-INFINITY ? 0 : quotient;
}

// One division. Numbers that would overflow are scaled by a power of 2 before and after it.
static inline REAL tm_power_minus_3_halves_REAL(REAL x)
{
    const REAL small = sizeof(REAL) == 8 ? (REAL)0x1p-600 : (REAL)0x1p-80;
    const REAL scale = x > 1 ? small : 1;
    const REAL quotient = 1 / (x * scale * sqrtF(x)) * scale;
    return x == (REAL)-INFINITY ? 0 : quotient;
}

// (2 artanh √x / √x − 2 − 2x / 3) / x² on [0, (3 − √8)²].
static inline double tm_power_tail_f64(double x)
{
    double p = fma(x, 0x1.0e44adb221c4cp-3, 0x1.0f7fb422f2046p-3);
    p = fma(p, x, 0x1.3b1eee419e37bp-3);
    p = fma(p, x, 0x1.745ce9d7888d5p-3);
    p = fma(p, x, 0x1.c71c722d878d9p-3);
    p = fma(p, x, 0x1.2492492457bfp-2);
    return fma(p, x, 0x1.9999999999b31p-2);
}

static inline float tm_power_tail_f32(float x)
{
    float p = fmaf(x, 0x1.df9ed6p-3f, 0x1.24528ep-2f);
    return fmaf(p, x, 0x1.999ap-2f);
}

// 2^k m is |x| or, for 0 and infinity, 1: k and m − 1 as for logarithms.
static inline BITS tm_power_bits_REAL(REAL x)
{
    const REAL least = (REAL)(sizeof(REAL) == 8 ? 0x1p-1022 : 0x1p-126);
    const REAL scale = fabsF(x) < least ? (REAL)(sizeof(REAL) == 8 ? 0x1p54 : 0x1p25) : 1;
    const REAL inside = (x == 0) | !(fabsF(x) < (REAL)INFINITY) ? 1 : fabsF(x) * scale;
    return tm_log_bits_REAL(inside);
}

// x^y = ±e^(y log|x|), within 1 unit in the last place. The logarithm and its product with y have two parts:
// log|x| = k log(2) + 2s + s³ (2/3 + s² (2/5 + …)) for s = f / (2 + f), of which only the last term has one.
static inline REAL tm_power_REAL(REAL x, REAL y)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.ef35793c7673p-45 : 0x1.7f7d1cp-20);
    const REAL thirds = (REAL)(sizeof(REAL) == 8 ? 0x1.5555555555555p-1 : 0x1.555556p-1);
    const REAL thirds_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.5555555555555p-55 : -0x1.555556p-26);
    const REAL least = (REAL)(sizeof(REAL) == 8 ? 0x1p-1022 : 0x1p-126);
    const REAL size = fabsF(x), scaled_by = size < least ? (REAL)(sizeof(REAL) == 8 ? 54 : 25) : 0;
    const BITS bits = tm_power_bits_REAL(x);
    const REAL k = tm_log_exponent_REAL(bits) - scaled_by, f = tm_log_fraction_REAL(bits);
    const REAL d = f + 2, d_rest = f - (d - 2), inverse = 1 / d, s = f * inverse;
    const REAL s_rest = fmaF(-s, d_rest, fmaF(-s, d, f)) * inverse;
    const REAL z = s * s, z_rest = fmaF(s, s, -z) + 2 * s * s_rest;
    const REAL tail = z * tm_power_tail_REAL(z), a = thirds + tail, a_rest = ((thirds - a) + tail) + thirds_rest;
    const REAL b = z * a, b_rest = fmaF(z, a, -b) + fmaF(z, a_rest, z_rest * a);
    const REAL c = s * b, c_rest = fmaF(s, b, -c) + fmaF(s, b_rest, s_rest * b);
    const REAL whole_part = k * log_2, first = whole_part + 2 * s, first_rest = (whole_part - first) + 2 * s;
    const REAL second = first + c, second_rest = (first - second) + c;
    const REAL rest = (first_rest + second_rest) + (2 * s_rest + fmaF(k, log_2_rest, c_rest));
    const REAL log_x = second + rest, log_rest = (second - log_x) + rest;
    const REAL exponent = y * log_x, exponent_rest = fmaF(y, log_rest, fmaF(y, log_x, -exponent));
    // e^exponent as in `exp`, but with r and 1 + r in two parts: powers that are exact are found so.
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL per_log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
    const REAL all_log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1);
    const REAL all_log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29);
    const REAL whole = fmaF(exponent, per_log_2, rounding), n = whole - rounding;
    const BITS half = tm_bits_REAL(fmaF(exponent, per_log_2 / 2, rounding));
    const REAL base = fmaF(n, -all_log_2, exponent), correction = fmaF(n, -all_log_2_rest, exponent_rest);
    const REAL r = base + correction, r_rest = (base - r) + correction, sum = r + 1, lost = (1 - sum) + r;
    const REAL power = sum + (lost + fmaF(r * r, tm_exp_tail_REAL(r), fmaF(r_rest, r, r_rest)));
    const REAL near = power * tm_two_to_REAL(half, 0) * tm_two_to_REAL(tm_bits_REAL(whole) - half, 0);
    // Signs, and where |x| or y is 0, 1, infinite or not a number.
    const bool is_whole = rintF(y) == y, is_odd = is_whole & (rintF(y * (REAL)0.5) != y * (REAL)0.5);
    const bool grows = (size > 1) == (y > 0), is_edge = (size == 0) | (size == (REAL)INFINITY);
    const bool is_far = (fabsF(exponent) > (sizeof(REAL) == 8 ? 746 : 104)) | is_edge | (fabsF(y) == (REAL)INFINITY);
    const REAL far = grows ? (REAL)INFINITY : 0;
    const REAL positive = size == 1 ? 1 : is_far ? far : near;
    const REAL signed_power = is_odd ? copysignF(positive, x) : positive;
    const REAL real = (x < 0) & (size < (REAL)INFINITY) & !is_whole ? (REAL)NAN : signed_power;
    const REAL found = (x != x) | (y != y) ? x + y : real;
    return (x == 1) | (y == 0) ? 1 : found;
#else
    return powF(x, y);
#endif
}
