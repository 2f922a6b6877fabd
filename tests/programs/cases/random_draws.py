"""Cases for `programs.random_draws`."""

from programs.cases.inputs import normal, whole
from programs.program import Program
from programs.random_draws import (
    annealing,
    bootstrap,
    ising,
    metropolis,
    minimise_by_chance,
    queue_at_the_bank,
    rejection_sampling,
    truncated_normal,
    walk_until_out,
)

PROGRAMS = (
    Program(
        annealing,
        lambda: [(normal(6, 2), 25, 1.0, 0), (normal(6, 2, seed=1), 25, 1e-3, 0), (normal(9, 2), 10, 0.5, 4)],
        uses=("random draws", "closure", "if", "and or not", "int argument"),
        in_dims=(0, None, None, None),
    ),
    Program(
        minimise_by_chance,
        lambda: [(2.0, 20, 0), (-1.0, 20, 1), (0.3, 7, 2)],
        uses=("random draws", "and or not", "if", "int argument", "float argument"),
        in_dims=(0, None, None),
        gradient=(0,),
    ),
    Program(
        rejection_sampling,
        lambda: [(20, 0), (5, 1), (20, 2)],
        uses=("random draws", "while", "if", "int argument"),
    ),
    Program(
        truncated_normal,
        lambda: [(0.0, 6, 0), (1.0, 6, 0), (-9.0, 10, 3)],
        uses=("random draws", "while", "int argument", "float argument"),
        in_dims=(0, None, None),
    ),
    Program(
        metropolis,
        lambda: [(0.5, 0.8, 30, 0), (-2.0, 3.0, 30, 0), (1.0, 0.1, 10, 5)],
        uses=("random draws", "if", "int argument", "float argument"),
        in_dims=(0, 0, None, None),
        gradient=(0, 1),
    ),
    Program(
        ising,
        lambda: [
            (whole(0, 2, 6) * 2 - 1, 0.5, 3, 0),
            (whole(0, 2, 6, seed=1) * 2 - 1, 0.0, 3, 1),
            (normal(7), 2.0, 2, 2),
        ],
        uses=("random draws", "if", "and or not", "list", "array argument written", "int argument"),
        in_dims=(0, 0, None, None),
    ),
    Program(
        walk_until_out,
        lambda: [(3.0, 50, 0), (1.0, 50, 1), (100.0, 20, 2)],
        uses=("random draws", "early return", "int argument", "float argument"),
        in_dims=(0, None, None),
    ),
    Program(
        queue_at_the_bank,
        lambda: [(15, 1.0, 0.8, 1), (15, 1.0, 3.0, 42), (40, 2.0, 0.1, 7)],
        uses=("class", "if", "int argument", "float argument"),
        in_dims=(None, 0, 0, 0),
        gradient=(1, 2),
    ),
    Program(
        bootstrap,
        lambda: [(normal(8), 40, 0), (normal(8, seed=1), 40, 1), (normal(15), 20, 2)],
        uses=("random draws", "element loops", "int argument"),
        in_dims=(0, None, None),
        gradient=(0,),
    ),
)
