"""The incomplete gamma and beta functions."""

from typing import Any

import numpy as np
import scipy.special

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError


def _gammainc(a: Any, x: Any, upper: bool) -> Any:
    function = scipy.special.gammaincc if upper else scipy.special.gammainc
    return function(a.astype(float), x.astype(float))


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return scipy.special.betainc(a.astype(float), b.astype(float), x.astype(float))


def _gamma_integrand(p: Any, c: Any, x: Any) -> Any:
    return x**p * np.exp(-x - c)


def _beta_integrand(p: Any, q: Any, c: Any, x: Any) -> Any:
    return x**p * (1 - x) ** q * np.exp(-c)


GAMMA: dict[str, Any] = {"reference": _gammainc, "ulps": 64}
BETA: dict[str, Any] = {"reference": _betainc, "ulps": 64}
EDGES = Points((0.0, 1.0, 2.5, -1.0, float("nan"), float("inf")))
SAMPLES: tuple[Sample, ...] = (
    *(
        sample
        for upper in (False, True)
        for sample in elementwise(
            "gammainc", 2, "f", "positive", special="", params={"upper": upper}, wrt=(False, True), **GAMMA
        )
    ),
    *(
        Sample("gammainc", ((6, 1), (1, 6)), "f64", {"upper": upper}, EDGES, wrt=(False, True), **GAMMA)
        for upper in (False, True)
    ),
    *elementwise(
        "betainc", 3, "f", ("positive", "positive", "probability"),
        special="", wrt=(False, False, True), **BETA,
    ),
    Sample(
        "betainc", ((), (3, 1), (6,)), "f64", {}, ("positive", "positive", EDGES),
        wrt=(False, False, True), **BETA,
    ),
    *elementwise("gamma_integrand", 3, "f", "positive", special="", reference=_gamma_integrand, ulps=64),
    *(
        Sample("beta_integrand", shapes, dtype, {}, ("real", "real", "real", "probability"),
               reference=_beta_integrand, ulps=64)
        for dtype in ("f64", "f32", "f16", "bf16")
        for shapes in (((), (), (), ()), ((3,), (2, 1), (), (2, 3)), ((0,), (1,), (), ()))
    ),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    *misuse("gammainc", 2, "f", {"upper": False}),
    *misuse("betainc", 3, "f"),
    *misuse("gamma_integrand", 3, "f"),
    Failure("beta_integrand", ((2,),) * 4, "i64", DTypeError, "not defined"),
)
