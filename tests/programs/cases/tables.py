"""Cases for `programs.tables`."""

import numpy as np

from programs.cases.inputs import codes, normal, uniform, whole
from programs.cases.program import Program
from programs.tables import (
    boosted_stumps,
    door_code,
    hash_table,
    income_tax,
    interpolate,
    parse_numbers,
    steam_pressure,
    tree_predict,
    virtual_machine,
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
)
