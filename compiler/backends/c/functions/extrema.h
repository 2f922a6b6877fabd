// The larger and the smaller of two numbers. A tie, such as 0 and -0, gives the second.

// NaN if either is.
static inline REAL tm_maximum_REAL(REAL x, REAL y)
{
    const REAL larger = x > y ? x : y;
    return x != x ? x : larger;
}

static inline REAL tm_minimum_REAL(REAL x, REAL y)
{
    const REAL smaller = x < y ? x : y;
    return x != x ? x : smaller;
}

static inline INT tm_maximum_INT(INT x, INT y)
{
    return x > y ? x : y;
}

static inline INT tm_minimum_INT(INT x, INT y)
{
    return x < y ? x : y;
}

static inline UINT tm_maximum_UINT(UINT x, UINT y)
{
    return x > y ? x : y;
}

static inline UINT tm_minimum_UINT(UINT x, UINT y)
{
    return x < y ? x : y;
}

// The one that is not NaN.
static inline REAL tm_fmax_REAL(REAL x, REAL y)
{
    const REAL larger = x > y ? x : y;
    return y != y ? x : larger;
}

static inline REAL tm_fmin_REAL(REAL x, REAL y)
{
    const REAL smaller = x < y ? x : y;
    return y != y ? x : smaller;
}

// A tie gives x: -0 stays where the bound is 0.
static inline REAL tm_clip_REAL(REAL x, REAL low, REAL high)
{
    return tm_minimum_REAL(high, tm_maximum_REAL(low, x));
}

static inline INT tm_clip_INT(INT x, INT low, INT high)
{
    return tm_minimum_INT(tm_maximum_INT(x, low), high);
}

static inline UINT tm_clip_UINT(UINT x, UINT low, UINT high)
{
    return tm_minimum_UINT(tm_maximum_UINT(x, low), high);
}
