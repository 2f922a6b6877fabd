"""Ufuncs of `scipy.special` that SciPy computes."""

from typing import Any

import scipy.special

from samples.sample import Failure, Interval, Sample
from tracemill.compiler.errors import DTypeError, NotDifferentiableError, ShapeError


def _scipys(*arrays: Any, name: str) -> Any:
    found = getattr(scipy.special, name)(*arrays)
    return found if isinstance(found, tuple) else (found,)


def _sample(name: str, shapes: Any, dtypes: Any = "f64", domain: Any = "positive", **more: Any) -> Sample:
    return Sample(
        "scipy_special",
        shapes,
        dtypes,
        {"name": name},
        domain,
        reference=_scipys,
        widened=False,
        ulps=0,
        **more,
    )


SAMPLES: tuple[Sample, ...] = (
    *(_sample("k0", (shape,)) for shape in ((), (3,), (0,), (2, 3))),
    _sample("k1e", ((2, 3),), layout="fortran"),
    _sample("k0", ((3,),), "f32"),
    *(_sample("jv", shapes, wrt=(False, True)) for shapes in (((), (3,)), ((3, 1), (2,)), ((2, 0), (1,)))),
    _sample("kn", ((3,), (2, 1)), ("i64", "f64"), ("integers", "positive")),
    _sample("stdtr", ((2, 1), (3,)), domain=("positive", "real"), wrt=(False, True)),
    _sample("ellipj", ((3,), (2, 1)), domain=("real", "probability")),
    _sample("elliprf", ((3,), (), (2, 1))),
    _sample("dawsn", ((3,),), domain="real"),
    _sample("wofz", ((3,),), "c128", domain=Interval(0.1, 1.0)),
    _sample("mathieu_a", ((2,), (2,)), wrt=(False, False)),
)
FAILURES: tuple[Failure, ...] = (
    Failure("scipy_special", ((2,),), "i64", DTypeError, "k0 is not defined for", {"name": "k0"}),
    Failure("scipy_special", ((2,), (2,)), "f64", DTypeError, "k0 of 2 arrays", {"name": "k0"}),
    Failure("scipy_special", ((2,),), "f64", DTypeError, "is not a ufunc of SciPy", {"name": "__init__"}),
    Failure("scipy_special", ((2,), (3,)), "f64", ShapeError, "do not broadcast", {"name": "jv"}),
    Failure(
        "scipy_special", ((2,),), "f64", NotDifferentiableError, "zetac has no derivative by its argument 1",
        {"name": "zetac"}, "jvp",
    ),
)  # fmt: skip
