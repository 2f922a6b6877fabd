"""``tracemill gpu-check`` goes the whole way on a GPU that is not there, and says what is wrong.

No number is tested.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu.stub_gpu import StubGpu
from tracemill.tools.gpu_check import check, worker
from tracemill.tools.gpu_check.card import Card, Ceilings
from tracemill.tools.gpu_check.examples import EXAMPLES, Example
from tracemill.tools.gpu_check.findings import Findings, RowFinding
from tracemill.tools.gpu_check.peers import PEERS, Jax, Torch
from tracemill.tools.gpu_check.row import Row, as_tuple
from tracemill.tools.gpu_check.rows import ROWS
from tracemill.tools.gpu_check.tables import cells, markdown, picture, problems_of
from tracemill.tools.gpu_check.worker import OURS, Worker

from .terminal import Terminal

TESTS = Path(__file__).resolve().parent.parent
PATHS = f"import sys\nsys.path[:0] = {[str(TESTS / '.root'), str(TESTS)]}\n"

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed; it is for Linux on x86"
)


@pytest.fixture
def card(stub_gpu: StubGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contestants find a GPU, on which Triton's interpreter runs kernels."""
    program = f"{PATHS}from gpu.gpu_check_worker import main\nmain({stub_gpu.library!r}, *sys.argv[1:])"
    monkeypatch.setattr(check, "PROGRAM", program)


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("found", "gpu-check.json").read_text(encoding="utf-8"))
    return found


# ---- the rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_what_a_row_expects_is_what_its_function_gives_in_double_precision(row: Row) -> None:
    arrays = tuple(a if a.dtype.kind in "iu" else a.astype("f8") for a in row.arrays(row.small))
    results = as_tuple(row.plain()(*arrays))
    for result, corner in zip(results, row.expected(arrays), strict=True):
        found = np.asarray(result)[tuple(map(slice, corner.shape))]
        np.testing.assert_allclose(found, corner, 1e-9, 1e-9 * np.max(np.abs(corner)))
        assert found.shape == corner.shape


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_a_row_writes_as_many_bytes_as_it_says(row: Row) -> None:
    results = as_tuple(row.plain()(*row.arrays(row.small)))
    norm = 2 * 4096 * 2 if row.name == "layer_norm bf16, backward" else 0  # beside the gradient by x
    narrow = 2 if row.inputs(row.small)[0].dtype == "bf16" else np.asarray(results[0]).dtype.itemsize
    assert sum(np.size(x) * narrow for x in results) == row.written(row.small) + norm


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_a_row_at_its_full_size_is_traced_without_memory(row: Row) -> None:
    for input in row.inputs(row.size):
        assert sum(np.array(input.empty().strides)) == 0
        assert input.nbytes == input.empty().nbytes


# ---- on a card -------------------------------------------------------------------------------------------------


@needs_triton
def test_a_check_shows_the_card_examples_and_rows(
    card: None, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "EXAMPLES", EXAMPLES[-1:])
    ran = terminal.run(
        "gpu-check", "--small", "--vs", "none", "--rows", "softmax f32", "--rows", "add", "--folder", "found"
    )
    assert (ran.status, ran.err) == (0, "")
    assert "sm_90" in ran.out
    assert "1 of 1 examples give what NumPy gives" in ran.out
    found = document()
    assert found["card"]["target"] == "cuda:sm_90"
    assert found["ceilings"]["copied"] > 0
    assert [row["name"] for row in found["rows"]] == ["softmax f32", "add transposed f32"]
    for row in found["rows"]:
        low, median, high = row["seconds"][OURS]
        assert 0 < low <= median <= high
        assert row["floor"] == row["bytes"] / found["ceilings"]["copied"]
    assert "softmax f32" in Path("found", "gpu-check.md").read_text(encoding="utf-8")


