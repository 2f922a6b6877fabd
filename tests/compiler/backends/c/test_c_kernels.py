"""C functions of kernels compute what their graphs mean, on one thread and on several."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from c.compiling import Compiled, compiled, when_asked
from graphs.kernel_graphs import LARGE, LONG, large_function, scaled_sums, stencil
from graphs.random_graphs import is_for_loops, loop_graphs
from samples.grouping import of_each_sample
from samples.sample import Sample, special_values
from samples.table import SAMPLES
from samples.thinning import in_parts
from support.recording import assert_same, drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.fusible_ops import REDUCTIONS, is_elementwise
from tracemill.compiler.backends.c.definitions import source_of
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.kernels.kernel import kernel_function
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import Array, is_inexact, real_dtype
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.runtime.machine.toolchain import Toolchain


def function_of(graph: Graph, name: str) -> CFunction:
    function = kernel_function(graph, name, COptions(), in_place=True)
    assert function is not None
    return function


def meaning(graph: Graph, arrays: Sequence[Array]) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        return tuple(map(np.asarray, evaluate(graph, *arrays)))


def assert_close(actual: Sequence[Array], expected: Sequence[Array], ulps: float) -> None:
    """Integers equal; numbers within units of the last place of the largest in their array."""
    for x, y in zip(actual, expected, strict=False):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if not is_inexact(y.dtype):
            np.testing.assert_array_equal(x, y)
            continue
        bound = ulps * float(np.finfo(real_dtype(y.dtype)).eps)
        wide = np.complex128 if y.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=bound, atol=0)


# ---- every op whose elements are moved or gathered -----------------------------------------------------


MOVING = SAMPLES.where(
    lambda sample: is_for_loops(sample.graph()) and not all(map(is_elementwise, sample.graph().calls))
)


@pytest.fixture(scope="module")
def kernels(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compiled]:
    """By the id of its sample."""
    functions = [function_of(sample.graph(), f"sample_{i}") for i, sample in enumerate(MOVING)]
    made = compiled(functions, c_toolchain, tmp_path_factory.mktemp("kernels"), level=0)
    return {sample.id: run for sample, run in zip(MOVING, made, strict=True)}


@pytest.mark.slow
@of_each_sample(MOVING)
def test_samples_give_what_they_mean(sample: Sample, kernels: dict[str, Compiled]) -> None:
    arrays = sample.arrays()
    expected = meaning(sample.graph(), arrays)
    found = kernels[sample.id](*arrays)
    gathers = any(call.op in REDUCTIONS for call in sample.graph().calls)
    (assert_close(found, expected, 4) if gathers else assert_same(found, expected))


# ---- kernels of several calls, large enough for chunks and blocks --------------------------------------

named = cache(large_function)
SOME_LARGE = in_parts(LARGE, parts=6, some=3)


@pytest.fixture(scope="module")
def large(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Compiled]:
    """Compiles kernels when the first of them is asked for."""
    functions = {name: partial(named, name) for name in LARGE}
    return when_asked(functions, c_toolchain, tmp_path_factory.mktemp("large"))


def inputs_of(name: str) -> list[Array]:
    return [x.astype(v.dtype) for x, v in zip(drawn(LARGE[name], "real"), LARGE[name].inputs, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME_LARGE)
def test_large_kernels_give_what_their_calls_mean(name: str, large: Callable[[str], Compiled]) -> None:
    arrays = inputs_of(name)
    expected = meaning(LARGE[name], arrays)
    for x, y in zip(large(name)(*arrays), expected, strict=False):
        if not is_inexact(y.dtype):
            np.testing.assert_array_equal(x, y)
            continue
        eps = float(np.finfo(real_dtype(y.dtype)).eps)
        scale = float(np.nanmax(np.abs(y[np.isfinite(y)]))) if np.isfinite(y).any() else 0.0
        np.testing.assert_allclose(x, y, rtol=64 * eps, atol=64 * eps * scale)


@pytest.mark.sampled("single")
@pytest.mark.parametrize("name", SOME_LARGE)
def test_results_are_the_same_on_any_number_of_threads(name: str, large: Callable[[str], Compiled]) -> None:
    arrays = inputs_of(name)
    first = large(name)(*arrays, threads=1)[: len(LARGE[name].outputs)]
    for threads in (2, 4):
        assert_same(large(name)(*arrays, threads=threads)[: len(first)], first)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("name", SOME_LARGE)
def test_results_are_the_same_in_the_memory_of_inputs(name: str, large: Callable[[str], Compiled]) -> None:
    function, run, arrays = named(name), large(name), inputs_of(name)
    expected = run(*arrays)[: len(LARGE[name].outputs)]
    for output, places in function.in_place.items():
        for place, threads in product(places, (1, 3)):
            given = [x.copy() for x in arrays]
            outputs = [np.full(type.shape, 1, type.dtype) for type in function.outputs]
            outputs[output] = given[place]
            assert_same(run(*given, threads=threads, outputs=tuple(outputs))[: len(expected)], expected)


def test_only_kernels_that_may_overwrite_inputs_assume_less_about_memory() -> None:
    graph = recorded(lambda x, y: fn.add(x, fn.sum_(y, (0,))), "f64[9]", "f64[4, 9]")
    assert "const double *x0, const double *restrict x1, double *out," in function_of(graph, "f").text
    alone = kernel_function(graph, "f", COptions())
    assert alone is not None
    assert not alone.in_place
    assert "const double *restrict x0, const double *restrict x1, double *restrict out," in alone.text


@pytest.mark.parametrize("name", LARGE)
def test_large_kernels_are_cut_into_chunks_only_if_they_are_long(name: str) -> None:
    assert ("_chunk" in named(name).text) == (named(name).work > LONG)


def test_threads_do_not_share_what_takes_microseconds() -> None:
    assert "_chunk" not in function_of(recorded(stencil, "f64[300, 200]"), "short").text
    assert "_chunk" in function_of(recorded(stencil, "f64[3000, 200]"), "long").text


# ---- numbers where sums go wrong -----------------------------------------------------------------------


def sums(x: Value) -> Value:
    return fn.sum_(x, (0,))


@pytest.fixture(scope="module")
def summing(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Array]:
    sizes = {(d, n): recorded(sums, f"{d}[{n}]") for d in ("f32", "f64") for n in (7, 200, 1000, 300_001)}
    columns = {(d, -n): recorded(sums, f"{d}[{n}, 40]") for d in ("f32", "f64") for n in (200, 10_001)}
    graphs = {**sizes, **columns}
    functions = [function_of(g, f"sum_{i}") for i, g in enumerate(graphs.values())]
    made = dict(zip(graphs, compiled(functions, c_toolchain, tmp_path_factory.mktemp("sums")), strict=True))

    def run(x: Array) -> Array:
        short = "f32" if x.dtype == np.float32 else "f64"
        return made[short, len(x) if x.ndim == 1 else -len(x)](x, threads=2)[0]

    return run


def hard(count: int, dtype: str, kind: str) -> Array:
    rng = np.random.default_rng(count)
    if kind == "alternating":
        x = rng.uniform(0.5, 1.5, count) * 10.0 ** rng.integers(-8, 8, count)
        x[1::2] *= -1
    elif kind == "small beside large":
        x = np.full(count, 1e-7)
        x[0] = 1.0
    else:
        x = rng.uniform(0, 1, count)
    return x.astype(dtype)


@pytest.mark.parametrize("kind", ["alternating", "small beside large", "positive"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [7, 200, 1000, 300_001])
def test_sums_are_as_accurate_as_numpys(
    count: int, dtype: str, kind: str, summing: Callable[..., Array]
) -> None:
    x = hard(count, dtype, kind)
    exact = np.sum(x.astype(np.longdouble))
    # Of 128 numbers, the narrowest vectors add 64 to one another, each time with half a unit.
    bound = 32 * np.finfo(x.dtype).eps * float(np.sum(np.abs(x), dtype=np.longdouble))
    ours, numpys = abs(summing(x) - exact), abs(np.sum(x, dtype=x.dtype) - exact)
    assert ours <= max(2 * numpys, bound)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [200, 10_001])
def test_sums_of_columns_are_as_accurate_as_numpys(
    count: int, dtype: str, summing: Callable[..., Array]
) -> None:
    x = np.stack([hard(count, dtype, "positive")] * 40, 1)
    exact = np.sum(x.astype(np.longdouble), 0)
    ours = np.max(np.abs(summing(x) - exact))
    numpys = np.max(np.abs(np.sum(x, 0, dtype=x.dtype) - exact))
    assert ours <= max(2 * numpys, 16 * np.finfo(x.dtype).eps * np.max(np.abs(exact)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [7, 200, 1000])
@pytest.mark.parametrize("put", [[np.inf], [-np.inf], [np.inf, -np.inf], [np.nan]])
def test_sums_of_infinities_are_infinite(
    count: int, dtype: str, put: list[float], summing: Callable[..., Array]
) -> None:
    x = np.ones(count, dtype)
    x[3 : 3 + len(put)] = put
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(summing(x), np.sum(x))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [7, 200, 1000])
def test_the_sum_of_negative_zeros_is_numpys(count: int, dtype: str, summing: Callable[..., Array]) -> None:
    total = summing(np.full(count, -0.0, dtype))
    assert np.signbit(total) == np.signbit(np.sum(np.full(count, -0.0, dtype)))


def extremes(x: Value) -> tuple[Value, ...]:
    found = bind("argmax", x, axis=1), bind("argmin", x, axis=1), bind("argmax", x, axis=0)
    return bind("max", x, axes=(1,)), bind("min", x, axes=(1,)), bind("max", x, axes=(0,)), *found


def test_extrema_are_nan_where_a_number_is(
    c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kinds = ("f32", "f64", "i8", "u64", "bool")
    made_of = {name: recorded(extremes, f"{name}[60, 40]") for name in kinds}
    functions = [function_of(g, f"extremes_{name}") for name, g in made_of.items()]
    made = compiled(functions, c_toolchain, tmp_path_factory.mktemp("extremes"))
    rng = np.random.default_rng(0)
    for graph, run in zip(made_of.values(), made, strict=True):
        values = special_values(graph.inputs[0].dtype)
        for chosen in (values, values[~np.isnan(values)] if values.dtype.kind == "f" else values):
            x = rng.choice(chosen, (60, 40))
            for ours, numpys in zip(run(x), meaning(graph, [x]), strict=True):
                np.testing.assert_array_equal(ours, numpys)


def places(x: Value) -> tuple[Value, ...]:
    """Places in rows, in what is computed of rows, and in the whole."""
    doubled = fn.add(x, x)
    rows = [bind(op, value, axis=1) for op in ("argmax", "argmin") for value in (x, doubled)]
    return *rows, bind("argmax", fn.reshape(x, (x.type.size,)), axis=0), bind("max", doubled, axes=(1,))


@pytest.fixture(scope="module")
def finding(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compiled]:
    functions = [function_of(recorded(places, f"{t}[3, 2500]"), f"places_{t}") for t in ("f32", "f64", "i32")]
    made = compiled(functions, c_toolchain, tmp_path_factory.mktemp("places"))
    return dict(zip(("f4", "f8", "i4"), made, strict=True))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("case", ["mixed", "rising", "falling", "ties", "infinite", "NaN"])
def test_places_of_extrema_are_the_first_in_long_rows(
    dtype: str, case: str, finding: dict[str, Compiled]
) -> None:
    rng = np.random.default_rng(0)
    rows: dict[str, Array] = {
        "mixed": rng.normal(size=(3, 2500)) * 1000,
        "rising": np.arange(7500.0).reshape(3, 2500),
        "falling": -np.arange(7500.0).reshape(3, 2500),
        "ties": rng.integers(-3, 4, (3, 2500)) * 1.0,
        "infinite": np.full((3, 2500), -np.inf if dtype[0] == "f" else -(2.0**31)),
        "NaN": np.where(rng.random((3, 2500)) < 0.001, np.nan if dtype[0] == "f" else 9, 1.0),
    }
    x = rows[case].astype(dtype)
    expected = meaning(recorded(places, f"{dtype[0]}{8 * x.itemsize}[3, 2500]"), [x])
    for threads in (1, 3):
        assert_same(finding[dtype](x, threads=threads)[: len(expected)], expected)


# ---- random graphs ---------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None, max_examples=2, suppress_health_check=list(HealthCheck))
@given(graphs=st.lists(loop_graphs(), min_size=12, max_size=12))
def test_random_graphs_give_what_they_mean(
    graphs: list[Graph], c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Many are compiled together, which takes much less time than one by one."""
    functions = [function_of(graph, f"kernel_{number}") for number, graph in enumerate(graphs)]
    runs = compiled(functions, c_toolchain, tmp_path_factory.mktemp("random"))
    for graph, run in zip(graphs, runs, strict=True):
        arrays: list[Any] = drawn(graph, "real")
        expected = meaning(graph, arrays)
        shaken = meaning(graph, [x + x * np.finfo(x.dtype).eps if is_inexact(x.dtype) else x for x in arrays])
        pairs = zip(expected, shaken, strict=True)
        if all(np.allclose(x, y, rtol=1e-5, atol=0, equal_nan=True) for x, y in pairs):
            assert_close(run(*arrays), expected, 2000)
        # else rounding is magnified, as by a sine of a sine of a sine


