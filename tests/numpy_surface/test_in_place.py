"""Arrays that are written to: views see it, scalars do not change, arguments and closures change as in NumPy."""
# ruff: noqa: PLW0108  (lambdas look NumPy's functions up while they are traced)

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, check, check_both_raise, run_numpy, run_traced
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import (
    ImmutableScalarError,
    ReadOnlyError,
    ShapeError,
    UnsupportedAttributeError,
)

MATRIX = np.arange(12.0).reshape(3, 4)
ROW = np.arange(1.0, 7.0)
COMPLEX = np.array([1 + 2j, 3 - 1j, 0.5j])

VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[1:, ::2],
    "falling slice": lambda x: x[::-1, 3:0:-2],
    "row": lambda x: x[1],
    "new axes": lambda x: x[None, :, None],
    "transpose": lambda x: x.T,
    "transpose of a slice": lambda x: x[1:].T[::-1],
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1)[1],
    "reshape": lambda x: x.reshape(2, 6),
    "reshape of a row": lambda x: x[1].reshape(2, 2),
    "reshape of a transpose": lambda x: x.T.reshape(6, 2),
    "reshape in column order": lambda x: x.T.reshape(-1, order="F"),
    "reshape of every second column": lambda x: x[:, ::2].reshape(-1),
    "ravel": lambda x: x.ravel(),
    "ravel of a column": lambda x: x[:, 1].ravel(),
    "ravel of a transpose": lambda x: x.T.ravel(),
    "ravel as it lies": lambda x: x.T.ravel("K"),
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: x[:1].squeeze(),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "flip": lambda x: np.flip(x, 1),
    "rot90": lambda x: np.rot90(x),
    "split": lambda x: np.split(x, 2, axis=1)[1],
    "array_split": lambda x: np.array_split(x, 2)[0],
    "unstacked": lambda x: np.unstack(x)[2],
    "integer array": lambda x: x[[0, 1]],
    "mask": lambda x: x[np.array([True, False, True])],
    "take": lambda x: np.take(x, [0], 0),
    "copy": lambda x: x.copy(),
    "view": lambda x: x.view(),
    "bits": lambda x: x.view(np.int64),
    "real": lambda x: x.real,
    "asarray": lambda x: np.asarray(x),
    "array": lambda x: np.array(x),
    "astype": lambda x: x.astype(float),
    "astype without a copy": lambda x: x.astype(float, copy=False),
    "positive": lambda x: +x,
    "transposed matrix": lambda x: x.mT,
    "broadcast_arrays of one shape": lambda x: np.broadcast_arrays(x, x)[1],
    "meshgrid without copies": lambda x: np.meshgrid(x[0], copy=False)[0],
    "roll": lambda x: np.roll(x, 1),
    "triu": lambda x: np.triu(x),
    "vander": lambda x: np.vander(x[0]).reshape(-1),
    "ellipsis": lambda x: x[...],
    "element": lambda x: x[0, 1, ...],
    "every axis an integer array": lambda x: x[[0], [1]],
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_reaches_the_base_where_numpy_gives_a_view(name: str) -> None:
    def write(x: Any) -> Any:
        view = VIEWS[name](x)
        before = view + 0
        view[...] = 7
        x[0, 1] = -1.0
        return before, view, x

    check(write, MATRIX)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        lambda x: np.broadcast_arrays(x, x[None])[0],
        lambda x: np.diagonal(x),
        lambda x: np.diag(x),
        lambda x: x.diagonal(1)[1:],
    ],
)
def test_read_only_views_refuse_to_be_written_to(view: Callable[[Any], Any]) -> None:
    def write(x: Any) -> None:
        view(x)[...] = 0

    with pytest.raises(ReadOnlyError, match=r"copy(.|\n)*at test_in_place\.py:\d+  view\(x\)"):
        run_traced(write, MATRIX.copy())


def test_views_of_a_diagonal_see_later_writes() -> None:
    def use(x: Any) -> Any:
        diagonal = np.diagonal(x)
        x[1, 1] = 50.0
        return diagonal, diagonal.copy()

    check(use, MATRIX)


# ---- parts of complex numbers ------------------------------------------------------------------------


def test_real_and_imaginary_parts_are_views_that_can_be_set() -> None:
    def write(z: Any, x: Any) -> Any:
        z.real[1:] = 9.0
        z.imag *= 2
        z[::-1].real = [1.0, 2.0, 3.0]
        x.real = 5
        z.real[0] += z.imag[1]
        return z, x

    check(write, COMPLEX, ROW)


