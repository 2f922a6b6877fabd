"""Python's questions: decided for all sizes or refused where dims are declared, guarded where they are observed."""

import operator
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from graphs.size_expressions import SIZES, A, B, C, holds, simple_constraints
from tracemill.compiler.errors import DimSpecError, UndecidedDimError
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.compiler.shapes.assumptions import Assumptions
from tracemill.compiler.shapes.dim import Comparison
from tracemill.compiler.shapes.guards import Guards
from tracemill.compiler.shapes.reading import read_constraint

N, M = tm.Dim("N"), tm.Dim("M", min=1)


def test_what_is_declared_answers_and_the_rest_is_an_error_with_the_line_and_the_fix() -> None:
    with answering(Declared(Assumptions([N <= M]), lambda: "model.py:12  if n > 3:")):
        assert N < M + 1
        assert min(N, M) is N
        with pytest.raises(UndecidedDimError) as caught:
            bool(N > 3)
    assert caught.value.text == (
        "whether N >= 4 is not known for all sizes: known is M >= N. "
        'Add the constraint "N >= 4", or "N <= 3"\n    at model.py:12  if n > 3:'
    )


@pytest.mark.parametrize(
    ("asked", "advised"),
    [
        (N == 0, ("N >= 1", "N == 0")),
        (N != 0, ("N >= 1", "N == 0")),
        (N <= 4, ("N >= 5", "N <= 4")),
        (N == 4, ("N != 4", "N == 4")),
        (N != M, ("M == N", "M != N")),
        (N == 2 * M, ("N == 2*M", "N != 2*M")),
        (N * M == 0, ("M*N != 0", "M*N == 0")),
        (N % 3 != 0, ("N % 3 == 0", "N % 3 != 0")),
        (N > M, ("M < N", "M >= N")),
    ],
    ids=str,
)
def test_what_is_more_likely_meant_is_advised_first(asked: Comparison, advised: tuple[str, str]) -> None:
    M = tm.Dim("M")
    with answering(Declared()), pytest.raises(UndecidedDimError) as caught:
        bool(read_constraint(str(asked), {"N": N, "M": M}))
    assert f'Add the constraint "{advised[0]}", or "{advised[1]}"' in str(caught.value)


def test_an_int_of_a_declared_dim_is_an_error_unless_it_is_known() -> None:
    with answering(Declared(Assumptions([N == 8]))):
        assert int(N) == 8
        with pytest.raises(
            UndecidedDimError, match="an int is needed, and M is not one number: known is M in 1"
        ):
            range(M)


def test_an_observed_dim_answers_as_in_this_call_and_keeps_a_guard_with_the_line() -> None:
    scope = Observed({"N": 6, "M": 2}, where=lambda: "model.py:12")
    with answering(scope):
        assert N == 3 * M
        assert not N < 2
        assert N > 1
        assert [i for i in range(M)] == [0, 1]  # noqa: C416
    assert scope.guards.described() == ["N == 3*M  # model.py:12", "M == 2  # model.py:12"]
    assert str(scope.guards) == "N == 3*M and M == 2"


def test_what_is_known_needs_no_guard() -> None:
    scope = Observed({"N": 6, "M": 2}, Assumptions([N >= M]))
    with answering(scope):
        assert N + 1 > M
        assert M
    assert str(scope.guards) == "True"


def test_division_guards_that_the_divisor_is_not_0() -> None:
    scope = Observed({"N": 6, "M": 2})
    with answering(scope):
        assert str(7 // N) == "7 // N"
    assert str(scope.guards) == "N != 0"
    with answering(Observed({"N": 0})), pytest.raises(ZeroDivisionError):
        operator.floordiv(7, N)


def test_threads_and_nested_scopes_do_not_mix() -> None:
    scopes = [Observed({"N": size}) for size in range(8)]
    ready = threading.Barrier(len(scopes))

    def ask(scope: Observed) -> None:
        with answering(scope):
            ready.wait()
            for limit in range(8):
                bool(limit <= N)
                with answering(Declared(Assumptions([N == 100]))):
                    assert N > 99

    threads = [threading.Thread(target=ask, args=(scope,)) for scope in scopes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with answering(scopes[3]):
        assert N == 3
    assert str(scopes[3].guards) == "N >= 3 and N <= 3"
    assert str(scopes[0].guards) == "N <= 0"
    with pytest.raises(UndecidedDimError):
        bool(N >= 3)


@settings(deadline=None)
@given(st.sampled_from(SIZES), st.lists(simple_constraints(), max_size=5))
def test_guards_hold_exactly_where_all_answers_are_the_same(
    hints: dict[str, int], questions: list[Comparison | bool]
) -> None:
    scope = Observed(hints)
    with answering(scope):
        answers = [bool(question) for question in questions]
    assert answers == [holds(question, hints) for question in questions]
    check = compile(
        Guards(scope.guards.guards, (A, B, C)).source({"A": "s0", "B": "s1", "C": "s2"}), "", "eval"
    )
    back = Guards.read(str(scope.guards), {"A": A, "B": B, "C": C})
    for sizes in SIZES:
        same = [holds(question, sizes) for question in questions] == answers
        assert same == eval(check, {"s0": sizes["A"], "s1": sizes["B"], "s2": sizes["C"]})
        assert same == all(holds(guard.comparison, sizes) for guard in back.guards)


def test_guards_that_follow_from_others_are_left_out_however_many_there_are() -> None:
    text = "D % 4 == 0 and K % 4 == 0 and D % 32 == 0 and D*K <= 4096 and K % 16 == 0 and K <= 256 and K % 2 == 0"
    assert str(Guards.read(text)) == "D % 32 == 0 and D*K <= 4096 and K % 16 == 0 and K <= 256"


def test_the_source_of_guards_checks_the_limits_of_dims_first() -> None:
    D = tm.Dim("D", min=1, max=64, multiple_of=8)
    guards = Guards.read("N // D >= 2 and min(N, 5) != M", {"D": D, "N": N, "M": M})
    assert guards.source({"D": "d", "N": "n", "M": "m"}) == (
        "1 <= d <= 64 and d % 8 == 0 and 1 <= m and n // d >= 2 and m != min(5, n)"
    )


@pytest.mark.parametrize(
    "text",
    ["N", "N >= ", "N >= 2 or M", "__import__('os')", "N = 2", "N >= 1 and 1 >= 2", "x[0] == 1", "N >= 2)"],
)
def test_what_is_not_a_conjunction_of_comparisons_is_refused(text: str) -> None:
    with pytest.raises(DimSpecError):
        Guards.read(text)
