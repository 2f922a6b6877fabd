"""Cases for `programs.tables`."""

import numpy as np

from programs.cases.inputs import chance, codes, normal, uniform, whole
from programs.program import Arguments, Program
from programs.tables import (
    a_star,
    best_of_groups,
    boosted_stumps,
    door_code,
    event_queue,
    hash_table,
    income_tax,
    interpolate,
    joined,
    linked_groups,
    merged_intervals,
    order_book,
    parse_numbers,
    peak_of_histogram,
    robust_line,
    steam_pressure,
    summed_entries,
    tree_predict,
    virtual_machine,
    words,
)

TREE = (
    np.array([0, 1, -1, -1, 0, -1, -1]),
    np.array([0.0, -0.5, 0.0, 0.0, 1.0, 0.0, 0.0]),
    np.array([1, 2, 0, 0, 5, 0, 0]),
    np.array([4, 3, 0, 0, 6, 0, 0]),
    np.array([0.0, 0.0, 1.5, -2.0, 0.0, 3.0, 7.0]),
)
LEAF = tuple(np.array([number]) for number in (-1, 0.0, 0, 0, 4.5))

# Row by row (operation, a, b, to): the powers of two that stay below memory[2], counted in memory[1].
DOUBLING = np.array([[0, 0, 0, 0], [0, 1, 3, 1], [2, 0, 2, 0], [4, 0, 0, 0]])
PRODUCT = np.array([[1, 0, 1, 2], [3, 5, 0, 3], [0, 2, 3, 0], [4, 0, 0, 0]])


def grid(rows: int, columns: int, p: float, seed: int) -> Arguments:
    """A grid with blocked cells, and two corners, which are free."""
    blocked = chance(p, rows, columns, seed=seed)
    blocked[0, 0] = blocked[-1, -1] = False
    return blocked, np.array([0, 0]), np.array([rows - 1, columns - 1])


def orders(n: int, seed: int) -> Arguments:
    """Prices and quantities."""
    return np.round(uniform(9, 11, n, seed=seed), 1), whole(-5, 6, n, seed=seed + 1).astype(float)


def intervals(n: int, length: float, seed: int) -> Arguments:
    start = uniform(0, 10, n, seed=seed)
    return start, start + uniform(0.1, length, n, seed=seed + 1)


def line_with_outliers(n: int, seed: int) -> Arguments:
    """Points, pairs of them, and how near they are to the line."""
    x = uniform(0, 10, n, seed=seed)
    y = np.where(
        chance(0.3, n, seed=seed), normal(n, seed=seed) * 20, 2 * x + 1 + 0.1 * normal(n, seed=seed + 1)
    )
    return x, y, whole(0, n, 12, 2, seed=seed + 2), 0.5


