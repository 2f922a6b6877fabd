"""``tracemill bench suite`` times what it says: its rows, processes, tables and files. No number is tested."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import click
import numpy as np
import pytest

from tracemill.tools.bench.suite import races, starts, workloads
from tracemill.tools.bench.suite.contestant import Contestant, environment
from tracemill.tools.bench.suite.findings import Case, gains, summaries
from tracemill.tools.bench.suite.frameworks import OURS, PLAIN, NumPy, Tracemill, applied, cotangent, repeated
from tracemill.tools.bench.suite.more_rows import ALL_ROWS
from tracemill.tools.bench.suite.neighbours import Neighbours
from tracemill.tools.bench.suite.plots import pictures
from tracemill.tools.bench.suite.rows import CALLS, GROUPS, ROWS, Row
from tracemill.tools.bench.suite.tables import amount, cells, markdown, problems_of, summary_table, table_of
from tracemill.tools.bench.suite.worker import Worker
from tracemill.tools.commands import bench_suite_command

from .terminal import Terminal

TREE = Path(__file__).resolve().parent.parent / ".root"
C, NUMPY = OURS + "c", OURS + "numpy"


def short(row: Row) -> Row:
    """The row with a loop that a test can wait for."""
    return replace(row, repeat=min(row.repeat, 3))


VALUES = [short(row) for row in (*ALL_ROWS.values(), *CALLS.values()) if row.has_numpy]
DERIVATIVES = [short(row) for row in ALL_ROWS.values() if row.task in {"backward", "value and gradient"}]

# ---- rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", VALUES, ids=lambda row: row.name)
def test_tracemill_and_numpy_agree_on_a_row(row: Row) -> None:
    arrays = row.arguments(row.small)
    found, expected = (
        framework.to_numpy(framework.program(row, arrays)()) for framework in (Tracemill("numpy"), NumPy())
    )
    assert races.difference(found, expected) == ""
    assert [array.dtype for array in found] == [array.dtype for array in expected]


@pytest.mark.parametrize("row", DERIVATIVES, ids=lambda row: row.name)
def test_gradients_of_a_row_are_those_of_differences(row: Row) -> None:
    arrays = tuple(a.astype("f8") if a.dtype.kind == "f" else a for a in row.arguments(row.small))
    result = Tracemill("numpy").to_numpy(Tracemill("numpy").program(row, arrays)())
    gradients = result[-len(row.argnums) :]
    plain = repeated(applied(row.function, np), row.repeat)
    weights = cotangent(row, arrays) if row.task == "backward" else 1.0
    rng = np.random.default_rng(2)
    directions = {number: rng.normal(size=arrays[number].shape) for number in row.argnums}

    def along(distance: float) -> Any:
        moved = (a + distance * directions[n] if n in directions else a for n, a in enumerate(arrays))
        return np.sum(plain(*moved) * weights)

    slope = (along(1e-6) - along(-1e-6)) / 2e-6
    found = sum(np.sum(g * d) for g, d in zip(gradients, directions.values(), strict=True))
    np.testing.assert_allclose(found, slope, rtol=1e-6)


def test_gradients_per_sample_are_those_of_each_sample() -> None:
    row = ROWS["per_sample"]
    w, b, x, y = row.arguments(row.small)
    dw, db = Tracemill("numpy").program(row, (w, b, x, y))()
    for n in range(row.small):
        outer = 2 * (np.tanh(w @ x[n] + b) - y[n]) / np.cosh(w @ x[n] + b) ** 2
        np.testing.assert_allclose(db[n], outer, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(dw[n], np.outer(outer, x[n]), rtol=1e-10, atol=1e-14)


def test_the_hessian_of_rosenbrock_is_that_of_the_formula() -> None:
    row = ROWS["hessian"]
    (x,) = row.arguments(row.small)
    expected = np.diag(-400 * x[:-1], 1) + np.diag(-400 * x[:-1], -1)
    expected += np.diag(
        np.append(1200 * x[:-1] ** 2 - 400 * x[1:] + 2, 0) + np.append(0, np.full(row.small - 1, 200.0))
    )
    np.testing.assert_allclose(Tracemill("numpy").program(row, (x,))(), expected, rtol=1e-10, atol=1e-10)


def test_every_value_that_can_be_differentiated_has_a_backward_row() -> None:
    forward = [name for name, row in ROWS.items() if row.task == "value"]
    assert [name for name, row in ROWS.items() if row.task == "backward"] == [
        f"{n}, backward" for n in forward
    ]


def test_a_price_is_that_of_the_textbook() -> None:
    price = workloads.black_scholes(np, np.array([100.0]), np.array([100.0]), np.array([1.0]))
    np.testing.assert_allclose(price, 12.82158, rtol=1e-6)


# ---- processes -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "caches").mkdir()
    return tmp_path / "caches"


def test_a_worker_prepares_a_row_and_takes_turns(folder: Path) -> None:
    worker = Worker(NumPy())
    answer = worker.answer(
        {"action": "prepare", "row": "gelu", "size": 5, "file": str(folder / "result.npz")}
    )
    assert answer["calls"] >= 1
    with np.load(folder / "result.npz") as arrays:
        np.testing.assert_allclose(
            arrays["arr_0"], workloads.gelu(np, *ROWS["gelu"].arguments(5)), rtol=1e-6, strict=True
        )
    assert worker.answer({"action": "time", "calls": 2})["seconds"] > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells a process its peak of memory")
def test_a_worker_knows_what_a_call_holds(folder: Path) -> None:
    with Contestant(PLAIN, threads=1, folder=folder) as plain:  # a process whose memory nothing else has used
        held = plain.ask("memory", row="gelu", size=1_000_000)["bytes"]
    assert 4e6 < held < 8 * 4e6  # the result, and a few temporary arrays


def test_a_worker_compiles_functions_of_any_length() -> None:
    assert Worker(Tracemill("numpy")).answer({"action": "compile", "nodes": 10})["seconds"] > 0


def test_what_goes_wrong_in_a_worker_is_an_answer() -> None:
    answer = Worker(Tracemill("fortran")).answer({"action": "compile", "nodes": 10})
    assert answer["problem"].startswith("BackendError: backend 'fortran'")


def test_a_race_compares_results_and_times_each_contestant(folder: Path) -> None:
    with (
        Contestant(PLAIN, threads=1, folder=folder) as plain,
        Contestant(NUMPY, threads=1, folder=folder) as ours,
        Contestant(OURS + "fortran", threads=1, folder=folder) as wrong,
    ):
        row = ROWS["softmax"]
        case = races.race(row, [plain, ours, wrong], rounds=3, table="rows", size=row.small)
    assert {name: len(values) for name, values in case.values.items()} == {PLAIN: 3, NUMPY: 3}
    assert case.problems.keys() == {OURS + "fortran"}
    assert case.group == row.group.name


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process and let it continue")
def test_beside_neighbours_tracemill_is_timed_without_them_too(folder: Path) -> None:
    with (
        Contestant(PLAIN, threads=1, folder=folder) as plain,
        Contestant(NUMPY, threads=1, folder=folder, modules=("json",)) as ours,
        Neighbours(1) as neighbours,
    ):
        row = ROWS["softmax"]
        case = races.race_beside(neighbours, row, [plain, ours], rounds=2, size=row.small)
    assert {name: len(values) for name, values in case.values.items()} == {PLAIN: 2, NUMPY: 2}
    assert {name: len(values) for name, values in case.idle.items()} == {NUMPY: 2}
    assert (case.table, case.group) == ("busy", row.group.name)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone shows what another process does")
def test_neighbours_compute_only_when_they_should() -> None:
    with Neighbours(2) as neighbours:
        files = [Path(f"/proc/{process.pid}/stat") for process in neighbours._processes]

        def wait_for(states: str) -> None:
            for _ in range(1000):
                if all(file.read_text().rsplit(")", 1)[1].split()[0] in states for file in files):
                    return
                time.sleep(0.01)
            pytest.fail(f"no state of {states}")

        wait_for("T")
        with neighbours.busy():
            wait_for("R")
        wait_for("T")
    assert not any(file.exists() for file in files)


@pytest.mark.slow
def test_a_process_that_ends_is_a_problem_and_the_next_request_starts_another(folder: Path) -> None:
    with Contestant("basic", threads=1, folder=folder) as contestant:
        assert contestant.ask("time", calls=1) == {"problem": "the process ended: KeyError: 'basic'"}
        assert contestant.ask("time", calls=1) == {"problem": "the process ended: KeyError: 'basic'"}


def test_a_process_that_takes_too_long_is_ended(folder: Path) -> None:
    with Contestant(NUMPY, threads=1, folder=folder, patience=0.01) as contestant:
        assert contestant.ask("compile", nodes=10) == {"problem": "no answer in 0 s"}


def test_results_that_differ_are_named() -> None:
    ones = [np.ones(3)]
    assert races.difference([np.ones(4)], ones) == "results of other shapes"
    assert races.difference([np.array([1.0, 1.0, np.nan])], ones).startswith("results differ by nan")
    assert (
        races.difference([np.array([1.0, 1.0, 1.1])], ones)
        == "results differ by 1.0e-01, where the largest is 1.0e+00"
    )
    assert races.difference([np.ones(3) + 1e-12], ones) == ""


def test_every_pool_has_as_many_threads(folder: Path) -> None:
    made = environment(3, folder)
    assert {made[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")} == {"3"}
    assert made["TRACEMILL_CACHE_DIR"].startswith(str(folder))


@pytest.mark.slow
def test_who_takes_too_long_to_compile_is_spared_larger_sizes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(races, "NODES", (10, 20))
    monkeypatch.setattr(races, "TOO_LONG", 0.0)
    with Contestant(NUMPY, threads=1, folder=folder) as ours:
        first, second = races.compile_times([ours], rounds=3)
    assert len(first.values[NUMPY]) == 1
    assert second.problems == {NUMPY: "fewer operations took too long"}


@pytest.mark.slow
def test_starts_are_measured_cold_and_warm(folder: Path) -> None:
    cold, warm = starts.starts([NUMPY, OURS + "fortran"], rounds=1, threads=1, folder=folder)
    assert warm.values[NUMPY] < cold.values[NUMPY]
    assert cold.problems[OURS + "fortran"].endswith("choose one of 'auto', 'c', 'numpy', 'triton'")


# ---- tables ----------------------------------------------------------------------------------------------------

CONTESTANTS = (PLAIN, C, NUMPY, "jax", "torch")


def case(name: str, group: str, **seconds: float) -> Case:
    names: dict[str, str] = dict(zip(("plain", "c", "numpy", "jax", "torch"), CONTESTANTS, strict=True))
    return Case(
        "rows", name, "", "s", group, values={names[key]: [3 * s, s, s / 3] for key, s in seconds.items()}
    )


CASES = [
    case("gelu", "elementwise, transcendental", plain=8e-3, c=1e-3, numpy=4e-3, jax=3e-3, torch=4e-3),
    case("prices", "elementwise, transcendental", plain=0.2, c=0.06, numpy=0.03, jax=0.12, torch=0.3),
    case("mlp", "matrix products", c=2e-3, numpy=2e-3, torch=1e-3),
]


def test_speedups_are_against_the_best_peer() -> None:
    assert [c.best_peer for c in CASES] == ["jax", "jax", "torch"]
    np.testing.assert_allclose([c.speedup(C) or 0.0 for c in CASES], [3.0, 2.0, 0.5])
    assert CASES[0].speedup("numba") is None
    assert replace(CASES[2], values={C: [1.0]}).speedup(C) is None


def test_a_table_has_a_line_per_group_and_per_case() -> None:
    assert cells(CASES, CONTESTANTS) == [
        ["", "as written", C, NUMPY, "jax", "torch", "best peer ÷ c", "best peer ÷ numpy"],
        ["elementwise, transcendental", "", "", "", "", "", "≥ 3×", "≥ 1×"],
        ["\xa0\xa0gelu", "8.00 ms", "1.00 ms", "4.00 ms", "3.00 ms", "4.00 ms", "3.00× met", "0.75× missed"],
        ["\xa0\xa0prices", "200 ms", "60.0 ms", "30.0 ms", "120 ms", "300 ms", "2.00× missed", "4.00× met"],
        ["matrix products", "", "", "", "", "", "≥ 1×", "≥ 1×"],
        ["\xa0\xa0mlp", "–", "2.00 ms", "2.00 ms", "–", "1.00 ms", "0.50× missed", "0.50× missed"],
    ]
    assert table_of(CASES, CONTESTANTS).row_count == 5


def test_beside_neighbours_a_table_has_other_goals_and_how_much_slower_tracemill_is() -> None:
    busy = replace(CASES[0], table="busy", idle={C: [5e-4, 4e-4, 6e-4]})
    header, group, line = cells([busy], (C, "jax"))
    assert header == ["", C, "jax", "best peer ÷ c", "c busy ÷ idle"]
    assert group == ["elementwise, transcendental", "", "", "≥ 3×", ""]
    assert line == ["\xa0\xa0gelu", "1.00 ms", "3.00 ms", "3.00× met", "2.00×"]
    assert [one.contestant for one in summaries([busy], [C, NUMPY])] == [C]


def test_who_took_no_part_has_no_column() -> None:
    compiled = [Case("compile", "10 nodes", "", "s", values={C: [1.0]}, problems={"torch": "no luck"})]
    assert cells(compiled, CONTESTANTS) == [["", C, "torch"], ["10 nodes", "1.00 s", "–"]]


def test_without_peers_there_are_no_ratios() -> None:
    alone = [Case("calls", "1 array", "", "s", values={PLAIN: [4e-7], NUMPY: [1.2e-6]})]
    assert markdown(alone, (PLAIN, NUMPY)) == (
        "|  | as written | tracemill numpy |\n| --- | ---: | ---: |\n| 1 array | 400 ns | 1.20 µs |\n"
    )


def test_ratios_to_the_functions_as_written_are_shown_if_asked_for() -> None:
    found = cells(CASES, (PLAIN, C, NUMPY), gains=True)
    assert found[0][-2:] == ["as written ÷ c", "as written ÷ numpy"]
    assert [line[-2:] for line in found[1:]] == [
        ["", ""],
        ["8.00×", "2.00×"],
        ["3.33×", "6.67×"],
        ["", ""],
        ["–", "–"],
    ]
    assert "as written ÷" not in str(cells(CASES, (PLAIN, C, NUMPY)))


def test_the_summary_beside_plain_numpy_is_of_all_rows_that_it_computes() -> None:
    slow = case("sums", "matrix products", plain=1e-3, numpy=4e-3)
    (summary,) = gains([*CASES, slow], [NUMPY])
    np.testing.assert_allclose(summary.mean, (2.0 * 20 / 3 * 0.25) ** (1 / 3))
    assert (summary.worst, summary.worst_row) == (0.25, "sums")
    assert (summary.met, summary.rows, summary.aim) == (2, 3, 1.0)
    assert list(gains(CASES[2:], [NUMPY])) == []


def test_a_summary_has_the_mean_the_worst_row_and_how_many_reach_the_aim() -> None:
    elementwise, _, products, _ = summaries(CASES, [C, NUMPY])
    np.testing.assert_allclose([elementwise.mean, elementwise.worst], [6**0.5, 2.0])
    assert (elementwise.worst_row, elementwise.met, elementwise.rows, elementwise.aim) == (
        "prices",
        1,
        2,
        3.0,
    )
    assert (products.group, products.met) == ("matrix products", 0)
    assert summary_table([elementwise]).row_count == 1


def test_every_row_belongs_to_a_group_with_aims_for_both_backends() -> None:
    assert all(set(GROUPS[row.group.name].aims) == {"c", "numpy"} for row in ALL_ROWS.values())


def test_reasons_for_missing_numbers_are_reported_once() -> None:
    cases = [Case("rows", name, "", "s", problems={"torch": "no luck"}) for name in ("gelu", "mlp")]
    assert problems_of(cases) == ["torch: no luck (gelu; mlp)"]


def test_amounts_have_three_digits() -> None:
    assert [amount(s, "s") for s in (12.3, 0.0456, 7.8e-6, 3e-9)] == [
        "12.3 s",
        "45.6 ms",
        "7.80 µs",
        "3.00 ns",
    ]
    assert [amount(b, "bytes") for b in (3 * 2.0**30, 2.0**20, 1500, 0)] == [
        "3.00 GiB",
        "1.00 MiB",
        "1.46 KiB",
        "0.00 B",
    ]


# ---- pictures --------------------------------------------------------------------------------------------------


class Axes:
    """The calls to matplotlib's axes."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.told.append((name, args))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Axes]:
    """The axes of every picture that is drawn, by a matplotlib that writes empty files."""
    axes: list[Axes] = []

    class Figure:
        def __init__(self, **options: Any) -> None:
            axes.append(Axes())

        def add_subplot(self) -> Axes:
            return axes[-1]

        def savefig(self, file: BinaryIO, format: str, **options: Any) -> None:
            file.write(format.encode())

    module = ModuleType("matplotlib.figure")
    module.Figure = Figure  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", module)
    return axes


