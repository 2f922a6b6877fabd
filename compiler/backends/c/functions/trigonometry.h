// Sines, cosines and tangents, with errors of at most 1 unit in the last place for all finite numbers. They need fused
// multiply-adds, without which the C library computes them.
//
// x = n π/2 + r for an integer n: r is at most about π/4 and has two parts. Up to a bound, n is a product with 2/π, and r
// a difference from three parts of π/2, all without branches, for loops on vectors: functions for such arguments have
// "near" in their names. Beyond, where arguments rarely are, r is computed in integers, from the digits of 2/π that
// matter.

// (sin √x / √x − 1) / x, (cos √x − 1) / x and (tan √x / √x − 1) / x on [0, (π/4)²].
static inline double tm_sin_tail_f64(double x)
{
    double p = fma(x, 0x1.5d8fbe91a7e2ep-33, -0x1.ae5e5a51a45d1p-26);
    p = fma(p, x, 0x1.71de3567847cfp-19);
    p = fma(p, x, -0x1.a01a019bfd979p-13);
    p = fma(p, x, 0x1.111111110f7cep-7);
    return fma(p, x, -0x1.5555555555548p-3);
}

static inline float tm_sin_tail_f32(float x)
{
    float p = fmaf(x, -0x1.9943bep-13f, 0x1.11073ap-7f);
    return fmaf(p, x, -0x1.555546p-3f);
}

static inline double tm_cos_tail_f64(double x)
{
    double p = fma(x, -0x1.8f752d278da93p-37, 0x1.1ee96c98bd851p-29);
    p = fma(p, x, -0x1.27e4f72b2bca3p-22);
    p = fma(p, x, 0x1.a01a019b2d177p-16);
    p = fma(p, x, -0x1.6c16c16c13ba1p-10);
    p = fma(p, x, 0x1.5555555555539p-5);
    return fma(p, x, -0x1p-1);
}

static inline float tm_cos_tail_f32(float x)
{
    float p = fmaf(x, 0x1.991678p-16f, -0x1.6c07fp-10f);
    p = fmaf(p, x, 0x1.55553cp-5f);
    return fmaf(p, x, -0x1p-1f);
}

static inline double tm_tan_tail_f64(double x)
{
    const double z = x * x;
    double p = fma(z, 0x1.45ea478bf54dap-17, 0x1.917cbe14bc44p-15);
    p = fma(p, z, 0x1.16e49a614ff67p-14);
    p = fma(p, z, 0x1.fedb810d4e9a8p-13);
    p = fma(p, z, 0x1.7db0fbaca3dffp-10);
    p = fma(p, z, 0x1.226e3a42be8e9p-7);
    p = fma(p, z, 0x1.ba1ba1bab64c2p-5);
    p = fma(p, z, 0x1.555555555555bp-2);
    double q = fma(z, -0x1.90c958c1d8628p-16, -0x1.9e8bb133b94cap-16);
    q = fma(q, z, 0x1.6024cc1eeaf5fp-14);
    q = fma(q, z, 0x1.34c1e2e18409bp-11);
    q = fma(q, z, 0x1.d6d2f1fa0112p-9);
    q = fma(q, z, 0x1.664f485f1107ep-6);
    q = fma(q, z, 0x1.111111111069ap-3);
    return fma(q, x, p);
}

static inline float tm_tan_tail_f32(float x)
{
    float p = fmaf(x, 0x1.1ed5aap-8f, 0x1.738eeep-14f);
    p = fmaf(p, x, 0x1.631798p-7f);
    p = fmaf(p, x, 0x1.5caec8p-6f);
    p = fmaf(p, x, 0x1.badbfap-5f);
    p = fmaf(p, x, 0x1.110d8ep-3f);
    return fmaf(p, x, 0x1.55556p-2f);
}

// Whether the functions for near numbers are wrong. It is an integer of the size of a number, for loops on vectors.
static inline BITS tm_is_far_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return fabsF(x) > (REAL)(sizeof(REAL) == 8 ? 0x1p40 : 0x1p15);
#else
    return 0;
