// Arithmetic on complex numbers by NumPy's formulas. C's own formulas repair infinities; NumPy's do not.

// NumPy's vector loops use fused multiply-add where the processor has it.
static inline COMPLEX tm_multiply_COMPLEX(COMPLEX x, COMPLEX y)
{
    const REAL a = crealF(x), b = cimagF(x), c = crealF(y), d = cimagF(y);
#ifdef __FMA__
    return __builtin_complex(fmaF(a, c, -(b * d)), fmaF(a, d, b * c));
#else
    return __builtin_complex(a * c - b * d, a * d + b * c);
#endif
}

static inline COMPLEX tm_square_COMPLEX(COMPLEX z)
{
    return tm_multiply_COMPLEX(z, z);
}

// R. L. Smith's algorithm (1962): divide by the larger part first.
static inline COMPLEX tm_divide_COMPLEX(COMPLEX x, COMPLEX y)
{
    const REAL a = crealF(x), b = cimagF(x), c = crealF(y), d = cimagF(y);
    const bool turned = !(fabsF(c) >= fabsF(d)), zero = (c == 0) & (d == 0);
    const REAL large = turned ? d : c, small = turned ? c : d;
    const REAL ratio = small / large, scale = 1 / (large + small * ratio);
    const REAL first = a * ratio, second = b * ratio;
    const REAL re = (turned ? first : second) + (turned ? b : a);
    const REAL im = (turned ? second : b) - (turned ? a : first);
    return __builtin_complex(zero ? a / fabsF(c) : re * scale, zero ? b / fabsF(d) : im * scale);
}

static inline COMPLEX tm_reciprocal_COMPLEX(COMPLEX z)
{
    const REAL a = crealF(z), b = cimagF(z);
    const bool turned = !(fabsF(b) <= fabsF(a));
    const REAL large = turned ? b : a, small = turned ? a : b;
    const REAL ratio = small / large, length = large + small * ratio;
    return __builtin_complex((turned ? ratio : 1) / length, (turned ? -1 : -ratio) / length);
}

static inline COMPLEX tm_rint_COMPLEX(COMPLEX z)
{
    return __builtin_complex(rintF(crealF(z)), rintF(cimagF(z)));
}

// z / |z|, and the directions of infinities along the axes.
static inline COMPLEX tm_sign_COMPLEX(COMPLEX z)
{
    const REAL a = crealF(z), b = cimagF(z), length = hypotF(a, b);
    if (length != length || (isinf(a) && isinf(b)))
        return __builtin_complex((REAL)NAN, (REAL)NAN);
    if (isinf(length))
        return isinf(a) ? __builtin_complex(copysignF(1, a), (REAL)0) : __builtin_complex((REAL)0, copysignF(1, b));
    return length == 0 ? __builtin_complex((REAL)0, (REAL)0) : __builtin_complex(a / length, b / length);
}

static inline bool tm_isnan_COMPLEX(COMPLEX z)
{
    return (crealF(z) != crealF(z)) | (cimagF(z) != cimagF(z));
}

static inline bool tm_isinf_COMPLEX(COMPLEX z)
{
    return (fabsF(crealF(z)) == (REAL)INFINITY) | (fabsF(cimagF(z)) == (REAL)INFINITY);
}

static inline bool tm_isfinite_COMPLEX(COMPLEX z)
{
    return (fabsF(crealF(z)) < (REAL)INFINITY) & (fabsF(cimagF(z)) < (REAL)INFINITY);
}

// In lexicographic order. A number with a NaN compares false with everything.
static inline bool tm_less_COMPLEX(COMPLEX x, COMPLEX y)
{
    const REAL a = crealF(x), b = cimagF(x), c = crealF(y), d = cimagF(y);
    return ((a < c) & (b == b) & (d == d)) | ((a == c) & (b < d));
}

static inline bool tm_less_equal_COMPLEX(COMPLEX x, COMPLEX y)
{
    const REAL a = crealF(x), b = cimagF(x), c = crealF(y), d = cimagF(y);
    return ((a < c) & (b == b) & (d == d)) | ((a == c) & (b <= d));
}

static inline bool tm_greater_COMPLEX(COMPLEX x, COMPLEX y)
{
    return tm_less_COMPLEX(y, x);
}

static inline bool tm_greater_equal_COMPLEX(COMPLEX x, COMPLEX y)
{
    return tm_less_equal_COMPLEX(y, x);
}
