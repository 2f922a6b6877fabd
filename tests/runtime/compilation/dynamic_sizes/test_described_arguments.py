"""Arguments that `dynamic=` and `constraints=` describe."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from symbolic.functions_of_any_size import rows, shown
from tracemill.compiler.errors import (
    ArgumentSpecError,
    ContradictoryConstraintsError,
    DimMismatchError,
    DimSpecError,
    DTypeError,
    TransformTypeError,
    UndeterminedDimError,
)


def test_arguments_can_be_described_by_texts_tuples_and_prefixes() -> None:
    def predict(params: Any, x: Any) -> Any:
        return x @ params["w"] + params["b"]

    K = tm.Dim("K", min=1)
    given = {"x": "f64[B, 2*K + 1]", "params['w']": (2 * K + 1, 3), "params['b']": [None]}
    f = tm.compile(predict, dynamic=given, constraints=("B in 1..64", K <= 100))
    for b, k in [(2, 4), (64, 1), (1, 100)]:
        params = {"w": np.ones((2 * k + 1, 3)), "b": np.zeros(3)}
        np.testing.assert_array_equal(f(params, np.ones((b, 2 * k + 1))), np.full((b, 3), 2 * k + 1.0))
    assert shown(f) == [
        "args[0]['b']: f64[3], args[0]['w']: f64[2*K + 1, 3], args[1]: f64[B, 2*K + 1]"
        " where K in 1.. and B in 1..64 and K <= 100"
    ]
    whole = tm.compile(predict, dynamic={"params": True, "x": False})
    whole({"w": np.ones((4, 3)), "b": np.ones(3)}, np.ones((2, 4)))
    assert "f64[params_w_0, params_b_0], args[1]: f64[2, 4]" in shown(whole)[0]
    first = {"x": "[A]", "y": "[min(A, 5)]"}
    ends = tm.compile(lambda x, y: x[:5] * y, dynamic=first, constraints="A in 2.. and A % 2 == 0")
    for n in (4, 8):
        assert ends(np.ones(n), np.ones(min(n, 5))).shape == (min(n, 5),)


def test_a_dim_may_occur_only_in_constraints() -> None:
    f = tm.compile(
        lambda x: (x.reshape(3, -1).sum(axis=0), len(x) // 3),
        dynamic={"x": "[N]"},
        constraints=("N == 3*M", "M >= 2"),
    )
    for n in (6, 12, 9):
        sums, count = f(np.ones(n))
        np.testing.assert_array_equal(sums, np.full(n // 3, 3.0))
        assert count == n // 3
    assert shown(f) == ["args[0]: f64[N] where N == 3*M and M >= 2"]
    asking = tm.compile(lambda x: x if len(x) > 8 else -x, dynamic={"x": "[N]"}, constraints="N == 3*M")
    for n in (9, 6):
        asking(np.ones(n))
    assert "the program for f64[N] is for N >= 9, and N is 6" in asking.explain_recompile()
    for n, message in [(7, r"N == 3\*M holds for no M in this call with N = 7"), (3, "M >= 2 .* M = 1")]:
        with pytest.raises(DimMismatchError, match=message):
            f(np.ones(n))


@pytest.mark.parametrize(
    ("dynamic", "constraints", "x", "error", "message"),
    [
        ({"x": "[B]"}, (), rows(3), DimMismatchError, r"x has 2 axes, \[3, 4\], and 1 are declared: \[B\]"),
        ({"x": "[B, 5]"}, (), rows(3), DimMismatchError, r"axis 1 of x is 4, and it must be 5"),
        (
            {"x": "[B, 2*K + 1]"},
            (),
            rows(3),
            DimMismatchError,
            r"axis 1 of x is 4, which is not of the form 2\*K \+ 1",
        ),
        (
            {"x": "[B, _]"},
            "B in 8..16",
            rows(3),
            DimMismatchError,
            r"axis 0 of x: dim B is 3 in this call, and its limits are B in 8\.\.16",
        ),
        (
            {"x": "[B, _]"},
            "B % 16 == 0",
            rows(3),
            DimMismatchError,
            r"axis 0 of x: dim B is 3 in this call, and its limits are B % 16 == 0",
        ),
        ({"x": "[B, _]"}, (), np.ones(3), DimMismatchError, r"x has 1 axis, \[3\], and 2 are declared"),
        (
            {"x": "[B, K]"},
            "B >= K",
            rows(3),
            DimMismatchError,
            r"the constraint B >= K does not hold in this call, where B = 3, K = 4",
        ),
        ({"x": "f32[B, 4]"}, (), rows(3), DTypeError, r"x is f64 in this call, and it is declared to be f32"),
        ({"x['w']": "[B]"}, (), rows(3), ArgumentSpecError, r"no such array: it has x"),
        ({"x": "[A*B, _]"}, (), rows(3), UndeterminedDimError, r"dim A cannot be determined from"),
    ],
)
def test_a_call_that_is_not_as_described_is_named(
    dynamic: Any, constraints: Any, x: Any, error: type[Exception], message: str
) -> None:
    f = tm.compile(lambda x: x + 1, dynamic=dynamic, constraints=constraints)
    for _ in range(2):
        with pytest.raises(error, match=message):
            f(x)
    assert f.signatures() == ()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dynamic": {"y": "[B]"}}, ArgumentSpecError, "'y', but .* no such argument: it has x, scale"),
        ({"dynamic": {3: "[B]"}}, ArgumentSpecError, "arguments have names such as 'x', and 3 is none"),
        ({"dynamic": {"x": "f99[B]"}}, ArgumentSpecError, "'f99' is not a dtype: write one of bool"),
        ({"dynamic": {"x": "B, 784"}}, ArgumentSpecError, "cannot read 'B, 784'"),
        ({"dynamic": {"x": ["B", 2.5]}}, ArgumentSpecError, "a size of 'x' cannot be 2.5"),
        ({"dynamic": {"x": (-1,)}}, ArgumentSpecError, "a size of 'x' cannot be -1"),
        ({"dynamic": {"x": 3}}, ArgumentSpecError, "'x' cannot be 3"),
        ({"dynamic": {"x": "[B +]"}}, DimSpecError, r"cannot read 'B \+'"),
        ({"dynamic": "x"}, TransformTypeError, "dynamic must be None, True, False, or a dict"),
        (
            {"dynamic": True, "constraints": "B <= 4"},
            DimSpecError,
            "constraints are of dims that dynamic names",
        ),
        ({"dynamic": {"x": "[B]"}, "constraints": (3,)}, DimSpecError, "not 3"),
        ({"dynamic": {"x": "[B]"}, "constraints": 3}, DimSpecError, "not 3"),
        (
            {"dynamic": {"x": "[B]"}, "constraints": "B in 1.., C in 1..9"},
            DimSpecError,
            "'C', which dynamic names in no argument",
        ),
        (
            {"dynamic": {"x": "[B]"}, "constraints": ("B % 4 == 0", "B % 4 == 1")},
            ContradictoryConstraintsError,
            "the constraint 'B % 4 == 1' holds for no size, with B % 4 == 0",
        ),
        (
            {"dynamic": {"x": "[B]"}, "constraints": ("B in 1..4", "2*B >= 20")},
            ContradictoryConstraintsError,
            "hold for no sizes",
        ),
        (
            {"dynamic": {"x": (tm.Dim("B", max=4),)}, "constraints": ("B in 5..",)},
            ContradictoryConstraintsError,
            "hold for no sizes",
        ),
        (
            {"dynamic": {"x": (tm.Dim("B", min=1), "2*B"), "y": (tm.Dim("B"),)}},
            ContradictoryConstraintsError,
            "two dims with different limits are called B",
        ),
        ({"on_recompile": "shout"}, TransformTypeError, "on_recompile must be 'warn', 'error', 'ignore'"),
    ],
)
def test_a_wrong_description_is_named_when_wrapping(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tm.compile(lambda x, scale=2.0: x * scale, **options)


def test_names_for_sizes_collide_with_nothing() -> None:
    def f(x: Any, x_0: Any, class_: Any, size_x_0: Any) -> Any:
        return x * x_0 + class_ + size_x_0.sum()

    compiled = tm.compile(f, dynamic={"class_": "[x_0_2]"})
    for n in (3, 5, 7):
        arrays = np.ones(n), np.ones(n), np.ones(n), np.ones(n + 1)
        np.testing.assert_array_equal(compiled(*arrays), f(*arrays))
    assert len(compiled.signatures()) == 2
    assert "args[0]: f64[x_0_3], args[1]: f64[x_0_3], args[2]: f64[x_0_2]" in shown(compiled)[1]
