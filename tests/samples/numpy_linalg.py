"""Uses of `numpy.linalg`, by the function's name: what the traced function must do as NumPy does.

The parameters of each use name the arrays of `ARRAYS` that it gets, as copies.
"""
# ruff: noqa: PLW0108  (the lambdas are there for the names of their parameters)

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from samples import numpy_functions
from samples.linalg.matrix_domains import MATRICES
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import Shape

Use: TypeAlias = Callable[..., Any]


def _drawn(domain: str, shape: Shape, dtype: Any = float) -> Array:
    return MATRICES[domain](np.random.default_rng(7), np.dtype(dtype), shape)


ARRAYS: dict[str, Any] = {
    "a": _drawn("diagonalizable", (3, 3)),
    "stack": _drawn("diagonalizable", (2, 3, 3)),
    "tall": _drawn("full_rank", (4, 2)),
    "wide": _drawn("full_rank", (2, 3, 4)),
    "deficient": _drawn("low_rank", (4, 3)),
    "singular": np.outer([1.0, 2.0, 3.0], [2.0, -1.0, 0.5]),
    "h": _drawn("hermitian", (3, 3)),
    "p": _drawn("positive_definite", (2, 3, 3)),
    "single": _drawn("positive_definite", (3, 3), np.float32),
    "z": _drawn("diagonalizable", (3, 3), complex),
    "zp": _drawn("positive_definite", (3, 3), complex),
    "z32": _drawn("full_rank", (3, 2), np.complex64),
    "n": np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]]),
    "b": np.array([1.0, -2.0, 0.5]),
    "sides": np.arange(6.0).reshape(3, 2) - 2.5,
    "more": np.arange(12.0).reshape(2, 3, 2) / 4,
    "four": np.array([0.5, -1.5, 2.25, 3.0]),
    "nothing": np.zeros((0, 0)),
    "none": np.zeros((0, 2, 2)),
}


def arguments_of(use: Use) -> list[Any]:
    """Copies of the arrays that the parameters of `use` name."""
    return numpy_functions.arguments_of(use, ARRAYS)


def _each(function: Callable[[Any], Any], names: str) -> list[Use]:
    """The function of one array, for each of these arrays."""
    uses: list[Use] = []
    for name in names.split():
        parameter = inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)

        def use(x: Any, function: Callable[[Any], Any] = function) -> Any:
            return function(x)

        use.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
        uses.append(use)
    return uses


MODES: list[Any] = ["complete", "r", "raw"]
SPECTRAL: list[Any] = [None, 2, -2]
OTHERS: list[Any] = [1, -1, np.inf, -np.inf, "fro"]
SINGULAR: list[Any] = [2, -2, "nuc"]
NO_TOLERANCE: Any = None  # which NumPy's types do not know
SQUARE = "a stack p single z zp n nothing none"
ANY = f"{SQUARE} tall wide deficient z32"
POSITIVE = "p single zp n nothing none"

