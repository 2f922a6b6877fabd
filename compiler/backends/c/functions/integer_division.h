// Quotients and remainders of integers: 0 where the divisor is 0. The processor must not divide the smallest
// number by -1: the quotient overflows.

// Rounded down. A power of two that the compiler knows shifts.
static inline INT tm_floor_divide_INT(INT x, INT y)
{
    if (__builtin_constant_p(y) && y > 0 && (y & (y - 1)) == 0) return x >> __builtin_ctzll((uint64_t)y);
    const INT divisor = (y == 0) | (y == -1) ? 1 : y;
    const INT quotient = x / divisor;
    const INT floored = quotient - ((x % divisor != 0) & ((x < 0) != (divisor < 0)));
    return y == 0 ? 0 : y == -1 ? -x : floored;
}

static inline UINT tm_floor_divide_UINT(UINT x, UINT y)
{
    const UINT divisor = y == 0 ? 1 : y;
    return y == 0 ? 0 : x / divisor;
}

// With the sign of the divisor. A power of two that the compiler knows masks.
static inline INT tm_remainder_INT(INT x, INT y)
{
    if (__builtin_constant_p(y) && y > 0 && (y & (y - 1)) == 0) return x & (y - 1);
    const INT divisor = (y == 0) | (y == -1) ? 1 : y;
    const INT rest = x % divisor;
    return (rest != 0) & ((x < 0) != (divisor < 0)) ? rest + divisor : rest;
}

static inline UINT tm_remainder_UINT(UINT x, UINT y)
{
    const UINT divisor = y == 0 ? 1 : y;
    return x % divisor;
}

// With the sign of the dividend.
static inline INT tm_fmod_INT(INT x, INT y)
{
    const INT divisor = (y == 0) | (y == -1) ? 1 : y;
    return x % divisor;
}

static inline UINT tm_fmod_UINT(UINT x, UINT y)
{
    const UINT divisor = y == 0 ? 1 : y;
    return x % divisor;
}

static inline INT tm_reciprocal_INT(INT x)
{
    return tm_convert_f64_INT(1.0 / x);
}

static inline UINT tm_reciprocal_UINT(UINT x)
{
    return tm_convert_f64_UINT(1.0 / x);
}
