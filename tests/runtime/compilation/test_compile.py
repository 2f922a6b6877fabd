"""`tm.compile`: one program per signature, called like the function it wraps."""

import functools
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from support.threading_together import run_in_threads
from tracemill.compiler.errors import (
    ArgumentTypeError,
    BackendError,
    ConcretizationError,
    DTypeError,
    StaticArgumentError,
    TransformTypeError,
)
from tracemill.runtime.programs.built import statistics


class Pair(NamedTuple):
    first: Any
    second: Any


class Halves:
    """A container of two arrays, and of nothing else."""

    def __init__(self, first: Any, second: Any) -> None:
        if first.shape != second.shape:
            raise ValueError("halves are equal")
        self.first, self.second = first, second


tm.register_pytree(Halves, lambda x: ((x.first, x.second), None), lambda _, halves: Halves(*halves))


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(folder))
    return folder


@tm.compile
def square_of_sine(x: Any) -> Any:
    return np.sin(x) ** 2


def same(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5 if np.asarray(got).itemsize == 4 else 1e-12)


# ---- results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x", [np.ones((2, 3)), np.ones(4, np.float32), np.arange(3), np.float64(0.5), 0.5, 2]
)
def test_a_compiled_function_gives_what_the_function_gives(x: Any) -> None:
    same(square_of_sine(x), np.sin(x) ** 2)


def test_a_variant_is_compiled_once_per_signature() -> None:
    calls = []

    @tm.compile(on_recompile="ignore")
    def f(x: Any) -> Any:
        calls.append(1)
        return x + 1

    for _ in range(3):
        f(np.ones(2))
        f(np.ones(3))
        f(np.ones(2, np.float32))
    assert len(calls) == len(f.signatures()) == 3


def test_python_numbers_stay_weak() -> None:
    f = tm.compile(lambda x, a: x * a)
    same(f(np.ones(2, np.float32), 2.0), np.ones(2, np.float32) * 2.0)
    same(f(np.ones(2, np.int8), 2), np.ones(2, np.int8) * 2)
    same(f(np.ones(2, np.float32), np.float64(2.0)), np.ones(2, np.float32) * np.float64(2.0))
    for _ in range(2):
        same(f(2.0, 3.0), 6.0)
        same(f(2, 3), 6)


def test_a_python_number_is_data_and_its_value_does_not_compile_again() -> None:
    f = tm.compile(lambda x, a: x * a)
    x = np.ones(2)
    assert [f(x, a)[0] for a in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]
    assert len(f.signatures()) == 1


def test_containers_go_in_and_come_out() -> None:
    @tm.compile
    def f(params: Any, pair: Any, *rest: Any, scale: Any = 1.0) -> Any:
        out = {"sum": params["w"] + pair.first * scale, "list": [pair.second, rest[0][1]]}
        return out, Pair(params["b"], None), ("text", 3)

    args = ({"w": np.ones(2), "b": np.zeros(3)}, Pair(np.ones(2), 2.0), (1.0, np.arange(2.0)))
    for _ in range(2):  # the general way, then the generated entry
        (out, pair, extra) = f(*args, scale=3.0)
        same(out["sum"], np.full(2, 4.0))
        same(out["list"][1], np.arange(2.0))
        assert isinstance(pair, Pair)
        assert pair.second is None
        assert extra == ("text", 3)
    assert len(f.signatures()) == 1


def test_outputs_are_new_arrays() -> None:
    f = tm.compile(lambda x: (x, x[1:], x.T, np.zeros(2)))
    x = np.ones((3, 3))
    outs, again = f(x), f(x)
    for i, out in enumerate(outs):
        assert not np.shares_memory(out, x)
        assert not any(np.shares_memory(out, other) for other in (*outs[:i], *outs[i + 1 :], *again))


def test_scalars_come_back_as_numpy_scalars_and_0d_arrays_as_arrays() -> None:
    out = tm.compile(lambda x: (x.sum(), np.zeros(()), x[0]))(np.ones(3))
    assert type(out[0]) is np.float64
    assert type(out[1]) is np.ndarray
    assert type(out[2]) is np.float64


# ---- memory ----------------------------------------------------------------------------------------------


def test_arguments_that_the_function_writes_to_are_updated() -> None:
    @tm.compile
    def f(x: Any, y: Any) -> Any:
        x[1:] += y
        return x.sum()

    for _ in range(2):
        x = np.ones(3)
        assert f(x, np.full(2, 5.0)) == 13.0
        assert x.tolist() == [1.0, 6.0, 6.0]


