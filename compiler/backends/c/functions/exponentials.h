// Exponentials and hyperbolic functions that compilers inline into loops; calls of a library would split these loops.
// They need fused multiply-adds, and most need sums in the order in which they are written; otherwise the C library
// computes them. Errors are at most 1 unit in the last place unless said. `tools/coefficients` computes the coefficients.
//
// e^x = 2^n e^r for an integer n: r is at most log(2) / 2. Adding 3 · 2^22 (3 · 2^51) rounds to an integer, in the lowest
// bits. 2^n is applied in two factors, because it may be out of range where e^x is not.

// (e^x − 1 − x) / x² on [−log(2) / 2, log(2) / 2].
static inline double tm_exp_tail_f64(double x)
{
    double p = fma(x, 0x1.1e37e37c3f3fp-29, 0x1.af4cafa75acd3p-26);
    p = fma(p, x, 0x1.27e5984916389p-22);
    p = fma(p, x, 0x1.71de02d90395p-19);
    p = fma(p, x, 0x1.a01a01579d98fp-16);
    p = fma(p, x, 0x1.a01a01abac7bp-13);
    p = fma(p, x, 0x1.6c16c16c23bd2p-10);
    p = fma(p, x, 0x1.111111111015ap-7);
    p = fma(p, x, 0x1.555555555553cp-5);
    p = fma(p, x, 0x1.5555555555557p-3);
    return fma(p, x, 0x1p-1);
}

static inline float tm_exp_tail_f32(float x)
{
    float p = fmaf(x, 0x1.9e5ec6p-13f, 0x1.6d407p-10f);
    p = fmaf(p, x, 0x1.11128ap-7f);
    p = fmaf(p, x, 0x1.5554ecp-5f);
    p = fmaf(p, x, 0x1.555554p-3f);
    return fmaf(p, x, 0x1p-1f);
}

// 2^(n + more) for the integer n in the lowest bits of a rounded number.
static inline REAL tm_two_to_REAL(BITS n, SIGNED more)
{
    const SIGNED bias = sizeof(REAL) == 8 ? 1023 : 127;
    return tm_from_bits_REAL((n + (BITS)(bias + more)) << (sizeof(REAL) == 8 ? 52 : 23));
}

static inline double tm_exp_f64(double x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const double rounding = 0x1.8p52;
    const double per_log_2 = 0x1.71547652b82fep+0;
    const double log_2 = 0x1.62e42fefa39efp-1;
    const double log_2_rest = 0x1.abc9e3b39803fp-56;
    const double whole = fma(x, per_log_2, rounding), n = whole - rounding;
    const uint64_t half = tm_bits_f64(fma(x, per_log_2 / 2, rounding));
    const double r = fma(n, -log_2_rest, fma(n, -log_2, x));
    const double y = fma(fma(tm_exp_tail_f64(r), r, 1), r, 1);
    const double near = y * tm_two_to_f64(half, 0) * tm_two_to_f64(tm_bits_f64(whole) - half, 0);
    const double far = x > 0 ? INFINITY : 0;
    const double power = fabs(x) > 746 ? far : near;
    return x != x ? x : power;
#else
    return exp(x);
#endif
}

// The same with a shorter polynomial.
static inline float tm_exp_f32(float x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const float whole = __builtin_fmaf(x, 0x1.715476p+0f, 0x1.8p+23f), n = whole - 0x1.8p+23f;
    const uint32_t half = tm_bits_f32(__builtin_fmaf(x, 0x1.715476p-1f, 0x1.8p+23f));
    const float r = __builtin_fmaf(n, 0x1.05c61p-29f, __builtin_fmaf(n, -0x1.62e43p-1f, x));
    float p = __builtin_fmaf(r, 0x1.6a2256p-10f, 0x1.123b02p-7f);
    p = __builtin_fmaf(p, r, 0x1.5558f8p-5f);
    p = __builtin_fmaf(p, r, 0x1.555490p-3f);
    p = __builtin_fmaf(p, r, 0x1.fffffcp-2f);
    p = __builtin_fmaf(__builtin_fmaf(p, r, 1.0f), r, 1.0f);
    const float scaled = tm_from_bits_f32(tm_bits_f32(p) + (half << 23));
    const float near = scaled * tm_from_bits_f32((tm_bits_f32(whole) - half + 127) << 23);
    const float far = x > 0.0f ? __builtin_inff() : 0.0f;
    const float power = fabsf(x) > 104.0f ? far : near;
    return x != x ? x : power;
#else
    return expf(x);
#endif
}

