"""The ufuncs of `scipy.special` that SciPy computes: their values are SciPy's, their derivatives those of
differences."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracemill as tm
from numpy_surface.differential import check
from support.exported_python import closed_function
from tracemill.compiler.errors import NotDifferentiableError
from tracemill.compiler.ops.special.scipy_derivatives import DERIVATIVES
from tracemill.runtime.gpu_programs.python_export import as_triton

UFUNCS = sorted(name for name, found in vars(special).items() if isinstance(found, np.ufunc))
COUNTS = ([2.0, 3.0], [5, 6], [0.3, 0.4])
ORDERS = ([0, 2], [0.5, 1.5])
SHAPES = ([3.0, 4.0], [5.0, 6.0], [0.3, 0.35], [1.2, 1.3])
WAVES = ([1.0, 2.0], [0.5, 0.7], [0.4, 0.8])
ANGLES = ([0.3, 4.0, -7.0], [0.5, 0.3, -0.4])
POINTS: dict[str, Any] = {
    **dict.fromkeys("bdtr bdtrc bdtri bdtrik bdtrin nbdtr nbdtrc nbdtri nbdtrik nbdtrin".split(), COUNTS),
    **dict.fromkeys("_binom_pmf _binom_cdf _binom_sf _nbinom_pmf _nbinom_cdf _nbinom_sf".split(), COUNTS),
    **dict.fromkeys("pdtr pdtrc".split(), ([2.0, 3.0], [1.5, 2.5])),
    "pdtri": ([2, 3], [0.5, 0.3]),
    **{f"_spherical_{kind}{slope}": ORDERS for kind in ("jn", "yn", "in", "kn") for slope in ("", "_d")},
    **dict.fromkeys(("kn", "yn"), ([2, 3], [0.5, 1.5])),
    **dict.fromkeys(("eval_hermite", "eval_hermitenorm"), ([0, 3], [0.4, 0.5])),
    **{
        name: ([0.0, 3.0], [0.4, 0.5]) for name in UFUNCS if name.startswith("eval") and "hermite" not in name
    },
    **{name: ([0.0, 3.0], [1.5, 1.0], [0.4, 0.5]) for name in ("eval_gegenbauer", "eval_genlaguerre")},
    **{name: ([0.0, 3.0], [1.5, 1.0], [0.7, 0.6], [0.4, 0.5]) for name in ("eval_jacobi", "eval_sh_jacobi")},
    **dict.fromkeys(("smirnov", "smirnovi"), ([5, 6], [0.3, 0.2])),
    **{name: WAVES for name in UFUNCS if name.startswith("mathieu_mod")},
    **dict.fromkeys(("mathieu_cem", "mathieu_sem"), (*WAVES[:2], [40.0, 50.0])),
    **{f"{kind}_ang1": ([0.0, 1.0], [1.0, 2.0], [0.5, 0.7], [0.3, 0.4]) for kind in ("pro", "obl")},
    **{f"{kind}_rad1": ([0.0, 1.0], [1.0, 2.0], [0.5, 0.7], [1.3, 1.4]) for kind in ("pro", "obl")},
    **dict.fromkeys(("ellipkinc", "ellipeinc"), ANGLES),
    "ellipj": ([0.3, 4.0, -7.0], [0.5, 0.3, 0.4]),
    "lpmv": ([1.0, 0.0, 2.0], [2.0, 0.5, 3.0], [0.3, 0.4, 0.5]),
    "expn": ([2, 0, 1], [0.5, 0.7, 0.9]),
    "binom": ([5.0, 4.5], [2.0, 1.5]),
    "ndtri_exp": ([-0.5, -3.0],),
    "airye": ([-1.5, 0.5],),
    "agm": ([1.0, 2.0], [0.5, 3.0]),
    "chndtrix": ([0.3, 0.4], [3.0, 4.0], [1.0, 0.5]),
    "chndtrinc": ([3.0, 4.0], [2.0, 3.0], [0.3, 0.4]),
    "ncfdtrinc": SHAPES,
    "kolmogorov": ([0.8, 1.2],),
    "_zeta": ([2.0, 3.0], [0.5, 0.6]),
    "_lambertw": ([0.5 + 0.2j, 2 - 1j], [0, 1], [1e-12, 1e-12]),
    "wofz": ([0.3 + 0.2j, 1 - 1j],),
}
COMPLEX = "erf erfc erfcx gamma loggamma rgamma xlogy xlog1py".split()
"""Ufuncs with ops for real numbers, whose complex loops are SciPy's."""
INEXACT = {"ncfdtrinc": 1e-3}
"""SciPy's inverse is exact to a few digits only, and so are differences of it."""


@cache
def _points(name: str) -> list[Any]:
    if name.endswith("_cv") and name not in {"obl_cv", "pro_cv"}:
        order, degree, c, x = _points(name.removesuffix("_cv").replace("rad2", "rad1"))
        return [order, degree, c, getattr(special, f"{name[:3]}_cv")(order, degree, c), x]
    if name.endswith("rad2"):
        return _points(name.replace("rad2", "rad1"))
    found = POINTS.get(name)
    if found is None:
        ufunc: Any = getattr(special, name, None) or getattr(special._ufuncs, name)
        count = ufunc.nin
        found = [np.array([0.3, 0.45]) + 0.15 * place for place in range(count)]
    return [np.asarray(x) + 0.1j if name in COMPLEX else np.asarray(x) for x in found]


