"""Cases for `programs.sorting`."""

import numpy as np

from programs.cases.inputs import normal, whole
from programs.program import Program
from programs.sorting import (
    binary_search,
    bubble_sort,
    counting_sort,
    heap_sort,
    insertion_sort,
    merge_sort,
    quickselect,
    shell_sort,
)

PROGRAMS = (
    Program(
        insertion_sort,
        lambda: [
            (normal(8),),
            (np.arange(8.0),),
            (np.arange(8.0)[::-1].copy(),),
            (whole(0, 9, 20),),
            (np.zeros(1),),
        ],
        uses=("while", "and or not", "element loops", "array argument written"),
        in_dims=(0,),
    ),
    Program(
        bubble_sort,
        lambda: [(normal(7),), (np.arange(7.0),), (normal(7, seed=1),), (whole(0, 5, 15),)],
        uses=("inner loop bounds", "break", "if", "element loops"),
        in_dims=(0,),
        gradient=(0,),
    ),
    Program(
        merge_sort,
        lambda: [(normal(8),), (np.arange(8.0),), (whole(0, 100, 21),), (np.zeros(1),)],
        uses=("recursion", "if", "and or not", "element loops"),
        in_dims=(0,),
        gradient=(0,),
    ),
    Program(
        heap_sort,
        lambda: [(normal(7),), (np.arange(7.0),), (whole(0, 50, 8),)],
        uses=("while", "early return", "inner loop bounds", "array argument written", "element loops"),
        in_dims=(0,),
    ),
    Program(
        shell_sort,
        lambda: [(normal(10),), ([3.0, 1.0, 2.0],), (np.arange(10.0)[::-1],), (whole(0, 7, 25),)],
        uses=("while", "inner loop bounds", "element loops", "list"),
        in_dims=(0,),
        gradient=(0,),
    ),
    Program(
        quickselect,
        lambda: [(normal(11), 3), (np.arange(11.0), 10), (whole(0, 4, 16), 7), (np.array([5.0]), 0)],
        uses=("while", "break", "if", "int argument"),
        in_dims=(0, 0),
    ),
    Program(
        counting_sort,
        lambda: [(whole(0, 6, 12), 5), (np.full(12, 3), 5), (whole(0, 3, 30), 4)],
        uses=("inner loop bounds", "int argument", "element loops"),
        in_dims=(0, None),
    ),
    Program(
        binary_search,
        lambda: [
            (np.arange(0, 20, 2), np.array([4, 5, 18, -1])),
            (np.arange(10), np.array([0, 9, 10, 3])),
            (np.array([7]), np.array([7, 8])),
            (np.sort(normal(33)), np.sort(normal(33))[[5, 32, 0]]),
        ],
        uses=("while", "break", "if", "element loops"),
        in_dims=(0, 0),
    ),
)