def test_arguments_that_are_only_read_are_untouched() -> None:
    x = np.arange(6.0).reshape(2, 3)
    before = x.copy()
    tm.compile(lambda x: (np.exp(x, out=np.empty_like(x)), x * 2, -x))(x)
    assert np.array_equal(x, before)


def test_overlapping_arguments_behave_as_written() -> None:
    @tm.compile
    def f(x: Any, y: Any) -> Any:
        x += 1
        return x + y

    a = np.zeros(3)
    assert f(a, a).tolist() == [2.0] * 3
    b = np.zeros(4)
    assert f(b[:3], b[1:]).tolist() == [2.0, 2.0, 1.0]


def test_closures_are_used_by_reference() -> None:
    weights = np.ones(2)
    f = tm.compile(lambda x: x * weights)
    x = np.ones(2)
    assert f(x).tolist() == [1.0, 1.0]
    weights[:] = 5.0
    assert f(x).tolist() == [5.0, 5.0]


def test_a_closure_that_the_function_writes_to_is_updated() -> None:
    counter = np.zeros(1)

    @tm.compile
    def f(x: Any) -> Any:
        np.add(counter, x, out=counter)
        return x * counter

    assert [f(np.ones(1))[0] for _ in range(3)] == [1.0, 2.0, 3.0]
    assert counter[0] == 3.0


def test_a_mask_that_the_function_closes_over_is_read_again_when_it_changes() -> None:
    mask = np.array([True, False, True])
    f = tm.compile(lambda x: x[mask])
    x = np.arange(3.0)
    assert f(x).tolist() == [0.0, 2.0]
    mask[1] = True
    assert f(x).tolist() == [0.0, 1.0, 2.0]


# ---- static arguments ------------------------------------------------------------------------------------


def test_static_arguments_are_python_values_inside() -> None:
    @functools.partial(tm.compile, static_argnums=1, static_argnames="mode")
    def f(x: Any, n: int, mode: Any = "up") -> Any:
        for _ in range(n):
            x = x + 1 if mode == "up" else x - 1
        return x

    assert f(np.zeros(1), 3)[0] == 3
    assert f(np.zeros(1), 3, mode="down")[0] == -3
    assert f(np.zeros(1), 4)[0] == 4
    assert len(f.signatures()) == 3


def test_equal_values_of_different_types_are_different_static_arguments() -> None:
    f = tm.compile(lambda x, n: x * 0 + (1 if isinstance(n, int) else 2), static_argnums=(1,))
    assert f(np.zeros(1), 1)[0] == 1
    assert f(np.zeros(1), 1.0)[0] == 2


def test_static_numbers_differ_by_type_and_sign_even_in_tuples() -> None:
    f = tm.compile(lambda x, n: x * n[0], static_argnums=1)
    x = np.arange(3)
    assert [f(x, (n,)).dtype.kind for n in (1, 1.0, True, 1j)] == ["i", "f", "i", "c"]
    assert [bool(np.signbit(f(np.ones(1), (n,))[0])) for n in (0.0, -0.0, 0.0)] == [False, True, False]


def test_nan_as_a_static_argument_compiles_once() -> None:
    f = tm.compile(lambda x, n: x * n, static_argnums=1)
    assert all(np.isnan(f(np.ones(1), float("nan"))[0]) for _ in range(3))
    assert len(f.signatures()) == 1


def test_strings_bools_and_none_are_static_by_themselves() -> None:
    f = tm.compile(lambda x, flag, name: x + 1 if flag and name == "a" else x)
    assert f(np.zeros(1), True, "a")[0] == 1
    assert f(np.zeros(1), False, "a")[0] == 0
    assert f(np.zeros(1), True, None)[0] == 0


def test_an_unhashable_static_argument_is_named() -> None:
    f = tm.compile(lambda x, n: x, static_argnums=1)
    with pytest.raises(StaticArgumentError, match=r"args\[1\] is bytearray"):
        f(np.zeros(1), bytearray(2))


def test_static_lists_and_dicts_count_by_their_contents() -> None:
    f = tm.compile(lambda x, sizes: x + sum(sizes["a"]), static_argnums=1, on_recompile="ignore")
    sizes = {"a": [1, 2]}
    assert [f(1.0, sizes), f(2.0, {"a": [1, 2]})] == [4.0, 5.0]
    assert len(f.signatures()) == 1
    sizes["a"].append(3)
    assert f(1.0, sizes) == 7.0


