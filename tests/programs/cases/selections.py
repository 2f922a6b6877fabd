"""Cases for `programs.selections`."""

from typing import Any

import numpy as np

from programs.cases.inputs import chance, normal, uniform, whole
from programs.program import Arguments, Program
from programs.selections import (
    attraction,
    convex_hull,
    csr_product,
    dbscan,
    escape_times,
    fill_gaps,
    find_peaks,
    flood_fill,
    geometric_mean,
    group_totals,
    integrate_adaptively,
    match_order,
    nearest_neighbours,
    particle_filter,
    quicksort,
    runs_of_values,
    sessions,
    suppress_overlaps,
    without_outliers,
)


def sparse(rows: int, columns: int, seed: int) -> Arguments:
    """A sparse matrix as its entries, their columns and where its rows start, and a vector."""
    present = chance(0.4, rows, columns, seed=seed)
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return normal(int(starts[-1]), seed=seed), np.nonzero(present)[1], starts, normal(columns, seed=seed + 1)


def tracked(particles: int, steps: int, seed: int) -> Arguments:
    """Particles, observations, a step of each particle at each time, and where resampling starts to count."""
    return (
        normal(particles, seed=seed),
        np.cumsum(normal(steps, seed=seed + 1)),
        normal(steps, particles, seed=seed + 2),
        uniform(0, 1, steps, seed=seed + 3),
    )


def gappy(n: int, p: float, seed: int) -> Arguments:
    """Times and values of which some are NaN."""
    return np.cumsum(uniform(0.5, 1.5, n, seed=seed)), np.where(chance(p, n, seed=seed), np.nan, normal(n))


def boxes(n: int, seed: int) -> Any:
    """Left, top, right and bottom."""
    corner = uniform(0, 3, n, 2, seed=seed)
    return np.concatenate([corner, corner + uniform(1, 3, n, 2, seed=seed + 1)], axis=1)


def clusters(n: int, seed: int) -> Any:
    """Points around two centres."""
    return 0.3 * normal(n, 2, seed=seed) + 2.0 * whole(0, 2, n, 1, seed=seed)


