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
