"""`check_rule`: rules are compared with the function, with each other and with differences."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.custom_rules import MATRIX, X, Y, solve, wave
from tracemill.compiler.errors import CustomRuleError, RuleCheckError, TransformTypeError


def right(**parts: Any) -> Any:
    """Right rules of sin(x) * y, but for the parts given."""
    rules: dict[str, Any] = {
        "jvp": lambda p, t: (wave(*p), np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1]),
        "forward": lambda x, y: (wave(x, y), (x, y)),
        "backward": lambda r, ct: (np.cos(r[0]) * r[1] * ct, np.sin(r[0]) * ct),
        "batch": lambda size, mapped, x, y: wave(x, y),
        **parts,
    }
    f = tm.custom_rule(wave).jvp(rules["jvp"]).batch(rules["batch"])
    return f.vjp(rules["forward"], rules["backward"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_check_rule_accepts_right_rules(dtype: Any) -> None:
    def backward(residuals: Any, ct: Any) -> Any:
        x, y = residuals
        return np.conj(np.cos(x) * y) * ct, np.conj(np.sin(x)) * ct

    tm.check_rule(right(backward=backward), X.astype(dtype), Y.astype(dtype))
    tm.check_rule(
        tm.custom_rule(wave).vjp(lambda x, y: (wave(x, y), (x, y)), backward),
        X.astype(dtype),
        Y.astype(dtype),
    )


def test_check_rule_accepts_functions_without_rules_and_numbers() -> None:
    tm.check_rule(lambda b: {"x": solve(MATRIX, b["b"]), "n": 3}, {"b": X, "name": "b"})
    tm.check_rule(wave, 0.5, 2.0)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "jvp": (
        {"jvp": lambda p, t: (wave(*p), t[0] + t[1])},
        r"derivative of output by the rule is\n.*\nand by diff",
    ),
    "vjp": (
        {"backward": lambda r, ct: (ct, ct)},
        r"for output by reverse mode is\n.*\nand ⟨ct, J t⟩ by forward",
    ),
    "other values": (
        {"forward": lambda x, y: (2 * wave(x, y), (x, y))},
        r"output in forward mode is\n.*\nand of the function",
    ),
    "value": ({"forward": lambda x, y: (wave(x, y).astype(np.float32), None)}, "returns output of type f32"),
    "batch": (
        {"batch": lambda size, mapped, x, y: x + y},
        r"output of a batch is\n[^§]*\nand by the loop",
    ),
}


@pytest.mark.parametrize(("parts", "message"), WRONG.values(), ids=WRONG)
def test_check_rule_names_what_fails_and_shows_both_sides(parts: Any, message: str) -> None:
    with pytest.raises((RuleCheckError, CustomRuleError), match=message):
        tm.check_rule(right(**parts), X, Y)


def test_check_rule_compares_reverse_mode_with_differences_where_there_is_no_other() -> None:
    f = tm.custom_rule(lambda x: x * 2)
    f.vjp(lambda x: (x * 2, None), lambda r, ct: (2 * abs(ct) * np.sign(ct),))
    tm.check_rule(f, X)
    f.vjp(lambda x: (x * 3, None), lambda r, ct: (2 * abs(ct) * np.sign(ct),))
    with pytest.raises(RuleCheckError, match=r"output in reverse mode is\n.*\nand of the function"):
        tm.check_rule(f, X)
    f.vjp(lambda x: (x * 2, None), lambda r, ct: (abs(ct),))
    with pytest.raises(RuleCheckError, match=r"reverse mode is\n.*\nand ⟨ct, J t⟩ by differences"):
        tm.check_rule(f, X)


def test_check_rule_needs_a_floating_argument() -> None:
    with pytest.raises(TransformTypeError, match=r"check_rule\(wave\): no argument is a floating"):
        tm.check_rule(wave, 1, np.array([1, 2]))
