"""The incomplete gamma and beta functions."""

from typing import Any

import scipy.special

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Points, Sample


def _gammainc(a: Any, x: Any, upper: bool) -> Any:
    function = scipy.special.gammaincc if upper else scipy.special.gammainc
    return function(a.astype(float), x.astype(float))


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return scipy.special.betainc(a.astype(float), b.astype(float), x.astype(float))


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
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (*misuse("gammainc", 2, "f", {"upper": False}), *misuse("betainc", 3, "f"))