# ---- overlaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
        lambda x: x.__setitem__(slice(None, -1), x[1:]),
        lambda x: x.__setitem__(slice(None), x[::-1]),
        lambda x: x.__setitem__(slice(None, 3), x[3:][::-1]),
        lambda x: np.add(x[1:], x[:-1], out=x[1:]),
        lambda x: np.copyto(x[:-2], x[2:]),
        lambda x: x[::2].__imul__(x[1::2]),
        lambda x: np.cumsum(x, out=x),
    ],
)
def test_overlapping_reads_and_writes_have_numpys_result(move: Callable[[Any], Any]) -> None:
    def use(x: Any) -> Any:
        move(x)
        return x

    check(use, ROW)


# ---- loops -------------------------------------------------------------------------------------------


def heat(u: Any) -> Any:
    for _ in range(3):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[0], u[-1] = u[1], u[-2]
    return u


def running_product(x: Any) -> Any:
    out = np.ones_like(x)
    for i in range(1, len(x)):
        out[i] = out[i - 1] * x[i]
    return out


def back_substitution(a: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in reversed(range(len(b))):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def leapfrog(q: Any, p: Any) -> Any:
    path = np.empty((4, 2, len(q)))
    for step in range(4):
        p -= 0.05 * q
        q += 0.1 * p
        path[step, 0], path[step, 1] = q, p
    return path


def sieve(x: Any) -> Any:
    is_prime = np.ones(30, bool)
    is_prime[:2] = False
    for i in range(2, 6):
        is_prime[i * i :: i] = False
    return np.where(is_prime, x[0], 0.0)


def swapped_rows(a: Any) -> Any:
    a[[0, 2]] = a[[2, 0]]
    a[0], a[1] = a[1].copy(), a[0].copy()
    return a


def swapped_without_copies(a: Any) -> Any:
    a[0], a[1] = a[1], a[0]
    return a


def histogram(x: Any) -> Any:
    counts = np.zeros(4, int)
    for value in x:
        counts[np.minimum(value.astype(int), 3)] += 1
    return counts


def test_stencils_over_time_steps() -> None:
    check(heat, np.arange(20.0).reshape(4, 5) ** 2)


def test_loops_that_build_an_array_entry_by_entry() -> None:
    check(running_product, ROW)
    check(sieve, ROW)
    check(histogram, ROW)


def test_solvers_that_fill_an_array() -> None:
    check(back_substitution, np.triu(MATRIX[:, :3] + 1), np.array([1.0, 2.0, 3.0]), rtol=1e-15)
    check(leapfrog, np.array([1.0, 0.5]), np.array([0.0, -0.5]))


def test_rows_are_swapped_only_if_numpy_swaps_them() -> None:
    check(swapped_rows, MATRIX)
    check(swapped_without_copies, MATRIX)


# ---- augmented assignment, out= and where= -----------------------------------------------------------


def every_operator(x: Any, i: Any) -> Any:
    x += 1
    x -= [0.5] * 6
    x *= x
    x /= 3
    x **= 2
    x //= 0.5
    x %= 7
    i |= 8
    i &= 13
    i ^= 1
    i <<= 2
    i >>= 1
    return x, i


def test_augmented_assignment_writes_in_place() -> None:
    check(every_operator, ROW, np.arange(6))


def at_without_index_arrays(x: Any) -> Any:
    every_other: Any = slice(None, None, -2)  # NumPy's types know only arrays and integers as places
    row_part: Any = (0, slice(1, 3))
    column: Any = (..., 1)
    np.add.at(x, every_other, x[0])
    np.negative.at(x, row_part)
    np.power.at(x, column, 2)
    np.subtract.at(x, (), 1.0)
    np.multiply.at(x[1], 2, 5)
    return x


def test_ufuncs_update_at_integers_and_slices() -> None:
    check(at_without_index_arrays, MATRIX)


def test_an_empty_index_gives_a_scalar_only_of_an_array_without_axes() -> None:
    check(lambda x, y: (x[()], y[()], x[...]), np.array(1.5), MATRIX)


def test_augmented_assignment_keeps_the_dtype() -> None:
    def use(w: Any, i: Any, x: Any) -> Any:
        w += x
        i += np.int8(3)
        w[1:] *= 2.5
        return w, i

    check(use, ROW.astype(np.float32), np.arange(6, dtype=np.int32), ROW)


@pytest.mark.parametrize(
    "use",
    [
        lambda i, x: i.__iadd__(x),
        lambda i, x: i.__itruediv__(2),
        lambda i, x: x.__iadd__(np.ones((2, 6))),
        lambda i, x: np.add(x, 1, out=i),
        lambda i, x: np.add(x, x, out=np.zeros(5)),
        lambda i, x: x.__imatmul__(x),
    ],
)
def test_a_result_that_does_not_fit_in_place_is_refused(use: Callable[..., Any]) -> None:
    check_both_raise(use, np.arange(6), ROW)


def test_out_and_where_write_only_what_they_should() -> None:
    def use(x: Any, m: Any) -> Any:
        y = np.zeros(6)
        result = np.sqrt(x, out=y, where=x > 2)
        np.multiply(x, 2, out=x, where=m)
        np.add(x, y, x)
        np.negative(y[::2], out=y[1::2])
        q, r = np.divmod(x, 2.0, out=(np.empty(6), y[:]))
        return x, y, result, result is y, q, r

    check(use, ROW, ROW % 2 == 0)


def test_a_name_bound_to_a_scalar_is_rebound_not_written_to() -> None:
    def use(x: Any, s: Any) -> Any:
        y = x[0]
        y += 1
        total = x.sum()
        total *= 2
        s -= 1
        z = x[1, ...]
        z += 100
        return x, y, total, s, z

    check(use, ROW, np.float64(3.0))


def test_scalars_cannot_be_assigned_into() -> None:
    for write in (lambda x: x.sum().__setitem__(..., 1), lambda x: x[0].__setitem__((), 1)):
        with pytest.raises(ImmutableScalarError):
            run_traced(write, ROW)


def test_python_numbers_as_arguments_are_rebound() -> None:
    def use(n: Any, x: Any) -> Any:
        m = n
        m += 1
        m *= 2.5
        return n, m, x * m

    expected = run_numpy(use, 3, ROW.astype(np.float32))
    actual = run_traced(use, 3, ROW.astype(np.float32))
    assert_same([np.asarray(x) for x in expected], [np.asarray(x) for x in actual])


# ---- arguments and closures --------------------------------------------------------------------------


def test_arguments_change_as_numpy_changes_them() -> None:
    def use(x: Any, tree: Any) -> Any:
        x[0] = tree["a"][1]
        tree["a"].T[0] *= -1
        tree["b"][0].fill(2.0)
        y = x
        y[-1:] = 0
        return x.sum()

    check(use, ROW, {"a": MATRIX[0].copy(), "b": [ROW.copy(), MATRIX.copy()]})


def test_an_argument_that_is_only_read_stays_as_it_is() -> None:
    def use(x: Any) -> Any:
        y = x + 0
        y[0] = 9.0
        z = x.copy()
        z *= 2
        return y, z, x

    check(use, ROW)


def test_arrays_that_the_function_closes_over_are_written_to() -> None:
    def with_state() -> tuple[Callable[[Any], Any], Array, Array]:
        state, log = np.zeros(6), np.zeros((2, 3))

        def step(x: Any) -> Any:
            np.add(state, x, out=state)
            np.copyto(log, 5.0 + x[0])
            np.put(log, [0], x[1])
            np.fill_diagonal(log, x[2])
            np.place(log, np.asarray(log) > 2.5, x[3])
            np.putmask(log, np.asarray(log) < 3.5, x[4])
            return np.asarray(state) * 2

        return step, state, log

    ours, our_state, our_log = with_state()
    theirs, their_state, their_log = with_state()
    for _ in range(2):
        assert_same(run_numpy(theirs, ROW), run_traced(ours, ROW))
        assert_same([their_state, their_log], [our_state, our_log])


TABLE = np.array([1.0, 2.0, 3.0])
MADE_INSIDE: dict[str, Callable[[], Array]] = {
    "a copy": lambda: TABLE.copy(),
    "a copy by copy.deepcopy": lambda: copy.deepcopy(TABLE),
    "a result": lambda: 2.0 * TABLE,
    "entries": lambda: TABLE[TABLE > 1.0],
    "a view of a copy": lambda: np.repeat(TABLE, 2).reshape(2, 3)[1],
    "draws": lambda: np.random.Generator(np.random.PCG64(0)).normal(size=3),
}


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("made", MADE_INSIDE)
@pytest.mark.parametrize("way", ["alone", "grad", "vmap", "scan"])
def test_an_array_that_the_function_makes_is_new_in_each_call(made: str, way: str) -> None:
    def use(x: Any) -> Any:
        row = MADE_INSIDE[made]()
        row += x
        return np.sum(row**2)

    def in_a_loop(x: Any) -> Any:
        return tm.scan(lambda x, _: (x + 1.0, use(x)), x, length=2)[1]

    start = MADE_INSIDE[made]()
    function, given, expected = {
        "alone": (use, 2.0, np.sum((start + 2.0) ** 2)),
        "grad": (tm.grad(use), 2.0, np.sum(2.0 * (start + 2.0))),
        "vmap": (
            tm.vmap(use),
            np.array([2.0, 3.0]),
            np.stack([np.sum((start + x) ** 2) for x in (2.0, 3.0)]),
        ),
        "scan": (in_a_loop, 2.0, np.stack([np.sum((start + x) ** 2) for x in (2.0, 3.0)])),
    }[way]
    compiled = tm.compile(function, backend="numpy")
    for _ in range(2):
        np.testing.assert_allclose(compiled(given), np.asarray(expected), rtol=1e-14)
        np.testing.assert_allclose(function(given), np.asarray(expected), rtol=1e-14)


@pytest.mark.parametrize("transform", ["none", "grad", "jvp", "vmap"])
def test_what_numpy_writes_to_an_array_counts_from_then_on(transform: str) -> None:
    def series(x: Any) -> Any:
        weights, total = TABLE.copy(), 0.0
        for _ in range(3):
            total = total + x * weights
            weights *= 0.5
        return np.sum(total)

    function, given = {
        "none": (series, (2.0,)),
        "grad": (tm.grad(series), (2.0,)),
        "jvp": (lambda x: tm.jvp(series, (x,), (1.0,))[1], (2.0,)),
        "vmap": (tm.vmap(series), (np.array([2.0]),)),
    }[transform]
    expected = 21.0 if transform in ("none", "vmap") else 10.5
    assert function(*given) == expected
    compiled = tm.compile(function, backend="numpy")
    assert [float(np.sum(compiled(*given))) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize("transform", [tm.compile, tm.grad])
@pytest.mark.parametrize("is_used_again", [True, False])
def test_what_numpy_writes_to_a_large_array_is_refused(transform: Any, is_used_again: bool) -> None:
    table = np.ones((100, 1000))

    def series(x: Any) -> Any:
        weights = table.copy()
        total = x * weights
        weights *= 0.5
        return np.sum(total + x * weights if is_used_again else total)

    with pytest.raises(tm.errors.ArgumentValueError, match=r"w = w \* 0\.5"):
        transform(series)(2.0)


def test_views_of_outside_arrays_are_written_to_and_new_arrays_kept_in_each_call() -> None:
    table, log = TABLE.copy(), []

    @tm.compile(backend="numpy", on_recompile="ignore")
    def use(x: Any) -> Any:
        rest = table[1:]
        rest += x
        row = TABLE.copy()
        log.append(row)
        np.add(row, x, out=row)
        return rest

    for count in (1, 2):
        np.testing.assert_array_equal(use(2.0), TABLE[1:] + 2.0 * count)
        np.testing.assert_array_equal(table, [1.0, *(TABLE[1:] + 2.0 * count)])
        np.testing.assert_array_equal(log, [TABLE + 2.0] * count)


BUFFER = np.zeros(6)


class Held:
    """Has arrays as an attribute, in a list, and in a dict of an object."""

    def __init__(self) -> None:
        self.buffer = np.zeros(6)
        self.rows = [np.zeros(6), np.zeros(6)]
        self.inner = SimpleNamespace(table={"row": np.zeros(6)})


def reading(buffer: Any) -> list[Any]:
    """What NumPy alone would read from the memory of an array."""
    return [buffer + 1, buffer[2], buffer[1:] * 2, buffer.sum(), -buffer, sum(buffer)]


def of_global(x: Any) -> Any:
    np.multiply(x, 2, out=BUFFER)
    return reading(BUFFER)


def of_enclosing() -> Callable[[Any], Any]:
    buffer = np.zeros(6)
    tail = buffer[1:]

    def function(x: Any) -> Any:
        np.multiply(x, 2, out=buffer)
        np.add(tail, x[1:], out=tail)
        return [*reading(buffer), *reading(tail)]

    return function


def of_attributes() -> Callable[[Any], Any]:
    held = Held()

    def function(x: Any) -> Any:
        np.multiply(x, 2, out=held.buffer)
        np.add(held.buffer, x, out=held.rows[1])
        np.sin(held.rows[1], held.inner.table["row"])
        return [*reading(held.buffer), *reading(held.rows[1]), held.rows[0] + 1, held.inner.table["row"] * 2]

    return function


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("make", [lambda: of_global, of_enclosing, of_attributes])
@pytest.mark.parametrize("transform", ["compile", "grad", "jvp"])
def test_numpy_reads_what_was_written_by_out_to_an_array_from_outside(make: Any, transform: str) -> None:
    def loss(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: sum(np.sum(part) for part in function(x))

    ours = make()
    functions: dict[str, Callable[[Any], Any]] = {
        "compile": tm.compile(ours, backend="numpy"),
        "grad": tm.grad(loss(ours)),
        "jvp": lambda x: tm.jvp(loss(ours), (x,), (np.ones(6),))[1],
    }
    function = functions[transform]
    for x in (ROW, ROW * 3):
        if transform == "compile":
            assert_same(make()(x), function(x))
        else:
            slope = (loss(make())(x + 1e-6) - loss(make())(x - 1e-6)) / 2e-6
            np.testing.assert_allclose(np.sum(function(x)), slope, rtol=1e-6)
    assert type(BUFFER) is np.ndarray  # the traced array that stood for it is gone


def test_what_only_the_caller_of_the_function_holds_does_not_matter() -> None:
    def total(x: Any) -> Any:
        np.multiply(x, 2, out=BUFFER)
        return BUFFER.sum()

    waiting = iter((BUFFER,))  # a place where no traced array could replace it, which `total` cannot reach
    assert_same(np.float64(42.0), tm.compile(total, backend="numpy")(ROW))
    assert_same(np.full(6, 2.0), tm.grad(total)(ROW))
    assert next(waiting) is BUFFER


def test_arrays_from_outside_are_put_back_after_an_error() -> None:
    held = Held()

    def function(x: Any) -> Any:
        np.multiply(x, 2, out=held.buffer)
        np.multiply(x, 2, out=BUFFER)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tm.compile(function)(ROW)
    assert type(BUFFER) is type(held.buffer) is np.ndarray


def test_views_of_an_array_from_outside_see_what_is_written_to_it() -> None:
    state = np.zeros(6)

    def step(x: Any) -> Any:
        np.add(state[1:], x[1:], out=state[1:])
        return np.asarray(state) + x

    def well_written(x: Any) -> Any:
        inside = np.asarray(state)
        inside[1:] += x[1:]
        return inside + x

    assert_same(np.array([1.0, 4, 6, 8, 10, 12]), run_traced(well_written, ROW))
    assert_same(np.array([0.0, 2, 3, 4, 5, 6]), state)
    assert_same(np.array([1.0, 6, 9, 12, 15, 18]), run_traced(step, ROW))
    assert_same(np.array([0.0, 4, 6, 8, 10, 12]), state)


def test_an_array_that_numpy_made_shows_what_is_written_to_it_by_out() -> None:
    """Under each name that the function has for it, in methods of NumPy's arrays, too."""

    def whole(x: Any) -> Any:
        row = TABLE.copy()
        first, backwards = row[:1], row[::-1]
        np.multiply(row, x, out=row)
        return row.sum(), first.sum(), backwards.tolist(), row.max()

    def part(x: Any) -> Any:
        row = TABLE.copy()
        tail = row[1:]
        np.multiply(x[1:], 2.0, out=row[1:])
        np.add(tail, 1.0, out=tail)
        return row.sum(), tail.prod(), row

    def inner(x: Any) -> Any:
        row = TABLE.copy()

        def total() -> Any:
            return row.sum()

        np.copyto(row, x)
        np.add.at(row, [0, 0], x[1])
        return total(), row

    for function in (whole, part, inner):
        check(function, TABLE + 1.0)


def test_a_written_array_can_be_returned_twice() -> None:
    def use(x: Any) -> Any:
        y = np.zeros(3)
        rows = []
        for i in range(3):
            y[i] = x[i]
            rows.append(y)
        return rows

    check(use, ROW)


# ---- methods -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_the_shape_can_be_set_where_it_needs_no_copy() -> None:
    def use(x: Any) -> Any:
        y = x[:]
        y.shape = (2, -1)
        y[0] = 5.0
        return x, y

    check(use, MATRIX)
    with pytest.raises(ShapeError, match="copy"):
        run_traced(lambda x: setattr(x.T, "shape", (12,)), MATRIX)


def test_what_is_about_memory_has_a_named_error() -> None:
    for name in ("data", "base", "ctypes"):
        with pytest.raises(
            UnsupportedAttributeError, match=rf"x\.{name} cannot be traced(.|\n)*test_in_place"
        ):
            run_traced(lambda x, name=name: getattr(x, name), ROW)
        assert run_traced(lambda x, name=name: hasattr(x, name), ROW) is False
