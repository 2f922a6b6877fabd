"""Cases for `programs.root_finding`."""

import numpy as np

from programs.cases.inputs import uniform
from programs.program import Program
from programs.root_finding import (
    bisection,
    brent,
    cube_roots,
    kepler,
    newton_line_search,
    real_roots,
    secant,
)

PROGRAMS = (
    Program(
        bisection,
        lambda: [
            (0.0, 3.0, 5.0, 1e-10),
            (0.0, 4.0, 10.0, 1e-10),
            (0.0, 1.0, 0.0, 1e-6),
            (-5.0, 5.0, -3.0, 1e-12),
        ],
        uses=("while", "if", "early return", "float argument"),
        in_dims=(0, 0, 0, None),
    ),
    Program(
        secant,
        lambda: [(1.0, 0.0, 1.0, 30), (0.2, 0.0, 2.0, 30), (1.0, 0.0, 1.0, 2), (1.0, 0.7, 0.7, 9)],
        uses=("for else", "break", "early return", "if", "int argument", "float argument"),
        in_dims=(0, 0, 0, None),
        gradient=(0,),
    ),
    Program(
        brent,
        lambda: [(0.0, 1.0, 1.0), (0.0, 8.0, 0.25), (-1.0, 40.0, 0.01), (2.0, 3.0, 1.0)],
        uses=("while True", "closure", "early return", "if", "min max", "float argument"),
        in_dims=(0, 0, 0),
    ),
    Program(
        newton_line_search,
        lambda: [(np.array([1.0, -1.7]), 2.0), (np.array([-3.0, 4.0]), 2.0), (np.array([0.1, 0.0]), 1.5)],
        uses=("while", "break", "closure", "and or not"),
        in_dims=(0, 0),
        gradient=(1,),
    ),
    Program(
        kepler,
        lambda: [
            (uniform(0, 6, 4), 0.3),
            (uniform(0, 6, 4, seed=1), 0.95),
            (uniform(0, 6, 9), 0.6),
            (np.zeros(3), 0.1),
        ],
        uses=("element loops", "while", "if", "and or not"),
        in_dims=(0, 0),
        gradient=(0, 1),
    ),
    Program(
        cube_roots,
        lambda: [
            (np.array([27.0, -8.0, 0.0, 1e-6]),),
            (np.array([2.0, 0.0, -1.0, 5e7]),),
            (uniform(-5, 5, 7),),
        ],
        uses=("element loops", "while", "continue", "conditional expression"),
        in_dims=(0,),
    ),
    Program(
        real_roots,
        lambda: [
            (np.array([1.0, -6.0, 11.0, -6.0]), 8.0),
            (np.array([2.0, -3.0, -11.0, 6.0]), 0.0),
            (np.array([1.0, 0.0, -4.0]), 0.0),
            ([1.0, -1.5, 0.5], 3.0),
        ],
        uses=("while True", "continue", "list", "min max"),
        in_dims=(0, None),
        gradient=(0,),
        rtol=1e-7,
    ),
)