@pytest.mark.parametrize("name", UFUNCS)
def test_every_ufunc_of_scipy_has_scipys_values_and_dtypes(name: str) -> None:
    ufunc = getattr(special, name)
    rtol = 0 if name in DERIVATIVES else 1e-12
    is_endless = name.startswith(("obl_", "pro_"))  # SciPy's do not end for numbers in single precision
    for dtype, wanted in (("float64", rtol), ("float32", max(rtol, 2e-6)))[: 1 if is_endless else 2]:
        operands = [x.astype(dtype) if x.dtype.kind == "f" else x for x in _points(name)]
        check(lambda *x: ufunc(*x), *operands, rtol=wanted, atol=1e-14)  # noqa: PLW0108


CASES = [
    (name, place)
    for name, rules in DERIVATIVES.items()
    for place, rule in enumerate(rules)
    if rule is not None
]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_derivatives_are_those_of_differences(name: str, place: int) -> None:
    ufunc = getattr(special._ufuncs, name)
    operands = _points(name)
    if operands[place].dtype.kind == "i":
        operands = [x.astype(float) for x in operands]

    def function(x: Any) -> Any:
        found = ufunc(*operands[:place], x, *operands[place + 1 :])
        return found if isinstance(found, tuple) else (found,)

    x, step = operands[place], 1e-5
    _, found = tm.jvp(function, (x,), (np.ones_like(x),))
    near, far = (
        [(a - b) / (2 * h) for a, b in zip(function(x + h), function(x - h), strict=True)]
        for h in (step, 2 * step)
    )
    wanted = [(4 * a - b) / 3 for a, b in zip(near, far, strict=True)]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=INEXACT.get(name, 1e-6), atol=1e-8)


SECOND = "k1 jv iv kve airy ker struve ellipk ellipe ellipkinc elliprf hyp2f1 dawsn sici expn eval_legendre "
SECOND += "eval_hermite stdtr stdtrit fdtrc bdtr pdtrc gammaincinv betaincinv owens_t wrightomega spence"


@pytest.mark.parametrize("name", SECOND.split())
def test_second_derivatives_are_those_of_differences(name: str) -> None:
    *rest, x = _points(name)
    ufunc = getattr(special, name)

    def first(x: Any) -> Any:
        found = tm.jvp(lambda x: ufunc(*rest, x), (x,), (np.ones_like(x),))[1]
        return found[0] if isinstance(found, tuple) else found

    _, found = tm.jvp(first, (x,), (np.ones_like(x),))
    wanted = (first(x + 1e-5) - first(x - 1e-5)) / 2e-5
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_derivatives_at_zero_are_limits() -> None:
    def slope(function: Any) -> Any:
        return tm.grad(function)(0.0)

    assert slope(special.ellipk) == pytest.approx(np.pi / 8)
    assert slope(special.ellipe) == pytest.approx(-np.pi / 8)
    assert slope(special.beip) == 0.5
    assert tm.compile(tm.grad(lambda x: special.sici(x)[0]), backend="numpy")(0.0) == 1
    assert tm.compile(tm.grad(lambda x: special.shichi(x)[0]), backend="numpy")(0.0) == 1
    assert tm.grad(special.spence)(1.0) == -1
    assert tm.grad(lambda t: special.stdtr(np.inf, t))(0.5) == pytest.approx(
        np.exp(-0.125) / np.sqrt(2 * np.pi)
    )


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_program_calls_scipy_between_its_kernels(backend: Any) -> None:
    def function(x: Any) -> Any:
        return np.sum(np.exp(-x) * special.kv(1.5, x + 1))

    x = np.linspace(0.5, 3, 12)
    np.testing.assert_allclose(tm.compile(function, backend=backend)(x), function(x), rtol=1e-14)
    slopes = tm.compile(tm.grad(function), backend=backend)(x)
    wanted = np.exp(-x) * (special.kvp(1.5, x + 1) - special.kv(1.5, x + 1))
    np.testing.assert_allclose(slopes, wanted, rtol=1e-13)
    rows = tm.compile(tm.vmap(function), backend=backend)(x.reshape(3, 4))
    np.testing.assert_allclose(rows, [function(row) for row in x.reshape(3, 4)], rtol=1e-14)


def test_a_derivative_without_a_closed_form_is_refused_by_name() -> None:
    with pytest.raises(
        NotDifferentiableError, match=r"scipy\.special\.jv has no derivative by its argument 1"
    ):
        tm.grad(lambda v: special.jv(v, 0.5))(1.5)
    with pytest.raises(NotDifferentiableError, match="only by argument 2"):
        tm.grad(lambda v: special.ive(v, 0.5))(1.5)
    with pytest.raises(NotDifferentiableError, match=r"ive has no derivative"):
        tm.jvp(lambda z: special.ive(1.0, z), (0.5 + 1j,), (1 + 0j,))


def test_a_gpu_refuses_what_scipy_computes() -> None:
    with pytest.raises(tm.errors.ExportError, match="Triton has no kernel for scipy_special"):
        as_triton(closed_function(special.k0, np.ones(3)))
