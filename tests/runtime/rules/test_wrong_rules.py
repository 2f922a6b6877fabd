"""`custom_rule`: what rules may not do."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.custom_rules import TRANSFORMS, X, Y, wave
from tracemill.compiler.errors import (
    CustomRuleError,
    NotDifferentiableError,
    TransformArgumentError,
    TransformTypeError,
)


def ruled(**rules: Any) -> Any:
    f = tm.custom_rule(wave)
    for kind, rule in rules.items():
        getattr(f, kind)(*rule) if kind == "vjp" else getattr(f, kind)(rule)
    return f


def good(x: Any, y: Any) -> Any:
    return wave(x, y), None


OUTSIDE = np.zeros(3)


def writes(primals: Any, tangents: Any) -> Any:
    np.asarray(OUTSIDE)[0] = 1
    return wave(*primals), tangents[0]


BROKEN: dict[str, tuple[Any, str, str]] = {
    "jvp, no pair": (
        ruled(jvp=lambda p, t: t[0]),
        "grad",
        r"the jvp rule of wave must return a pair \(output, tangent\)",
    ),
    "jvp, tree": (
        ruled(jvp=lambda p, t: ((t[0], t[0]), t[0])),
        "grad",
        r"an output of the structure \*, not \(\*, \*\)",
    ),
    "jvp, shape": (
        ruled(jvp=lambda p, t: (wave(*p), np.sum(t[0]))),
        "grad",
        r"returns tangent of type f64\[\], where f64\[3\] is",
    ),
    "jvp, dtype": (
        ruled(jvp=lambda p, t: (wave(*p), t[0].astype(np.float32))),
        "grad",
        r"tangent of type f32\[3\], where f64",
    ),
    "jvp, output": (
        ruled(jvp=lambda p, t: (p[0][:2], t[0])),
        "jvp",
        r"returns output of type f64\[2\], where f64\[3\] is",
    ),
    "jvp, text": (ruled(jvp=lambda p, t: (wave(*p), "dx")), "jvp", "returns tangent = 'dx', where"),
    "jvp, tangents' tree": (
        ruled(jvp=lambda p, t: (wave(*p), t)),
        "jvp",
        r"a tangent of the structure \*, not a tuple of 2",
    ),
    "jvp, square": (
        ruled(jvp=lambda p, t: (wave(*p), t[0] * t[0])),
        "grad",
        r"not linear in the tangents: they go through multiply at .*py",
    ),
    "jvp, plus one": (
        ruled(jvp=lambda p, t: (wave(*p), t[0] + 1.0)),
        "jvp",
        r"not linear in the tangents: they go through add at .*py",
    ),
    "jvp, tangent forgotten": (
        ruled(jvp=lambda p, t: (wave(*p), np.cos(p[0]))),
        "grad",
        "a tangent that does not depend on the tangents: return None where it is 0",
    ),
    "jvp, one": (ruled(jvp=lambda p, t: (wave(*p), np.ones(3))), "jvp", "does not depend on the tangents"),
    "jvp, sign": (ruled(jvp=lambda p, t: (wave(*p), np.sign(t[0]))), "jvp", "they go through sign at"),
    "jvp, tangent in output": (
        ruled(jvp=lambda p, t: (t[0], t[0])),
        "jvp",
        "an output that depends on the tangents",
    ),
    "vjp, no pair": (
        ruled(vjp=(wave, lambda r, ct: (ct, ct))),
        "grad",
        r"the forward rule of wave must return a pair",
    ),
    "vjp, number": (
        ruled(vjp=(good, lambda r, ct: (ct,))),
        "grad",
        "the backward rule of wave must return a tuple with a cotangent for each of 2",
    ),
    "vjp, bare": (ruled(vjp=(good, lambda r, ct: ct)), "grad", "for each of 2 arguments, not ndarray"),
    "vjp, shape": (
        ruled(vjp=(good, lambda r, ct: (ct, np.sum(ct)))),
        "grad",
        r"returns cotangents\[1\] of type f64\[\], where",
    ),
    "batch, shape": (
        ruled(batch=lambda size, mapped, x, y: wave(x, y)[0]),
        "vmap",
        r"the batch rule of wave returns output of type f64\[\]",
    ),
    "transpose, number": (
        ruled(transpose=lambda ct: ()),
        "grad",
        "the transpose rule of wave must return a tuple",
    ),
    "rule writes outside": (ruled(jvp=writes), "jvp", "writes to an array from"),
}


@pytest.mark.parametrize(("function", "transform", "message"), BROKEN.values(), ids=BROKEN)
def test_a_rule_that_returns_something_else_is_named(function: Any, transform: str, message: str) -> None:
    with pytest.raises(CustomRuleError, match=message) as caught:
        TRANSFORMS[transform](function)(X, Y)
    assert "_rules.py:" in str(caught.value)


def test_a_function_with_rules_must_not_write_to_its_arguments() -> None:
    @tm.custom_rule
    def f(x: Any) -> Any:
        x[0] = 1
        return x

    f.jvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(CustomRuleError, match=r"custom_rule\(f\): the function writes to its arguments"):
        tm.grad(lambda x: np.sum(f(x * 1)))(X)


def test_a_rule_cannot_give_derivatives_of_what_the_function_closes_over() -> None:
    def loss(w: Any) -> Any:
        f = tm.custom_rule(lambda x: x * w).jvp(lambda p, t: (p[0], t[0]))
        return f(2.0) if w is None else f(w * 1)

    with pytest.raises(NotDifferentiableError, match="closes over an array whose derivative is wanted"):
        tm.grad(loss)(3.0)


def test_misuse_of_custom_rule_is_named() -> None:
    with pytest.raises(
        TransformArgumentError, match=r"custom_rule\(wave\): nondiff names 'axis', which is no"
    ):
        tm.custom_rule(wave, nondiff="axis")
    wrong: Any
    for wrong in (3, (wave,)):
        with pytest.raises(TransformTypeError, match="nondiff must be names of parameters, not"):
            tm.custom_rule(wave, nondiff=wrong)
    with pytest.raises(TypeError, match="needs a function"):
        tm.custom_rule(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"custom_rule\(wave\).jvp needs a function"):
        tm.custom_rule(wave).jvp(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"custom_rule\(wave\).vjp needs a function"):
        tm.custom_rule(wave).vjp(wave, None)  # type: ignore[arg-type]
