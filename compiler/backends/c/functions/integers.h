// Powers, shifts, bits and divisors of integers.

// By squaring, wrapping around. The exponent is not negative.
static inline UINT tm_power_UINT(UINT x, UINT y)
{
    UINT power = 1;
    for (; y != 0; y >>= 1) {
        power *= y & 1 ? x : 1u;
        x *= x;
    }
    return power;
}

static inline INT tm_power_INT(INT x, INT y)
{
    return (INT)tm_power_UINT((UINT)x, (UINT)y);
}

// 0 when y is the width or more, or negative.
static inline INT tm_left_shift_INT(INT x, INT y)
{
    const UINT places = (UINT)y, width = 8 * sizeof(INT), most = width - 1;
    return places < width ? (INT)((UINT)x << (places & most)) : 0;
}

static inline UINT tm_left_shift_UINT(UINT x, UINT y)
{
    const UINT width = 8 * sizeof(UINT), most = width - 1;
    return y < width ? (UINT)(x << (y & most)) : 0;
}

// The sign, 0 or -1, when y is the width or more, or negative.
static inline INT tm_right_shift_INT(INT x, INT y)
{
    const UINT places = (UINT)y, most = 8 * sizeof(INT) - 1;
    return x >> (places < most ? places : most);
}

static inline UINT tm_right_shift_UINT(UINT x, UINT y)
{
    const UINT width = 8 * sizeof(UINT), most = width - 1;
    return y < width ? (UINT)(x >> (y & most)) : 0;
}

static inline uint8_t tm_bitwise_count_UINT(UINT x)
{
    return (uint8_t)__builtin_popcountll(x);
}

// The number of ones in the bits of |x|.
static inline uint8_t tm_bitwise_count_INT(INT x)
{
    return tm_bitwise_count_UINT(x < 0 ? (UINT)(0 - (UINT)x) : (UINT)x);
}

// Euclid's algorithm.
static inline UINT tm_gcd_UINT(UINT x, UINT y)
{
    while (x != 0) {
        const UINT rest = y % x;
        y = x;
        x = rest;
    }
    return y;
}

static inline UINT tm_lcm_UINT(UINT x, UINT y)
{
    const UINT divisor = tm_gcd_UINT(x, y);
    return divisor == 0 ? 0 : (UINT)(x / divisor * y);
}

static inline INT tm_gcd_INT(INT x, INT y)
{
    return (INT)tm_gcd_UINT((UINT)(x < 0 ? 0 - (UINT)x : (UINT)x), (UINT)(y < 0 ? 0 - (UINT)y : (UINT)y));
}

static inline INT tm_lcm_INT(INT x, INT y)
{
    return (INT)tm_lcm_UINT((UINT)(x < 0 ? 0 - (UINT)x : (UINT)x), (UINT)(y < 0 ? 0 - (UINT)y : (UINT)y));
}

static inline INT tm_sign_INT(INT x)
{
    return (x > 0) - (x < 0);
}

static inline UINT tm_sign_UINT(UINT x)
{
    return x > 0;
}
