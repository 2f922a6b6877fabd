"""Cases for `programs.linear_algebra`."""

import numpy as np

from programs.cases.inputs import definite, normal
from programs.linear_algebra import (
    cholesky,
    conjugate_gradients,
    determinant,
    gauss_seidel,
    gram_schmidt,
    jacobi_eigenvalues,
    lu_solve,
    matrix_exponential,
    power_iteration,
    thomas,
)
from programs.program import Program

SINGULAR = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0], [0.0, 0.0, 1.0, 5.0], [1.0, 2.0, 0.0, 1.0]])

PROGRAMS = (
    Program(
        lu_solve,
        lambda: [
            (normal(4, 4), normal(4, seed=1)),
            (definite(4), normal(4, seed=2)),
            (SINGULAR, np.ones(4)),
            (normal(6, 6, seed=3), normal(6)),
            (np.array([[0, 2], [3, 1]]), np.array([4, 5])),
        ],
        uses=("element loops", "inner loop bounds", "if", "early return"),
        in_dims=(0, 0),
        gradient=(0, 1),
    ),
    Program(
        determinant,
        lambda: [(normal(4, 4),), (np.eye(4)[[1, 0, 3, 2]] * 2.0,), (SINGULAR,), (normal(7, 7, seed=5),)],
        uses=("if", "early return", "inner loop bounds"),
        in_dims=(0,),
        gradient=(0,),
        kinks=(2,),
    ),
    Program(
        cholesky,
        lambda: [
            (definite(4),),
            (definite(4, seed=1) - 9 * np.eye(4),),
            (definite(8),),
            (np.array([[2.0, 1.0], [1.0, 2.0]]),),
        ],
        uses=("element loops", "inner loop bounds", "if", "early return"),
        in_dims=(0,),
        gradient=(0,),
    ),
    Program(
        gram_schmidt,
        lambda: [
            (normal(6, 4), 1e-10),
            (np.repeat(normal(6, 2), 2, axis=1), 1e-10),
            (normal(5, 3, seed=1), 3.0),
        ],
        uses=("inner loop bounds", "continue", "if"),
        in_dims=(0, None),
    ),
    Program(
        jacobi_eigenvalues,
        lambda: [(definite(4), 1e-9), (np.diag([3.0, 1.0, 2.0, 0.0]), 1e-9), (definite(6, seed=1), 1e-9)],
        uses=("while", "break", "element loops", "if"),
        in_dims=(0, None),
        gradient=(0,),
    ),
    Program(
        gauss_seidel,
        lambda: [
            (definite(4), normal(4), 1e-9, 200),
            (definite(4, seed=1), normal(4, seed=1), 1e-3, 200),
            (definite(7), normal(7), 1e-12, 5),
        ],
        uses=("early return", "inner loop bounds", "int argument"),
        in_dims=(0, 0, None, None),
        gradient=(0, 1),
    ),
    Program(
        conjugate_gradients,
        lambda: [
            (definite(5), normal(5)),
            (definite(5, seed=1), np.zeros(5)),
            (definite(9), normal(9), 1e-4),
            (-definite(3), normal(3)),
        ],
        uses=("while True", "break", "early return", "raise"),
        in_dims=(0, 0),
        gradient=(1,),
        kinks=(1,),
    ),
    Program(
        power_iteration,
        lambda: [(definite(4), 1e-12), (definite(4, seed=3) * 0.1, 1e-12), (definite(8), 1e-11)],
        uses=("while True", "break", "if"),
        in_dims=(0, None),
        gradient=(0,),
        rtol=1e-7,
    ),
    Program(
        thomas,
        lambda: [
            (normal(5), np.full(6, 4.0), normal(5, seed=1), normal(6)),
            (np.zeros(5), np.arange(1.0, 7.0), np.zeros(5), np.ones(6)),
            (normal(11), np.full(12, 5.0), normal(11, seed=1), normal(12)),
            (normal(3), np.full(6, 4.0), normal(5), normal(6)),
        ],
        uses=("element loops", "if", "assert"),
        in_dims=(0, 0, 0, 0),
        gradient=(0, 1, 2, 3),
    ),
    Program(
        matrix_exponential,
        lambda: [(normal(3, 3),), (0.01 * normal(3, 3, seed=1),), (np.zeros((3, 3)),), (normal(5, 5) * 3,)],
        uses=("while",),
        in_dims=(0,),
        gradient=(0,),
    ),
)
