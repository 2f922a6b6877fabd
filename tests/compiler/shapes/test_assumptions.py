"""What is decided of sizes holds for all of them: random constraints against every small size."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from graphs.size_expressions import SIGNS, SIZES, A, B, C, holds, simple_constraints, texts, value
from tracemill.compiler.errors import ContradictoryConstraintsError
from tracemill.compiler.shapes.assumptions import Assumptions
from tracemill.compiler.shapes.dim import Comparison, Sign, compared
from tracemill.compiler.shapes.reading import read_constraint, read_declarations, read_dim

SIZES_BY_NAME = {"A": A, "B": B, "C": C}


@settings(deadline=None)
@given(st.lists(simple_constraints(), max_size=3), simple_constraints())
def test_what_is_decided_holds_for_all_sizes_that_are_allowed(
    relations: list[Comparison | bool], question: Comparison | bool
) -> None:
    allowed = [sizes for sizes in SIZES if all(holds(one, sizes) for one in relations)]
    try:
        known = Assumptions(relations)
    except ContradictoryConstraintsError:
        assert not allowed
        return
    found = known.decide(question)
    if found is not None:
        assert all(holds(question, sizes) == found for sizes in allowed)


@settings(deadline=None)
@given(st.lists(simple_constraints(), max_size=2), texts, texts, st.sampled_from(SIGNS))
def test_bounds_and_decisions_of_any_expressions_hold(
    relations: list[Comparison | bool], left: str, right: str, sign: Sign
) -> None:
    one, other = read_dim(left, dict(SIZES_BY_NAME)), read_dim(right, dict(SIZES_BY_NAME))
    allowed = [sizes for sizes in SIZES if all(holds(relation, sizes) for relation in relations)]
    try:
        known = Assumptions(relations)
    except ContradictoryConstraintsError:
        assert not allowed
        return
    low, high = known.bounds(one)
    assert all(low <= value(one, sizes) <= high for sizes in allowed)
    question = compared(sign, one, other)
    found = known.decide(question)
    if found is not None:
        assert all(holds(question, sizes) == found for sizes in allowed)


@pytest.mark.parametrize(
    ("texts", "question", "expected"),
    [
        (["N in 1.."], "N >= 1", True),
        (["N in 0..5"], "N < 6", True),
        (["N in 2..", "M in 3..", "N*M <= 100"], "M <= 50", True),
        (["N in 2..", "M in 3..", "N*M <= 100"], "M <= 49", None),
        (["N in 0..", "M in 3..", "N*M <= 100"], "M <= 50", None),
        (["N in 2..", "M % 16 == 0", "M in 1..", "N*N*M + N <= 100"], "N <= 3", True),
        (["N in 0..5"], "N == 6", False),
        (["N % 16 == 0"], "N == 17", False),
        (["N in 4..9"], "N*N % 7 != 3", True),
        (["N in 4..9"], "N*N % 7 == 1", None),
        (["N in 4..9", "N % 4 == 1"], "N*N % 7 == 4", True),
        (["N in 0..64", "N % 16 == 0"], "N*N % 5 != 2", True),
        (["N in 4..5", "N == M"], "N*N % 7 == 1", False),
        (["N in 4..5", "M in 0..9", "N*M == 8"], "N*N % 7 == 2", None),
        (["A <= B"], "A < B + 1", True),
        (["A <= B", "B <= C"], "A <= C", True),
        (["A <= B", "B <= C"], "C <= A", None),
        (["A < B", "B < C"], "A + 2 <= C", True),
        (["N == 3*M"], "N % 3 == 0", True),
        (["N == 3*M", "M in 2.."], "N >= 6", True),
        (["A + B == C"], "A <= C", True),
        (["A != B"], "A == B", False),
        (["2*A == 3*B", "B in 2.."], "A >= 3", True),
        ([], "(N + 1) // 2 == N - N // 2", True),
        ([], "N // 2 + (N + 1) // 2 == N", True),
        ([], "N % 4 + 4*(N // 4) == N", True),
        ([], "N // 3 <= N", True),
        ([], "min(N, 5) <= 5", True),
        ([], "max(N, M) >= M", True),
        (["max(0, N - 1) == 5"], "max(0, N - 1) <= N", True),
        (["M in 1..", "N in 1.."], "M*N >= N", True),
        (["N - 2*(N // 2) == 0"], "N % 2 == 0", True),
        (["A*B*C % 6 == 0"], "A*B*C == 6*(A*B*C // 6)", True),
        (["N % 2 == 1", "N <= 9"], "N == 4", False),
        (["N % 2 == 1", "N <= 9"], "N == 5", None),
        ([], "A*A + B*B >= 2*A*B", True),
        ([], "A == B", None),
    ],
)
def test_what_a_user_expects_is_decided(texts: list[str], question: str, expected: bool | None) -> None:
    sizes, relations = read_declarations([*texts])
    assert Assumptions(relations).decide(read_constraint(question, sizes)) is expected


def test_a_stated_remainder_settles_others() -> None:
    known = Assumptions([C == 8, A % 4 == 2])
    assert known.decide(A % 2 == 0) is True
    assert known.decide(A == 4) is False
    assert known.decide(A + C > 8) is True


@pytest.mark.parametrize(
    "texts",
    [
        ["A < B", "B < A"],
        ["A <= B", "B <= C", "C < A"],
        ["A in 5..9", "B in 0..4", "A <= B"],
        ["A == B + 1", "A == B"],
        ["A == 3", "A != 3"],
        ["A in 0..0", "A != 0"],
    ],
)
def test_constraints_that_contradict_each_other_are_refused_at_once(texts: list[str]) -> None:
    _, relations = read_declarations(texts)
    with pytest.raises(ContradictoryConstraintsError, match="hold for no size"):
        Assumptions(relations)


def test_two_dims_with_one_name_are_refused() -> None:
    with pytest.raises(
        ContradictoryConstraintsError, match=r"two dims are called N: one is N in 1\.\., the other"
    ):
        Assumptions([tm.Dim("N", min=1) <= A, tm.Dim("N", max=3) <= A])


ASKS = """
import sys
import tracemill as tm
from tracemill.compiler.shapes.assumptions import Assumptions
N, M = tm.Dim("N"), tm.Dim("M")
known = Assumptions([N <= M])
known.decide(N < M + 1), known.decide(N == 2 * M), known.decide(N % 4 == 1)
print("sympy" in sys.modules, known.decide((N - M) * (N - M) >= 0), "sympy" in sys.modules)
"""


@pytest.mark.slow
def test_sympy_is_imported_for_a_question_that_needs_it_alone() -> None:
    run = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "True"]
