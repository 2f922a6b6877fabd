// Signs, steps and neighbours of floating-point numbers.

static inline BITS tm_bits_REAL(REAL x)
{
    return ((union { REAL x; BITS y; }){x}).y;
}

static inline REAL tm_from_bits_REAL(BITS x)
{
    return ((union { BITS x; REAL y; }){x}).y;
}

static inline bool tm_signbit_REAL(REAL x)
{
    return ((union { REAL x; SIGNED y; }){x}).y < 0;
}

// NaN stays, and 0 is the sign of -0.
static inline REAL tm_sign_REAL(REAL x)
{
    const REAL sign = (REAL)((x > 0) - (x < 0));
    return x != x ? x : sign;
}

static inline REAL tm_heaviside_REAL(REAL x, REAL y)
{
    const REAL step = x < 0 ? 0 : 1;
    const REAL choice = x == 0 ? y : step;
    return x != x ? x : choice;
}

// Numbers of the same sign compare like their bits.
static inline REAL tm_nextafter_REAL(REAL x, REAL y)
{
    const BITS bits = tm_bits_REAL(x);
    const REAL next = tm_from_bits_REAL((x < y) == (x > 0) ? bits + 1 : bits - 1);
    const REAL least = copysignF(tm_from_bits_REAL(1), y);
    const REAL moved = x == 0 ? least : next;
    const REAL reached = x == y ? y : moved;
    return (x != x) | (y != y) ? x + y : reached;
}

static inline REAL tm_spacing_REAL(REAL x)
{
    const REAL gap = tm_from_bits_REAL(tm_bits_REAL(x) + 1) - x;
    const REAL size = x == 0 ? tm_from_bits_REAL(1) : gap;
    return fabsF(x) < (REAL)INFINITY ? size : (x != x ? x : (REAL)NAN);
}

// Where both are the same infinity, their difference would be NaN.
static inline REAL tm_logaddexp_REAL(REAL x, REAL y)
{
    const REAL gap = x - y;
    const REAL larger = x > y ? x : y;
    const REAL sum = larger + tm_log1p_REAL(tm_exp_REAL(-fabsF(gap)));
    const REAL twice = x + (REAL)0.6931471805599453;
    return x == y ? twice : gap != gap ? gap : sum;
}

static inline REAL tm_logaddexp2_REAL(REAL x, REAL y)
{
    const REAL gap = x - y;
    const REAL larger = x > y ? x : y;
    const REAL sum = larger + (REAL)1.4426950408889634 * tm_log1p_REAL(tm_exp2_REAL(-fabsF(gap)));
    const REAL twice = x + 1;
    return x == y ? twice : gap != gap ? gap : sum;
}
