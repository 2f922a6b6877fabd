// Choices between elements. Both are arguments, so both are always read: where only one is read, gcc 12 makes vectors
// that read every other element of an array by the mask of its neighbours.

static inline REAL tm_where_REAL(bool condition, REAL x, REAL y)
{
    return condition ? x : y;
}

static inline COMPLEX tm_where_COMPLEX(bool condition, COMPLEX x, COMPLEX y)
{
    const REAL a = crealF(x), b = cimagF(x), c = crealF(y), d = cimagF(y);
    return __builtin_complex(condition ? a : c, condition ? b : d);
}

static inline INT tm_where_INT(bool condition, INT x, INT y)
{
    return condition ? x : y;
}

static inline UINT tm_where_UINT(bool condition, UINT x, UINT y)
{
    return condition ? x : y;
}

static inline bool tm_where_bool(bool condition, bool x, bool y)
{
    return condition ? x : y;
}
