// Elementary functions of complex numbers that complex.h lacks, or that NumPy computes differently.

static inline COMPLEX tm_exp2_COMPLEX(COMPLEX z)
{
    const REAL log2 = (REAL)0.6931471805599453;
    return cexpF(__builtin_complex(crealF(z) * log2, cimagF(z) * log2));
}

static inline COMPLEX tm_expm1_COMPLEX(COMPLEX z)
{
    const REAL a = crealF(z), b = cimagF(z), half = sinF(b / 2);
    return __builtin_complex(tm_expm1_REAL(a) * cosF(b + 0) - 2 * half * half, tm_exp_REAL(a) * sinF(b));
}

static inline COMPLEX tm_log1p_COMPLEX(COMPLEX z)
{
    const REAL a = crealF(z) + 1, b = cimagF(z);
    return __builtin_complex(tm_log_REAL(tm_hypot_REAL(a, b)), tm_atan2_REAL(b, a));
}

static inline COMPLEX tm_log2_COMPLEX(COMPLEX z)
{
    const COMPLEX log = clogF(z);
    const REAL factor = (REAL)1.4426950408889634;
    return __builtin_complex(crealF(log) * factor, cimagF(log) * factor);
}

static inline COMPLEX tm_log10_COMPLEX(COMPLEX z)
{
    const COMPLEX log = clogF(z);
    const REAL factor = (REAL)0.4342944819032518;
    return __builtin_complex(crealF(log) * factor, cimagF(log) * factor);
}

static inline COMPLEX tm_plain_product_COMPLEX(COMPLEX x, COMPLEX y)
{
    const REAL a = crealF(x), b = cimagF(x), c = crealF(y), d = cimagF(y);
    return __builtin_complex(a * c - b * d, a * d + b * c);
}

// Small integer powers by products.
static inline COMPLEX tm_power_COMPLEX(COMPLEX x, COMPLEX y)
{
    const REAL c = crealF(y), d = cimagF(y);
    if (c == 0 && d == 0)
        return __builtin_complex((REAL)1, (REAL)0);
    if (crealF(x) == 0 && cimagF(x) == 0)
        return c > 0 ? __builtin_complex((REAL)0, (REAL)0) : __builtin_complex((REAL)NAN, (REAL)NAN);
    if (d != 0 || !(c > -100 && c < 100) || c != truncF(c))
        return cpowF(x, y);
    if (c == 1)
        return x;
    if (c == 2)
        return tm_plain_product_COMPLEX(x, x);
    if (c == 3)
        return tm_plain_product_COMPLEX(x, tm_plain_product_COMPLEX(x, x));
    COMPLEX power = __builtin_complex((REAL)1, (REAL)0);
    for (int n = (int)fabsF(c);; x = tm_plain_product_COMPLEX(x, x)) {
        if (n & 1)
            power = tm_plain_product_COMPLEX(power, x);
        if ((n >>= 1) == 0)
            break;
    }
    return c < 0 ? tm_divide_COMPLEX(__builtin_complex((REAL)1, (REAL)0), power) : power;
}
