"""Cases for `programs.differential_equations`."""

import numpy as np

from programs.differential_equations import (
    bouncing_ball,
    burgers,
    epidemic,
    planets,
    plate_at_rest,
    runge_kutta_adaptive,
    stiff_backward_euler,
)
from programs.program import Arguments, Program


def plate(rows: int, cols: int, tol: float) -> Arguments:
    """A cold plate with one hot edge."""
    u = np.zeros((rows, cols))
    u[0] = 1.0
    u[:, -1] = np.linspace(1, 0, rows)
    return u, tol


def wave(n: int, height: float, t_end: float) -> Arguments:
    """A bump that becomes steep."""
    x = np.linspace(0, 1, n, endpoint=False)
    return height * np.sin(2 * np.pi * x) + 0.3 * height, 1.0 / n, t_end


def solar_system(bodies: int, steps: int) -> Arguments:
    """Bodies at growing distances that circle the origin."""
    angles = 2.4 * np.arange(bodies)
    x = (1 + 0.5 * np.arange(bodies)[:, None]) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return x, np.stack([-x[:, 1], x[:, 0]], axis=1), np.linspace(0.5, 1.5, bodies), 0.02, steps


PROGRAMS = (
    Program(
        runge_kutta_adaptive,
        lambda: [
            (np.array([10.0, 5.0]), 2.0, 1e-3),
            (np.array([2.0, 1.0]), 2.0, 1e-3),
            (np.array([10.0, 5.0]), 1.0, 1e-5),
            ([1.0, 3.0], 0.05, 1e-3),
        ],
        uses=("while", "if", "min max", "float argument"),
        in_dims=(0, 0, None),
        gradient=(0,),
    ),
    Program(
        bouncing_ball,
        lambda: [(1.0, 0.8, 150), (0.05, 0.3, 60), (2.0, 0.5, 40)],
        uses=("if", "and or not", "int argument", "float argument"),
        in_dims=(0, 0, None),
        gradient=(0, 1),
    ),
    Program(
        plate_at_rest,
        lambda: [plate(6, 8, 1e-4), plate(6, 8, 1e-2), plate(5, 5, 1e-6)],
        uses=("while", "array argument written"),
        in_dims=(0, 0),
    ),
    Program(
        burgers,
        lambda: [wave(16, 1.0, 0.1), wave(16, 3.0, 0.1), wave(16, 0.0, 0.5), wave(40, -1.0, 0.2)],
        uses=("while", "break", "min max", "float argument"),
        in_dims=(0, None, 0),
        gradient=(0,),
    ),
    Program(
        stiff_backward_euler,
        lambda: [(0.0, 50.0, 1.0, 8), (2.0, 5.0, 1.0, 8), (0.5, 100.0, 2.0, 5)],
        uses=("break", "list", "int argument", "float argument"),
        in_dims=(0, 0, None, None),
        gradient=(0, 1),
    ),
    Program(
        epidemic,
        lambda: [(0.01, 0.5, 0.1, 60), (0.001, 0.15, 0.1, 60), (0.05, 0.9, 0.2, 20)],
        uses=("class", "if", "conditional expression", "int argument", "float argument"),
        in_dims=(0, 0, None, None),
        gradient=(0, 1, 2),
    ),
    Program(
        planets,
        lambda: [solar_system(3, 20), solar_system(2, 40), solar_system(5, 4)],
        uses=("closure", "continue", "min max", "int argument", "element loops"),
        gradient=(0, 1, 2),
    ),
)
