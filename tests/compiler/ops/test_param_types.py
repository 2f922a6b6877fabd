"""The parameters of calls are of the types that the ops' type rules say."""

import inspect

import pytest

from samples.table import SAMPLES
from tracemill.compiler.op import Op, all_ops
from tracemill.compiler.text.param_types import param_problem, param_types

HANDS_ON = {"custom_rule", "psum", "pmax", "pmin", "all_gather", "psum_scatter", "ppermute"}
"""Ops with rules that pass parameters on under other names: integers, and the user's rules."""


@pytest.mark.parametrize("op", all_ops().values(), ids=lambda op: op.name)
def test_a_type_rule_says_the_type_of_each_parameter(op: Op) -> None:
    parameters = inspect.signature(inspect.unwrap(op.type)).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    assert inspect.Parameter.VAR_KEYWORD not in kinds or op.name in HANDS_ON
    named = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert named == set(param_types(op.name))


def test_the_samples_have_parameters_of_their_types() -> None:
    problems = {
        (call.op, param_problem(call.op, call.params)) for sample in SAMPLES for call in sample.graph().calls
    }
    assert {problem for _, problem in problems} == {None}


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("sum", {"axes": (0.0,)}),
        ("sum", {"axes": 0}),
        ("softmax", {"axis": True}),
        ("gelu", {"approximate": "); system("}),
        ("svd", {"full_matrices": 1}),
        ("convert", {"dtype": "f32"}),
        ("call", {"graph": None}),
        ("psum", {"axis": "i", "count": 2, "more": "text"}),
        ("custom_rule", {"vjp": "text"}),
    ],
)
def test_parameters_of_other_types_are_named(op: str, params: dict[str, object]) -> None:
    problem = param_problem(op, params)  # type: ignore[arg-type]
    assert problem is not None
    assert problem.startswith(f"parameter {list(params)[-1]} is ")
