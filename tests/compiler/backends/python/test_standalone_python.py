"""Exported Python files: they need NumPy alone, look like the user's functions, and give the NumPy backend's bits."""

import collections
import dataclasses
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import tracemill as tm
from samples.table import SAMPLES, samples_of
from samples.thinning import some_of
from support.exported_python import export_python, module, saved
from support.recording import assert_same
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.backends.python.standalone.traced_function import TracedFunction
from tracemill.compiler.errors import ExportError
from tracemill.compiler.frontend.program import Argument, ArrayOutput, Program
from tracemill.compiler.ir import Graph
from tracemill.compiler.op import has_effect
from tracemill.passes.lowering.collect_checks import has_checks
from tracemill.runtime.artifact.python_export import as_python
from tracemill.runtime.programs.canonicalize import inline_user_rules
from tracemill.runtime.programs.load_module import load_module
from tracemill.runtime.programs.optimize import optimize_in_stages

ALONE = Path(__file__).parents[3] / "support" / "alone.py"
F32 = np.float32


@pytest.fixture
def exported(tmp_path: Path) -> Callable[..., Any]:
    """``exported(function, *args)``: the function of its file."""

    def export(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        files = export_python(function, *args, **kwargs)
        made = module(files, tmp_path)
        return getattr(made, made.__name__)

    return export


def run_alone(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", "-W", "error", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# ---- alone -------------------------------------------------------------------------------------------

WEIGHTS = np.random.default_rng(0).normal(size=(40, 30)).astype(F32)
BLOCKS = np.random.default_rng(1).normal(size=(600, 500))


def layers(x: Any) -> Any:
    return np.tanh(x @ WEIGHTS) @ WEIGHTS.T, np.sort(x, axis=0), np.linalg.eigh(x @ x.T)[0], np.fft.fft(x)


def large(x: Any) -> Any:
    return x @ BLOCKS + np.arange(500.0)


def loops(x: Any) -> Any:
    total, rows = tm.scan(lambda total, row: (total + row, np.cumsum(total)), x[0], x)
    halved = tm.while_loop(lambda y: np.sum(y) > 1.0, lambda y: y / 2, np.abs(total))
    return total, rows, halved, np.linalg.inv(np.eye(5) + x[:, :5] @ x[:, :5].T)


def tiles(x: Any) -> Any:
    return np.exp(-(np.sin(x) ** 2)) / (1 + np.abs(x))


def narrow(x: Any) -> Any:
    return x * x + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (layers, np.linspace(-1, 1, 200, dtype=F32).reshape(5, 40)),
        (large, np.linspace(-1, 1, 3600).reshape(6, 600)),
        (loops, np.linspace(-1, 1, 50).reshape(5, 10)),
        (tiles, np.linspace(-3, 3, 1 << 18).reshape(512, 512)),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_a_file_gives_what_the_numpy_backend_gives_where_there_is_only_numpy(
    function: Callable[..., Any], argument: Any, tmp_path: Path
) -> None:
    expected = tm.compile(function, backend="numpy")(argument)
    results = expected if isinstance(expected, tuple) else (expected,)
    part = tmp_path / "all" / function.__name__
    file = saved(export_python(function, argument), part)
    stored = {f"out{i}": x for i, x in enumerate(results)}
    # One result is returned bare: as a tuple it would have an axis more.
    if not isinstance(expected, tuple):
        file.write_text(file.read_text().replace("    return out[0]", "    return (out[0],)"))
    np.savez(part / "arrays.npz", allow_pickle=False, in0=argument, **stored)
    run = run_alone(ALONE, tmp_path / "all")
    assert (run.stdout, run.stderr) == ("done\n", "")
    check = run_alone(file)
    assert check.stdout.startswith("ok: max difference "), check.stdout + check.stderr


def test_bfloat16_asks_for_the_package_that_has_it_by_name(tmp_path: Path) -> None:
    import ml_dtypes

    x = np.arange(4).astype(ml_dtypes.bfloat16)
    files = export_python(narrow, x)
    made = module(files, tmp_path)
    assert_same([made.narrow(x)], [narrow(x)])
    part = tmp_path / "all" / "narrow"
    saved(files, part)
    np.savez(part / "arrays.npz", allow_pickle=False)
    run = run_alone(ALONE, tmp_path / "all")
    assert "narrow computes with bfloat16, which NumPy lacks: pip install ml_dtypes" in run.stderr


def test_importing_a_file_imports_nothing_that_numpy_has_not(tmp_path: Path) -> None:
    x = np.linspace(-3, 3, 1 << 18).reshape(512, 512)
    file = saved(export_python(lambda x, y: (tiles(x), layers(y)[0]), x, x[:5, :40].astype(F32)), tmp_path)
    script = (
        f"import sys, numpy; sys.path.insert(0, {str(tmp_path)!r}); before = set(sys.modules)\n"
        f"import {file.stem}; print(*sorted(set(sys.modules) - before))"
    )
    run = run_alone("-c", script)
    assert run.stdout.split() == [file.stem], run.stderr


# ---- the user's function -------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any


def model(params: Any, x: Any, mode: str = "mean", *, scale: float = 2.0, mask: Any = None) -> Any:
    r"""The model's "loss": all in one place.

    \alpha is not an escape.
    """
    total = getattr(np, mode)(x @ params["w"][0] + params["w"][1])
    return {"loss": total * scale, "twice": [2 * scale, Pair(x.sum(0), (None, "text", 3))]}


def test_parameters_defaults_and_docstring_are_the_users(exported: Callable[..., Any]) -> None:
    params = {"w": (np.ones((3, 2), F32), np.zeros(2, F32))}
    x = np.ones((4, 3), F32)
    got = exported(model, params, x, scale=0.5)
    assert inspect.getdoc(got) == inspect.getdoc(model)
    assert str(inspect.signature(got)) == "(params, x, mode='mean', *, scale=2.0, mask=None)"
    for call in (
        partial(got, params, x),
        partial(got, params=params, x=x, mode="mean"),
        partial(got, params, x, scale=3),
    ):
        result, expected = call(), model(*call.args, **call.keywords)
        assert optree.tree_structure(result["loss"]) == optree.tree_structure(expected["loss"])
        assert result["loss"] == expected["loss"]
        assert type(result["loss"]) is type(expected["loss"])
        twice, pair = result["twice"]
        assert (type(twice), twice) == (float, float(expected["twice"][0]))
        assert (type(pair).__name__, pair._fields, pair[1]) == ("Pair", Pair._fields, (None, "text", 3))
        np.testing.assert_array_equal(pair.first, expected["twice"][1].first)


GOOD: dict[str, Any] = {
    "params": {"w": (np.ones((3, 2), F32), np.zeros(2, F32))},
    "x": np.ones((4, 3), F32),
    "scale": 1.0,
}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"x": np.ones((4, 3))}, TypeError, "x: expected an array of float32, found float64"),
        ({"x": np.ones((5, 3), F32)}, ValueError, "x: expected an array of shape (4, 3), found (5, 3)"),
        ({"x": [1.0]}, TypeError, "x: expected an array of NumPy, found list"),
        ({"params": {"v": 1}}, ValueError, "params: missing keys ['w'], unknown keys ['v']"),
        ({"params": [1]}, TypeError, "params: expected a dict, found list"),
        ({"params": {"w": [1, 2]}}, TypeError, 'params["w"]: expected a tuple, found list'),
        ({"params": {"w": (1, 2, 3)}}, ValueError, 'params["w"]: expected 2 items, found 3'),
        ({"params": {"w": (np.ones((3, 2), F32), 1)}}, TypeError, 'params["w"][1]: expected an array of NumPy'),
        ({"scale": np.float32(2)}, TypeError, "scale: expected a Python float, found float32"),
        ({"scale": True}, TypeError, "scale: expected a Python float, found bool"),
        ({"scale": 10**400}, ValueError, "scale: 1000"),
        ({"mode": "sum"}, ValueError, "mode: this file was made for 'mean', found 'sum'"),
        ({"mask": 1}, ValueError, "mask: this file was made for None, found 1"),
        ({"other": 1}, TypeError, "model() got an unexpected keyword argument 'other'"),
    ],
    ids=lambda x: "-".join(x) if isinstance(x, dict) else "",
)  # fmt: skip
def test_wrong_arguments_are_refused_by_name_in_one_line(
    exported: Callable[..., Any], changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    got = exported(model, **GOOD)
    with pytest.raises(error) as caught:
        got(**{**GOOD, **changed})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def shapeless(x: Any, np_: Any, *rest: Any, **named: Any) -> Any:
    return [x, np_ * rest[0] + rest[1], collections.OrderedDict(named), named["k"] + 1]


def test_stars_scalars_and_arrays_without_axes_stay_what_they_are(exported: Callable[..., Any]) -> None:
    arguments = [np.array(2.0), np.float32(3), 4, np.ones(2)]
    got = exported(shapeless, *arguments, k=np.int8(5))
    assert str(inspect.signature(got)) == "(x, np_, *rest, **named)"
    result, expected = got(*arguments, k=np.int8(5)), shapeless(*arguments, k=np.int8(5))
    assert type(result[0]) is np.ndarray
    assert type(result[2]) is collections.OrderedDict
    assert_same(optree.tree_leaves(result), optree.tree_leaves(expected))
    with pytest.raises(ValueError, match="rest: expected 2 items, found 1"):
        got(*arguments[:-1], k=np.int8(5))
    with pytest.raises(ValueError, match=r"named: missing keys \[\], unknown keys \['j'\]"):
        got(*arguments, k=np.int8(5), j=1)
    with pytest.raises(TypeError, match="np_: expected a number float32 of NumPy, found float64"):
        got(arguments[0], np.float64(3), *arguments[2:], k=np.int8(5))


def keywords(x: Any, *, scale: Any = 2.0, off: Any) -> Any:
    return x * scale + off


def behind_a_setting(x: Any, kind: Any, y: Any, *rest: Any) -> Any:
    return kind(x / y) - rest[0]


def test_parameters_may_have_another_order_than_the_inputs_of_the_graph(
    exported: Callable[..., Any],
) -> None:
    x, y = np.arange(3.0), np.ones(3)
    assert_same(exported(keywords, x, scale=3.0, off=y)(x, scale=3.0, off=y), keywords(x, scale=3.0, off=y))
    got = exported(behind_a_setting, x, np.tanh, y + 1, y)
    assert str(inspect.signature(got)) == "(x, *rest, y)"
    assert_same(got(x, y, y=y + 1), behind_a_setting(x, np.tanh, y + 1, y))


def in_an_order(x: Any) -> Any:
    return {"loss": x * 3, "below": [{"z": x + 1, "y": (x, {"d": 5, "c": x * 2})}], "accuracy": None}


def test_dicts_are_returned_in_the_order_in_which_the_function_makes_them(
    exported: Callable[..., Any],
) -> None:
    x = np.ones(2)
    assert repr(exported(in_an_order, x)(x)) == repr(in_an_order(x))


def awkward(np: Any, array: Any, tuple: Any, out: Any, load: Any, l: Any, statements: Any) -> Any:  # noqa: E741
    return [np + array, tuple[0] * out @ WEIGHTS, load - l, statements]


def test_names_of_the_users_never_collide_with_those_of_the_file(
    exported: Callable[..., Any], tmp_path: Path
) -> None:
    arguments = [np.ones(3), np.ones(3), (np.ones(40, F32),), np.full(40, 2, F32), *(np.ones(2),) * 3]
    got = exported(awkward, *arguments)
    assert inspect.signature(got).parameters.keys() == inspect.signature(awkward).parameters.keys()
    assert_same(got(*arguments), awkward(*arguments))
    lint(tmp_path)


def step(state: Any, x: Any) -> Any:
    state["w"] -= 0.5 * x
    state["n"][...] = state["n"] + 1
    return state["w"].sum()


def test_arguments_that_the_function_writes_to_are_written_to(exported: Callable[..., Any]) -> None:
    def state() -> dict[str, Any]:
        return {"w": np.ones(3), "n": np.array(0)}

    got = exported(step, state(), np.ones(3))
    ours, theirs = state(), state()
    for _ in range(2):
        assert got(ours, np.arange(3.0)) == step(theirs, np.arange(3.0))
    assert_same(list(ours.values()), list(theirs.values()))
    with pytest.raises(
        ValueError, match=r"state\[\"w\"\]: the function writes to it, and x shares its memory"
    ):
        got(ours, ours["w"])
    ours["w"].flags.writeable = False
    with pytest.raises(ValueError, match=r"state\[\"w\"\]: the function writes to it, and it is read-only"):
        got(ours, np.arange(3.0))


def test_settings_without_a_literal_are_left_out(exported: Callable[..., Any]) -> None:
    def activated(x: Any, activation: Any, y: Any) -> Any:
        return activation(x) + y

    got = exported(partial(activated, activation=np.tanh), np.ones(3), y=np.ones(3))
    assert str(inspect.signature(got)) == "(x, *, y)"
    assert_same([got(np.ones(3), y=np.zeros(3))], [np.tanh(np.ones(3))])


def test_transforms_and_functions_without_a_signature_can_be_exported(
    exported: Callable[..., Any], tmp_path: Path
) -> None:
    gradient = exported(tm.grad(lambda w, x: np.sum(np.sin(w * x))), np.ones(3), np.ones(3))
    assert str(inspect.signature(gradient)) == "(w, x)"
    assert_same([gradient(np.zeros(3), np.arange(3.0))], [np.arange(3.0)])
    graph = samples_of("hypot")[0].graph()
    made = module(as_python(TracedFunction(*program_of(graph))), tmp_path)
    assert str(inspect.signature(made.hypot)) == "(x1, x2, /)"


# ---- what cannot be exported ---------------------------------------------------------------------------


@tm.register_dataclass
@dataclasses.dataclass
class Point:
    x: Any


@pytest.mark.parametrize(
    ("function", "argument", "message"),
    [
        (lambda x: tm.pure_callback(np.sinc, np.float64, x), 1.0, "a callback of sinc cannot be exported as Python"),
        (lambda p: p.x, Point(np.ones(2)), "p is a Point, a class that the file cannot know"),
        (lambda x: [Point(x)], np.ones(2), "the result holds a Point, a class that the file cannot know"),
        (lambda x: (x, print), np.ones(2), "the result holds <built-in function print>, which Python has no literal"),
        (lambda x: x[0], [np.ones(2), print], r"x\[1\] is the setting <built-in function print>"),
    ],
)  # fmt: skip
def test_what_a_file_cannot_hold_is_refused_by_name(function: Any, argument: Any, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        export_python(function, argument)


def test_a_file_beside_that_is_of_another_export_is_refused(tmp_path: Path) -> None:
    x = np.ones((6, 600))
    made = module(export_python(large, x), tmp_path)
    np.savez(tmp_path / "large.npz", allow_pickle=False, constant_1=np.ones(3))
    with pytest.raises(ValueError, match=r"large\.npz belongs to another export than "):
        made.large(x)
    (tmp_path / "large.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"large\.npz"):
        made.large(x)


# ---- the text ------------------------------------------------------------------------------------------


def lint(folder: Path) -> None:
    for command in (["check"], ["format", "--diff", "--line-length=110"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", str(folder)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout


def test_the_text_is_what_linter_and_formatter_want_and_the_same_each_time(tmp_path: Path) -> None:
    x = np.linspace(-3, 3, 1 << 18).reshape(512, 512)
    examples: list[tuple[Callable[..., Any], list[Any]]] = [
        (model, [GOOD["params"], GOOD["x"]]),
        (layers, [np.ones((5, 40), F32)]),
        (large, [np.ones((6, 600))]),
        (loops, [np.ones((5, 10))]),
        (tiles, [x]),
        (step, [{"w": np.ones(3), "n": np.array(0)}, np.ones(3)]),
        (shapeless, [np.array(2.0), np.float32(3), 4, np.ones(2)]),
    ]
    for function, args in examples:
        named = {"k": np.int8(5)} if function is shapeless else {}
        files = export_python(function, *args, **named)
        assert files == export_python(function, *args, **named)
        saved(files, tmp_path)
    lint(tmp_path)


def test_weights_that_are_used_transposed_are_stored_once() -> None:
    text = export_python(layers, np.ones((5, 40), F32))["layers.py"]
    assert isinstance(text, str)
    assert text.count("_packed = ") == 1


# ---- every op ------------------------------------------------------------------------------------------


def program_of(graph: Graph) -> tuple[Program, Any, list[Argument]]:
    """A program with an argument for each input, and a tuple of the outputs."""
    leaves = [Argument(value.type, f"args[{i}]") for i, value in enumerate(graph.inputs)]
    call: Any = (tuple(range(len(leaves))), {})
    out_tree: Any = optree.tree_structure(tuple(range(len(graph.outputs))), namespace="tracemill")  # type: ignore[arg-type]
    outputs = tuple(ArrayOutput(i, is_scalar=True) for i in range(len(graph.outputs)))
    program = Program(graph, tuple(leaves), (), out_tree, outputs, (), frozenset(), ())
    return program, optree.tree_structure(call, namespace="tracemill"), leaves


def in_bytes(x: Any) -> Any:
    """bfloat16 as bytes, which every NumPy reads."""
    return np.asarray(x).view("V2") if x.dtype.name == "bfloat16" else x


@pytest.mark.sampled(slow=5)
@pytest.mark.parametrize("part", range(5))
def test_samples_give_the_bits_of_the_numpy_backend(part: int, tmp_path: Path) -> None:
    folders = {package: tmp_path / package for package in ("numpy", "ml_dtypes", "scipy")}
    for folder in folders.values():
        folder.mkdir()
    samples = some_of(SAMPLES, share=0.15)[part::5]
    for number, sample in enumerate(samples):
        graph, inputs = sample.graph(), [np.array(x, order="C") for x in sample.arrays()]
        function = TracedFunction(*program_of(graph))
        if any(has_effect(call, "calls Python") for call in graph.calls):
            with pytest.raises(ExportError, match="a callback of"):
                as_python(function)
            continue
        files = as_python(function)
        if has_checks(graph):  # the records of the checks are a further output
            assert "raised(" in "".join(text for text in files.values() if isinstance(text, str))
            continue
        compiled, _ = optimize_in_stages(inline_user_rules(graph), "numpy")
        with np.errstate(all="ignore"):
            outputs = load_module(print_module(compiled, NUMPY), entry_name(compiled))(*inputs)
        text = next(content for content in files.values() if isinstance(content, str))
        needed = [
            package for package in ("ml_dtypes", "scipy") if re.search(rf"(import|from) {package}", text)
        ]
        place = folders[needed[0] if needed else "numpy"] / f"{number:05}"
        saved(files, place)
        arrays = {f"in{i}": in_bytes(x) for i, x in enumerate(inputs)}
        arrays |= {f"out{i}": in_bytes(np.asarray(x)) for i, x in enumerate(outputs)}
        np.savez(place / "arrays.npz", allow_pickle=False, **arrays)
    for package, folder in folders.items():
        run = run_alone(ALONE, folder, package)
        lines = run.stdout.splitlines()
        wrong = [f"{samples[int(line[:5])].id}{line[5:]}" for line in lines[:-1] if line[:5].isdigit()]
        assert lines[-1:] == ["done"], run.stderr
        assert not wrong, "\n".join(wrong)
