// The error function and its complement, which compilers inline into loops. They need fused multiply-adds, without which
// the C library computes them. Errors are at most 2 units in the last place.

// erf √x / √x − 1 for √x on [0, 5/4].
static inline double tm_erf_tail_f64(double x)
{
    double p = fma(x, -0x1.cb1148b174b03p-39, 0x1.5d1061fcf3f77p-34);
    p = fma(p, x, -0x1.46c7212721f01p-30);
    p = fma(p, x, 0x1.fa40e745df336p-27);
    p = fma(p, x, -0x1.5f4116082ad69p-23);
    p = fma(p, x, 0x1.b9e10e0bdef4p-20);
    p = fma(p, x, -0x1.f4d1e78c1a434p-17);
    p = fma(p, x, 0x1.f9a3207b73ca7p-14);
    p = fma(p, x, -0x1.c02db3c13f02ep-11);
    p = fma(p, x, 0x1.565bcd0cdcef6p-8);
    p = fma(p, x, -0x1.b82ce3127cf04p-6);
    p = fma(p, x, 0x1.ce2f21a0428f6p-4);
    p = fma(p, x, -0x1.812746b0379e2p-2);
    return fma(p, x, 0x1.06eba8214db68p-3);
}

static inline float tm_erf_tail_f32(float x)
{
    float p = fmaf(x, -0x1.fc3692p-18f, 0x1.b3f36ep-14f);
    p = fmaf(p, x, -0x1.b53bd4p-11f);
    p = fmaf(p, x, 0x1.5560ccp-8f);
    p = fmaf(p, x, -0x1.b8140cp-6f);
    p = fmaf(p, x, 0x1.ce2de8p-4f);
    p = fmaf(p, x, -0x1.81274p-2f);
    return fmaf(p, x, 0x1.06eba8p-3f);
}

// The fourth root of erfc(x + 5/4), up to where erf is 1.
static inline double tm_erfc_root_tail_f64(double x)
{
    const double z = x * x;
    double p = fma(z, -0x1.66e98e5ee9c3p-39, 0x1.a0df28784478bp-33);
    p = fma(p, z, 0x1.bc6733f33b437p-27);
    p = fma(p, z, -0x1.c8da0e7dff01fp-24);
    p = fma(p, z, 0x1.ff58cfe8417dbp-19);
    p = fma(p, z, -0x1.60f8dcf716592p-14);
    p = fma(p, z, 0x1.2f5607bc7b123p-10);
    p = fma(p, z, -0x1.3192fc3b1c833p-7);
    p = fma(p, z, 0x1.49bfe8be3a9a2p-5);
    p = fma(p, z, 0x1.0dcb6fdee6331p-1);
    double q = fma(z, 0x1.111f7b7f7672ep-43, 0x1.76c907aa4be7cp-37);
    q = fma(q, z, -0x1.708d17154df9dp-29);
    q = fma(q, z, -0x1.45024e66f0e0dp-27);
    q = fma(q, z, -0x1.cd39f3356bbp-23);
    q = fma(q, z, -0x1.0f9fa5aa53c02p-24);
    q = fma(q, z, 0x1.1b013b124d631p-13);
    q = fma(q, z, -0x1.c38a34ac82b8dp-9);
    q = fma(q, z, 0x1.68e9ea79675bbp-5);
    q = fma(q, z, -0x1.9dd3ea3f600b9p-2);
    return fma(q, x, p);
}

static inline float tm_erfc_root_tail_f32(float x)
{
    float p = fmaf(x, -0x1.98a4cap-13f, 0x1.ca3fd4p-10f);
    p = fmaf(p, x, -0x1.0775d2p-8f);
    p = fmaf(p, x, -0x1.27601ep-7f);
    p = fmaf(p, x, 0x1.682de6p-5f);
    p = fmaf(p, x, 0x1.49d986p-5f);
    p = fmaf(p, x, -0x1.9dd412p-2f);
    return fmaf(p, x, 0x1.0dcb7p-1f);
}

// From 5/4 on, 1 − erfc x needs few digits of erfc x: a fourth power suffices.
static inline REAL tm_erf_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL highest = (REAL)(sizeof(REAL) == 8 ? 5.9 : 3.9);
    const REAL size = fabsF(x), root = tm_erfc_root_tail_REAL(size - (REAL)1.25), square = root * root;
    const REAL far = size > highest ? 1 : fmaF(-square, square, 1);
    const REAL near = fmaF(size, tm_erf_tail_REAL(size * size), size);
    return copysignF(size < (REAL)1.25 ? near : far, x);
#else
    return erfF(x);
#endif
}

