"""Artifacts for arrays of any size: what is exported, what is checked in files and in calls, and what is computed."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.dtypes import Array
from tracemill.runtime.artifact import saving
from tracemill.runtime.artifact.verification import verified
from tracemill.runtime.bundle.manifest import MANIFEST, manifest_id
from tracemill.runtime.programs.built import statistics

WEIGHTS = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def predict(x: Any, temperature: float = 2.0) -> Any:
    scores = x @ WEIGHTS / temperature
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def of_rows(count: int) -> Array:
    return np.random.default_rng(count).normal(size=(count, 4))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tm.export(predict, "x: f64[B, 4]", constraints="B in 1..64").save(tmp_path / "p.tmill")


@pytest.mark.usefixtures("c_compiler")
def test_what_is_exported_for_c_is_in_the_disk_cache_for_all_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    file = tm.export(predict, "x: f64[B, 4]", constraints="B in 1..64", targets="cpu-c").save(
        tmp_path / "p.tmill"
    )
    for rows in (1, 64, 7):
        compiled, from_disk = statistics.compiled, statistics.from_disk
        loaded = tm.load(file, backend="c")
        np.testing.assert_allclose(loaded(of_rows(rows)), predict(of_rows(rows)), rtol=1e-12)
        assert (statistics.compiled, statistics.from_disk) == (compiled, from_disk + 1)
    with pytest.raises(tm.errors.DimMismatchError, match=r"B in 1\.\.64"):
        loaded(of_rows(65))


@pytest.mark.usefixtures("c_compiler")
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_one_program_serves_all_sizes_of_a_file(file: Path, backend: str) -> None:
    loaded = tm.load(file, backend=backend)
    for rows in (1, 3, 64, 17):
        np.testing.assert_allclose(loaded(of_rows(rows)), predict(of_rows(rows)), rtol=1e-12)
    assert len(loaded.signatures()) == 1


def test_what_is_loaded_can_be_transformed_for_any_size(file: Path) -> None:
    loaded = tm.load(file, backend="numpy")

    def loss(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: np.sum(function(x) ** 2)

    compiled = tm.compile(tm.grad(loss(loaded)), backend="numpy", dynamic={"x": "[B, 4]"})
    for rows in (2, 5):
        x = of_rows(rows)
        np.testing.assert_allclose(tm.grad(loss(loaded))(x), tm.grad(loss(predict))(x), rtol=1e-12)
        np.testing.assert_allclose(compiled(x), tm.grad(loss(predict))(x), rtol=1e-12)
        batch = np.stack([x, -x])
        np.testing.assert_allclose(tm.vmap(loaded)(batch), tm.vmap(predict)(batch), rtol=1e-12)


def paired(x: Any, y: Any) -> Any:
    return (x[:, None] * y[: x.shape[0]]).sum(axis=0)


PAIRED = ("x: f64[A]", "y: f64[B]")
RELATED = ("A <= B", "A % 2 == 0", "B in 1..100")


def test_functions_of_what_is_loaded_take_its_constraints_over() -> None:
    """One program works for all sizes of a caller, even under other names, if the file allows them."""
    loaded = tm.export(paired, *PAIRED, constraints=RELATED).function(backend="numpy")
    compiled = tm.compile(tm.grad(lambda x, y: loaded(x, y).sum()), backend="numpy", on_recompile="error")
    for a, b in ((2, 3), (4, 6), (8, 9), (40, 40)):
        x, y = np.linspace(0.0, 1.0, a), np.linspace(-1.0, 1.0, b)
        np.testing.assert_allclose(compiled(x, y), np.full(a, y[:a].sum()), rtol=1e-12, atol=1e-12)
    first, second = map(str, compiled.signatures())
    assert first == "args[0]: f64[2], args[1]: f64[3]"
    assert second.endswith("and x_0 % 2 == 0 and y_0 <= 100 and x_0 <= y_0")
    again = tm.export(tm.vmap(loaded), "f64[N, 2*P]", "f64[N, 2*P + 1]", constraints="P in 1..9").function()
    np.testing.assert_allclose(again(np.ones((3, 4)), np.ones((3, 5))), np.full((3, 4), 4.0))
    for constraints, missing in (
        (RELATED[1:], "A <= B"),
        (RELATED[:2], "B >= 1"),
        (RELATED[::2], "A % 2 == 0"),
    ):
        with pytest.raises(tm.errors.UndecidedDimError, match=f'Add the constraint "{missing}"'):
            tm.export(loaded, *PAIRED, constraints=constraints)


def test_a_size_that_a_constraint_alone_names_is_read_and_checked(tmp_path: Path) -> None:
    artifact = tm.export(lambda x: x.reshape(2, -1), "x: f64[A]", constraints="A == 2*H")
    loaded = artifact.function(backend="numpy")
    file = artifact.save(tmp_path / "halved.py", format="python")
    names: dict[str, Any] = {"__name__": "halved"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    for function in (loaded, names["function"]):
        assert function(np.ones(6)).shape == (2, 3)
    with pytest.raises(tm.errors.DimMismatchError, match=r"A == 2\*H holds for no H in this call with A = 5"):
        loaded(np.ones(5))
    with pytest.raises(ValueError, match=r"expected arrays with A == 2\*H, found A = 5, H = 2"):
        names["function"](np.ones(5))


def test_a_call_outside_of_what_is_declared_is_refused_by_name(file: Path) -> None:
    loaded = tm.load(file, backend="numpy")
    for rows in (0, 65):
        with pytest.raises(
            tm.errors.DimMismatchError, match=rf"predict: axis 0 of x: dim B is {rows}.*B in 1..64"
        ):
            loaded(of_rows(rows))
    with pytest.raises(tm.errors.ArgumentMismatchError, match=r"x is f64\[3, 5\].*exported for f64\[B, 4\]"):
        loaded(np.ones((3, 5)))


def test_relations_between_sizes_are_kept_and_checked(tmp_path: Path) -> None:
    artifact = tm.export(
        lambda x, y: x + y[: x.shape[0]], "x: f64[A]", "y: f64[2*B]", constraints=["A <= B", "B >= 1"]
    )
    assert str(artifact) == "function(x: f64[A], y: f64[2*B]) -> f64[A] where A <= B and B >= 1"
    loaded = tm.load(artifact.save(tmp_path / "f.tmill"), backend="numpy")
    np.testing.assert_array_equal(loaded(np.ones(2), np.arange(6.0)), [1.0, 2.0])
    with pytest.raises(tm.errors.DimMismatchError, match=r"A <= B.*A = 4, B = 3"):
        loaded(np.ones(4), np.ones(6))
    with pytest.raises(tm.errors.DimMismatchError, match=r"y is 5, which is not of the form 2\*B"):
        loaded(np.ones(2), np.ones(5))


A, B = tm.Dim("A", min=1), tm.Dim("B", max=64)


@pytest.mark.parametrize("constraints", [A <= B, [A <= B], (A <= B, "A in 1..", "B % 2 == 0")])
def test_constraints_may_be_comparisons_of_dims_with_limits_of_their_own(constraints: Any) -> None:
    loaded = tm.export(
        lambda x, y: x / len(x) + y[: len(x)], "x: f64[A]", "y: f64[B]", constraints=constraints
    ).function(backend="numpy")
    np.testing.assert_array_equal(loaded(np.ones(2), np.arange(6.0)), [0.5, 1.5])
    for a, b in [(0, 2), (4, 2), (2, 66)]:
        with pytest.raises(tm.errors.DimMismatchError):
            loaded(np.ones(a), np.ones(b))


def test_all_checks_of_a_file_pass(file: Path) -> None:
    checks = list(verified(file))
    assert all(check.is_good for check in checks)
    assert "B = 64" in checks[-1].found


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a size of no argument": ({"constraints": "C in 1..9"}, tm.errors.DimSpecError, "'C'"),
    "a comparison of none": ({"constraints": "B <= C"}, tm.errors.UndeterminedDimError, "dim C"),
    "a dim": ({"constraints": B}, tm.errors.DimSpecError, "the dim B itself: write 'B in 1..4096'"),
    "a truth": ({"constraints": [B >= 0, True]}, tm.errors.DimSpecError, "not True, which says nothing"),
    "a number": ({"constraints": ["B >= 1", 3]}, tm.errors.DimSpecError, "a comparison of dims, .* not 3"),
    "two dims of a name": (
        {"constraints": [B >= 1, tm.Dim("B") <= 9]},
        tm.errors.ContradictoryConstraintsError,
        "two dims with different limits are called B",
    ),
    "no constraint": ({"constraints": "B <"}, tm.errors.DimSpecError, "B <"),
    "a contradiction": (
        {"constraints": ("B in 1..9", "B >= 10")},
        tm.errors.ContradictoryConstraintsError,
        "B >= 10",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_exported_is_refused(name: str) -> None:
    options, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        tm.export(predict, "x: f64[B, 4]", **options)


def test_what_the_function_asks_of_sizes_must_be_declared() -> None:
    with pytest.raises(tm.errors.UndecidedDimError, match="B == C") as raised:
        tm.export(lambda x, y: x + y, "f64[B]", "f64[C]")
    assert raised.value.location is not None
    assert "test_named_sizes" in raised.value.location.file
    with pytest.raises(tm.errors.UndeterminedDimError, match=r"B\*C"):
        tm.export(lambda x: x, "f64[B*C]")


def test_c_that_would_be_for_some_sizes_only_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asking(program: Any, *_: Any, **__: Any) -> dict[str, str]:
        return {"p.c": "short" if program.graph.inputs[0].shape[0] < 9 else "long"}

    monkeypatch.setattr(saving, "as_c", asking)
    artifact = tm.export(predict, "x: f64[B, 4]")
    with pytest.raises(
        tm.errors.ExportError, match="predict cannot be written as C for all sizes, only where B >= 9"
    ):
        artifact.save(tmp_path / "p", format="c")
    assert not list(tmp_path.iterdir())


def halves(x: Any, y: Any, B: int = 2) -> Any:
    n = x.shape[0]
    return x[: n // 2] * y[0, 0] + np.arange(n // 2) / n, y.reshape(-1, B)


def test_a_python_file_reads_and_checks_sizes_by_their_names(tmp_path: Path) -> None:
    constraints = ["K <= B", "B % 4 == 0", "B >= 1", "K >= 1"]
    artifact = tm.export(halves, "x: f64[2*K + 1]", "y: f64[B, 16]", constraints=constraints)
    file = artifact.save(tmp_path / "halves.py", format="python")
    names: dict[str, Any] = {"__name__": "halves"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    made = names["halves"]
    for k, b in ((1, 4), (4, 4), (5, 8)):
        x, y = np.linspace(0.0, 1.0, 2 * k + 1), np.linspace(-1.0, 1.0, 16 * b).reshape(b, 16)
        for found, expected in zip(made(x, y), halves(x, y), strict=True):
            np.testing.assert_array_equal(found, expected)
    for shapes, message in (
        (((4,), (4, 16)), r"expected arrays with x.shape\[0\] == 2\*K \+ 1, found K = 1"),
        (((11,), (4, 16)), "expected arrays with B >= K, found K = 5, B = 4"),
        (((3,), (6, 16)), "expected arrays with B % 4 == 0, found B = 6"),
        (((3,), (4, 15)), r"y: expected an array of shape \(None, 16\), found \(4, 15\)"),
    ):
        with pytest.raises(ValueError, match=message):
            made(*map(np.ones, shapes))
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("ok:")


DAMAGED: dict[str, Any] = {
    "of another size": ["B in 1..32"],
    "more than is read": ["B in 1..64", *(f"B >= {number}" for number in range(80))],
    "no facts": ["B in 1..64 or so"],
    "of no argument": ["B in 1..64", "C in 1..64"],
    "a contradiction": ["B in 1..64", "B >= 65"],
    "no texts": [1],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_facts_are_refused(name: str, file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    manifest = json.loads(members[MANIFEST]) | {"sizes": DAMAGED[name]}
    members[MANIFEST] = json.dumps(manifest | {"id": manifest_id(manifest)}).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    with pytest.raises(tm.errors.ArtifactError):
        tm.load(file)