PROGRAMS = (
    Program(
        interpolate,
        lambda: [
            (
                np.array([-1.0, 0.3, 2.5, 9.0]),
                np.array([0.0, 1.0, 2.0, 4.0]),
                np.array([1.0, -1.0, 3.0, 0.0]),
            ),
            (np.array([0.1, 0.2, 1.1, 3.9]), np.array([0.0, 0.5, 1.0, 8.0]), np.array([2.0, 0.0, 0.5, 1.0])),
            (uniform(-1, 11, 15), np.arange(11.0), normal(11)),
        ],
        uses=("while", "if", "element loops"),
        in_dims=(0, 0, 0),
        gradient=(0, 2),
    ),
    Program(
        income_tax,
        lambda: [(5_000.0, 0), (30_000.0, 1), (55_000.0, 3), (200_000.0, 5), (10_500.0, 4)],
        uses=("global table", "if", "min max", "conditional expression", "int argument", "float argument"),
        in_dims=(0, 0),
        gradient=(0,),
    ),
    Program(
        steam_pressure,
        lambda: [
            (np.array([-5.0, 20.0, 80.0]),),
            (np.array([0.0, 50.0, 49.9]),),
            ([10.0, -1.0],),
            (uniform(-9, 99, 6),),
        ],
        uses=("if", "continue", "list", "conditional expression"),
        in_dims=(0,),
        gradient=(0,),
        kinks=(1,),
    ),
    Program(
        tree_predict,
        lambda: [(normal(6, 2), *TREE), (normal(6, 2, seed=1) * 3, *TREE), (normal(3, 2), *LEAF)],
        uses=("class", "while", "if"),
        in_dims=(0, None, None, None, None, None),
        gradient=(5,),
    ),
    Program(
        boosted_stumps,
        lambda: [(np.array([0.0, 0.0]), 0.5), (np.array([2.0, -1.0]), 1.0), (np.array([1.0, 1.0]), 1.0)],
        uses=("global table", "break", "conditional expression"),
        in_dims=(0, 0),
        gradient=(1,),
    ),
    Program(
        door_code,
        lambda: [(whole(0, 4, 3, 6),), (np.zeros((3, 6), int),), (whole(0, 4, 5, 9, seed=1),)],
        uses=("global table", "if", "and or not", "element loops"),
        in_dims=(0,),
    ),
    Program(
        virtual_machine,
        lambda: [
            (DOUBLING, np.array([1.0, 0.0, 50.0, 1.0]), 100),
            (DOUBLING, np.array([1.0, 0.0, 1e9, 1.0]), 40),
            (PRODUCT, np.array([6.0, 7.0, 0.0, 0.0]), 100),
        ],
        uses=("while", "break", "continue", "global table", "array argument written", "int argument"),
        in_dims=(None, 0, None),
    ),
    Program(
        parse_numbers,
        lambda: [
            (codes("12 apples, -7"),),
            (codes("no number at!"),),
            (codes("3-4"),),
            (codes("x100y-20z3"),),
        ],
        uses=("if", "conditional expression", "and or not"),
        in_dims=(0,),
    ),
    Program(
        hash_table,
        lambda: [
            (np.array([3, 14, 25, 3]), np.array([25, 36]), 11),
            (np.array([0, 11, 22, 33]), np.array([33, 44]), 11),
            (whole(0, 99, 12), whole(0, 99, 12, seed=1), 16),
        ],
        uses=("while", "break", "list", "and or not", "int argument"),
        in_dims=(0, 0, None),
    ),
    Program(
        a_star,
        lambda: [grid(5, 6, 0.2, 0), grid(5, 6, 0.3, 3), grid(5, 6, 0.7, 2), grid(8, 4, 0.1, 1)],
        uses=("while", "early return", "continue", "if", "and or not", "mask"),
        in_dims=(0, None, None),
    ),
    Program(
        event_queue,
        lambda: [
            (np.cumsum(uniform(0, 1, 12)), uniform(0, 2, 12, seed=1), 2),
            (np.cumsum(uniform(0, 1, 12, seed=2)), uniform(0, 4, 12, seed=3), 2),
            (np.cumsum(uniform(0, 1, 20, seed=4)), uniform(0, 2, 20, seed=5), 1),
        ],
        uses=("element loops", "if", "min max", "inner loop bounds", "int argument"),
        in_dims=(0, 0, None),
    ),
    Program(
        order_book,
        lambda: [orders(8, 0), orders(8, 4), orders(13, 2), (np.ones(3), np.array([1.0, 2.0, 3.0]))],
        uses=("while", "break", "if", "min max", "element loops"),
    ),
    Program(
        words,
        lambda: [
            (codes("the quick, brown fox; jumps"),),
            (codes("  over the lazy dog  "),),
            (codes("the slow, black fox; sleeps"),),
            (codes("12 + 34"),),
        ],
        uses=("mask",),
        in_dims=(0,),
        refused_batched="UndecidedDimError",
    ),
    Program(
        linked_groups,
        lambda: [
            (whole(0, 9, 6, 2), 9),
            (whole(0, 9, 6, 2, seed=1), 9),
            (whole(0, 30, 25, 2, seed=2), 30),
            (np.array([[0, 0]]), 3),
        ],
        uses=("while True", "break", "int argument"),
    ),
    Program(
        merged_intervals,
        lambda: [intervals(8, 2.0, 0), intervals(8, 0.3, 2), intervals(15, 1.0, 4)],
        uses=("mask",),
    ),
    Program(
        joined,
        lambda: [
            (whole(0, 6, 7), whole(0, 6, 9, seed=1)),
            (whole(0, 6, 7, seed=2), whole(0, 6, 9, seed=3)),
            (np.arange(3), np.arange(5, 9)),
        ],
        uses=("mask",),
    ),
    Program(
        best_of_groups,
        lambda: [
            (whole(0, 3, 10), normal(10), 2),
            (whole(0, 3, 10, seed=1), normal(10, seed=2), 2),
            (np.zeros(4, int), normal(4), 9),
        ],
        uses=("mask", "int argument"),
        in_dims=(0, 0, None),
        refused_batched="DataDependentShapeError",
    ),
    Program(
        summed_entries,
        lambda: [
            (whole(0, 4, 9), whole(0, 3, 9, seed=1), normal(9), (4, 3)),
            (whole(0, 4, 9, seed=2), whole(0, 3, 9, seed=3), normal(9, seed=4), (4, 3)),
            (np.array([0, 1, 0]), np.array([1, 1, 1]), np.array([2.0, 3.0, -2.0]), (2, 2)),
        ],
        uses=("mask", "int argument"),
    ),
    Program(
        robust_line,
        lambda: [line_with_outliers(20, 0), line_with_outliers(20, 5), line_with_outliers(30, 9)],
        uses=("element loops", "if", "continue", "mask", "float argument"),
        in_dims=(0, 0, None, None),
        gradient=(0, 1),
    ),
    Program(
        peak_of_histogram,
        lambda: [(normal(60),), (uniform(0, 1, 60, seed=1) ** 3,), (normal(200, seed=2),), (np.ones(5),)],
        uses=("mask",),
        in_dims=(0,),
        refused_batched="DataDependentShapeError",
    ),
)
