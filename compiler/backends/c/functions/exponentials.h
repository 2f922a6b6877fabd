// Exponentials that compilers inline into loops; calls of the C library's vector functions would split these loops.

// e^x = 2^n e^r for an integer n: r is at most log(2) / 2, and the error is 1 unit in the last place. Adding 2^23 + 2^22
// rounds to an integer, in the lowest bits. The polynomial has the smallest maximum relative error of its degree. 2^n is
// applied in two factors, because it may be out of range where e^x is not.
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
    p = __builtin_fmaf(p * r, r, r) + 1.0f;
    const float scaled = tm_from_bits_f32(tm_bits_f32(p) + (half << 23));
    const float near = scaled * tm_from_bits_f32((tm_bits_f32(whole) - half + 127) << 23);
    const float far = x > 0.0f ? __builtin_inff() : 0.0f;
    const float power = fabsf(x) > 104.0f ? far : near;
    return x != x ? x : power;
#else
    return expf(x);
#endif
}

static inline double tm_exp_f64(double x)
{
    return exp(x);
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

static inline double tm_tanh_f64(double x)
{
    return tanh(x);
}
