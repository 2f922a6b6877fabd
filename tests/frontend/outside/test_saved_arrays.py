"""Functions that save computed arrays, or make texts and bytes of them: they run uncompiled, with a warning."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, RecompileWarning, SideEffectError

X = np.array([1.0, 2.0, 3.0])


def saved(x: Any, path: Any) -> Any:
    np.save(path, x * 2)
    return np.load(path) + x


def saved_as_text(x: Any, path: Any) -> Any:
    np.savetxt(path, x * 2)
    return np.loadtxt(path) + x


def saved_together(x: Any, path: Any) -> Any:
    np.savez(path, a=x * 2, b=x)
    with np.load(path) as found:
        return found["a"] + x


def saved_compressed(x: Any, path: Any) -> Any:
    np.savez_compressed(path, x * 2)
    with np.load(path) as found:
        return found["arr_0"] + x


def in_a_file(x: Any, path: Any) -> Any:
    (x * 2).tofile(path)
    return np.fromfile(path) + x


def as_json(x: Any, path: Any) -> Any:
    with open(path, "w") as file:
        json.dump({"sum": float(x.sum())}, file)
    with open(path) as file:
        return json.load(file)["sum"] * x


def saved_in_a_branch(x: Any, path: Any) -> Any:
    y = x * 2
    if y.sum() > 0:
        np.savetxt(path, y)
    return np.loadtxt(path) + x


def written_to_a_stream(x: Any, path: Any) -> Any:
    stream = io.StringIO()
    np.savetxt(stream, x * 2, fmt="%.2f")
    return stream.getvalue()


SAVING = (
    saved,
    saved_as_text,
    saved_together,
    saved_compressed,
    in_a_file,
    as_json,
    saved_in_a_branch,
    written_to_a_stream,
)

TEXTS: dict[str, Callable[[Any], Any]] = {
    "json": lambda x: json.dumps({"all": (x * 2).tolist(), "sum": float(x.sum())}),
    "json in a list": lambda x: json.dumps([float(v) for v in x * 2]),
    "array2string": lambda x: np.array2string(x * 2, precision=3),
    "array_repr": lambda x: np.array_repr(x * 2),
    "tobytes": lambda x: (x * 2).tobytes(),
    "pickle": lambda x: pickle.dumps(x * 2),
    "dumps": lambda x: (x * 2).dumps(),
}


def name_of(function: Callable[..., Any]) -> str:
    """A file name to which NumPy adds no other ending."""
    return "a.npz" if function in (saved_together, saved_compressed) else "a.npy"


def outcome(function: Callable[..., Any], *given: Any) -> str:
    return repr(function(*given))


@pytest.mark.parametrize("function", SAVING)
def test_a_function_that_saves_arrays_does_so_in_each_call(
    function: Callable[[Any, Any], Any], tmp_path: Path
) -> None:
    path = tmp_path / name_of(function)
    compiled = tm.compile(function)
    with pytest.warns(RecompileWarning, match=r"runs uncompiled: .* at test_saved_arrays\.py:\d+"):
        found = [outcome(compiled, X + i, str(path)) for i in range(3)]
    assert found == [outcome(function, X + i, str(path)) for i in range(3)]


@pytest.mark.parametrize("name", TEXTS)
def test_a_function_that_makes_texts_of_arrays_runs_uncompiled(name: str) -> None:
    function = TEXTS[name]
    compiled = tm.compile(function)
    with pytest.warns(RecompileWarning, match=r"runs uncompiled: .* at test_saved_arrays\.py:\d+"):
        found = [compiled(X + i) for i in range(3)]
    assert found == [function(X + i) for i in range(3)]


@pytest.mark.parametrize("function", SAVING)
def test_a_derivative_that_runs_the_function_saves_its_values(
    function: Callable[[Any, Any], Any], tmp_path: Path
) -> None:
    path = str(tmp_path / name_of(function))

    def loss(x: Any) -> Any:
        function(x, path)
        return (x * x).sum()

    np.testing.assert_array_equal(tm.grad(loss)(X), 2 * X)
    if function is not written_to_a_stream:
        found = Path(path).read_bytes()
        Path(path).unlink()
        function(X, path)
        assert len(found) == len(Path(path).read_bytes())
        if function not in (saved_together, saved_compressed):  # these contain the time
            assert found == Path(path).read_bytes()


def test_a_derivative_knows_texts_but_refuses_bytes() -> None:
    def loss(x: Any) -> Any:
        return (x * x).sum(), (json.dumps({"sum": float(x.sum())}), np.array2string(x))

    (_, texts), _ = tm.value_and_grad(loss, has_aux=True)(X)
    assert texts == ('{"sum": 6.0}', "[1. 2. 3.]")
    with pytest.raises(ConcretizationError, match=r"x\.tobytes\(\) .* the derivative"):
        tm.grad(lambda x: np.frombuffer((x * 2).tobytes()).sum())(X)


def test_a_batch_and_an_export_refuse_to_save(tmp_path: Path) -> None:
    path = str(tmp_path / "a.npy")
    with pytest.raises(SideEffectError, match=r"saves an array at test_saved_arrays\.py:\d+"):
        tm.vmap(lambda x: saved(x, path))(np.ones((2, 3)))
    with pytest.raises(SideEffectError, match="saves an array"):
        tm.export(lambda x: saved(x, path), X)
    with pytest.raises(ConcretizationError, match=r"(\n|.)*at test_saved_arrays\.py:\d+"):
        tm.vmap(TEXTS["json"])(np.ones((2, 3)))
    assert not Path(path).exists()
