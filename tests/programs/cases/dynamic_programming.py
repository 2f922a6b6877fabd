"""Cases for `programs.dynamic_programming`."""

import numpy as np

from programs.cases.inputs import codes, normal, uniform, whole
from programs.dynamic_programming import (
    align,
    best_stretch,
    coin_change,
    edit_distance,
    knapsack,
    longest_common_subsequence,
    longest_rise,
    matrix_chain,
    seam,
)
from programs.program import Program

PROGRAMS = (
    Program(
        edit_distance,
        lambda: [
            (codes("kitten"), codes("sitting")),
            (codes("saturn"), codes("sundays")),
            (codes("a"), codes("a")),
            (whole(0, 4, 25), whole(0, 4, 18, seed=1)),
        ],
        uses=("element loops", "if", "min max"),
        in_dims=(0, 0),
    ),
    Program(
        longest_common_subsequence,
        lambda: [
            (codes("ABCBDAB"), codes("BDCABA")),
            (codes("XXXXXXX"), codes("YYYYYY")),
            (whole(0, 3, 17), whole(0, 3, 20, seed=1)),
        ],
        uses=("while", "if", "and or not", "element loops", "min max"),
        in_dims=(0, 0),
    ),
    Program(
        knapsack,
        lambda: [
            (np.array([1, 3, 4, 5]), np.array([1.0, 4.0, 5.0, 7.0]), 7),
            (np.array([8, 9, 9, 8]), np.array([1.0, 4.0, 5.0, 7.0]), 7),
            (whole(1, 6, 9), uniform(1, 9, 9), 15),
        ],
        uses=("element loops", "if", "int argument"),
        in_dims=(0, 0, None),
        gradient=(1,),
    ),
    Program(
        align,
        lambda: [
            (codes("GATTACA"), codes("GCATGCT"), 1.0, -1.0, -1.0),
            (codes("AAAAAAA"), codes("CCCCCCC"), 2.0, -3.0, -1.0),
            (whole(0, 4, 12), whole(0, 4, 15, seed=2), 2.0, -1.0, -2.0),
        ],
        uses=("while", "conditional expression", "min max", "and or not", "float argument"),
        in_dims=(0, 0, None, None, None),
    ),
    Program(
        coin_change,
        lambda: [
            (np.array([1, 5, 10, 25]), 30),
            (np.array([4, 6, 8, 10]), 30),
            (np.array([5, 10]), 13),
            ([2, 3], 7),
        ],
        uses=("inner loop bounds", "if", "early return", "int argument", "list"),
        in_dims=(0, None),
    ),
    Program(
        best_stretch,
        lambda: [
            (np.array([-2.0, 1.0, -3.0, 4.0, -1.0, 2.0, 1.0, -5.0, 4.0]),),
            (-np.arange(1.0, 10.0),),
            (normal(30),),
            (whole(-9, 9, 14),),
        ],
        uses=("element loops", "if"),
        in_dims=(0,),
        gradient=(0,),
    ),
    Program(
        longest_rise,
        lambda: [(normal(12),), (np.arange(12.0),), (-np.arange(12.0),), (normal(40, seed=1),)],
        uses=("while", "if", "element loops"),
        in_dims=(0,),
    ),
    Program(
        matrix_chain,
        lambda: [(np.array([40, 20, 30, 10, 30]),), (np.array([3, 4, 5, 6, 7]),), (whole(2, 30, 9),)],
        uses=("inner loop bounds", "element loops", "if"),
        in_dims=(0,),
    ),
    Program(
        seam,
        lambda: [
            (uniform(0, 9, 5, 4),),
            (uniform(0, 9, 5, 4, seed=1),),
            (uniform(0, 9, 7, 4),),
            (whole(0, 9, 6, 3),),
        ],
        uses=("element loops", "inner loop bounds", "if", "min max"),
        in_dims=(0,),
        gradient=(0,),
    ),
)
