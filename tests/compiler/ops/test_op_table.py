"""The table of ops is complete: every op has every rule, samples, misuse, a doc; the matrix says which."""

import builtins
import dis
import inspect
from dataclasses import replace
from types import CodeType
from typing import Any

import numpy as np
import pytest

from samples.grouping import Case, in_groups
from samples.table import FAILURES, SAMPLES, samples_of
from tracemill.compiler.backends.python.empty_module import FORMS
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.errors import InternalError
from tracemill.compiler.op import _TABLE, Op, all_ops, by_decomposition, lookup
from tracemill.compiler.ops.composite import COMPOSITES, require_decompositions
from tracemill.compiler.ops.special import coefficients
from tracemill.tools.coverage import COLUMNS, LEGEND, coverage, render, totals

each_op = in_groups(Case(op.family, op.name, (op,)) for op in all_ops().values())


@each_op
def test_an_op_has_a_doc_of_whole_sentences(op: Op) -> None:
    assert op.doc.endswith(".")
    assert len(op.doc) >= 3


@each_op
def test_an_op_has_samples_in_the_file_of_its_family(op: Op) -> None:
    assert samples_of(op.name)


@each_op
def test_an_op_refuses_something(op: Op) -> None:
    assert any(failure.op == op.name for failure in FAILURES)


@each_op
def test_an_op_with_floating_inputs_and_outputs_is_differentiated_somewhere(op: Op) -> None:
    floating = [
        sample
        for sample in samples_of(op.name)
        if any(sample.floating) and any(is_inexact(v.dtype) for v in sample.graph().outputs)
    ]
    if any(any(sample.differentiated) for sample in floating):
        # stop_gradient is the only op with a derivative that intentionally differs from the rate of change.
        assert any(sample.generic for sample in floating) != (op.name == "stop_gradient")
    else:
        assert all(not sample.floating or sample.wrt is not None for sample in floating)


def test_every_op_but_opaque_python_has_a_jvp_rule() -> None:
    """An op is differentiated by a rule, or has the derivative zero because it is piecewise constant."""
    without = {row.op for row in coverage() if row.rules["jvp"].startswith("none")}
    assert without == {"callback"}


def test_an_op_with_neither_a_rule_nor_a_decomposition_fails_the_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_decompositions()
    for rule in ("jvp", "transpose", "batch"):
        changes: Any = {rule: by_decomposition}
        with monkeypatch.context() as patch:
            patch.setitem(_TABLE, "sin", replace(lookup("sin"), **changes))
            with pytest.raises(InternalError, match=f"sin has neither a {rule} rule nor a decomposition"):
                require_decompositions()


@each_op
def test_an_elementwise_op_is_spelled_for_every_backend(op: Op) -> None:
    """But for what is complex alone, which Triton lacks: its kernels compute with pairs of real numbers."""
    lacking = {"conjugate", "real", "imag", "complex"}
    wanted = {"c"} if op.name in lacking else {"c", "triton"}
    assert op.spelling is None or wanted == {"c", "triton"} & set(op.spelling)


QUOTED = [op for op in all_ops().values() if op.name not in FORMS.keys() | COMPOSITES]
"""The others run the graphs that they hold, or Python, or are taken apart before a backend sees them."""


def code_objects(code: CodeType) -> list[CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(nested for one in inner for nested in code_objects(one))]


@in_groups(Case(op.family, op.name, (op,)) for op in QUOTED)
def test_a_meaning_refers_to_nothing_but_numpy_its_arguments_and_coefficients(op: Op) -> None:
    if not inspect.isfunction(op.numpy):
        assert isinstance(op.numpy, np.ufunc) or op.numpy.__module__.startswith("numpy")
        return
    assert not op.numpy.__code__.co_freevars
    names = {
        instruction.argval
        for code in code_objects(op.numpy.__code__)
        for instruction in dis.get_instructions(code)
        if instruction.opname == "LOAD_GLOBAL"
    }
    assert {name for name in names if not hasattr(builtins, name)} <= {"np", *vars(coefficients)}


def test_every_sample_and_failure_is_of_a_known_op_and_has_a_name_of_its_own() -> None:
    assert {sample.op for sample in SAMPLES} == set(all_ops())
    for table in (SAMPLES, FAILURES):
        assert len({entry.id for entry in table}) == len(table)


def test_the_matrix_has_every_op_and_only_known_entries() -> None:
    rows = coverage()
    assert [row.op for row in sorted(rows, key=lambda row: row.op)] == sorted(all_ops())
    known = {line.split()[0] for line in LEGEND.splitlines()}
    for row in rows:
        assert tuple(row.rules) == COLUMNS
        assert all(
            entry in known or entry.startswith(("none: ", "specialises: ")) for entry in row.rules.values()
        )


def test_the_matrix_counts_what_it_shows() -> None:
    rows = coverage()
    counts = totals(rows)
    assert all(sum(counts[column].values()) == len(rows) for column in COLUMNS)
    composites = len(COMPOSITES)
    for column in ("type", "numpy"):
        assert counts[column] == {"yes": len(rows) - composites, "decomposed": composites}


def test_the_matrix_prints_a_line_per_op_and_the_totals() -> None:
    text = render(coverage())
    print(text)
    lines = text.splitlines()
    assert all(any(line.startswith(f"{name} ") for line in lines) for name in all_ops())
    assert f"-- {len(all_ops())} ops in" in text


def test_an_op_that_holds_graphs_shows_as_nested_and_one_that_refuses_shows_why() -> None:
    rules = {row.op: row.rules for row in coverage()}
    for name in ("call", "switch", "scan", "while_loop", "checkpoint", "custom_rule"):
        assert rules[name]["jvp"] == rules[name]["vmap"] == "nested"
    assert rules["scan"]["transpose"] == rules["while_loop"]["transpose"] == "nested"
    text = render(coverage())
    assert "callback: no jvp: Python code has none, unless a custom rule gives it" in text


def test_a_piecewise_constant_op_shows_as_zero_and_a_linear_one_as_linear() -> None:
    rules = {row.op: row.rules for row in coverage()}
    assert rules["floor"]["jvp"] == "zero"
    assert rules["sin"]["jvp"] == "yes"
    assert rules["sin"]["transpose"] == "none: not linear in any input"
    assert rules["reshape"]["transpose"] == "linear"
    assert rules["iota"]["vmap"] == "none: it has no inputs"
    assert rules["floor"]["C"] == "yes"
    assert rules["sin"]["C"] == "header"
    assert rules["real"]["Triton"].startswith("none: ")
    assert rules["sigmoid"]["jvp"] == rules["sigmoid"]["vmap"] == "yes"
    assert rules["relu"]["jvp"] == rules["relu"]["Triton"] == "decomposed"
    assert rules["sum"]["C"] == "—"