def test_kernels_with_large_constants_are_left_to_numpy() -> None:
    table = fn.constant(np.arange(5000.0))
    graph = recorded(lambda x: fn.add(x, table), "f64[5000]")
    assert kernel_function(graph, "kernel_1", COptions()) is None


def test_what_is_slow_to_compute_is_kept_in_a_row() -> None:
    assert named("softmax").text.count("tm_exp_f32(") == 1
    assert "_row[700]" in named("softmax").text


def test_loops_leave_rows_only_where_later_ones_find_them(
    c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def chosen(x: Value, y: Value, at: Value) -> Value:
        """Entries of one of two arrays: only one branch computes them, from rows of its own."""
        e, last = fn.exp(x), (x.ndim - 1,)
        shares = fn.divide(e, fn.reshape(fn.sum_(e, last), (*x.shape[:-1], 1)))
        return fn.gather(fn.concatenate([bind("max", shares, axes=last), y], 0), [at], (0,))

    graphs = [
        recorded(scaled_sums, "f64[16]", "f64[16]"),
        recorded(scaled_sums, "f64[2000]", "f64[300]"),
        recorded(chosen, "f64[3, 70]", "f64[2]", "i64[]"),
        recorded(chosen, "f64[3, 5, 70]", "f64[2, 5]", "i64[]"),
    ]
    functions = [function_of(graph, f"kernel_{i}") for i, graph in enumerate(graphs)]
    assert "_chunk(" in functions[1].text
    assert all("_row[" in f.text for f in functions[2:])
    made = compiled(functions, c_toolchain, tmp_path_factory.mktemp("rows"), level=1)
    for (graph, run), at, threads in product(zip(graphs, made, strict=True), (1, 4), (1, 3)):
        arrays = [*drawn(graph, "real")[:2], *(np.array(at) for _ in graph.inputs[2:])]
        assert_close(run(*arrays, threads=threads), meaning(graph, arrays), 100)


def test_arrays_that_are_transposed_are_read_in_tiles() -> None:
    assert "tm_tile_0[" in named("turned").text


def test_vector_functions_of_the_c_library_are_declared() -> None:
    """Functions fall back to them on processors without fused multiply-adds."""
    function = kernel_function(recorded(lambda x: bind("erf", x), "f32[9]"), "kernel_1", COptions())
    assert function is not None
    assert function.needs == {"tm_erf_f32"}
    assert '__attribute__((simd("notinbranch"))) float erff(float);' in source_of(function.needs)


@pytest.mark.slow
def test_the_same_graph_gives_the_same_text() -> None:
    for name in LARGE:
        assert large_function(name).text == named(name).text


# ---- names ---------------------------------------------------------------------------------------------


def test_inputs_may_have_names_that_mean_something_in_c(
    c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = (
        "cos exp sqrtf cabs I NAN INFINITY M_PI M_PI_2 EOF linux unix asm typeof int64_t float_t double restrict "
        "threads memory c i j out out_2 cos_1 add_1 cos_ tm_x _Complex __func__ abs main"
    ).split()
    arrays = [np.linspace(0, 1, 5) + i for i in range(len(names))]

    def total(*inputs: Value) -> Value:
        result = fn.cos(inputs[0])
        for x in inputs[1:]:
            result = fn.add(result, fn.sqrt(fn.exp(x)))
        return result

    graph = recorded(total, *["f64[5]"] * len(names), names=names)
    (run,) = compiled([function_of(graph, "kernel_1")], c_toolchain, tmp_path_factory.mktemp("names"))
    assert_close(run(*arrays), meaning(graph, arrays), 4)
