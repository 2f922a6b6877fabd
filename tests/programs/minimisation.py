# mypy: ignore-errors
# pyright: basic
"""Minimisers: line searches, simplices, trust in a quadratic model."""

import numpy as np


def golden_section(lo, hi, shift, tol):
    """Where (x - shift)**2 + |x| is least."""
    ratio = (np.sqrt(5) - 1) / 2

    def f(x):
        return (x - shift) ** 2 + abs(x)

    c = hi - ratio * (hi - lo)
    d = lo + ratio * (hi - lo)
    fc, fd = f(c), f(d)
    evaluations = 2
    while abs(hi - lo) > tol:
        if fc < fd:
            hi, d, fd = d, c, fc
            c = hi - ratio * (hi - lo)
            fc = f(c)
        else:
            lo, c, fc = c, d, fd
            d = lo + ratio * (hi - lo)
            fd = f(d)
        evaluations += 1
    return (lo + hi) / 2, evaluations


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    g = np.zeros_like(x)
    g[:-1] = -400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2.0 * (1.0 - x[:-1])
    g[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
    return g


def gradient_descent_backtracking(start, max_iter, tol):
    """Gradient descent on Rosenbrock's function; returns the point, its value and why it stopped."""
    x = np.array(start)
    value = rosenbrock(x)
    for iteration in range(max_iter):
        g = rosenbrock_gradient(x)
        if np.max(np.abs(g)) < tol:
            return x, value, iteration
        t = 1.0
        trial = x - t * g
        while rosenbrock(trial) > value - 1e-4 * t * (g @ g):
            t /= 2
            if t < 1e-12:
                return x, value, -2
            trial = x - t * g
        x = trial
        value = rosenbrock(x)
    return x, value, -1


def nelder_mead(start, target, max_iter):
    """The downhill simplex on a distorted bowl."""

    def f(p):
        return np.sum((p - target) ** 2) + 0.5 * np.abs(np.prod(p - target))

    n = len(start)
    simplex = np.tile(start, (n + 1, 1)).astype(float)
    for i in range(n):
        simplex[i + 1, i] += 0.5
    values = np.array([f(p) for p in simplex])
    for _ in range(max_iter):
        order = np.argsort(values)
        simplex, values = simplex[order], values[order]
        if values[-1] - values[0] < 1e-10:
            break
        centre = simplex[:-1].mean(axis=0)
        reflected = centre + (centre - simplex[-1])
        f_reflected = f(reflected)
        if f_reflected < values[0]:
            expanded = centre + 2 * (centre - simplex[-1])
            f_expanded = f(expanded)
            if f_expanded < f_reflected:
                simplex[-1], values[-1] = expanded, f_expanded
            else:
                simplex[-1], values[-1] = reflected, f_reflected
        elif f_reflected < values[-2]:
            simplex[-1], values[-1] = reflected, f_reflected
        else:
            contracted = centre + 0.5 * (simplex[-1] - centre)
            f_contracted = f(contracted)
            if f_contracted < values[-1]:
                simplex[-1], values[-1] = contracted, f_contracted
            else:
                for i in range(1, n + 1):
                    simplex[i] = simplex[0] + 0.5 * (simplex[i] - simplex[0])
                    values[i] = f(simplex[i])
    best = np.argmin(values)
    return simplex[best], values[best]


def levenberg_marquardt(t, y, start):
    """Fit y = a * exp(-b * t) + c; the damping falls after a good step and grows after a bad one."""
    p = start.copy()
    damping = 1e-2
    r = p[0] * np.exp(-p[1] * t) + p[2] - y
    cost = r @ r
    for _ in range(100):
        decay = np.exp(-p[1] * t)
        jacobian = np.stack([decay, -p[0] * t * decay, np.ones_like(t)], axis=1)
        gradient = jacobian.T @ r
        if np.abs(gradient).max() < 1e-10:
            break
        hessian = jacobian.T @ jacobian
        accepted = False
        while not accepted and damping < 1e10:
            step = np.linalg.solve(hessian + damping * np.eye(3), -gradient)
            q = p + step
            r_new = q[0] * np.exp(-q[1] * t) + q[2] - y
            cost_new = r_new @ r_new
            if cost_new < cost:
                accepted = True
                p, r, cost = q, r_new, cost_new
                damping /= 10
            else:
                damping *= 10
        if not accepted:
            break
    return p


def lasso(X, y, penalty, tol):
    """Coordinate descent with soft thresholds until no weight moves by more than `tol`."""
    n, d = X.shape
    w = np.zeros(d)
    residual = y.copy()
    norms = (X**2).sum(axis=0)
    sweeps = 0
    moved = np.inf
    while moved > tol and sweeps < 500:
        moved = 0.0
        for j in range(d):
            if norms[j] == 0:
                continue
            old = w[j]
            rho = X[:, j] @ residual + norms[j] * old
            if rho > penalty * n:
                new = (rho - penalty * n) / norms[j]
            elif rho < -penalty * n:
                new = (rho + penalty * n) / norms[j]
            else:
                new = 0.0
            if new != old:
                residual -= X[:, j] * (new - old)
                w[j] = new
                moved = max(moved, abs(new - old))
        sweeps += 1
    return w, sweeps
