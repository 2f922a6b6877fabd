"""Cases for `programs.finance`."""

import numpy as np

from programs.cases.inputs import normal
from programs.finance import (
    american_put,
    call_price,
    crossover_strategy,
    drawdown,
    implied_volatility,
    internal_rate,
    loan_schedule,
    longstaff_schwartz,
)
from programs.program import Program


def prices(n: int, seed: int = 0) -> np.ndarray:
    """A random walk of prices."""
    walk: np.ndarray = 100 * np.exp(np.cumsum(0.02 * normal(n, seed=seed)))
    return walk


PROGRAMS = (
    Program(
        american_put,
        lambda: [
            (100.0, 95.0, 0.05, 0.2, 1.0, 12),
            (60.0, 95.0, 0.08, 0.1, 1.0, 12),
            (100.0, 103.0, 0.01, 0.3, 0.5, 20),
        ],
        uses=("inner loop bounds", "if", "min max", "int argument", "float argument"),
        in_dims=(0, None, 0, 0, None, None),
        gradient=(0, 2, 3),
    ),
    Program(
        call_price,
        lambda: [(100.0, 95.0, 0.05, 0.2, 1.0), (80.0, 95.0, 0.05, 0.2, 1.0), (100.0, 95.0, 0.05, 0.2, 0.0)],
        uses=("if", "early return", "min max", "float argument"),
        in_dims=(0, 0, None, None, 0),
        gradient=(0, 1, 2, 3),
    ),
    Program(
        implied_volatility,
        lambda: [
            (12.0, 100.0, 95.0, 0.05, 1.0),
            (30.0, 100.0, 120.0, 0.01, 2.0),
            (1.0, 100.0, 50.0, 0.05, 1.0),
        ],
        uses=("while", "early return", "if", "and or not", "float argument"),
        in_dims=(0, None, 0, None, None),
    ),
    Program(
        longstaff_schwartz,
        lambda: [
            (36.0, 40.0, 0.06, 0.2, 100, 8, 0),
            (90.0, 40.0, 0.06, 0.2, 100, 8, 0),
            (44.0, 40.0, 0.06, 0.4, 200, 5, 7),
        ],
        uses=("random draws", "mask", "continue", "int argument", "float argument"),
        gradient=(0, 3),
    ),
    Program(
        drawdown,
        lambda: [(prices(20),), (np.arange(1.0, 21.0),), (prices(60, seed=3),)],
        uses=("element loops", "if", "min max"),
        in_dims=(0,),
    ),
    Program(
        crossover_strategy,
        lambda: [
            (prices(25), 3, 8, 0.001),
            (np.full(25, 50.0), 3, 8, 0.001),
            (prices(18, seed=1), 2, 5, 0.0),
        ],
        uses=("class", "if", "early return", "int argument"),
        in_dims=(0, None, None, None),
        gradient=(0,),
        kinks=(1,),
    ),
    Program(
        loan_schedule,
        lambda: [(1000.0, 0.06, 90.0), (500.0, 0.12, 60.0), (1000.0, 0.5, 20.0), (0.0, 0.1, 1.0)],
        uses=("while", "early return", "float argument"),
        in_dims=(0, 0, 0),
    ),
    Program(
        internal_rate,
        lambda: [
            (np.array([-100.0, 30.0, 40.0, 50.0]),),
            ([-100.0, 10.0, 110.0],),
            (np.array([-10.0, 60.0, 5.0, 20.0]),),
            (np.array([1.0, 0.0, 1.0]),),
        ],
        uses=("for else", "break", "raise", "if"),
        in_dims=(0,),
        gradient=(0,),
    ),
)
