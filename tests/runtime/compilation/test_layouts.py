"""What compiled functions rely on in the memory order of arguments, and the memory order of their results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import ArgumentMismatchError, RecompileError

ROWS = np.arange(12.0).reshape(3, 4)
PLACED: dict[str, Callable[[Array], Array]] = {
    "C order": lambda x: x.copy(),
    "F order": np.asfortranarray,
    "a slice": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.broadcast_to(x, x.shape),
}
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])


def clear(x: Any) -> Any:
    """Writes to the argument where NumPy can flatten it without a copy, and only there."""
    flat = x.reshape(-1)
    flat *= 0
    return flat


def strides(x: Array) -> tuple[int, ...]:
    return tuple(s for s, n in zip(x.strides, x.shape, strict=True) if n > 1)


@pytest.mark.slow
@BACKENDS
@pytest.mark.parametrize("dynamic", [None, True])
def test_an_argument_is_written_to_where_numpy_makes_a_view_of_it(
    backend: str, dynamic: bool | None, c_compiler: str
) -> None:
    compiled = tm.compile(clear, backend=backend, dynamic=dynamic)
    for _ in range(2):
        for rows in (ROWS, np.arange(30.0).reshape(5, 6)):
            for placed in PLACED.values():
                given, expected = placed(rows), placed(rows)
                if given.flags.writeable:
                    np.testing.assert_array_equal(compiled(given), clear(expected))
                    np.testing.assert_array_equal(given, expected)


@pytest.mark.slow
@BACKENDS
def test_results_have_numpys_memory_order(backend: str, c_compiler: str) -> None:
    def several(x: Any, y: Any) -> Any:
        return x * 2, x.T, (x + y).T, np.sum(x[None] * y, 0), {"copy": x.copy(), "like": np.zeros_like(y)}

    compiled = tm.compile(several, backend=backend)
    for first in PLACED.values():
        for second in PLACED.values():
            *found, more = compiled(first(ROWS), second(ROWS))
            *expected, known = several(first(ROWS), second(ROWS))
            for ours, numpys in zip([*found, *more.values()], [*expected, *known.values()], strict=True):
                np.testing.assert_array_equal(ours, numpys)
                assert strides(ours) == strides(numpys.copy("K"))


def test_another_memory_order_has_a_program_of_its_own_and_an_explanation() -> None:
    compiled = tm.compile(lambda x: x * 2, backend="numpy")
    compiled(ROWS)
    compiled(np.asfortranarray(ROWS))
    compiled(ROWS)
    assert [str(one) for one in compiled.signatures()] == [
        "args[0]: f64[3, 4]",
        "args[0]: f64[3, 4] where args[0] is column-major (F order)",
    ]
    assert (
        "args[0] was row-major (C order) in memory and is column-major (F order)"
        in compiled.explain_recompile()
    )
    assert "np.ascontiguousarray(x)" in compiled.explain_recompile()
    strict = tm.compile(lambda x: x * 2, backend="numpy", on_recompile="error")
    strict(ROWS)
    with pytest.raises(RecompileError, match=r"column-major"):
        strict(np.asfortranarray(ROWS))


def test_one_program_serves_all_memory_orders_where_they_do_not_matter() -> None:
    compiled = tm.compile(lambda x: np.sum(np.sin(x), axis=0), backend="numpy")
    for placed in PLACED.values():
        np.testing.assert_allclose(compiled(placed(ROWS)), np.sum(np.sin(ROWS), axis=0))
    assert len(compiled.signatures()) == 1


@BACKENDS
def test_arrays_in_f_order_enter_and_leave_without_a_copy_of_their_elements(
    backend: str, c_compiler: str
) -> None:
    lowered = tm.compile(np.sin, backend=backend).lower(np.asfortranarray(ROWS))
    graph = lowered.after("simplify")
    assert [call.op for call in graph.calls] == ["sin"]
    assert graph.inputs[0].shape == (4, 3)


def test_flags_of_arguments_are_what_numpy_says() -> None:
    def shown(x: Any) -> Any:
        flags = x.flags
        return [flags.c_contiguous, flags["F"], flags.owndata, flags.writeable, x.T.flags.forc, x.strides[0]]

    compiled = tm.compile(shown, backend="numpy")
    for _ in range(2):
        for placed in PLACED.values():
            assert compiled(placed(ROWS)) == shown(placed(ROWS))


def test_derivatives_see_the_copies_that_numpy_makes() -> None:
    def copied(x: Any) -> Any:
        v = np.ascontiguousarray(x.T)
        v *= 3
        return np.sum(x)

    def flattened(x: Any) -> Any:
        v = x.T * 2
        w = v.ravel()
        w *= 3
        return np.sum(v)

    slope_of_copied: Any = tm.grad(copied)
    slope: Any = tm.grad(flattened)
    ways: Any = (lambda f: f, lambda f: tm.compile(f, backend="numpy"))
    for transform in ways:
        np.testing.assert_array_equal(transform(slope_of_copied)(ROWS), np.ones((3, 4)))
        np.testing.assert_array_equal(transform(slope)(ROWS), np.full((3, 4), 2.0))
        rows = np.stack([ROWS, ROWS + 1])
        np.testing.assert_array_equal(transform(tm.vmap(slope))(rows), np.full((2, 3, 4), 2.0))


def test_an_example_of_a_batch_has_the_memory_layout_of_a_loop() -> None:
    def sums(x: Any) -> Any:
        flat = np.ravel(x)
        flat += 1
        return np.sum(x)

    batch = np.arange(24.0).reshape(2, 3, 4)
    for axis in range(3):
        examples = [np.moveaxis(batch.copy(), axis, 0)[i] for i in range(batch.shape[axis])]
        found = tm.vmap(sums, in_dims=axis)(batch.copy())
        np.testing.assert_array_equal(found, [sums(example) for example in examples])


def test_a_loaded_function_that_writes_through_views_takes_c_order_alone(tmp_path: Any) -> None:
    loaded = tm.load(tm.export(clear, "f64[3, 4]").save(tmp_path / "clear.tmill"))
    given = ROWS.copy()
    np.testing.assert_array_equal(loaded(given), np.zeros(12))
    np.testing.assert_array_equal(given, np.zeros((3, 4)))
    for placed in (PLACED["F order"], PLACED["a slice"]):
        given = placed(ROWS)
        with pytest.raises(ArgumentMismatchError, match="C order"):
            loaded(given)
        np.testing.assert_array_equal(given, ROWS)


def test_donated_arrays_in_f_order_are_overwritten_in_place() -> None:
    compiled = tm.compile(lambda x: x * 2, donate_argnums=0, backend="numpy")
    given = np.asfortranarray(ROWS)
    result = compiled(given)
    np.testing.assert_array_equal(result, ROWS * 2)
    assert np.shares_memory(result, given)