PROGRAMS = (
    Program(
        csr_product,
        lambda: [sparse(4, 5, 0), (*sparse(4, 5, 0)[:3], normal(5, seed=7)), sparse(3, 6, 1)],
        uses=("element loops",),
        in_dims=(0, None, None, 0),
        gradient=(0, 3),
    ),
    Program(
        particle_filter,
        lambda: [tracked(12, 5, 0), tracked(12, 5, 1), tracked(20, 4, 2)],
        uses=("if", "list", "mask"),
        in_dims=(0, 0, 0, 0),
        gradient=(0, 1),
    ),
    Program(
        attraction,
        lambda: [
            (normal(5, 2), uniform(1, 2, 5), 1.5),
            (normal(5, 2, seed=1), uniform(1, 2, 5), 1.0),
            (normal(5, 3), np.ones(5), 100.0),
        ],
        uses=("element loops", "mask", "float argument"),
        in_dims=(0, 0, None),
        gradient=(0, 1),
    ),
    Program(
        escape_times,
        lambda: [
            (np.array([0.5, 0.3j, -1, 1 + 1j]), 5),
            (np.array([3, 2, 2j, 4.0 + 0j]), 5),
            (normal(9) + 1j * normal(9, seed=1), 3),
        ],
        uses=("break", "mask", "int argument"),
        in_dims=(0, None),
        refused_batched="DataDependentShapeError",
    ),
    Program(
        flood_fill,
        lambda: [
            (whole(0, 2, 5, 6), 2, 3, 7),
            (whole(0, 2, 5, 6, seed=3), 2, 3, 7),
            (np.ones((3, 3)), 0, 0, 2.0),
        ],
        uses=("while True", "break", "mask", "array argument written", "int argument"),
        in_dims=(0, None, None, None),
    ),
    Program(
        without_outliers,
        lambda: [
            (np.array([1.0, 1.1, 0.9, 9.0, 1.0, 1.2]), 2.0),
            (np.array([1.0, 40.0, 0.9, 9.0, 1.0, 1.2]), 1.5),
            (np.arange(5.0), 2.0),
        ],
        uses=("while True", "early return", "mask", "float argument"),
        gradient=(0,),
    ),
    Program(
        runs_of_values,
        lambda: [(whole(0, 2, 12),), (np.arange(12) // 4,), (np.zeros(3),), (whole(0, 3, 20, seed=1),)],
        uses=("mask",),
    ),
    Program(
        nearest_neighbours,
        lambda: [
            (normal(8, 2), normal(8), normal(3, 2, seed=1), 3, 4.0),
            (normal(8, 2), normal(8), normal(3, 2, seed=2), 3, 1.0),
            (normal(5, 1), normal(5), np.array([[0.0], [50.0]]), 2, 5.0),
        ],
        uses=("element loops", "if", "mask", "int argument", "float argument"),
        in_dims=(None, None, 0, None, None),
        gradient=(1,),
    ),
    Program(
        fill_gaps,
        lambda: [gappy(9, 0.3, 0), gappy(9, 0.3, 1), gappy(15, 0.6, 2), gappy(4, 0.0, 3)],
        uses=("mask", "array argument written"),
    ),
    Program(
        find_peaks,
        lambda: [(normal(15), 0.0, 3), (normal(15, seed=1), 0.2, 4), (np.arange(6.0), 0.0, 1)],
        uses=("while", "list", "mask", "float argument", "int argument"),
    ),
    Program(
        group_totals,
        lambda: [
            (whole(0, 3, 10), normal(10), 3),
            (whole(0, 2, 10, seed=1), normal(10, seed=1), 3),
            (np.array([4, 4, 0]), normal(3), 5),
        ],
        uses=("continue", "mask", "int argument"),
        in_dims=(0, 0, None),
        gradient=(1,),
    ),
    Program(
        sessions,
        lambda: [
            (np.cumsum(uniform(0, 10, 9)), 6.0),
            (np.cumsum(uniform(0, 10, 9, seed=1)), 2.0),
            (np.arange(5), 1),
            (np.array([3.0]), 1.0),
        ],
        uses=("mask", "float argument"),
        gradient=(0,),
    ),
    Program(
        match_order,
        lambda: [
            (uniform(9, 11, 8), whole(1, 9, 8), 10.0, 7),
            (uniform(9, 11, 8, seed=1), whole(1, 9, 8, seed=1), 10.5, 100),
            (uniform(9, 11, 3), whole(1, 9, 3), 8.0, 5),
            (uniform(9, 11, 8), whole(1, 9, 8), 10.0, -2),
        ],
        uses=("raise", "mask", "float argument", "int argument"),
    ),
    Program(
        suppress_overlaps,
        lambda: [(boxes(6, 0), uniform(0, 1, 6), 0.3), (boxes(6, 2), uniform(0, 1, 6, seed=1), 0.1)],
        uses=("while", "list", "mask", "float argument"),
    ),
    Program(
        convex_hull,
        lambda: [(normal(8, 2),), (normal(8, 2, seed=1),), (np.array([[0.0, 0], [1, 0], [0, 1]]),)],
        uses=("while", "and or not", "element loops"),
    ),
    Program(
        dbscan,
        lambda: [(clusters(9, 0), 0.5, 3), (clusters(9, 1), 0.4, 2), (np.arange(6.0).reshape(3, 2), 0.1, 1)],
        uses=("while", "continue", "and or not", "mask", "float argument", "int argument"),
        in_dims=(0, None, None),
    ),
    Program(
        integrate_adaptively,
        lambda: [(1.0, 1e-3), (3.0, 1e-3), (0.5, 1e-2)],
        uses=("while", "closure", "list", "float argument"),
        in_dims=(0, None),
        refused_batched="SideEffectError",
    ),
    Program(
        geometric_mean,
        lambda: [
            (uniform(1, 5, 6), np.array([1.0, 0, 2, 0, 1, 1])),
            (uniform(1, 5, 6, seed=1), np.array([1.0, 1, 2, 3, 1, 1])),
            (np.array([1.0, -1.0, 0.0]), np.ones(3)),
            (normal(4), np.zeros(4)),
            (np.array([-1.0, 2.0, 8.0]), np.array([0.0, 1.0, 1.0])),
        ],
        uses=("raise", "mask"),
        in_dims=(0, 0),
        gradient=(0,),
        refused_batched="UndecidedDimError",
    ),
    Program(
        quicksort,
        lambda: [(normal(5),), (np.array([2.0, 1.0, 2.0, 3.0]),), (whole(0, 4, 8),)],
        uses=("recursion", "early return", "mask"),
    ),
)
