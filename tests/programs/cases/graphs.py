"""Cases for `programs.graphs`."""

from typing import Any

import numpy as np

from programs.cases.inputs import chance, uniform, whole
from programs.graphs import (
    bellman_ford,
    colour_greedily,
    components,
    dijkstra,
    floyd_warshall,
    maze_distance,
    pagerank,
    spanning_tree,
)
from programs.program import Arguments, Program


def roads(n: int, density: float, seed: int) -> Any:
    """Lengths of one-way roads; 0 where there is none."""
    return np.where(chance(density, n, n, seed=seed), uniform(1, 9, n, n, seed=seed), 0.0)


def neighbours(n: int, density: float, seed: int = 0) -> Any:
    """A symmetric matrix of edges."""
    half = np.triu(chance(density, n, n, seed=seed), 1)
    return half | half.T


def cables(n: int, seed: int) -> Any:
    """A symmetric matrix of lengths."""
    half = np.triu(uniform(1, 9, n, n, seed=seed), 1)
    return half + half.T


def direct(n: int, density: float, seed: int) -> Any:
    """Lengths of one-way roads; infinite where there is none."""
    lengths = roads(n, density, seed)
    return np.where(lengths > 0, lengths, np.inf)


def edges(n: int, m: int, low: int, seed: int) -> Arguments:
    """Random edges with whole lengths, and where to start."""
    return (
        whole(0, n, m, seed=seed),
        whole(0, n, m, seed=seed + 1),
        whole(low, 9, m, seed=seed + 2) * 1.0,
        n,
        0,
    )


def wall(rows: int, cols: int) -> Any:
    """A maze with a wall that leaves one gap."""
    walls = np.zeros((rows, cols), dtype=bool)
    walls[1:, cols // 2] = True
    return walls


NEGATIVE = np.array(
    [[0.0, 1.0, np.inf, 5.0], [np.inf, 0.0, -3.0, np.inf], [1.0, np.inf, 0.0, 2.0], [9.0] * 4]
)

PROGRAMS = (
    Program(
        floyd_warshall,
        lambda: [(direct(4, 0.6, 0),), (NEGATIVE,), (direct(9, 0.3, 1),)],
        uses=("element loops", "if", "early return", "min max"),
        in_dims=(0,),
    ),
    Program(
        bellman_ford,
        lambda: [
            edges(5, 9, 1, 0),
            edges(5, 9, -9, 3),
            (np.array([0, 1]), np.array([1, 0]), np.array([1.0, -2.0]), 3, 0),
            edges(7, 16, 0, 6),
        ],
        uses=("break", "early return", "if", "int argument"),
        in_dims=(0, 0, 0, None, 0),
    ),
    Program(
        dijkstra,
        lambda: [(roads(5, 0.6, 0), 0), (roads(5, 0.2, 1), 3), (roads(8, 0.3, 2), 7)],
        uses=("while True", "break", "and or not", "int argument", "element loops"),
        in_dims=(0, 0),
    ),
    Program(
        pagerank,
        lambda: [
            (chance(0.5, 5, 5).astype(float), 0.85, 1e-8),
            (np.eye(5, k=1), 0.5, 1e-8),
            (chance(0.2, 15, 15).astype(float), 0.85, 1e-3),
        ],
        uses=("while", "if", "float argument"),
        in_dims=(0, 0, None),
        gradient=(1,),
    ),
    Program(
        components,
        lambda: [
            (neighbours(6, 0.3),),
            (np.eye(6, k=1, dtype=bool) | np.eye(6, k=-1, dtype=bool),),
            (neighbours(13, 0.1),),
        ],
        uses=("while", "if", "and or not", "element loops"),
        in_dims=(0,),
    ),
    Program(
        spanning_tree,
        lambda: [(cables(5, 0),), (cables(5, 1),), (cables(7, 2),)],
        uses=("list", "if", "and or not", "element loops"),
        in_dims=(0,),
        gradient=(0,),
    ),
    Program(
        maze_distance,
        lambda: [
            (wall(5, 6), (4, 0), (4, 5)),
            (np.zeros((5, 6), dtype=bool), (0, 0), (4, 5)),
            (wall(8, 9)[::-1], (0, 0), (0, 0)),
            (np.eye(4, dtype=bool)[::-1], (0, 0), (3, 3)),
        ],
        uses=("while", "early return", "and or not", "int argument"),
        in_dims=(0, None, None),
    ),
    Program(
        colour_greedily,
        lambda: [
            (neighbours(6, 0.5),),
            (neighbours(6, 1.0),),
            (np.zeros((6, 6), dtype=bool),),
            (neighbours(10, 0.4),),
        ],
        uses=("while", "if", "and or not", "element loops"),
        in_dims=(0,),
    ),
)
