"""Cases for `programs.signals`."""

import numpy as np

from programs.cases.inputs import normal, uniform, whole
from programs.program import Program
from programs.signals import (
    adaptive_filter,
    count_peaks,
    fft,
    fft_in_place,
    haar_denoise,
    heat_a_room,
    limiter,
    median_filter,
    moving_statistics,
    run_lengths,
    schmitt_trigger,
)


def waves(n: int, frequency: float = 3.0) -> np.ndarray:
    """A sine with noise."""
    signal: np.ndarray = np.sin(frequency * np.linspace(0, 6, n)) + 0.2 * normal(n)
    return signal


PROGRAMS = (
    Program(
        fft,
        lambda: [(normal(8),), (normal(8, seed=1),), (normal(12),), (normal(7),), (normal(4) + 1j,)],
        uses=("recursion", "if", "early return"),
        in_dims=(0,),
    ),
    Program(
        fft_in_place,
        lambda: [
            (normal(8) + 0j,),
            (normal(8) + 1j * normal(8, seed=1),),
            (normal(16) - 1j,),
            (normal(1) + 0j,),
        ],
        uses=("while", "if", "inner loop bounds", "array argument written"),
        in_dims=(0,),
    ),
    Program(
        haar_denoise,
        lambda: [(normal(8), 0.5), (normal(8, seed=1), 0.0), (normal(32), 1.0)],
        uses=("while", "if", "inner loop bounds"),
        in_dims=(0, 0),
        gradient=(0, 1),
    ),
    Program(
        median_filter,
        lambda: [(normal(7), 3), (normal(7, seed=1), 3), (normal(8), 5), (normal(4), 1)],
        uses=("while", "inner loop bounds", "min max", "int argument"),
        in_dims=(0, None),
        gradient=(0,),
    ),
    Program(
        moving_statistics,
        lambda: [(normal(10), 3), (normal(10, seed=1), 4), (np.arange(5.0), 9), (normal(30), 7)],
        uses=("inner loop bounds", "if", "dict", "int argument", "min max"),
        in_dims=(0, None),
        gradient=(0,),
    ),
    Program(
        schmitt_trigger,
        lambda: [(waves(30), -0.5, 0.5), (waves(30, 9.0), -0.1, 0.2), (np.zeros(5), -1.0, 1.0)],
        uses=("if", "and or not", "float argument"),
        in_dims=(0, None, 0),
    ),
    Program(
        heat_a_room,
        lambda: [
            (22.0, (2.0, 0.5, 0.1), 40),
            (5.0, (9.0, 0.1, 0.0), 40),
            (15.5, (0.5, 0.0, 0.0), 15),
        ],
        uses=("class", "early return", "list", "int argument", "float argument"),
        in_dims=(0, None, None),
        gradient=(0, 1),
    ),
    Program(
        adaptive_filter,
        lambda: [
            (normal(20), normal(20, seed=1), 3, 0.5),
            (np.where(np.arange(20) < 8, 0.0, normal(20)), normal(20), 3, 0.1),
            (normal(40), np.convolve(normal(40), [0.5, -0.3])[:40], 4, 1.0),
        ],
        uses=("if", "int argument", "float argument"),
        in_dims=(0, 0, None, None),
        gradient=(0, 1, 3),
    ),
    Program(
        run_lengths,
        lambda: [(whole(0, 2, 15),), (np.zeros(15, int),), (np.repeat(np.arange(4.0), 6),), (np.array([3]),)],
        uses=("element loops", "if"),
        in_dims=(0,),
    ),
    Program(
        count_peaks,
        lambda: [(waves(40), 1.0), (waves(40, 8.0), 0.5), (np.arange(9.0), 1.0), (uniform(0, 1, 25), 0.2)],
        uses=("if", "conditional expression", "float argument"),
        in_dims=(0, 0),
    ),
    Program(
        limiter,
        lambda: [
            (waves(30).astype(np.float32), np.float32(0.5), np.float32(0.6), np.float32(0.1)),
            (waves(30, 7.0).astype(np.float32), np.float32(9), np.float32(0.6), np.float32(0.1)),
            (waves(50).astype(np.float32), np.float32(0.2), np.float32(1), np.float32(0.01)),
        ],
        uses=("if", "conditional expression"),
        in_dims=(0, 0, None, None),
        rtol=1e-5,
    ),
)
