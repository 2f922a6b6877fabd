"""Functions are exported, saved, and loaded: they compute, check, update and transform as those they were made from."""

import functools
import inspect
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArgumentMismatchError,
    ArgumentSpecError,
    ArtifactError,
    ExportError,
    MissingCompilerError,
    NotDifferentiableError,
    TransformTypeError,
)
from tracemill.runtime.programs.built import statistics

RNG = np.random.default_rng(0)
ONES = np.ones(3)
WEIGHTS = RNG.normal(size=(3, 2))

Load = Callable[..., Any]


@pytest.fixture(params=["memory", "file"])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Load:
    """The function of an artifact: at once, or after it was saved and loaded."""

    def loaded(artifact: tm.Artifact, **options: Any) -> Any:
        if request.param == "memory":
            options.pop("types", None)
            return artifact.function(**options)
        return tm.load(artifact.save(tmp_path / "f.tmill", overwrite=True), **options)

    return loaded


def assert_same(found: Any, expected: Any) -> None:
    """The same containers, types and numbers."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for ours, wanted in zip(found, expected, strict=True):
            assert_same(ours, wanted)
    elif isinstance(expected, np.ndarray | np.generic):
        expected = np.asarray(expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        assert found == expected


def scores(parameters: dict[str, Any], x: Any, scale: float = 2.0, *, axis: int = -1) -> Any:
    """How good it is."""
    found = np.tanh(x @ WEIGHTS) * parameters["w"]
    return {
        "total": np.sum(found) * scale,
        "rows": np.sum(found, axis),
        "about": (x.shape[0], 1.5, None, "rows"),
    }


# ---- calling -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_loaded_function_computes_the_same(load: Load, dtype: str) -> None:
    f = load(tm.export(scores, {"w": f"{dtype}[2]"}, f"x: {dtype}[4, 3]", "scale: float", "axis = 0"))
    real = np.float32 if dtype == "f32" else np.float64
    w, x = RNG.normal(size=2).astype(real), RNG.normal(size=(4, 3)).astype(real)
    assert_same(f({"w": w}, x, 3.0), scores({"w": w}, x, 3.0, axis=0))
    assert_same(f(x=x, parameters={"w": w}), scores({"w": w}, x, axis=0))


def test_what_is_not_described_has_its_default_and_no_other_value(load: Load) -> None:
    def power(
        x: Any,
        scale: float = 2.0,
        /,
        axis: int = -1,
        *,
        start: Any = ONES,
        late: Any = None,
        by: int = 2,
    ) -> Any:
        assert late is None
        return np.sum(x * scale + start, axis=axis) ** by

    f = load(tm.export(power, "f64[3]"))
    assert str(inspect.signature(f)) == "(x, scale=2.0, /, axis=-1, *, late=None, by=2)"
    x = np.arange(3.0)
    assert_same(f(x), power(x))
    assert_same(f(x, 2.0, axis=-1, late=None, by=2), power(x))
    assert_same(tm.vmap(tm.grad(f))(np.stack([x, -x])), tm.vmap(tm.grad(power))(np.stack([x, -x])))
    for arguments, settings, message in (
        ((3.0,), {}, "power: scale is 3.0, and it was exported with scale = 2.0"),
        ((2,), {}, "power: scale is 2, and it was exported with scale = 2.0"),
        ((), {"by": 3}, "power: by is 3, and it was exported with by = 2"),
        ((), {"late": x}, "power was exported for arguments of the structure"),
        ((), {"start": x}, "got an unexpected keyword argument 'start'"),
    ):
        with pytest.raises(ArgumentMismatchError, match=re.escape(message)):
            f(x, *arguments, **settings)
    assert inspect.signature(load(tm.export(f, "f64[3]"))) == inspect.signature(f)


def test_defaults_are_none_of_a_transform_whose_arguments_have_places(load: Load) -> None:
    def scaled(x: Any, scale: float = 2.0) -> Any:
        return np.sum(x * scale)

    f = load(tm.export(tm.vmap(tm.grad(scaled), in_dims=(0,)), "f64[4, 3]"))
    assert_same(f(np.ones((4, 3))), np.full((4, 3), 2.0))
    bound = load(tm.export(functools.partial(scaled, scale=3.0), "f64[3]"))
    assert str(inspect.signature(bound)) == "(x, *, scale=3.0)"
    with pytest.raises(ArgumentMismatchError, match=r"scale is 2\.0, and it was .* scale = 3\.0"):
        bound(np.ones(3), scale=2.0)


def test_a_loaded_function_has_the_name_docstring_and_parameters(load: Load) -> None:
    f = load(tm.export(scores, {"w": "f64[2]"}, "x: f64[4, 3]", "axis = 0"))
    assert (f.__name__, f.__doc__) == ("scores", "How good it is.")
    assert str(inspect.signature(f)) == "(parameters, x, scale=2.0, *, axis=0)"
    assert repr(f).startswith("<loaded scores(parameters_w: f64[2], x: f64[4, 3]) -> (")


def each_result(x: Any) -> Any:
    total = np.sum(x)
    empty = x[:0]
    return [
        total,
        total.reshape(()),
        np.asarray(total) > 0,
        x,
        empty,
        [],
        (),
        {},
        {2: x, "b": True},
        x.shape[0],
    ]


def test_results_have_the_types_that_the_function_returned(load: Load) -> None:
    f = load(tm.export(each_result, "f64[3]"))
    x = RNG.normal(size=3)
    compiled = tm.compile(each_result)(x)
    assert_same(f(x), compiled)
    assert_same(f(x), compiled)


def test_numbers_of_python_and_of_numpy_stay_what_they_are(load: Load) -> None:
    def powers(n: Any, s: Any, z: Any, x: Any) -> Any:
        return n + 1, s * x, n * s, z * 2, x**n

    f = load(tm.export(powers, "int", "float", "complex", "f32[2]"))
    x = np.array([1.5, 2.5], np.float32)
    assert_same(f(2, 3.0, 1j, x), tm.compile(powers)(2, 3.0, 1j, x))
    g = load(tm.export(powers, "i32[]", "f32[]", "c64[]", "f32[2]"))
    numbers = np.int32(2), np.float32(3), np.complex64(1j)
    assert_same(g(*numbers, x), tm.compile(powers)(*numbers, x))


def test_examples_describe_arguments_too(load: Load) -> None:
    parameters = {"w": WEIGHTS[0], "deep": [np.float32(1), (2, 3.0)]}

    def f(p: Any, flag: Any, mode: Any) -> Any:
        return p["w"] * p["deep"][0] + p["deep"][1][0] * p["deep"][1][1] if flag and mode == "up" else p["w"]

    loaded = load(tm.export(f, parameters, True, "mode = 'up'"))
    assert_same(loaded(parameters, True, "up"), tm.compile(f)(parameters, True, "up"))
    assert_same(loaded(parameters), tm.compile(f)(parameters, True, "up"))


def test_any_number_of_arguments_and_keywords(load: Load) -> None:
    def f(x: Any, *rest: Any, **named: Any) -> Any:
        return x + sum(rest) * named["scale"]

    x = np.arange(3.0)
    loaded = load(tm.export(f, "f64[3]", "f64[3]", "f64[3]", scale="float"))
    assert_same(loaded(x, x, x + 1, scale=2.0), f(x, x, x + 1, scale=2.0))
    with pytest.raises(ArgumentMismatchError, match="structure"):
        loaded(x, x, scale=2.0)


def test_dicts_stand_for_the_order_that_was_exported(load: Load) -> None:
    def f(d: Any) -> Any:
        first, second = d.values()
        return first - 2 * second

    x, y = np.arange(3.0), np.ones(3)
    loaded = load(tm.export(f, {"b": "f64[3]", "a": "f64[3]"}))
    for given in ({"b": x, "a": y}, {"a": y, "b": x}, {"b": x, "a": y}):
        for _ in range(2):  # the general way, then the generated entry
            assert_same(loaded(given), x - 2 * y)
    assert len(loaded.signatures()) == 1


def test_an_ordered_dict_must_come_in_the_order_that_was_exported(load: Load) -> None:
    def f(held: Any) -> Any:
        first, second = held["pair"][1].values()
        return first - 2 * second

    def held(**pair: Any) -> Any:
        return {"pair": [None, OrderedDict(pair)], "more": {"z": 1.0, "y": 2.0}}

    x, y = np.arange(3.0), np.ones(3)
    loaded = load(tm.export(f, held(b="f64[3]", a="f64[3]")))
    assert_same(loaded(held(b=x, a=y)), x - 2 * y)
    for call in (loaded, tm.compile(loaded), tm.grad(lambda given: np.sum(loaded(given)))):
        with pytest.raises(ArgumentMismatchError, match=r"\['b', 'a'\], and is called with \['a', 'b'\]"):
            call(held(a=y, b=x))


class Point(NamedTuple):
    x: Any
    y: Any


@tm.register_dataclass
@dataclass
class Box:
    low: Any
    high: Any


class Sized:
    """A container with a setting."""

    def __init__(self, data: Any, unit: str) -> None:
        self.data, self.unit = data, unit


tm.register_pytree(Sized, lambda s: ((s.data,), s.unit), lambda unit, children: Sized(children[0], unit))


def test_named_tuples_and_registered_classes_are_given_by_class(tmp_path: Path) -> None:
    def f(p: Point, box: Box, sized: Sized) -> Any:
        middle = (box.low + box.high) / 2
        return Point(p.x * middle, Box(p.y, sized.data)), OrderedDict(b=p.x, a=sized)

    x = np.arange(2.0)
    given = Point(x, x + 1), Box(x, x + 2), Sized(x, "m")
    path = tm.export(f, *given).save(tmp_path / "f.tmill")
    (point, ordered) = tm.load(path, types=[Point, Box, Sized])(*given)
    assert type(point) is Point
    assert type(point.y) is Box
    assert (list(ordered), ordered["a"].unit) == (["b", "a"], "m")
    np.testing.assert_array_equal(point.x, x * (x + 1))
    with pytest.raises(ArtifactError, match=r"named tuples of the class Point\(x, y\).*types=\[Point\]"):
        tm.load(path)
    not_a_class: Any = "Point"
    with pytest.raises(TransformTypeError, match="types must contain classes, not str: 'Point'"):
        tm.load(path, types=[not_a_class])
    with pytest.raises(ArtifactError, match=r"objects of the class .*:Box.*types=\[Box\]"):
        tm.load(path, types=[Point])


def test_the_classes_of_numpys_results_are_known(load: Load) -> None:
    def f(x: Any) -> Any:
        return [g(x) for g in (np.linalg.eig, np.linalg.eigh, np.linalg.qr, np.linalg.svd, np.linalg.slogdet)]

    x = np.diag([1.0, 2.0])
    for got, expected in zip(load(tm.export(f, x))(x), f(x), strict=True):
        assert type(got) is type(expected)
        np.testing.assert_array_equal(got[1], expected[1])


def test_random_generators_are_arguments_that_are_updated(load: Load) -> None:
    def noisy(x: Any, rng: Any) -> Any:
        return x + rng.normal(size=x.shape)

    f = load(tm.export(noisy, "f64[3]", tm.random.default_rng(0)))
    ours, theirs = tm.random.default_rng(5), tm.random.default_rng(5)
    x = np.zeros(3)
    for _ in range(2):
        assert_same(f(x, ours), noisy(x, theirs))
    assert ours.state["counter"] == theirs.state["counter"]


# ---- what a function updates, and what it may overwrite --------------------------------------------------


def step(w: Any, g: Any) -> Any:
    w -= 0.1 * g
    g[0] = 0
    return np.sum(w)


def test_arguments_that_the_function_updates_are_updated(load: Load) -> None:
    f = load(tm.export(step, "f64[3]", "f64[3]"))
    w, g = np.ones(3), np.arange(3.0) + 1
    wanted_w, wanted_g = w.copy(), g.copy()
    assert_same(f(w, g), step(wanted_w, wanted_g))
    assert_same([w, g], [wanted_w, wanted_g])
    buffer = np.zeros((3, 2))
    f(buffer[:, 0], g)
    assert np.all(buffer[:, 1] == 0)
    assert np.any(buffer[:, 0] != 0)


def test_an_updated_argument_must_be_an_array_of_its_own(load: Load) -> None:
    f = load(tm.export(step, "f64[3]", "f64[3]"))
    x = np.ones(3)
    with pytest.raises(ArgumentMismatchError, match="step updates w, which has memory in common"):
        f(x, x)
    with pytest.raises(ArgumentMismatchError, match="step updates w, which has memory in common"):
        tm.compile(lambda x: f(x, x))(x)
    x.flags.writeable = False
    with pytest.raises(ArgumentMismatchError, match=r"step updates w in place, which is read-only: .*\.copy"):
        f(x, np.ones(3))


def test_donated_arguments_are_those_of_compile(load: Load) -> None:
    compiled = tm.compile(lambda w, g: w - 0.1 * g, donate_argnums=0)
    artifact = tm.export(compiled, "f64[1000]", "f64[1000]")
    assert artifact.settings.donate_argnums == (0,)
    f = load(artifact)
    w, g = np.ones(1000), np.ones(1000)
    found = f(w, g)
    np.testing.assert_allclose(found, 0.9)
    assert np.shares_memory(found, w)


# ---- transforms ----------------------------------------------------------------------------------------


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


W, X = RNG.normal(size=3), RNG.normal(size=(4, 3))


def test_a_loaded_function_can_be_transformed_and_compiled(load: Load) -> None:
    f = load(tm.export(loss, "f64[3]", "f64[4, 3]"))
    assert_same(tm.grad(f)(W, X), tm.grad(loss)(W, X))
    assert_same(tm.hessian(f)(W, X), tm.hessian(loss)(W, X))
    assert_same(tm.compile(tm.value_and_grad(f))(W, X), tm.compile(tm.value_and_grad(loss))(W, X))
    xs = RNG.normal(size=(5, 4, 3))
    assert_same(tm.vmap(f, in_dims=(None, 0))(W, xs), tm.vmap(loss, in_dims=(None, 0))(W, xs))
    per_sample = tm.vmap(tm.grad(f), in_dims=(None, 0))
    assert_same(per_sample(W, xs), tm.vmap(tm.grad(loss), in_dims=(None, 0))(W, xs))
    assert_same(tm.compile(lambda w: f(w, X) + w[0])(W), loss(W, X) + W[0])
    assert_same(tm.jvp(f, (W, X), (W, X)), tm.jvp(loss, (W, X), (W, X)))


def test_transformed_and_compiled_functions_are_exported(load: Load) -> None:
    gradient = load(tm.export(tm.grad(loss), "w: f64[3]", "x: f64[4, 3]"))
    assert_same(gradient(x=X, w=W), tm.grad(loss)(W, X))
    batched = load(tm.export(tm.vmap(tm.grad(loss), in_dims=(None, 0)), "f64[3]", "f64[5, 4, 3]"))
    xs = RNG.normal(size=(5, 4, 3))
    assert_same(batched(W, xs), tm.vmap(tm.grad(loss), in_dims=(None, 0))(W, xs))
    again = load(tm.export(load(tm.export(tm.compile(loss), "f64[3]", "f64[4, 3]")), "f64[3]", "f64[4, 3]"))
    assert_same(again(W, X), loss(W, X))


def test_settings_of_compile_count(load: Load) -> None:
    @tm.compile(static_argnames="n", fast_math=True)
    def power(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x * x
        return x

    artifact = tm.export(power, "f64[2]", n=3)
    assert artifact.settings.fast_math
    f = load(artifact)
    x = np.array([1.1, 1.2])
    assert_same(f(x, 3), power(x, 3))
    assert_same(f(x), power(x, 3))
    with pytest.raises(ArgumentMismatchError, match="n is 2, and it was exported with n = 3"):
        f(x, n=2)


def test_methods_and_partials_are_exported(load: Load) -> None:
    class Layer:
        def __init__(self, w: Any) -> None:
            self.w = w

        @tm.compile
        def scaled(self, x: Any) -> Any:
            return x * self.w

        def plain(self, x: Any) -> Any:
            return x * self.w

    layer, x = Layer(WEIGHTS[0]), np.ones(2)
    assert_same(load(tm.export(layer.scaled, "x: f64[2]"))(x), x * layer.w)
    assert_same(load(tm.export(layer.plain, "x: f64[2]"))(x), x * layer.w)
    assert_same(load(tm.export(functools.partial(loss, W), "f64[4, 3]"))(X), loss(W, X))


def test_captured_arrays_are_kept_as_they_are_at_export(load: Load) -> None:
    table = np.arange(100.0)
    f = load(tm.export(lambda i: np.take(table, i), "i64[2]"))
    table[:] = 0
    assert_same(f(np.array([3, 50])), np.array([3.0, 50.0]))


def test_an_own_derivative_is_lost_by_name_and_not_replaced(load: Load) -> None:
    @tm.custom_rule
    def rounded(x: Any) -> Any:
        return np.round(x)

    rounded.vjp(lambda x: (np.round(x), None), lambda _, cotangent: (cotangent,))

    def total(x: Any) -> Any:
        return np.sum(rounded(x))

    x = np.array([0.6, 1.4])
    f = load(tm.export(total, "f64[2]"))
    assert_same(f(x), np.float64(2.0))
    assert_same(tm.vmap(f)(np.array([x, x])), np.array([2.0, 2.0]))
    with pytest.raises(NotDifferentiableError, match="an artifact does not hold"):
        tm.grad(f)(x)
    assert_same(load(tm.export(tm.grad(total), "f64[2]"))(x), np.ones(2))


def test_what_no_file_is_read_with_is_refused_at_export() -> None:
    def f(x: Any) -> Any:
        return x

    f.__name__ = f.__qualname__ = "f" * 300
    with pytest.raises(ExportError, match=r"cannot be exported: 'fff.* with at most 256 letters"):
        tm.export(f, "f64[2]")
    f.__name__ = f.__qualname__ = "f"
    f.__doc__ = "half a letter: \ud800"
    with pytest.raises(ExportError, match="f cannot be exported: the docstring is not text"):
        tm.export(f, "f64[2]")


# ---- what is refused -------------------------------------------------------------------------------------

WRONG_CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too few": (lambda f: f(W), "missing a required argument: 'x'"),
    "too many": (lambda f: f(W, X, X), "too many positional arguments"),
    "unknown name": (lambda f: f(W, y=X), "missing a required argument: 'x'"),
    "dtype": (
        lambda f: f(W, X.astype(np.float32)),
        r"loss: x is f32\[4, 3\].*f64\[4, 3\]: convert it.*float64",
    ),
    "shape": (lambda f: f(W[:2], X), r"loss: w is f64\[2\], but it was exported for f64\[3\]"),
    "container": (lambda f: f({"w": W}, X), "loss: w is dict"),
    "number": (lambda f: f(1.0, X), r"loss: w is the number 1.0, f64\[\]"),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_wrong_arguments_are_refused_by_name(what: str) -> None:
    call, message = WRONG_CALLS[what]
    f = tm.export(loss, "f64[3]", "f64[4, 3]").function()
    with pytest.raises(ArgumentMismatchError, match=message):
        call(f)


def writes_outside(x: Any) -> Any:
    np.asarray(WEIGHTS)[0] = x
    return x


def returns_a_set(x: Any) -> Any:
    return x, {1, 2}


def draws(x: Any) -> Any:
    return x + GENERATOR.normal()


GENERATOR = tm.random.default_rng(0)

REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "callback": (
        lambda x: tm.pure_callback(max, np.float64, x),
        ("f64[]",),
        "it calls the Python function max",
    ),
    "callback in a loop": (
        lambda x: tm.fori_loop(0, 3, lambda _, y: tm.pure_callback(max, np.float64, y), x),
        ("f64[]",),
        "it calls the Python function max",
    ),
    "update": (writes_outside, ("f64[2]",), r"it updates f64\[3, 2\], an array that it closes over"),
    "generator": (draws, ("f64[2]",), "a random generator, too, can be an argument"),
    "result": (returns_a_set, ("f64[2]",), r"it returns set \{1, 2\}"),
    "setting": (lambda x, f: f(x), ("f64[2]", np.sin), "it takes ufunc"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_file_cannot_hold_is_refused_by_name(what: str) -> None:
    function, specs, message = REFUSED[what]
    with pytest.raises(ExportError, match=message):
        tm.export(function, *specs)


UNREADABLE: dict[str, tuple[tuple[Any, ...], str]] = {
    "dtype": (("float12[3]", "f64[4, 3]"), "there is no dtype 'float12', only bool, i8"),
    "text": (("what", "f64[4, 3]"), "cannot read the argument 'what'"),
    "dims": (("f64[3]", "f64[n m, 3]"), "cannot read 'n m'"),
    "huge": (("f64[3]", "f64[999999999999999999, 3]"), "a dimension is an int from 0"),
    "twice": (("w: f64[3]", "w: f64[3]"), "'w' is described twice"),
    "too few": (("f64[3]",), "missing a required argument"),
    "unknown": (("f64[3]", "f64[4, 3]", "z: int"), "has no argument 'z', only"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_descriptions_that_cannot_be_read_are_refused(what: str) -> None:
    specs, message = UNREADABLE[what]
    with pytest.raises(ArgumentSpecError, match=message):
        tm.export(loss, *specs)


def test_a_loaded_function_can_be_pickled() -> None:
    f = tm.export(np.sin, "f64[3]").function(backend="numpy")
    again = pickle.loads(pickle.dumps(f))
    assert_same(again(np.zeros(3)), np.zeros(3))


def test_what_is_exported_for_c_is_in_the_disk_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, c_compiler: str
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    path = tm.export(lambda x: np.tanh(x) * 2, "f64[50]", targets="cpu-c").save(tmp_path / "f.tmill")
    compiled, from_disk = statistics.compiled, statistics.from_disk
    x = np.linspace(-1, 1, 50)
    np.testing.assert_allclose(tm.load(path, backend="c")(x), np.tanh(x) * 2, rtol=1e-15)
    assert (statistics.compiled, statistics.from_disk) == (compiled, from_disk + 1)


def test_export_for_c_says_that_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CC", "/no/such/cc")
    with pytest.raises(MissingCompilerError, match="does not name a program"):
        tm.export(np.tanh, "f64[50]", targets=("cpu", "cpu-c"))


@pytest.mark.parametrize("kind", ["int", "float"])
def test_results_of_python_numbers_have_pythons_types(kind: str, load: Load) -> None:
    def function(x: Any, y: Any) -> Any:
        return x + y, x < y, not x, x and y

    found = load(tm.export(function, kind, kind))
    numbers: dict[str, list[tuple[Any, Any]]] = {
        "int": [(3, 4), (4, 3), (0, 1)],
        "float": [(3.5, 4.0), (4.0, 3.5), (0.0, 1.5)],
    }
    for given in numbers[kind]:
        assert_same(found(*given), function(*given))