// (2^x − 1) / x on [−1/2, 1/2].
static inline double tm_exp2_tail_f64(double x)
{
    double p = fma(x, 0x1.c2b2b99150784p-36, 0x1.e9eac932150b1p-32);
    p = fma(p, x, 0x1.e4d0652e6657fp-28);
    p = fma(p, x, 0x1.b524eca72d2b6p-24);
    p = fma(p, x, 0x1.62c021edd32a4p-20);
    p = fma(p, x, 0x1.ffcbfc6d496cbp-17);
    p = fma(p, x, 0x1.430912f87e02ep-13);
    p = fma(p, x, 0x1.5d87fe78a40a5p-10);
    p = fma(p, x, 0x1.3b2ab6fba4e44p-7);
    p = fma(p, x, 0x1.c6b08d704a0c6p-5);
    p = fma(p, x, 0x1.ebfbdff82c58fp-3);
    return fma(p, x, 0x1.62e42fefa39efp-1);
}

static inline float tm_exp2_tail_f32(float x)
{
    float p = fmaf(x, 0x1.41a718p-13f, 0x1.5f053cp-10f);
    p = fmaf(p, x, 0x1.3b2d58p-7f);
    p = fmaf(p, x, 0x1.c6af74p-5f);
    p = fmaf(p, x, 0x1.ebfbdep-3f);
    return fmaf(p, x, 0x1.62e43p-1f);
}

static inline REAL tm_exp2_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL n = rintF(x), r = x - n;
    const BITS half = tm_bits_REAL(fmaF(x, (REAL)0.5, rounding));
    const REAL y = fmaF(r, tm_exp2_tail_REAL(r), 1);
    const REAL near = y * tm_two_to_REAL(half, 0) * tm_two_to_REAL(tm_bits_REAL(n + rounding) - half, 0);
    const REAL far = x > 0 ? (REAL)INFINITY : 0;
    const REAL power = fabsF(x) > (sizeof(REAL) == 8 ? 1076 : 151) ? far : near;
    return x != x ? x : power;
#else
    return exp2F(x);
#endif
}

// 2^n (e^r − 1) + (2^n − 1), where r has a correction; the first terms are added exactly.
static inline REAL tm_expm1_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL per_log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29);
    const REAL largest = sizeof(REAL) == 8 ? 710 : 89;
    const REAL y = x < -40 ? -40 : x;
    const REAL whole = fmaF(y, per_log_2, rounding), n = whole - rounding;
    const REAL first = fmaF(n, -log_2, y), r = fmaF(n, -log_2_rest, first);
    const REAL left = fmaF(n, -log_2_rest, first - r);
    const REAL rest = fmaF(r * r, tm_exp_tail_REAL(r), fmaF(left, r, left));
    const REAL power = tm_two_to_REAL(tm_bits_REAL(whole), -1), base = power - (REAL)0.5;
    const REAL sum = fmaF(power, r, base), error = fmaF(power, r, base - sum);
    const REAL lost = (power - base) - (REAL)0.5;
    const REAL near = 2 * (sum + fmaF(power, rest, error + lost));
    const REAL found = x > largest ? (REAL)INFINITY : near;
    return x != x || fabsF(x) < (REAL)0x1p-60 ? x : copysignF(found, x);
#else
    return expm1F(x);
#endif
}

// (sinh √x / √x − 1) / x and (cosh √x − 1) / x for √x on [0, log(2) / 2].
static inline double tm_sinh_tail_f64(double x)
{
    double p = fma(x, 0x1.af5eb342c435ap-26, 0x1.71ddf859c4a85p-19);
    p = fma(p, x, 0x1.a01a01afe2f7ap-13);
    p = fma(p, x, 0x1.111111110f6b3p-7);
    return fma(p, x, 0x1.5555555555559p-3);
}

static inline double tm_cosh_tail_f64(double x)
{
    double p = fma(x, 0x1.1f9540cab3a01p-29, 0x1.27e4c5047eb29p-22);
    p = fma(p, x, 0x1.a01a01b17de3ep-16);
    p = fma(p, x, 0x1.6c16c16c13f2ap-10);
    p = fma(p, x, 0x1.555555555555cp-5);
    return fma(p, x, 0x1p-1);
}

static inline float tm_sinh_tail_f32(float x)
{
    float p = fmaf(x, 0x1.a16fep-13f, 0x1.1110b2p-7f);
    return fmaf(p, x, 0x1.555556p-3f);
}

static inline float tm_cosh_tail_f32(float x)
{
    float p = fmaf(x, 0x1.6d977ep-10f, 0x1.55547ep-5f);
    return fmaf(p, x, 0x1p-1f);
}

