"""The samples that every elementwise op has: mixes of shapes, layouts, dtypes with their special values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from samples.sample import Domain, Failure, Sample, special_values
from tracemill.compiler.dtypes import dtype_named, dtype_names, kind
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape

WIDEST = {"f": "f64", "c": "c128", "i": "i64", "u": "u64", "b": "bool"}
SHAPES: dict[int, tuple[tuple[Shape, ...], ...]] = {
    1: (((),), ((3,),), ((2, 1, 3),), ((0, 2),)),
    2: (((), ()), ((3,), ()), ((), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((1,), (1, 1))),
    3: (((3,), (3,), (3,)), ((2, 3), (), ()), ((), (3,), (2, 1)), ((1, 3), (2, 1), ()), ((0,), (1,), ())),
}


def elementwise(
    op: str,
    arity: int,
    kinds: str,
    domain: Domain | tuple[Domain, ...] = "real",
    *,
    special: str | None = None,
    reference: Callable[..., Any] | None = None,
    widened: bool = True,
    signed_zeros: bool = True,
    ulps: float = 2,
    params: Mapping[str, Any] | None = None,
    wrt: tuple[bool, ...] | None = None,
) -> Iterator[Sample]:
    """The samples of an op on operands of one dtype of `kinds`; special values of kinds `special`."""
    shared: dict[str, Any] = {
        "params": params or {},
        "wrt": wrt,
        "domain": domain,
        "reference": reference,
        "signed_zeros": signed_zeros,
        "ulps": ulps,
    }
    widest = next(WIDEST[k] for k in "fiubc" if k in kinds)
    for shapes in SHAPES[arity]:
        yield Sample(op, shapes, widest, widened=widened, **shared)
    for layout in ("reversed", "strided", "fortran"):
        yield Sample(op, ((2, 3),) * arity, widest, layout=layout, widened=widened, **shared)
    if "c" in kinds and widest != "c128":
        for shapes in SHAPES[arity][:4]:
            yield replace(Sample(op, shapes, "c128", widened=widened, **shared), ulps=4 * ulps)
    for name in dtype_names():
        dtype = dtype_named(name)
        if kind(dtype) in kinds:
            # Where parts are special, C's Annex G leaves freedom: NumPy's own answer is the reference.
            complex_ = dtype.kind == "c"
            accuracy = 4 * ulps if complex_ else ulps
            plain = Sample(op, ((5,),) * arity, name, widened=widened, label="each", **shared)
            yield replace(plain, ulps=accuracy)
            if kind(dtype) in (kinds if special is None else special):
                count = len(special_values(dtype))
                shapes = tuple((1,) * i + (count,) + (1,) * (arity - 1 - i) for i in range(arity))
                sample = Sample(op, shapes, name, widened=widened and not complex_, **shared)
                yield replace(sample, domain="special", ulps=accuracy)


def misuse(op: str, arity: int, kinds: str, params: Mapping[str, Any] | None = None) -> Iterator[Failure]:
    """What an elementwise op refuses: other dtypes, unequal dtypes, unlike shapes, another arity."""
    given = params or {}
    for name in dtype_names():
        if kind(dtype_named(name)) not in kinds:
            yield Failure(op, ((2,),) * arity, name, DTypeError, rf"{op} is not defined for \({name}", given)
    widest = next(WIDEST[k] for k in "fiubc" if k in kinds)
    yield Failure(
        op, ((2,),) * (arity + 1), widest, DTypeError, f"{op} takes {arity} operands, not {arity + 1}", given
    )
    if arity > 1:
        mixed = (widest, *("i8" for _ in range(arity - 1)))
        yield Failure(op, ((2,),) * arity, mixed, DTypeError, f"{op} is not defined for", given)
        yield Failure(
            op,
            ((2,), *((3,),) * (arity - 1)),
            widest,
            ShapeError,
            f"{op} of .*: shapes do not broadcast",
            given,
        )
