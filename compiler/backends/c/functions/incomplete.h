// The incomplete gamma and beta functions by the formulas of their NumPy definitions, one element at a time, because
// their sums have different lengths. Both compute in double. DLMF is the NIST Digital Library of Mathematical
// Functions, https://dlmf.nist.gov.

// log Γ(2 + d) for |d| <= 1/2, interpolated.
static inline double tm_log_gamma_near_2(double d)
{
    static const double coefficients[] = {
        LOG_GAMMA_AT_2,
    };
    double sum = 0;
    for (int i = 0; i < COUNT_LOG_GAMMA_AT_2; i++)
        sum = sum * d + coefficients[i];
    return d * sum;
}

// What Stirling's series adds to log Γ(x), for x >= 8, DLMF 5.11.1.
static inline double tm_stirling_series(double x)
{
    static const double coefficients[] = {
        STIRLING,
    };
    double sum = 0;
    for (int i = 0; i < COUNT_STIRLING; i++)
        sum = sum / (x * x) + coefficients[i];
    return sum / x;
}

// log(part) - m, where part is 1 + m, without cancellation near m = 0.
static inline double tm_log_less_linear(double part, double m)
{
    const double u = m / (2.0 + m);
    double tail = 0;
    for (int k = 33; k > 1; k -= 2)
        tail = tail * u * u + 1.0 / k;
    return fabs(u) < 0.3 ? 2.0 * u * u * u * tail - m * u : log(part) - m;
}

// P by its series, DLMF 8.11.4, without the factor in front.
static inline double tm_gamma_series(double p, double z)
{
    double term = 1, total = 1;
    for (int n = 1; term > 1e-17 * total; n++) {
        term = term * z / (p + n);
        total += term;
    }
    return total;
}

// Q by its continued fraction, DLMF 8.9.2, evaluated by Lentz's method, without the factor in front.
static inline double tm_gamma_fraction(double p, double z)
{
    double bottom = z + 1.0 - p, above = 1e300, below = 1.0 / bottom, fraction = below;
    for (int n = 1; n <= 100000; n++) {
        const double top = -n * (n - p);
        bottom += 2.0;
        below = 1.0 / (top * below + bottom);
        above = bottom + top / above;
        fraction = fraction * above * below;
        if (!(fabs(above * below - 1.0) > 2e-16))
            break;
    }
    return fraction;
}

// Q for p < 1 and z <= 1.5 without cancellation, DLMF 8.7.1.
static inline double tm_gamma_corner(double p, double z, double log_gamma)
{
    const double log_front = p * log(z) - log_gamma;
    double power = 1, rest = 0;
    for (int n = 1; n < 26; n++) {
        power = -power * z / n;
        rest += power * p / (p + n);
    }
    return -expm1(log_front) - exp(log_front) * rest;
}

// P, or if `upper` Q, for finite p > 0 and z > 0.
static inline double tm_gammainc_inside(double p, double z, int upper)
{
    double front, log_gamma = 0;
    if (p < 8.0) {
        const double steps = fmin(fmax(ceil(p - 1.5), 0.0), 7.0);
        double up = 1;
        for (int k = 1; k <= (int)steps; k++)
            up *= p + 1.0 - k;
        log_gamma = tm_log_gamma_near_2(p < 0.5 ? p : p - steps - 1.0) - log1p(p < 0.5 ? p : 0.0);
        front = exp(-z) * pow(fmin(z, 1e30), p) / (up * exp(log_gamma));
    } else {
        const double m = (z - p) / p;
        front = exp(p * tm_log_less_linear(z / p, m) - tm_stirling_series(p)) / sqrt(6.283185307179586 * p);
    }
    if (upper && p < 1.0 && z <= 1.5)
        return tm_gamma_corner(p, z, log_gamma);
    if (z < p + 1.0) {
        const double low = front * tm_gamma_series(p, z);
        return upper ? 1.0 - low : low;
    }
    const double high = front * p * tm_gamma_fraction(p, z);
    return upper ? high : 1.0 - high;
}

