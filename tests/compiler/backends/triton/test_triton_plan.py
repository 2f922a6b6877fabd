"""Programs for GPUs: what runs where, in which memory, and as a document that can be stored."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.plan import CopyStep, HostStep, LaunchStep, Plan, Region
from tracemill.compiler.backends.triton.planning.plan_document import arrays_of, document, plan_of
from tracemill.compiler.backends.triton.planning.program import triton_program
from tracemill.compiler.ir import Graph
from tracemill.passes.optimizations.fuse import fuse
from tracemill.passes.pipeline import run
from tracemill.passes.simplification.remove_dead_code import remove_dead_code


def planned(function: Callable[..., Any], *arrays: Any) -> Plan:
    return triton_program(optimised(function, *arrays)).plan


def optimised(function: Callable[..., Any], *arrays: Any) -> Graph:
    compiled: Any = tm.compile(function, backend="numpy")
    return run(compiled.lower(*arrays).graph, (fuse, remove_dead_code))


X = np.ones((64, 32), np.float32)
TABLE = np.arange(100.0)


def test_a_kernel_is_launched_on_the_memory_of_inputs_and_outputs() -> None:
    (step,) = planned(lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True), X).steps
    assert isinstance(step, LaunchStep)
    assert [(slot.region, slot.at) for slot in step.slots] == [(Region.INPUT, 0), (Region.OUTPUT, 0)]


def test_what_has_no_kernel_is_computed_by_numpy_in_one_step() -> None:
    def solved(x: Any) -> Any:
        return np.linalg.inv(np.linalg.qr(x).R)

    plan = planned(solved, np.eye(3))
    (step,) = plan.host_steps
    assert step.ops[0] == "qr"
    assert [slot.region for slot in step.touched] == [Region.INPUT, Region.OUTPUT]
    assert "NumPy; copies 144 B" in str(plan)


def test_large_constants_are_arrays_of_the_program_that_kernels_read() -> None:
    graph = recorded(lambda x: fn.multiply(x, fn.constant(TABLE)), "f64[100]")
    plan = triton_program(run(graph, (fuse,))).plan
    (step,) = plan.launches
    assert [slot.region for slot in step.slots] == [Region.INPUT, Region.CONSTANT, Region.OUTPUT]
    assert [constant.array.tolist() for constant in plan.constants] == [TABLE.tolist()]


def test_reshapes_are_other_names_of_the_same_memory() -> None:
    plan = planned(lambda x: np.linalg.inv(x.reshape(2, 2)).reshape(4), np.ones(4))
    (step,) = plan.steps
    assert isinstance(step, HostStep)
    assert [slot.type.shape for slot in step.touched] == [(2, 2), (4,)]


def test_outputs_that_are_inputs_or_one_another_are_copied() -> None:
    def several(x: Any) -> Any:
        y = np.sin(x)
        return y, y, x, np.zeros(3)

    plan = planned(several, X)
    copies = [step for step in plan.steps if isinstance(step, CopyStep)]
    assert [step.target.at for step in copies if step.source.region is not Region.CONSTANT] == [1, 2]
    assert len(plan.outputs) == 4


def test_results_in_between_share_an_arena_that_later_ones_use_again() -> None:
    def chain(x: Any) -> Any:
        for _ in range(5):
            x = np.linalg.inv(np.sin(x) + np.cos(x).sum(axis=0))
        return x

    plan = planned(chain, np.eye(64))
    assert 0 < plan.arena_bytes <= 3 * 64 * 64 * 8


def test_equal_calls_run_one_function() -> None:
    def twice(x: Any) -> Any:
        return np.linalg.inv(np.sin(np.linalg.inv(np.sin(x))))

    plan = planned(twice, np.eye(4))
    assert len({step.function for step in plan.launches}) == 1 < len(list(plan.launches))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sort(np.exp(x), axis=1)[:, ::2],
        lambda x: np.linalg.inv(x[:3, :3]) * TABLE[1:40:13],
        lambda x: (x, TABLE, np.linalg.norm(x + TABLE[:32], 2)),
    ],
)
def test_a_plan_is_read_back_from_its_document(function: Any) -> None:
    plan = planned(function, X)
    text = json.dumps(document(plan), allow_nan=False)
    again = plan_of(json.loads(text), arrays_of(plan))
    assert str(again) == str(plan)
    assert document(again) == document(plan)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("format",), 2),
        (("name",), None),
        (("arena_bytes",), -1),
        (("arena_bytes",), 8),
        (("steps", 0, "step"), "exec"),
        (("steps", 0, "slots", 0, "at"), 7),
        (("steps", 0, "slots", 0, "shape"), [10**9]),
        (("steps", 0, "slots", 0, "shape"), [0, 10**300]),
        (("steps", 0, "slots", 1, "at"), 10**6),
        (("steps", 0, "slots", 0, "region"), "everywhere"),
        (("steps", 1, "graph"), "import os"),
        (("steps", 1, "outputs", 0, "dtype"), "f16"),
        (("steps",), 5),
    ],
)
def test_a_document_that_is_not_a_plan_is_refused(path: tuple[Any, ...], wrong: object) -> None:
    plan = planned(lambda x: np.linalg.inv(np.sin(x[:32])), X)
    given = document(plan)
    *ahead, last = path
    place: Any = given
    for key in ahead:
        place = place[key]
    place[last] = wrong
    with pytest.raises(tm.errors.ParseError):
        plan_of(given, arrays_of(plan))


def test_plans_in_plans_have_an_end() -> None:
    outer = document(planned(lambda x: tm.while_loop(lambda x: np.sum(x) < 5, lambda x: x * 2, x), X))
    (place,) = (number for number, step in enumerate(outer["steps"]) if step["step"] == "while")
    given = outer
    for _ in range(40):
        step = outer["steps"][place] | {"body": given}
        given = outer | {"steps": [*outer["steps"][:place], step, *outer["steps"][place + 1 :]]}
    with pytest.raises(tm.errors.ParseError, match="plans are nested more than 32 deep"):
        plan_of(given, {})


def test_a_dump_shows_the_plan_and_what_it_works_in() -> None:
    def both(x: Any) -> Any:
        return np.linalg.inv(np.sin(x) @ x.T)

    lowered = tm.compile(both, backend="triton").lower(np.eye(8))
    text = str(lowered)
    assert "# ---- plan\n# plan both(x: f64[8, 8]) -> f64[8, 8]:" in text
    assert "# NumPy; copies 1.024 kB" in text
    assert lowered.plan is not None
    assert lowered.memory.temporaries == lowered.plan.arena_bytes
    assert all(kernel.least_time is None for kernel in lowered.kernels)


def test_a_users_line_appears_once_above_the_code_that_computes_it() -> None:
    def softmax(x: Any) -> Any:
        z = np.exp(x - x.max(axis=1, keepdims=True))
        return z / z.sum(axis=1, keepdims=True)

    lines = tm.compile(softmax, backend="triton").lower(X).source.splitlines()
    comments = [number for number, line in enumerate(lines) if line.startswith("    #")]
    assert not any(number + 1 in comments for number in comments)


def test_a_scan_whose_elements_never_meet_is_one_launch() -> None:
    def decay(x: Any, rows: Any) -> Any:
        return tm.scan(lambda carry, row: (0.5 * np.tanh(carry) + row, carry), x, rows)

    def mixed(x: Any, rows: Any) -> Any:
        return tm.scan(lambda carry, row: (0.5 * carry[::-1] + row, carry), x, rows)

    lowered = [tm.compile(f, backend="triton").lower(np.ones(4), np.ones((9, 4))) for f in (decay, mixed)]
    alone, loop = (lower.plan for lower in lowered)
    assert alone is not None
    assert loop is not None
    assert alone.queued == 1
    assert "9 iterations of" in str(loop)