@needs_triton
def test_a_contestant_that_has_no_time_left_is_a_problem_and_what_is_known_is_kept(
    card: None, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "EXAMPLES", ())
    monkeypatch.setattr(check, "LEAST", 3000.0)
    monkeypatch.setattr(check, "_look", lambda ours, findings, report: None)
    ran = terminal.run(
        "gpu-check", "--small", "--vs", "none", "--rows", "softmax", "--seconds", "100", "--folder", "found"
    )
    assert ran.status == 1
    assert f"{OURS}: {check.TOO_LATE} (softmax f32; softmax bf16)" in ran.out
    assert ran.err == "tracemill: 2 of our results are missing or wrong\n"
    assert document()["rows"][0]["problems"] == {OURS: check.TOO_LATE}


@needs_triton
@pytest.mark.slow
@pytest.mark.long
def test_examples_and_rows_are_right_on_a_gpu_that_is_not_there(
    card: None, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """Every sixth, and all with ``--more``."""
    step = 1 if more > 1 else 6
    monkeypatch.setattr(check, "EXAMPLES", EXAMPLES[::step])
    rows = [word for name in list(ROWS)[::step] for word in ("--rows", name)]
    ran = terminal.run(
        "gpu-check", "--small", "--vs", "none", "--folder", "found", "--seconds", "3000", *rows
    )
    found = document()
    assert {name: problem for name, problem in found["examples"].items() if problem} == {}
    assert {row["name"]: row["problems"] for row in found["rows"] if row["problems"]} == {}
    assert ran.status == 0


def test_without_a_driver_it_says_so(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracemill.runtime.gpu.driver.import_module", _no_module)
    monkeypatch.setattr("tracemill.tools.commands.gpu_check_command.find_spec", lambda name: name)
    monkeypatch.setattr("tracemill.tools.commands.gpu_check_command.driver", _started)
    ran = terminal.run("gpu-check")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("tracemill: MissingPackageError: GPUs need cuda-bindings")


def _no_module(name: str) -> None:
    raise ImportError(name)


def _started() -> Any:
    from tracemill.runtime.gpu.driver import started

    return started()


def test_without_triton_it_says_so(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracemill.tools.commands.gpu_check_command.find_spec", lambda name: None)
    ran = terminal.run("gpu-check")
    assert ran.status == 1
    assert ran.err.startswith("tracemill: MissingPackageError: compiling for GPUs needs Triton")


def test_a_row_that_is_not_known_is_a_misuse(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracemill.tools.commands.gpu_check_command.find_spec", lambda name: name)
    ran = terminal.run("gpu-check", "--rows", "sofmax")
    assert ran.status == 2
    assert "no row starts with 'sofmax': choose of softmax f32" in ran.err


# ---- what is wrong is said -------------------------------------------------------------------------------------


class Wrong:
    """A contestant that gives twice what it should."""

    def program(self, row: Row, arrays: Any) -> Any:
        return lambda: row.plain()(*arrays)

    def corners(self, result: Any, shapes: Any) -> list[Any]:
        return [
            2 * np.asarray(x)[tuple(map(slice, s))] for x, s in zip(as_tuple(result), shapes, strict=True)
        ]

    def timing(self, program: Any) -> Any:
        raise AssertionError("what is wrong is not timed")


def test_a_result_that_differs_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "wrong", Wrong)
    answer = Worker("wrong", tmp_path).answer({"action": "row", "name": "softmax f32", "small": True})
    assert re.match(r"result 0 differs by .*, where the largest is", answer["problem"])


def test_what_goes_wrong_in_a_worker_is_an_answer(tmp_path: Path) -> None:
    answer = Worker("fortran", tmp_path).answer({"action": "row", "name": "softmax f32", "small": True})
    assert answer["problem"] == "KeyError: 'fortran'"


def test_a_process_that_cannot_use_its_gpu_any_more_says_so(
    stub_gpu: StubGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that has failed fails all that is asked after it, whatever library has launched it."""
    monkeypatch.setitem(PEERS, "wrong", lambda: 1 / 0)
    request = {"action": "row", "name": "softmax f32", "small": True}
    zero = "ZeroDivisionError: division by zero"
    assert Worker("wrong", tmp_path).answer(dict(request)) == {"problem": zero, worker.LOST: False}
    stub_gpu.fail("cuStreamSynchronize", 700)
    assert Worker("wrong", tmp_path).answer(dict(request)) == {"problem": zero, worker.LOST: True}


def test_such_a_process_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    lost = json.loads(line)['action'] == 'fail'\n"
        "    print(json.dumps({'process': os.getpid(), 'is_lost': lost}), flush=True)"
    )
    monkeypatch.setattr(check, "PROGRAM", program)
    with check.Contestant("any", tmp_path, until=float("inf")) as contestant:
        first, second, third = (contestant.ask(action)["process"] for action in ("work", "fail", "work"))
    assert first == second != third


class Silent:
    """A contestant that answers nothing but problems; all that was made."""

    made: list[tuple[str, float]] = []  # noqa: RUF012

    def __init__(self, name: str, folder: Path, until: float) -> None:
        self.made.append((name, until))

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        return asdict(CARD) if action == "card" else {"problem": f"no {action}"}


def test_tracemill_gets_half_of_the_time_and_an_unmeasured_card_is_still_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Silent, "made", [])
    monkeypatch.setattr(check, "Contestant", Silent)
    monkeypatch.setattr(check, "monotonic", lambda: 100.0)
    contestants = {OURS: "1", "torch": "2", "torch.compile": "2", "jax": "3"}
    found = Findings("a machine", small=True, contestants=contestants)
    check.check(found, ["softmax f32"], tmp_path, seconds=480, report=lambda added: None)
    assert Silent.made == [(OURS, 340.0), ("torch", 260.0), ("torch.compile", 340.0), ("jax", 580.0)]
    assert found.examples == {check.CEILINGS: "no ceilings", **{x.name: "no example" for x in EXAMPLES}}
    assert found.card == CARD
    assert found.rows[0].problems == dict.fromkeys(contestants, "no row")
    assert "–" in cells(found)[1]
    check.check(
        Findings("a machine", small=True, contestants={OURS: "1"}),
        [],
        tmp_path,
        seconds=480,
        report=lambda added: None,
    )
    assert Silent.made[-1] == (OURS, 580.0)


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (lambda x: x + 1, "differs by 1.0e+00"),
        (lambda x: x[1:], "float32[9] instead of float32[10]"),
        (lambda x: x * np.nan, "NaN in other places"),
        (lambda x: x.astype(int), "int64[10] instead of float32[10]"),
    ],
)
def test_an_example_that_differs_says_how(ours: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracemill.tools.gpu_check.examples.compile", lambda function, backend: ours)
    assert said in Example("same", lambda x: x, ("f32 10",)).difference()


def test_a_whole_number_that_differs_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tracemill.tools.gpu_check.examples.compile", lambda function, backend: lambda x: x + (x == 0)
    )
    example = Example("same", lambda x: x, ("i32 100",))
    zeros = int(np.sum(example.arrays()[0] == 0))
    assert example.difference() == f"{zeros} of 100 elements differ"


# ---- tables ----------------------------------------------------------------------------------------------------

CARD = Card("NVIDIA H200", "cuda:sm_90", "580.1", "13.0", 140 << 30, 132, {"triton": "3.9.0"})


def findings() -> Findings:
    softmax = RowFinding("softmax f32", 16384, seconds={OURS: [9e-4, 1e-3, 1.1e-3], "torch": [2e-3] * 3})
    product = RowFinding("matmul bf16", 8192, seconds={OURS: [2e-3] * 3}, problems={"torch": "no memory"})
    return Findings(
        "a machine",
        small=False,
        contestants={OURS: "0.1", "torch": "2.9"},
        card=CARD,
        ceilings=Ceilings(4e12, 7e14, 5e-6),
        rows=[softmax, product],
    )


def test_the_table_shows_rates_the_roofline_and_the_best_peer() -> None:
    header, softmax, product = cells(findings())
    assert header == ["", OURS, "spread", "rate", "of the roofline", "torch", "best peer ÷ ours"]
    assert softmax == ["softmax f32", "1.00 ms", "20%", "1,074 GB/s", "27% memory", "2.00 ms", "2.00×"]
    assert product == ["matmul bf16", "2.00 ms", "0%", "549.8 TFLOP/s", "56% bf16", "–", "–"]
    assert problems_of(findings()) == ["torch: no memory (matmul bf16)"]
    assert "NVIDIA H200, cuda:sm_90" in markdown(findings())


def test_an_unknown_card_has_no_roofline_of_operations() -> None:
    found = replace(findings(), card=replace(CARD, name="NVIDIA Titan"))
    assert [line[4] for line in cells(found)[1:]] == ["27% memory", "–"]


def test_what_is_wrong_with_us_counts() -> None:
    found = findings()
    found.examples = {"fine": "", "sums": "differs by 1.0"}
    found.rows[1].problems[OURS] = "no memory"
    assert found.failures == ["sums: differs by 1.0", "matmul bf16: no memory"]


def test_a_picture_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    assert len(picture(findings())) > 1000


# ---- peers, on the CPU -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:CUDA initialization")  # other tests may have loaded a driver without GPUs
@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_torch_computes_what_a_row_expects(row: Row) -> None:
    pytest.importorskip("torch")
    _computes(Torch(compiled=False, device="cpu"), row)


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_jax_computes_what_a_row_expects(row: Row) -> None:
    pytest.importorskip("jax")
    _computes(Jax(needs_gpu=False), row)


def test_torch_gets_attention_as_its_fast_kernels_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    functional = pytest.importorskip("torch.nn.functional")
    axes: list[int] = []
    known = functional.scaled_dot_product_attention

    def counted(*arrays: Any) -> Any:
        axes.extend(x.ndim for x in arrays)
        return known(*arrays)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", counted)
    _computes(Torch(compiled=False, device="cpu"), ROWS["attention bf16"])
    assert axes == [4, 4, 4]


def test_jax_multiplies_f32_exactly_as_all_others_do() -> None:
    jax = pytest.importorskip("jax")
    for name, precision in (("matmul f32", "highest"), ("matmul bf16", None)):
        Jax(needs_gpu=False).program(ROWS[name], ROWS[name].arrays(ROWS[name].small))
        assert jax.config.jax_default_matmul_precision == precision


def _computes(peer: Any, row: Row) -> None:
    arrays = row.arrays(row.small)
    expected = row.expected(arrays)
    found = peer.corners(peer.program(row, arrays)(), [array.shape for array in expected])
    assert worker.difference(row, found, expected) == ""


# ---- without a card --------------------------------------------------------------------------------------------


def offline(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own: where Triton's interpreter is loaded, nothing can be compiled."""
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"{PATHS}from tracemill.tools.cli import main\nmain()",
            "gpu-check",
            *arguments,
        ],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_triton
@pytest.mark.parametrize(
    "architecture",
    [pytest.param("sm_90", marks=pytest.mark.slow), pytest.param("gfx942", marks=pytest.mark.exhaustive)],
)
def test_machine_code_is_described_without_a_gpu(architecture: str, tmp_path: Path) -> None:
    ran = offline(
        "--offline",
        architecture,
        "--rows",
        "softmax f32",
        "--rows",
        "matmul bf16",
        "--folder",
        ".",
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = (tmp_path / "gpu-offline.md").read_text(encoding="utf-8").splitlines()
    softmax, product = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:4])
    assert softmax[:3] == ["softmax f32", "`kernel_max_exp_divide`", architecture]
    numbers = [[int(cell.replace(",", "")) for cell in line[3:]] for line in (softmax, product)]
    for threads, registers, spilled, _, wide_loads, _, code in numbers:
        assert threads >= 64
        assert 8 < registers <= 512
        assert spilled == 0
        assert wide_loads > 0
        assert code > 1000
    assert (numbers[0][5], numbers[1][5] > 0) == (0, True), "products run on tensor cores"


@needs_triton
def test_an_unknown_architecture_is_refused(terminal: Terminal) -> None:
    ran = terminal.run("gpu-check", "--offline", "hopper")
    assert ran.status == 1
    assert "an architecture is written as sm_90 or gfx942, not 'hopper'" in ran.err