static inline double tm_gammainc_double(double a, double x, int upper)
{
    if (a > 0 && x > 0 && isfinite(a) && isfinite(x))
        return tm_gammainc_inside(a, x, upper);
    if ((a == 0 && x > 0) || (a > 0 && isfinite(a) && x == INFINITY))
        return upper ? 0.0 : 1.0;
    if ((a > 0 && x == 0) || (a == INFINITY && x >= 0 && isfinite(x)))
        return upper ? 1.0 : 0.0;
    return NAN;
}

static inline REAL tm_gammainc_REAL(REAL a, REAL x, int upper)
{
    return (REAL)tm_gammainc_double(a, x, upper);
}

// log Γ(y) by recurrence for y < 8, else by Stirling's series.
static inline double tm_log_gamma_positive(double y)
{
    if (y >= 8.0)
        return (y - 0.5) * (log(y) - 1.0) + (0.5 * log(6.283185307179586) - 0.5) + tm_stirling_series(y);
    const double steps = fmin(fmax(ceil(y - 2.5), 0.0), 6.0);
    double up = 1;
    for (int k = 1; k <= (int)steps; k++)
        up *= y - k;
    const double near = tm_log_gamma_near_2(y < 0.5 ? y : y < 1.5 ? y - 1.0 : y - steps - 2.0);
    return near + (y < 1.5 ? -log(y) : log(up)) - log1p(y < 0.5 ? y : 0.0);
}

// z^p w^q / B(p, q) / p with w = 1 - z. Where p or q is small, by log Γ(p + q) / Γ(high), without cancellation for
// large `high`. Where both are large, by the distances from the peak.
static inline double tm_beta_front(double p, double q, double z, double w)
{
    const double low = fmin(p, q), high = fmax(p, q), both = low + high;
    if (low < 8.0) {
        double ratio;
        if (high < 8.0)
            ratio = tm_log_gamma_positive(both) - tm_log_gamma_positive(high);
        else
            ratio = (high - 0.5) * log1p(low / high) + low * (log(both) - 1.0) + tm_stirling_series(both)
                - tm_stirling_series(high);
        const double log_z = z > 0.5 ? log1p(-w) : log(z), log_w = w > 0.5 ? log1p(-z) : log(w);
        return exp(p * log_z + q * log_w + (ratio - tm_log_gamma_positive(low))) / p;
    }
    double exponent = tm_stirling_series(both) - tm_stirling_series(high) - tm_stirling_series(low);
    exponent += p * tm_log_less_linear(z * ((p + q) / p), (z * q - w * p) / p);
    exponent += q * tm_log_less_linear(w * ((p + q) / q), (w * p - z * q) / q);
    return exp(exponent) * sqrt(p / 6.283185307179586 * (q / (p + q))) / p;
}

// The continued fraction, DLMF 8.17.22, evaluated by Lentz's method.
static inline double tm_beta_fraction(double p, double q, double z)
{
    double above = 1, below = 1.0 / (1.0 - (p + q) * z / (p + 1.0)), fraction = below;
    for (int n = 1; n <= 100000; n++) {
        const double tops[] = {
            n * (q - n) * z / ((p + 2 * n - 1.0) * (p + 2 * n)),
            -(p + n) * (p + q + n) * z / ((p + 2 * n) * (p + 2 * n + 1.0)),
        };
        for (int i = 0; i < 2; i++) {
            below = 1.0 / (1.0 + tops[i] * below);
            above = 1.0 + tops[i] / above;
            fraction = fraction * above * below;
        }
        if (!(fabs(above * below - 1.0) > 2e-16))
            break;
    }
    return fraction;
}

// I(a, b, x) = 1 - I(b, a, 1 - x), DLMF 8.17.4: the side on which the fraction converges fast.
static inline double tm_betainc_double(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && isfinite(a) && isfinite(b)))
        return NAN;
    if (!(x > 0 && x < 1))
        return x == 0 ? 0.0 : x == 1 ? 1.0 : NAN;
    if (x > (a + 1.0) / (a + b + 2.0))
        return 1.0 - tm_beta_front(b, a, 1.0 - x, x) * tm_beta_fraction(b, a, 1.0 - x);
    return tm_beta_front(a, b, x, 1.0 - x) * tm_beta_fraction(a, b, x);
}

static inline REAL tm_betainc_REAL(REAL a, REAL b, REAL x)
{
    return (REAL)tm_betainc_double(a, b, x);
}
