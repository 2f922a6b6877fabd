// Floating-point numbers as integers, rounded towards 0. In C, converting NaN or a number that does not fit is
// undefined. Here it gives what x86 processors and so NumPy's loops give: the smallest integer of 32 or 64 bits.

static inline int32_t tm_as_int_REAL(REAL x)
{
    const bool fits = (x >= (REAL)-0x1p31) & (x < (REAL)0x1p31);
    return fits ? (int32_t)x : INT32_MIN;
}

static inline int64_t tm_as_long_REAL(REAL x)
{
    const bool fits = (x >= (REAL)-0x1p63) & (x < (REAL)0x1p63);
    return fits ? (int64_t)x : INT64_MIN;
}

// Through int32; narrower types keep its low bits.
static inline INT tm_convert_REAL_INT(REAL x)
{
    return sizeof(INT) == 8 ? (INT)tm_as_long_REAL(x) : (INT)tm_as_int_REAL(x);
}

// uint32 goes through int64. uint64 subtracts 2^63 first from numbers that large.
static inline UINT tm_convert_REAL_UINT(REAL x)
{
    if (sizeof(UINT) == 8) {
        const bool high = x >= (REAL)0x1p63;
        const uint64_t rest = (uint64_t)tm_as_long_REAL(high ? x - (REAL)0x1p63 : x);
        return (UINT)(high ? rest ^ 0x8000000000000000u : rest);
    }
    return sizeof(UINT) == 4 ? (UINT)tm_as_long_REAL(x) : (UINT)tm_as_int_REAL(x);
}

static inline INT tm_convert_COMPLEX_INT(COMPLEX z)
{
    return tm_convert_REAL_INT(crealF(z));
}

static inline UINT tm_convert_COMPLEX_UINT(COMPLEX z)
{
    return tm_convert_REAL_UINT(crealF(z));
}
