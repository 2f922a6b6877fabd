// A sum in two parts: the rounded sum, and the error of all additions so far (Knuth's two-sum).

static inline void tm_add_exactly_REAL(REAL *sum, REAL *error, REAL x)
{
    const REAL total = *sum + x;
    const REAL part = total - *sum;
    *error += (*sum - (total - part)) + (x - part);
    *sum = total;
}

// NaN is the error of an infinite sum.
static inline REAL tm_exact_sum_REAL(REAL sum, REAL error)
{
    return error != error ? sum : sum + error;
}