USES: dict[str, list[Use]] = {
    "cholesky": [
        *_each(lambda x: np.linalg.cholesky(x), POSITIVE),
        *_each(lambda x: np.linalg.cholesky(x, upper=True), POSITIVE),
    ],
    "qr": [
        *_each(lambda x: np.linalg.qr(x), ANY),
        *[use for mode in MODES for use in _each(partial(np.linalg.qr, mode=mode), "a tall wide z32 none")],
    ],
    "eig": _each(lambda x: np.linalg.eig(x), "a stack z"),
    "eigvals": _each(lambda x: np.linalg.eigvals(x), "a stack z"),
    "eigh": [
        *_each(lambda x: np.linalg.eigh(x), f"h {SQUARE}"),
        *_each(lambda x: np.linalg.eigh(x, "U"), "a zp single"),
    ],
    "eigvalsh": [
        *_each(lambda x: np.linalg.eigvalsh(x), f"h {SQUARE}"),
        *_each(lambda x: np.linalg.eigvalsh(x, UPLO="u"), "a zp"),
    ],
    "svd": [
        *_each(lambda x: np.linalg.svd(x), f"{ANY}"),
        *_each(lambda x: np.linalg.svd(x, full_matrices=False), f"{ANY}"),
        *_each(lambda x: np.linalg.svd(x, compute_uv=False), f"{ANY}"),
        *_each(lambda x: np.linalg.svd(x, hermitian=True), "h zp p"),
        *_each(lambda x: np.linalg.svd(x, compute_uv=False, hermitian=True), "h zp p"),
    ],
    "svdvals": _each(lambda x: np.linalg.svdvals(x), ANY),
    "solve": [
        lambda a, b: np.linalg.solve(a, b),
        lambda a, sides: np.linalg.solve(a, sides),
        lambda a, more: np.linalg.solve(a, more),
        lambda stack, b: np.linalg.solve(stack, b),
        lambda stack, sides: np.linalg.solve(stack, sides),
        lambda stack, more: np.linalg.solve(stack[:, None], more),
        lambda n, sides: np.linalg.solve(n, sides),
        lambda n, b: np.linalg.solve(n, b.astype(int)),
        lambda single, sides: np.linalg.solve(single, sides.astype(np.float32)),
        lambda single, n: np.linalg.solve(single, n),
        lambda z, sides: np.linalg.solve(z, sides),
        lambda a: np.linalg.solve(a, [1.0, 2.0, 3.0]),
        lambda nothing: np.linalg.solve(nothing, nothing),
        lambda none: np.linalg.solve(none, np.zeros((0, 2, 1))),
    ],
    "inv": _each(lambda x: np.linalg.inv(x), SQUARE),
    "pinv": [
        *_each(lambda x: np.linalg.pinv(x), ANY),
        *_each(lambda x: np.linalg.pinv(x, 0.5), "a tall wide"),
        lambda wide: np.linalg.pinv(wide, np.array([0.1, 0.7])),
        lambda wide: np.linalg.pinv(wide, rtol=NO_TOLERANCE),
        lambda tall: np.linalg.pinv(tall, rtol=0.6),
        *_each(lambda x: np.linalg.pinv(x, hermitian=True), "h p zp"),
    ],
    "lstsq": [
        lambda tall, four: np.linalg.lstsq(tall, four, rcond=None),
        lambda tall: np.linalg.lstsq(tall, np.ones((4, 3))),
        lambda tall, four: np.linalg.lstsq(tall, four, rcond=-1),
        lambda deficient, four: np.linalg.lstsq(deficient, four, 1e-10)[0],
        lambda a, b: np.linalg.lstsq(a, b, rcond=0.1),
        lambda wide, sides: np.linalg.lstsq(wide[0], sides),
        lambda z32, sides: np.linalg.lstsq(z32, sides.astype(np.float32)),
        lambda n, sides: np.linalg.lstsq(n, sides.astype(int)),
        lambda tall: np.linalg.lstsq(tall, np.zeros((4, 0))),
    ],
    "tensorsolve": [
        lambda a: np.linalg.tensorsolve(np.kron(a, a).reshape(3, 3, 9), np.ones((3, 3))),
        lambda a: np.linalg.tensorsolve(np.kron(a, a).reshape(3, 9, 3), np.ones((3, 3)), axes=(1,)),
    ],
    "tensorinv": [
        lambda a: np.linalg.tensorinv(np.kron(a, a).reshape(9, 3, 3), ind=1),
        lambda a: np.linalg.tensorinv(np.kron(a, a).reshape(3, 3, 9)),
    ],
    "det": _each(lambda x: np.linalg.det(x), f"singular {SQUARE}"),
    "slogdet": _each(lambda x: np.linalg.slogdet(x), SQUARE),
    "cond": [
        *[
            use
            for order in SPECTRAL
            for use in _each(partial(np.linalg.cond, p=order), "a stack tall z32 zp none")
        ],
        *[use for order in OTHERS for use in _each(partial(np.linalg.cond, p=order), "a stack z single")],
        lambda singular: np.linalg.cond(singular * 0),
        lambda stack: np.linalg.cond(stack * np.array([1, 0])[:, None, None], 1),
    ],
    "matrix_rank": [
        *_each(lambda x: np.linalg.matrix_rank(x), f"deficient singular b {ANY}"),
        lambda wide: np.linalg.matrix_rank(wide, np.array([1.2, 1.7])),
        lambda tall: np.linalg.matrix_rank(tall, rtol=0.9),
        lambda h: np.linalg.matrix_rank(h, hermitian=True),
    ],
    "matrix_power": _each(lambda x: np.linalg.matrix_power(x, -3), "a stack z"),
    "norm": [
        *[use for order in SINGULAR for use in _each(partial(np.linalg.norm, ord=order), "a tall z32 zp")],
        lambda wide: np.linalg.norm(wide, "nuc", axis=(2, 0), keepdims=True),
        lambda nothing: [np.linalg.norm(nothing, order) for order in (1, 2, np.inf)],
        lambda nothing: np.linalg.norm(nothing[:, 0:], np.inf, axis=1),
        lambda tall: np.linalg.norm(tall[:0], np.inf, axis=0),
    ],
    "matrix_norm": [
        lambda wide: np.linalg.matrix_norm(wide, ord=2),
        lambda p: np.linalg.matrix_norm(p, ord="nuc"),
    ],
    "poly": [lambda a: np.poly(a)],
    "roots": [
        lambda four: np.roots(four),
        lambda four: np.roots(four * 1j),
        lambda b: np.roots([1.0, 2.0, 5.0]) + b[:2],
    ],
    "polyfit": [
        lambda four: np.polyfit(np.arange(4.0), four, 2),
        lambda four: np.polyfit(four, np.arange(8.0).reshape(4, 2), 1),
        lambda four: np.polyfit(np.arange(4.0), four, 1, w=[1, 2, 3, 4], cov=True),
        lambda four: np.polyfit(np.arange(4.0), four, 1, full=True)[:4],
        lambda four: np.polyfit(np.arange(4.0), four, 1, cov="unscaled"),
    ],
}
"""What these give is compared with NumPy to the rounding of a well conditioned problem."""