#endif
}

// n in the lowest bits of a rounded number.
static inline REAL tm_quarters_REAL(REAL x)
{
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL per_quarter = (REAL)(sizeof(REAL) == 8 ? 0x1.45f306dc9c883p-1 : 0x1.45f306p-1);
    return fmaF(x, per_quarter, rounding);
}

// x − n π/2 is the first difference less the second product, less what its rounding and that of the product take away.
static inline REAL tm_first_difference_REAL(REAL x, REAL n)
{
    return fmaF(n, -(REAL)(sizeof(REAL) == 8 ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0), x);
}

static inline REAL tm_second_product_REAL(REAL n)
{
    return n * (REAL)(sizeof(REAL) == 8 ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
}

static inline REAL tm_angle_REAL(REAL x, REAL n)
{
    return tm_first_difference_REAL(x, n) - tm_second_product_REAL(n);
}

static inline REAL tm_angle_rest_REAL(REAL x, REAL n)
{
    const REAL second = (REAL)(sizeof(REAL) == 8 ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
    const REAL third = (REAL)(sizeof(REAL) == 8 ? -0x1.f1976b7ed8fbcp-110 : -0x1.ee59dap-50);
    const REAL difference = tm_first_difference_REAL(x, n), product = tm_second_product_REAL(n);
    const REAL lost = (difference - tm_angle_REAL(x, n)) - product;
    return lost - fmaF(n, third, fmaF(n, second, -product));
}

// sin(r + rest + n π/2) for the integer n in the lowest bits of a number.
static inline REAL tm_sin_of_parts_REAL(REAL r, REAL rest, BITS n)
{
    const REAL z = fmaF(r, r, 2 * r * rest);
    const REAL sine = r + fmaF(r * z, tm_sin_tail_REAL(z), rest);
    const REAL cosine = fmaF(z, tm_cos_tail_REAL(z), 1);
    const REAL found = n & 1 ? cosine : sine;
    return tm_from_bits_REAL(tm_bits_REAL(found) ^ (n >> 1) << (8 * sizeof(REAL) - 1));
}

// tan(r + rest + n π/2): for odd n, −1 / tan(r + rest) with the tangent in two parts. r³ has two parts, too.
static inline REAL tm_tan_of_parts_REAL(REAL r, REAL rest, BITS n)
{
    const REAL z = r * r, cube = r * z, tail = tm_tan_tail_REAL(z);
    const REAL cube_rest = fmaF(r, fmaF(r, r, -z), fmaF(r, z, -cube));
    const REAL estimate = fmaF(cube, tail, r), with_slope = fmaF(rest, estimate * estimate, rest);
    const REAL more = fmaF(cube, tail, fmaF(cube_rest, tail, with_slope));
    const REAL even = r + more, even_rest = (r - even) + more, inverse = 1 / even;
    const REAL odd = fmaF(inverse, fmaF(-inverse, even_rest, fmaF(-inverse, even, 1)), inverse);
    return n & 1 ? -odd : even;
}

// The sine of a near number and some quarters of a turn.
static inline REAL tm_near_later_sin_REAL(REAL x, BITS quarters)
{
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL whole = tm_quarters_REAL(x), n = whole - rounding, r = tm_angle_REAL(x, n);
    return tm_sin_of_parts_REAL(r, tm_angle_rest_REAL(x, n), tm_bits_REAL(whole) + quarters);
}

static inline REAL tm_near_sin_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL found = tm_near_later_sin_REAL(x, 0);
    return x == 0 ? x : found;
#else
    return sinF(x);
#endif
}

static inline REAL tm_near_cos_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return tm_near_later_sin_REAL(x, 1);
#else
    return cosF(x);
#endif
}

static inline REAL tm_near_tan_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL whole = tm_quarters_REAL(x), n = whole - rounding, r = tm_angle_REAL(x, n);
    const REAL found = tm_tan_of_parts_REAL(r, tm_angle_rest_REAL(x, n), tm_bits_REAL(whole));
    return x == 0 ? x : found;