# ---- misuse ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"backend": "cuda"}, BackendError),
        ({"static_argnums": "x"}, StaticArgumentError),
        ({"static_argnums": 1.5}, StaticArgumentError),
        ({"static_argnames": 3}, StaticArgumentError),
        ({"max_variants": 0}, TransformTypeError),
    ],
)
def test_a_wrong_option_is_named_when_wrapping(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(options))):
        tm.compile(lambda x: x, **options)


def test_what_is_not_a_function_is_refused() -> None:
    with pytest.raises(TransformTypeError, match="needs a function"):
        tm.compile(3)  # type: ignore[call-overload]


def test_an_argument_that_is_not_an_array_is_named_with_its_path() -> None:
    with pytest.raises(StaticArgumentError, match=r"args\[0\]\['w'\] is bytearray"):
        tm.compile(lambda p: p["w"])({"w": bytearray(2)})
    with pytest.raises(ArgumentTypeError, match="MaskedArray"):
        tm.compile(lambda x: x)(np.ma.masked_array([1.0], [True]))


@pytest.mark.parametrize(
    "x",
    [
        np.array([1, None], object),
        np.array(["a"]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "f4,f8"),
        2**64,
        -(2**63) - 1,
        np.datetime64("2020"),
    ],
)
def test_a_dtype_that_cannot_be_traced_is_named_with_its_path(x: Any) -> None:
    with pytest.raises(DTypeError, match=r"args\[1\]: .* traced"):
        tm.compile(lambda a, x: x)(np.ones(2), x)


def test_without_conversion_control_flow_on_values_is_an_error_with_the_line() -> None:
    @tm.compile(convert=False)
    def f(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    with pytest.raises(ConcretizationError, match=r"test_compile.py:\d+  if x > 0:"):
        f(np.float64(1.0))
    assert f.signatures() == ()
    assert type(np.zeros(2)) is np.ndarray  # nothing of the trace is left behind


# ---- looking inside --------------------------------------------------------------------------------------


def test_a_recompilation_is_explained_by_path() -> None:
    f = tm.compile(lambda p, n: p["w"] * n)
    assert "has not been compiled" in f.explain_recompile()
    f({"w": np.ones(2)}, 1.0)
    f({"w": np.ones(3)}, 1.0)
    assert "args[0]['w']: f64[2] became f64[3]" in f.explain_recompile()
    assert "args[1]" not in f.explain_recompile()
    f({"w": np.ones(3)}, 1)
    assert "args[1]: float became int" in f.explain_recompile()


def test_the_number_of_variants_is_limited() -> None:
    f = tm.compile(lambda x: x, max_variants=2, dynamic=False, on_recompile="ignore")
    for n in range(1, 5):
        f(np.ones(n))
    assert [str(s) for s in f.signatures()] == ["args[0]: f64[3]", "args[0]: f64[4]"]


def test_lowering_shows_every_stage() -> None:
    lowered = square_of_sine.lower(np.ones(3))
    assert [call.op for call in lowered.graph.calls] == ["sin", "square"]
    assert lowered.graph.calls[0].location is not None
    assert "simplify" in lowered.passes
    assert [call.op for call in lowered.after("simplify").calls] == ["sin", "square"]
    assert "np.sin(" in lowered.source
    assert lowered.source in str(lowered)
    with pytest.raises(KeyError, match="no pass 'fuse_everything'"):
        lowered.after("fuse_everything")


# ---- as part of the language -----------------------------------------------------------------------------


class Model:
    def __init__(self, scale: float) -> None:
        self.weights = np.full(2, scale)

    @tm.compile
    def __call__(self, x: Any) -> Any:
        return x * self.weights

    @tm.compile(static_argnums=2)
    def repeated(self, x: Any, n: int) -> Any:
        return x * n


def test_methods_can_be_compiled() -> None:
    one, two = Model(1.0), Model(2.0)
    x = np.ones(2)
    assert one(x).tolist() == [1.0, 1.0]
    assert two(x).tolist() == [2.0, 2.0]
    assert one.repeated(x, 3).tolist() == [3.0, 3.0]


def test_partial_and_name_and_doc_survive() -> None:
    def f(a: Any, x: Any) -> Any:
        """Doc."""
        return a * x

    compiled = tm.compile(f)
    assert (compiled.__name__, compiled.__doc__) == ("f", "Doc.")
    assert tm.compile(functools.partial(f, 2.0))(np.ones(1))[0] == 2.0
    assert "f" in repr(compiled)


def test_compile_inside_and_outside_of_transforms() -> None:
    x = np.array([0.3, 0.7])
    expected = np.cos(x) * 2 * np.sin(x)
    inside = tm.grad(lambda x: square_of_sine(x).sum())
    outside = tm.compile(tm.grad(lambda x: (np.sin(x) ** 2).sum()))
    np.testing.assert_allclose(inside(x), expected)
    np.testing.assert_allclose(outside(x), expected)
    np.testing.assert_allclose(tm.compile(tm.vmap(tm.compile(tm.grad(square_of_sine))))(x), expected)


def test_a_compiled_function_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(square_of_sine))
    assert again is square_of_sine
    other = pickle.loads(
        pickle.dumps(tm.compile(np.linalg.norm, max_variants=3, dynamic=False, on_recompile="ignore"))
    )
    for length in range(1, 6):
        other(np.ones(length))
    assert len(other.signatures()) == 3


