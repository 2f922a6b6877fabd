"""Cases for `programs.minimisation`."""

import numpy as np

from programs.cases.inputs import normal
from programs.minimisation import (
    golden_section,
    gradient_descent_backtracking,
    lasso,
    levenberg_marquardt,
    nelder_mead,
)
from programs.program import Arguments, Program


def decay_curve(n: int, rate: float, noise: float) -> Arguments:
    """Samples of an exponential, and where to start from."""
    t = np.linspace(0, 4, n)
    return t, 2.5 * np.exp(-rate * t) + 0.5 + noise * normal(n), np.array([1.0, 1.0, 0.0])


PROGRAMS = (
    Program(
        golden_section,
        lambda: [
            (-4.0, 4.0, 2.0, 1e-6),
            (-4.0, 4.0, 0.25, 1e-6),
            (1.0, 0.0, -3.0, 1e-4),
            (0.0, 1.0, 9.0, 2.0),
        ],
        uses=("while", "if", "closure", "float argument"),
        in_dims=(0, 0, 0, None),
        rtol=1e-7,
    ),
    Program(
        gradient_descent_backtracking,
        lambda: [
            (np.array([-1.2, 1.0]), 15, 1e-6),
            (np.array([1.0, 1.0]), 5, 1e-6),
            (np.array([0.8, 0.65]), 15, 1.0),
            (np.array([0.2, 0.1, -0.4]), 8, 1e-6),
        ],
        uses=("while", "early return", "if", "int argument"),
        in_dims=(0, None, None),
        gradient=(0,),
        kinks=(1,),
    ),
    Program(
        nelder_mead,
        lambda: [
            (np.array([0.0, 0.0]), np.array([1.0, 2.0]), 60),
            (np.array([5.0, -1.0]), np.array([0.3, 0.1]), 8),
            (np.array([1.0, 1.0, 0.5]), np.array([0.9, 1.1, 0.0]), 25),
        ],
        uses=("if", "break", "closure", "int argument"),
        in_dims=(0, 0, None),
    ),
    Program(
        levenberg_marquardt,
        lambda: [decay_curve(12, 1.3, 0.0), decay_curve(12, 0.6, 0.05), decay_curve(30, 3.0, 0.02)],
        uses=("while", "break", "and or not"),
        in_dims=(None, 0, 0),
        gradient=(1,),
        rtol=1e-7,
    ),
    Program(
        lasso,
        lambda: [
            (normal(20, 4), normal(20, seed=1), 0.1, 1e-8),
            (normal(20, 4, seed=2), normal(20, seed=3), 0.9, 1e-8),
            (normal(9, 3) * np.array([1.0, 0.0, 2.0]), normal(9, seed=4), 0.01, 1e-6),
        ],
        uses=("while", "continue", "if", "element loops", "min max", "and or not"),
        in_dims=(0, 0, 0, None),
        gradient=(1, 2),
    ),
)