// (e^y + sign e^−y) / 2: for e^y = 2^n e^r, a = 2^n / 4 and b = sign 2^−n / 4, twice (a + b) cosh r + (a − b) sinh r.
static inline REAL tm_half_sum_of_powers_REAL(REAL x, REAL sign)
{
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL per_log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29);
    const REAL largest = (REAL)(sizeof(REAL) == 8 ? 710.5 : 89.5);
    const REAL y = x > largest ? largest : x;
    const REAL whole = fmaF(y, per_log_2, rounding), n = whole - rounding;
    const REAL first = fmaF(n, -log_2, y), r = fmaF(n, -log_2_rest, first), z = r * r;
    const REAL left = fmaF(n, -log_2_rest, first - r);
    const REAL a = tm_two_to_REAL(tm_bits_REAL(whole), -2);
    const REAL b = y > 40 ? 0 : sign * tm_two_to_REAL(-tm_bits_REAL(whole), -2);
    const REAL cosh_rest = z * tm_cosh_tail_REAL(z);
    const REAL sinh_rest = fmaF(r * z, tm_sinh_tail_REAL(z), fmaF(left, r, left));
    const REAL sum = fmaF(a - b, r, a + b), error = fmaF(a - b, r, (a + b) - sum) + ((a - (a + b)) + b);
    const REAL near = 2 * (sum + fmaF(a + b, cosh_rest, fmaF(a - b, sinh_rest, error)));
    return x > largest ? (REAL)INFINITY : near;
}

static inline REAL tm_sinh_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL found = tm_half_sum_of_powers_REAL(fabsF(x), -1);
    return x != x || fabsF(x) < (REAL)0x1p-60 ? x : copysignF(found, x);
#else
    return sinhF(x);
#endif
}

static inline REAL tm_cosh_REAL(REAL x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const REAL found = tm_half_sum_of_powers_REAL(fabsF(x), 1);
    return x != x ? x : found;
#else
    return coshF(x);
#endif
}

// (tanh √x / √x − 1) / x on [0, 0.36].
static inline double tm_tanh_tail_f64(double x)
{
    double p = fma(x, -0x1.2035f5772250fp-16, 0x1.4caaa73210566p-14);
    p = fma(p, x, -0x1.e32d52837b9bfp-13);
    p = fma(p, x, 0x1.33db17319e2c2p-11);
    p = fma(p, x, -0x1.7d79d96fc8245p-10);
    p = fma(p, x, 0x1.d6d0c62008e6ep-9);
    p = fma(p, x, -0x1.226e2292932d9p-7);
    p = fma(p, x, 0x1.664f47f013496p-6);
    p = fma(p, x, -0x1.ba1ba1b7808f4p-5);
    p = fma(p, x, 0x1.111111110e1adp-3);
    return fma(p, x, -0x1.555555555553p-2);
}

// 1 − 2 / (e^2|x| + 1) for large x, with what the rounding of the sums takes away.
static inline double tm_tanh_f64(double x)
{
#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(TM_REORDERED_SUMS)
    const double rounding = 0x1.8p52;
    const double per_log_2 = 0x1.71547652b82fep+1;
    const double log_2 = 0x1.62e42fefa39efp-1;
    const double log_2_rest = 0x1.abc9e3b39803fp-56;
    const double y = fabs(x) > 20 ? 20 : fabs(x), z = y * y;
    const double whole = fma(y, per_log_2, rounding), n = whole - rounding;
    const double r = fma(n, -log_2_rest, fma(n, -log_2, y + y));
    const double power = tm_two_to_f64(tm_bits_f64(whole), 0);
    const double rest = fma(r * r, tm_exp_tail_f64(r), r);
    const double below = fma(power, rest, power + 1), error = fma(power, rest, (power + 1) - below);
    const double quotient = 2 / below, difference = 1 - quotient, lost = (1 - difference) - quotient;
    const double large = difference + fma(0.5 * quotient * quotient, error, lost);
    const double near = fma(y, z * tm_tanh_tail_f64(z), y);
    return x != x ? x : copysign(y < 0.6 ? near : large, x);
#else
    return tanh(x);
#endif
}

// tanh y = t / (t + 2) for t = e^2y − 1 = 2^n (e^r − 1) + (2^n − 1), within 3 units in the last place. It is 1 from 9.1 on.
static inline float tm_tanh_f32(float x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const float y = fabsf(x);
    const float whole = __builtin_fmaf(y, 0x1.715476p+1f, 0x1.8000fep+23f), n = whole - 0x1.8000fep+23f;
    const float r = __builtin_fmaf(n, 0x1.05c61p-29f, __builtin_fmaf(n, -0x1.62e43p-1f, y + y));
    float p = __builtin_fmaf(r, 0x1.6a2256p-10f, 0x1.123b02p-7f);
    p = __builtin_fmaf(p, r, 0x1.5558f8p-5f);
    p = __builtin_fmaf(p, r, 0x1.555490p-3f);
    p = __builtin_fmaf(p, r, 0x1.fffffcp-2f);
    p = __builtin_fmaf(p * r, r, r);
    const float power = tm_from_bits_f32(tm_bits_f32(whole) << 23);
    const float t = __builtin_fmaf(power, p, power - 1.0f);
    const float near = t / (t + 2.0f);
    return copysignf(y > 9.1f ? 1.0f : near, x);
#else
    return tanhf(x);
#endif
}