def test_threads_share_a_compiled_function() -> None:
    traced = []

    @tm.compile(on_recompile="ignore")
    def f(x: Any) -> Any:
        traced.append(1)
        z = np.zeros(3)
        z[1:] = x * 2
        return z

    failures: list[object] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x = rng.normal(size=2)
            if not np.array_equal(f(x)[1:], x * 2) or type(np.zeros(1)) is not np.ndarray:
                failures.append(x)

    run_in_threads(work, 8)
    assert not failures
    assert len(traced) == 1


# ---- the disk cache --------------------------------------------------------------------------------------

PROGRAM = textwrap.dedent(
    """
    import numpy as np, tracemill as tm
    from tracemill.runtime.programs.built import statistics
    f = tm.compile(tm.grad(lambda x: np.sum(np.tanh(x) * 3)))
    print(f(np.arange(3.0)).tolist(), statistics.compiled, statistics.from_disk)
    """
)


def run_program(tmp_path: Path) -> list[str]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return done.stdout.rsplit(maxsplit=2)


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    values, compiled, from_disk = run_program(tmp_path)
    assert (compiled, from_disk) == ("1", "0")
    assert run_program(tmp_path) == [values, "0", "1"]


def test_a_corrupt_entry_is_compiled_again_with_a_warning(private_cache: Path) -> None:
    x = np.arange(4.0)

    def body(x: Any) -> Any:
        return np.cos(x) + 1

    expected = tm.compile(body)(x)
    (program,) = private_cache.rglob("program.py")
    program.write_text("raise SystemExit")
    before = statistics.compiled
    with pytest.warns(UserWarning, match=r"program\.py"):
        again = tm.compile(body)(x)
    assert np.array_equal(again, expected)
    assert statistics.compiled == before + 1


def in_an_order(x: Any) -> Any:
    below = [{"z": x + 1, "y": (x, {"d": "set", "c": x * 2})}, Pair(x, {3: x, 1: x + x})]
    return {"loss": x * 3, "below": below, "accuracy": None, "a": {}}


@pytest.mark.parametrize("x", [np.ones(2), np.ones(2, np.float32), 2.0], ids=["f64", "f32", "number"])
def test_dicts_are_returned_in_the_order_in_which_the_function_makes_them(x: Any, tmp_path: Path) -> None:
    compiled = tm.compile(in_an_order)
    path = tm.export(in_an_order, x).save(tmp_path / "f.tmill")
    loaded = tm.load(path, types=[Pair])
    assert repr(compiled(x)) == repr(in_an_order(x))  # the general way
    assert repr(compiled(x)) == repr(in_an_order(x))  # the entry
    assert repr(loaded(x)) == repr(in_an_order(x))
    assert repr(loaded(x)) == repr(in_an_order(x))


def test_dicts_that_hold_registered_objects_keep_their_order_too() -> None:
    def made(x: Any) -> Any:
        return {"z": x, "state": [{"n": Halves(x, x + 1), "b": x}], "a": Halves(x, x)}

    compiled = tm.compile(made)
    for _ in range(2):
        found = compiled(np.ones(2))
        assert [list(found), list(found["state"][0])] == [["z", "state", "a"], ["n", "b"]]
        assert type(found["a"]) is Halves
        np.testing.assert_array_equal(found["state"][0]["n"].second, np.full(2, 2.0))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_ints_that_no_int64_holds_are_refused(backend: str) -> None:
    function = tm.compile(lambda x: np.sin(x) * 2, backend=backend)
    for x in (-1, 3, 2**63 - 1, -(2**63)):
        np.testing.assert_allclose(function(x), np.sin(x) * 2)
        assert tm.compile(lambda x: x, backend=backend)(x) == x
    for x in (2**63, 2**64, -(2**63) - 1):
        with pytest.raises(tm.errors.DTypeError, match=r"does not fit int64|fits no dtype"):
            function(x)
    np.testing.assert_allclose(function(np.uint64(2**63)), np.sin(2**63) * 2)