// 4/5 (1 + 2a) e^a² erfc(a) − 1 in 5/4 (a − 4) / (a + 4), for a from 0.79 to where erfc is 0. Shepherd and Laframboise,
// "Chebyshev approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞", Math. Comp. 36 (1981).
static inline double tm_scaled_erfc_tail_f64(double x)
{
    const double z = x * x;
    double p = fma(z, -0x1.91b5290cdcf1ap-33, 0x1.4ee3c50683661p-30);
    p = fma(p, z, 0x1.b4e8eec6fcdbfp-28);
    p = fma(p, z, -0x1.a7b44dfa227d2p-22);
    p = fma(p, z, 0x1.15d8014493ec9p-17);
    p = fma(p, z, -0x1.110434d2f4ca8p-14);
    p = fma(p, z, -0x1.1cf41bfd1cfe3p-9);
    p = fma(p, z, -0x1.c7d19d12d8f47p-7);
    p = fma(p, z, -0x1.0f3984798454cp-5);
    p = fma(p, z, 0x1.02071a51675a9p-7);
    p = fma(p, z, -0x1.bdc5d3c010084p-7);
    double q = fma(z, 0x1.fe86d1026a46p-31, -0x1.ed094e2637291p-27);
    q = fma(q, z, 0x1.5825d167fd627p-23);
    q = fma(q, z, -0x1.1ffccbdcf041bp-20);
    q = fma(q, z, -0x1.cb7526eaa2b4ap-17);
    q = fma(q, z, 0x1.1b465526a830fp-11);
    q = fma(q, z, 0x1.98a94172d5889p-8);
    q = fma(q, z, 0x1.9294578c637dcp-6);
    q = fma(q, z, 0x1.c8fdd93028f7ap-6);
    q = fma(q, z, -0x1.6e022539f8866p-4);
    return fma(q, x, p);
}

static inline float tm_scaled_erfc_tail_f32(float x)
{
    float p = fmaf(x, 0x1.2c3082p-11f, -0x1.220816p-9f);
    p = fmaf(p, x, 0x1.96dcdap-8f);
    p = fmaf(p, x, -0x1.c78f34p-7f);
    p = fmaf(p, x, 0x1.92b186p-6f);
    p = fmaf(p, x, -0x1.0f3adap-5f);
    p = fmaf(p, x, 0x1.c8fb2p-6f);
    p = fmaf(p, x, 0x1.02074ep-7f);
    p = fmaf(p, x, -0x1.6e022p-4f);
    return fmaf(p, x, -0x1.bdc5d6p-7f);
}

// e^−a² is 2^n e^r, where a² has two parts. The quotient 5/4 / (1 + 2a) times 1 + more has few roundings.
static inline REAL tm_erfc_REAL(REAL x)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const REAL rounding = (REAL)(sizeof(REAL) == 8 ? 0x1.8p52 : 0x1.8p23);
    const REAL per_log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
    const REAL log_2 = (REAL)(sizeof(REAL) == 8 ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1);
    const REAL log_2_rest = (REAL)(sizeof(REAL) == 8 ? 0x1.ef35793c7673p-45 : 0x1.7f7d1cp-20);
    const REAL highest = sizeof(REAL) == 8 ? 28 : 11;
    const REAL size = fabsF(x), a = size > highest ? highest : size;
    const REAL square = a * a, square_rest = fmaF(a, a, -square);
    const REAL whole = fmaF(-square, per_log_2, rounding), n = whole - rounding;
    const REAL base = fmaF(n, -log_2, -square), rest = fmaF(n, -log_2_rest, -square_rest), r = base + rest;
    const REAL d = fmaF(2, a, 1), d_rest = fmaF(2, a, 1 - d), b = a + 4, both = (REAL)1.25 / (d * b);
    const REAL quotient = both * b, error = fmaF(-quotient, d_rest, fmaF(-quotient, d, (REAL)1.25));
    const REAL factor = fmaF(error, (REAL)0.8, tm_scaled_erfc_tail_REAL((a - 4) * d * both));
    const REAL tail = r * r * tm_exp_tail_REAL(r), small = fmaF(factor, r + tail, factor) + rest;
    const REAL more = base + (tail + small);
    const REAL scaled = fmaF(quotient, more, quotient);
    const SIGNED most = sizeof(REAL) == 8 ? 200 : 60;
    const REAL far = scaled * tm_two_to_REAL(tm_bits_REAL(whole), most) * tm_two_to_REAL(0, -most);
    const REAL near = fmaF(-x, tm_erf_tail_REAL(square), 1 - x);
    const REAL away = x < 0 ? 2 - far : far;
    return size < (REAL)0.8 ? near : away;
#else
    return erfcF(x);
#endif
}
