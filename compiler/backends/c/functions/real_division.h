// Python's division of floating-point numbers with a remainder, as NumPy does it.

// The remainder with the sign of y, also if it is 0; NaN where y is 0.
static inline REAL tm_remainder_REAL(REAL x, REAL y)
{
    const REAL rest = fmodF(x, y);
    const REAL turned = (y < 0) != (rest < 0) ? rest + y : rest;
    return y == 0 ? rest : rest == 0 ? copysignF(0, y) : turned;
}

// (x - remainder) / y is close to an integer, and is rounded to it.
static inline REAL tm_floor_divide_REAL(REAL x, REAL y)
{
    const REAL rest = fmodF(x, y);
    const REAL exact = (x - rest) / y;
    const REAL quotient = (rest != 0) & ((y < 0) != (rest < 0)) ? exact - 1 : exact;
    const REAL down = floorF(quotient);
    const REAL rounded = quotient - down > (REAL)0.5 ? down + 1 : down;
    return y == 0 ? x / y : quotient == 0 ? copysignF(0, x / y) : rounded;
}
