# mypy: ignore-errors
# pyright: basic
"""Ordinary and partial differential equations with steps and stops that depend on the solution."""

import numpy as np


def predators_and_prey(t, y):
    rabbits, foxes = y
    return np.array([1.1 * rabbits - 0.4 * rabbits * foxes, 0.1 * rabbits * foxes - 0.4 * foxes])


def runge_kutta_adaptive(y0, t_end, tol):
    """The pair of Bogacki and Shampine with step control; returns the end state and the steps kept and rejected."""
    t, y, h = 0.0, np.array(y0, dtype=float), 0.1
    k1 = predators_and_prey(t, y)
    accepted = rejected = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k2 = predators_and_prey(t + h / 2, y + h / 2 * k1)
        k3 = predators_and_prey(t + 3 * h / 4, y + 3 * h / 4 * k2)
        y_new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = predators_and_prey(t + h, y_new)
        error = np.abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8)).max()
        if error <= tol:
            t += h
            y = y_new
            k1 = k4
            accepted += 1
        else:
            rejected += 1
        h *= min(5.0, max(0.2, 0.9 * (tol / (error + 1e-16)) ** (1 / 3)))
    return y, accepted, rejected


def bouncing_ball(height, restitution, steps):
    """A ball that loses speed at each bounce and rests in the end; returns the trajectory and the bounces."""
    dt, g = 0.01, 9.81
    y, v = height, 0.0
    bounces = 0
    resting = False
    path = np.zeros(steps)
    for k in range(steps):
        if not resting:
            v -= g * dt
            y += v * dt
            if y < 0:
                y = -y * restitution
                v = -v * restitution
                bounces += 1
                if abs(v) < 0.2:
                    y, v = 0.0, 0.0
                    resting = True
        path[k] = y
    return path, bounces


def plate_at_rest(u, tol):
    """Laplace's equation on a plate with given edges, by Jacobi iteration; overwrites the inner points."""
    sweeps = 0
    err = np.inf
    while err > tol:
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        err = np.abs(new - u[1:-1, 1:-1]).max()
        u[1:-1, 1:-1] = new
        sweeps += 1
    return sweeps


def burgers(u, dx, t_end):
    """Burgers' equation by upwind differences; each step is as long as stability allows."""
    u = u.copy()
    t = 0.0
    steps = 0
    while t < t_end:
        speed = np.max(np.abs(u))
        if speed < 1e-12:
            break
        dt = min(0.5 * dx / speed, t_end - t)
        left = np.roll(u, 1)
        right = np.roll(u, -1)
        slope = np.where(u > 0, (u - left) / dx, (right - u) / dx)
        u = u - dt * u * slope
        t += dt
        steps += 1
    return u, steps


def stiff_backward_euler(y0, rate, t_end, n):
    """Backward Euler for y' = rate * (cos(t) - y**3), with Newton's method in each step."""
    h = t_end / n
    ys = [y0]
    t = 0.0
    for _ in range(n):
        t += h
        y = ys[-1]
        for _ in range(20):
            f = y - ys[-1] - h * rate * (np.cos(t) - y**3)
            if abs(f) < 1e-12:
                break
            y = y - f / (1 + 3 * h * rate * y**2)
        ys.append(y)
    return np.array(ys)


class Epidemic:
    """Susceptible, infected and recovered people, with a lockdown that starts and ends at thresholds."""

    def __init__(self, susceptible, infected, beta, gamma):
        self.s = susceptible
        self.i = infected
        self.r = 0.0
        self.beta = beta
        self.gamma = gamma
        self.lockdown = False

    def step(self, dt):
        if self.lockdown:
            if self.i < 0.02:
                self.lockdown = False
        elif self.i > 0.1:
            self.lockdown = True
        beta = 0.3 * self.beta if self.lockdown else self.beta
        new = beta * self.s * self.i * dt
        healed = self.gamma * self.i * dt
        self.s -= new
        self.i += new - healed
        self.r += healed


def epidemic(infected, beta, gamma, days):
    """Run it; returns the curve, the days in lockdown and the peak."""
    model = Epidemic(1.0 - infected, infected, beta, gamma)
    curve = np.empty((days, 3))
    locked = 0
    peak = 0.0
    for day in range(days):
        model.step(1.0)
        curve[day] = model.s, model.i, model.r
        if model.lockdown:
            locked += 1
        if model.i > peak:
            peak = model.i
    return curve, locked, peak


def planets(positions, velocities, masses, dt, steps):
    """Leapfrog for a few bodies; returns their positions and the closest approach."""
    n = len(masses)
    x, v = positions.copy(), velocities.copy()
    nearest = np.inf

    def accelerations(x):
        a = np.zeros_like(x)
        closest = np.inf
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                d = x[j] - x[i]
                r = np.sqrt(d @ d + 1e-4)
                closest = min(closest, r)
                a[i] += masses[j] * d / r**3
        return a, closest

    a, _ = accelerations(x)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a, closest = accelerations(x)
        v += 0.5 * dt * a
        if closest < nearest:
            nearest = closest
    return x, v, nearest
