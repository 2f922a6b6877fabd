"""Cases for `programs.images`."""

import numpy as np

from programs.cases.inputs import chance, uniform, whole
from programs.images import (
    dither,
    elementary_automaton,
    escape_time,
    forest_fire,
    game_of_life,
    label_regions,
    line,
    mandelbrot,
    otsu_threshold,
    sobel,
)
from programs.program import Program


def board(*cells: tuple[int, int]) -> np.ndarray:
    """A small board with these cells alive."""
    life = np.zeros((5, 6), dtype=np.int64)
    for r, c in cells:
        life[r, c] = 1
    return life


PROGRAMS = (
    Program(
        mandelbrot,
        lambda: [(6, 4, 20), (3, 5, 8), (12, 8, 30)],
        uses=("while", "and or not", "int argument", "element loops"),
    ),
    Program(
        escape_time,
        lambda: [(0.3 + 0.6j, 40), (2.0 + 0j, 40), (0j, 10), (-0.75 + 0.1j, 100)],
        uses=("early return", "int argument"),
        in_dims=(0, None),
    ),
    Program(
        game_of_life,
        lambda: [
            (board((1, 2), (2, 2), (3, 2)), 3),
            (board((1, 1), (1, 2), (2, 1), (2, 2)), 9),
            (chance(0.4, 4, 5).astype(np.uint8), 4),
        ],
        uses=("while", "break", "and or not", "int argument", "element loops"),
        in_dims=(0, None),
    ),
    Program(
        elementary_automaton,
        lambda: [
            (np.eye(1, 9, 4, dtype=np.uint8)[0], 30, 5),
            (np.eye(1, 9, 0, dtype=np.uint8)[0], 110, 5),
            (whole(0, 2, 17).astype(np.uint8), 90, 9),
        ],
        uses=("if", "int argument", "element loops"),
        in_dims=(0, 0, None),
    ),
    Program(
        forest_fire,
        lambda: [
            (chance(0.7, 6, 6).astype(int), (2, 3)),
            (np.zeros((6, 6), dtype=int), (0, 0)),
            (np.ones((4, 9), dtype=int), (0, 8)),
            (1 - np.eye(6, dtype=int), (5, 0)),
        ],
        uses=("while", "early return", "mask", "int argument"),
        in_dims=(0, None),
    ),
    Program(
        sobel,
        lambda: (
            [(uniform(0, 1, 4, 5), b) for b in ("repeat", "mirror", "zero")]
            + [(uniform(0, 1, 5, 3), "mirror")]
        ),
        uses=("str argument", "continue", "min max", "conditional expression", "element loops"),
        in_dims=(0, None),
    ),
    Program(
        dither,
        lambda: [(uniform(0, 1, 6, 5),), (np.full((6, 5), 0.4),), (uniform(0, 1, 3, 12),)],
        uses=("if", "conditional expression", "element loops", "array argument written"),
        in_dims=(0,),
    ),
    Program(
        otsu_threshold,
        lambda: [
            (np.where(chance(0.5, 6, 6), whole(20, 60, 6, 6), whole(150, 255, 6, 6)).astype(np.uint8),),
            (np.full((6, 6), 77, np.uint8),),
            (whole(0, 256, 10, 11).astype(np.uint8),),
        ],
        uses=("continue", "break", "if", "element loops"),
        in_dims=(0,),
    ),
    Program(
        label_regions,
        lambda: [(chance(0.6, 5, 5),), (np.zeros((5, 5), dtype=bool),), (chance(0.7, 4, 6),)],
        uses=("while True", "continue", "break", "and or not", "element loops"),
        in_dims=(0,),
    ),
    Program(
        line,
        lambda: [
            (np.zeros((7, 9), np.uint8), 1, 1, 8, 4),
            (np.zeros((7, 9), np.uint8), 5, 6, 4, 0),
            (np.zeros((7, 9), np.uint8), 3, 3, 3, 3),
            (np.zeros((12, 12)), 11, 0, 0, 11),
        ],
        uses=("while True", "break", "conditional expression", "int argument", "array argument written"),
        in_dims=(0, 0, 0, 0, 0),
    ),
)
