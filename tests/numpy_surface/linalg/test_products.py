"""Products: every use of the table, in every dtype, as in NumPy; generalized ufuncs; misuse refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numpy_surface.differential import check, check_both_raise, run_traced
from samples.grouping import in_groups
from samples.numpy_math import TOLERANCE, A, B, C, Use, V, X, cases

GRID = X["f64"]
D = np.linspace(-1, 1, 24).reshape(2, 4, 3)


@in_groups(cases("products"))
def test_this_use_does_what_numpy_does(use: Use, dtype: str) -> None:
    tolerance = TOLERANCE.get(dtype, 1e-12) * (20 if dtype in TOLERANCE else 1)
    check(use, X[dtype], rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "i8", "u8", "bool", "c128"])
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x @ B,
        lambda x: B.T @ x.T,
        lambda x: x @ V,
        lambda x: x[:, 0] @ x,
        lambda x: x[0] @ V,
        lambda x: np.matmul(x, D),
        lambda x: np.matmul(C[:, None], D[None] * x[0, 0]),
        lambda x: np.matmul(x[None, None], D[:, None]),
        lambda x: np.matmul(C, x, axes=[(1, 2), (1, 0), (0, 1)]),
        lambda x: np.matmul(x, B, dtype=np.complex128),
        lambda x: np.matmul(x, B, out=np.zeros((3, 5), complex)),
        lambda x: np.vecdot(x, A),
        lambda x: np.vecdot(x, A, axis=0),  # type: ignore[call-overload]
        lambda x: np.vecdot(x, C),
        lambda x: np.vecdot(x[:, None], C.swapaxes(0, 1), axis=-1),  # type: ignore[call-overload]
        lambda x: np.matvec(x, V),
        lambda x: np.matvec(C, x[0]),
        lambda x: np.vecmat(x[:, 0], A),
        lambda x: np.vecmat(x, D[:1]),
    ],
)
def test_a_generalized_ufunc_does_what_numpy_does(use: Use, dtype: str) -> None:
    tolerance = 20 * TOLERANCE.get(dtype, 1e-13)
    check(use, X[dtype], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: x @ x,
        lambda x: x @ 2.0,
        lambda x: np.matmul(C, D[[0, 0, 0]]),
        lambda x: np.dot(x, x),
        lambda x: np.vdot(x, x[0]),
        lambda x: np.inner(x, x.T),
        lambda x: np.linalg.outer(x, x),
        lambda x: np.tensordot(x, x, 1),
        lambda x: np.tensordot(x, x, 3),
        lambda x: np.cross(x, x),
        lambda x: np.linalg.cross(x, x),
        lambda x: np.linalg.multi_dot([x]),
        lambda x: np.linalg.multi_dot([x, x]),
        lambda x: np.linalg.matrix_power(x, 2),
        lambda x: np.linalg.matrix_power(x[:, :3], 1.5),  # type: ignore[arg-type]
        lambda x: np.linalg.norm(x, "best"),  # type: ignore[call-overload]
        lambda x: np.linalg.norm(x[0], "fro"),
        lambda x: np.linalg.norm(x, axis=(0, 0)),
        lambda x: np.linalg.norm(x[None], 1),
        lambda x: np.einsum("ij,jk", x, x),
        lambda x: np.einsum("ij->k", x),
        lambda x: np.einsum("ij->ii", x),
        lambda x: np.einsum("i", x),
        lambda x: np.einsum("ij,ij", x),
        lambda x: np.einsum("ii", x),
        lambda x: np.einsum("i1", x),
        lambda x: np.einsum("ij,jk", x, B, dtype=np.int64),
        lambda x: np.matmul(x, B, axes=[(0, 1), (0,), (0, 1)]),  # type: ignore[list-item]
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Callable[[Any], Any]) -> None:
    check_both_raise(misuse, GRID)


def test_a_diagonal_by_einsum_can_be_written_to() -> None:
    def zero_diagonal(x: Any) -> Any:
        np.einsum("ii->i", x)[...] = 0
        np.einsum("ij->ji", x)[0] = 7
        return x

    check(zero_diagonal, np.arange(9.0).reshape(3, 3))


def test_the_path_of_einsum_is_numpys() -> None:
    operands = ("ij,jk,kl", A, B, B.T)
    path = run_traced(lambda x: np.einsum_path("ij,jk,kl", x, B, B.T), A)
    assert path == np.einsum_path(*operands)


def test_broadcasting_a_matrix_product_copies_nothing() -> None:
    seen: list[str] = []

    def product(x: Any, y: Any) -> Any:
        result = x @ y
        seen.append(str(result.shape))
        return result

    check(product, np.ones((5, 1, 2, 3)), np.ones((4, 3, 2)), rtol=1e-15)
    assert seen[-1] == "(5, 4, 2, 2)"