def test_pictures_show_speedups_and_curves(drawn: list[Axes]) -> None:
    curve = [Case("compile", f"{n} nodes", "", "s", size=n, values={C: [n / 1000]}) for n in (10, 100)]
    found = pictures([*CASES, *curve], CONTESTANTS)
    assert found == {"speedups.svg": b"svg", "compile.svg": b"svg"}
    bars = [args for name, args in drawn[0].told if name == "barh"]
    np.testing.assert_allclose(bars[0][1], [2.0, 1.0, -0.5])  # from 1
    assert ("plot", ((10, 100), (0.01, 0.1))) in drawn[1].told


def test_nothing_is_drawn_of_nothing(drawn: list[Axes]) -> None:
    assert pictures([], CONTESTANTS) == {}


# ---- the command -----------------------------------------------------------------------------------------------


def test_the_command_prints_and_writes_what_it_measured(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TREE))  # its processes start in another folder
    ran = terminal.run(
        *("bench", "suite", "--vs", "numpy", "--table", "calls", "--backend", "numpy", "--rounds", "1"),
        *("--threads", "1"),
        *("--json", "found.json", "--markdown", "found.md"),
    )
    assert (ran.status, ran.err) == (0, "")
    document = json.loads(Path("found.json").read_text())
    assert [case["name"] for case in document["cases"]] == list(CALLS)
    assert all(case["medians"].keys() == {PLAIN, NUMPY} for case in document["cases"])
    assert document["versions"][NUMPY]
    assert document["machine"] in ran.out
    assert document["machine"] in Path("found.md").read_text()
    assert "| 4 arrays |" in Path("found.md").read_text()
    assert "| as written ÷ numpy |" in Path("found.md").read_text()


