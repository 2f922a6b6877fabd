# mypy: ignore-errors
# pyright: basic
"""Roots of equations, as in the exercises of a course on numerical methods."""

import numpy as np


def bisection(lo, hi, target, tol):
    """Solve x**3 + x = target."""
    f_lo = lo**3 + lo - target
    if f_lo == 0:
        return lo
    while hi - lo > tol:
        mid = 0.5 * (lo + hi)
        f_mid = mid**3 + mid - target
        if f_mid == 0:
            return mid
        if f_lo * f_mid < 0:
            hi = mid
        else:
            lo = mid
            f_lo = f_mid
    return 0.5 * (lo + hi)


def secant(slope, x0, x1, max_iter):
    """Solve cos(x) = slope * x; also returns the number of steps, or -1 if it did not converge."""
    f0 = np.cos(x0) - slope * x0
    for i in range(max_iter):
        f1 = np.cos(x1) - slope * x1
        if abs(f1) < 1e-12:
            steps = i
            break
        if f1 == f0:
            return x1, -1
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0 = f1
    else:
        steps = -1
    return x1, steps


def brent(a, b, k, tol=1e-13):
    """Brent's method for exp(-x) = k * x."""

    def f(x):
        return np.exp(-x) - k * x

    fa, fb = f(a), f(b)
    if fa * fb > 0:
        return np.nan
    c, fc = a, fa
    d = e = b - a
    while True:
        if fb * fc > 0:
            c, fc = a, fa
            d = e = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        half = 0.5 * (c - b)
        if abs(half) <= tol or fb == 0:
            return b
        if abs(e) >= tol and abs(fa) > abs(fb):
            s = fb / fa
            if a == c:
                p = 2 * half * s
                q = 1 - s
            else:
                q = fa / fc
                r = fb / fc
                p = s * (2 * half * q * (q - r) - (b - a) * (r - 1))
                q = (q - 1) * (r - 1) * (s - 1)
            if p > 0:
                q = -q
            p = abs(p)
            if 2 * p < min(3 * half * q - abs(tol * q), abs(e * q)):
                e, d = d, p / q
            else:
                d = e = half
        else:
            d = e = half
        a, fa = b, fb
        if abs(d) > tol:
            b += d
        elif half > 0:
            b += tol
        else:
            b -= tol
        fb = f(b)


def newton_line_search(start, radius):
    """Where a circle meets an exponential curve, by a damped Newton iteration."""

    def residual(z):
        x, y = z
        return np.array([x**2 + y**2 - radius**2, np.exp(x) + y - 1.0])

    z = start.copy()
    r = residual(z)
    for _ in range(50):
        norm = np.linalg.norm(r)
        if norm < 1e-11:
            break
        jacobian = np.array([[2 * z[0], 2 * z[1]], [np.exp(z[0]), 1.0]])
        step = np.linalg.solve(jacobian, -r)
        t = 1.0
        while np.linalg.norm(residual(z + t * step)) > (1 - 0.1 * t) * norm and t > 1e-4:
            t *= 0.5
        z = z + t * step
        r = residual(z)
    return z


def kepler(mean_anomaly, eccentricity):
    """The eccentric anomaly of each planet, by Newton's method with a start that depends on the orbit."""
    anomaly = np.empty_like(mean_anomaly)
    for i in range(len(mean_anomaly)):
        m = mean_anomaly[i]
        if eccentricity > 0.8:
            e = np.pi
        else:
            e = m + eccentricity * np.sin(m)
        delta = 1.0
        count = 0
        while abs(delta) > 1e-13 and count < 30:
            delta = (e - eccentricity * np.sin(e) - m) / (1 - eccentricity * np.cos(e))
            e -= delta
            count += 1
        anomaly[i] = e
    return anomaly


def cube_roots(values):
    """The cube root of each number, by as many Halley steps as each needs."""
    roots = np.zeros(len(values))
    steps = np.zeros(len(values), dtype=int)
    for i, value in enumerate(values):
        if value == 0:
            continue
        sign = 1.0 if value > 0 else -1.0
        x, target = 1.0, abs(value)
        while abs(x**3 - target) > 1e-12 * target:
            x = x * (x**3 + 2 * target) / (2 * x**3 + target)
            steps[i] += 1
        roots[i] = sign * x
    return roots, steps


def horner(coefficients, x):
    """The value and the slope of a polynomial."""
    value, slope = coefficients[0], 0.0
    for c in coefficients[1:]:
        slope = slope * x + value
        value = value * x + c
    return value, slope


def real_roots(coefficients, start):
    """All roots of a polynomial that has only real ones, by Newton's method and deflation."""
    degree = len(coefficients) - 1
    work = np.array(coefficients, dtype=float)
    roots = []
    for k in range(degree):
        x = start
        while True:
            value, slope = horner(work, x)
            if slope == 0:
                x += 0.5
                continue
            step = value / slope
            x -= step
            if abs(step) < 1e-10 * max(1.0, abs(x)):
                break
        roots.append(x)
        quotient = np.zeros(degree - k)
        carry = 0.0
        for j in range(degree - k):
            carry = carry * x + work[j]
            quotient[j] = carry
        work = quotient
    return np.sort(np.array(roots))
