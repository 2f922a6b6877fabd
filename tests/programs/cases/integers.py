"""Cases for `programs.integers`."""

import numpy as np

from programs.cases.inputs import codes, whole
from programs.integers import (
    add_fractions,
    adler32,
    card_is_valid,
    collatz,
    count_queens,
    crc16,
    crc32,
    digit_sums,
    gray_codes,
    integer_root,
    modular_power,
    prime_sieve,
)
from programs.program import Program

PROGRAMS = (
    Program(
        collatz, lambda: [(27,), (1,), (97,), (2**20,)], uses=("while", "if", "int argument"), in_dims=(0,)
    ),
    Program(
        add_fractions,
        lambda: [
            (np.array([1, 1, 1]), np.array([2, 3, 6])),
            (np.array([1, -2, 5]), np.array([-4, 3, 7])),
            (np.array([0, 0, 0]), np.array([9, -9, 1])),
            (np.array([1, 2]), np.array([3, 0])),
        ],
        uses=("while", "if", "raise"),
        in_dims=(0, 0),
    ),
    Program(
        modular_power,
        lambda: [(3, 200, 13), (7, 0, 13), (2, 61, 1), (123, 4567, 9973), (2, -1, 5)],
        uses=("while", "if", "early return", "raise", "int argument"),
    ),
    Program(
        prime_sieve,
        lambda: [(30,), (1,), (4,), (100,)],
        uses=("while", "if", "inner loop bounds", "int argument"),
    ),
    Program(
        crc32,
        lambda: [
            (codes("123456789"),),
            (codes("tracemill"),),
            (np.zeros(3, np.uint8),),
            (whole(0, 256, 40),),
        ],
        uses=("if", "element loops"),
        in_dims=(0,),
    ),
    Program(
        crc16,
        lambda: [
            (codes("123456789").astype(np.uint8),),
            (codes("tracemill").astype(np.uint8),),
            (whole(0, 256, 33).astype(np.uint8),),
        ],
        uses=("global table", "element loops"),
        in_dims=(0,),
    ),
    Program(
        adler32,
        lambda: [(codes("Wikipedia"),), (codes("tracemill"),), (np.full(600, 255, np.uint8),)],
        uses=("if", "element loops"),
        in_dims=(0,),
    ),
    Program(
        card_is_valid,
        lambda: [
            (np.array([4, 5, 3, 9, 1, 4, 8, 8]),),
            (np.array([4, 5, 3, 9, 1, 4, 8, 5]),),
            ([7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 3],),
        ],
        uses=("if", "and or not", "list"),
        in_dims=(0,),
    ),
    Program(
        integer_root,
        lambda: [(0,), (1,), (15,), (16,), (10**12,)],
        uses=("while", "early return", "int argument"),
        in_dims=(0,),
    ),
    Program(
        digit_sums,
        lambda: [
            (np.array([0, 9, 255, 10**9]), 10),
            (np.array([1, 2, 3, 255]), 2),
            (np.arange(20, dtype=np.int32), 3),
        ],
        uses=("while", "element loops", "int argument"),
        in_dims=(0, 0),
    ),
    Program(gray_codes, lambda: [(3,), (1,), (5,)], uses=("inner loop bounds", "int argument")),
    Program(
        count_queens,
        lambda: [(4,), (1,), (3,), (2,)],
        uses=("while", "break", "and or not", "int argument"),
    ),
)