def test_a_peer_that_is_missing_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    monkeypatch.setattr(bench_suite_command, "is_installed", lambda name: name not in {"jax", "torch"})
    measured: list[tuple[str, ...]] = []

    def measure(table: str, field: bench_suite_command.Field) -> list[Case]:
        measured.append(field.contestants)
        return []

    monkeypatch.setattr(bench_suite_command, "_measure", measure)
    ran = terminal.run("bench", "suite", "--vs", "jax", "--vs", "torch", "--table", "rows")
    assert (ran.status, ran.err) == (0, "")
    for peer in ("jax", "torch"):
        assert f"{peer} is not installed, so it takes no part: pip install 'tracemill[bench]'" in ran.out
    assert measured == [(PLAIN, C, NUMPY)]


def test_rows_are_chosen_by_how_their_names_start() -> None:
    chosen = bench_suite_command._rows_that_start_with(("softmax", "nearest, b"), ROWS)
    assert chosen == ("softmax", "softmax, backward", "nearest, backward")
    assert bench_suite_command._rows_that_start_with((), ROWS) == tuple(ROWS)
    with pytest.raises(
        click.BadParameter, match="no row starts with 'sofmax': choose of gelu, black_scholes"
    ):
        bench_suite_command._rows_that_start_with(("sofmax",), ROWS)


def test_a_module_to_import_must_be_installed(terminal: Terminal) -> None:
    ran = terminal.run("bench", "suite", "--import", "no_such_module")
    assert ran.status == 2
    assert "no module is named 'no_such_module'" in ran.err


def test_pictures_without_matplotlib_are_refused(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setattr(bench_suite_command, "find_spec", lambda name: None)
    ran = terminal.run("bench", "suite", "--plots", "pictures")
    assert ran.status == 2
    assert "--plots needs matplotlib: pip install 'tracemill[bench]'" in ran.err