#else
    return tanF(x);
#endif
}

// n for a far number; stores r and its rest. |x| = m 2^e for an integer m, and a digit of 2/π of weight 2^−k matters for
// the product modulo 4 if e − k < 2. Of these digits, 192 are taken, which leave enough for r: it is at least 2^−62.
// Payne and Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18 (1983).
static inline uint64_t tm_far_angle(double x, double *r, double *rest)
{
    __extension__ typedef unsigned __int128 wide;
    // 64 zeros, and the binary digits of 2/π after the point.
    static const uint64_t digits[] = {
        0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
        0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
        0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
        0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    };
    const uint64_t bits = tm_bits_f64(fabs(x)), m = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    const int first = (int)(bits >> 52) - 1075 + 62, shift = first % 64;
    uint64_t window[3];
    for (int i = 0; i < 3; i++)
        window[i] = digits[first / 64 + i] << shift | digits[first / 64 + i + 1] >> 1 >> (63 - shift);
    const wide low = (wide)m * window[2];
    const wide middle = (wide)m * window[1] + (uint64_t)(low >> 64);
    const uint64_t high = m * window[0] + (uint64_t)(middle >> 64);
    // The product modulo 4 has two digits before the point. It is rounded to n; the difference is a signed fraction.
    const uint64_t n = (high + (UINT64_C(1) << 61)) >> 62;
    const uint64_t upper = high << 2 | (uint64_t)middle >> 62;
    const wide fraction = (wide)upper << 64 | (uint64_t)middle << 2 | (uint64_t)low >> 62;
    const bool is_negative = upper >> 63;
    const wide size = is_negative ? -fraction : fraction;
    const int zeros = size >> 64 ? __builtin_clzll((uint64_t)(size >> 64)) : 64 + __builtin_clzll((uint64_t)size | 1);
    const uint64_t front = (uint64_t)(size << zeros >> 64), back = (uint64_t)(size << zeros);
    const double a = (double)(front >> 11 << 11), b = (double)((front & 0x7ff) << 53 | back >> 11) * 0x1p-53;
    const double product = a * 0x1.921fb54442d18p+0;
    const double more = fma(a, 0x1.921fb54442d18p+0, -product) + (a * 0x1.1a62633145c07p-54 + b * 0x1.921fb54442d18p+0);
    const double sum = product + more, sign = is_negative != (x < 0) ? -1 : 1;
    const double scale = sign * tm_from_bits_f64((uint64_t)(1023 - 64 - zeros) << 52);
    *r = sum * scale;
    *rest = ((product - sum) + more) * scale;
    return x < 0 ? -n : n;
}

// The sine of a far number and some quarters of a turn.
static inline REAL tm_far_later_sin_REAL(REAL x, BITS quarters)
{
    double r, rest;
    const uint64_t n = tm_far_angle(x, &r, &rest);
    const REAL found = tm_sin_of_parts_REAL((REAL)r, (REAL)(r - (REAL)r + rest), (BITS)n + quarters);
    return fabsF(x) < (REAL)INFINITY ? found : (REAL)NAN;
}

static inline REAL tm_sin_REAL(REAL x)
{
    return tm_is_far_REAL(x) ? tm_far_later_sin_REAL(x, 0) : tm_near_sin_REAL(x);
}

static inline REAL tm_cos_REAL(REAL x)
{
    return tm_is_far_REAL(x) ? tm_far_later_sin_REAL(x, 1) : tm_near_cos_REAL(x);
}

static inline REAL tm_tan_REAL(REAL x)
{
    if (!tm_is_far_REAL(x))
        return tm_near_tan_REAL(x);
    double r, rest;
    const uint64_t n = tm_far_angle(x, &r, &rest);
    const REAL found = tm_tan_of_parts_REAL((REAL)r, (REAL)(r - (REAL)r + rest), (BITS)n);
    return fabsF(x) < (REAL)INFINITY ? found : (REAL)NAN;
}
