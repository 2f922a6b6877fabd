"""A result that the function has made read-only is read-only for its caller."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm

X = np.array([1.0, 2.0])


def flagged(x: Any) -> Any:
    y = x * 2
    y.flags.writeable = False
    return y


def with_views(x: Any) -> Any:
    y = x * 2
    z = y[:]
    y.setflags(write=False)
    return [y, y[1:], y.reshape(1, -1), {"copy": y.copy(), "before": z}, y + 1]


def written_before(x: Any) -> Any:
    y = np.zeros((3, 2))
    y[0] = x
    y.setflags(write=False)
    return y


def made_writeable_again(x: Any) -> Any:
    y = x * 2
    y.setflags(write=False)
    y.setflags(write=True)
    return y


def in_columns(x: Any) -> Any:
    y = np.asfortranarray(np.outer(x, x))
    y.flags.writeable = False
    return y


def without_axes(x: Any) -> Any:
    y = np.array(x.sum())
    y.flags.writeable = False
    return y


def constant(x: Any) -> Any:
    y = np.arange(3.0)
    y.flags.writeable = False
    return y, x * 1


def object_of_class(x: Any) -> Any:
    found = Holder()
    found.y = x * 3
    found.y.flags.writeable = False
    return found


class Holder:
    y: Any


def flags_of(result: Any) -> list[tuple[bool, list[Any]]]:
    leaves = [result.y] if isinstance(result, Holder) else optree.tree_leaves(result)
    return [(leaf.flags.writeable, leaf.tolist()) for leaf in leaves]


FUNCTIONS = [
    flagged, with_views, written_before, made_writeable_again, in_columns, without_axes, constant, object_of_class,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_compiled_result_has_the_flag(function: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend)
    for x in (X, X, X[::-1], X + 1):  # the second and the last call take the short way
        assert flags_of(compiled(x)) == flags_of(function(x))
    with pytest.raises(ValueError, match="read-only"):
        tm.compile(flagged, backend=backend)(X)[0] = 1.0


def test_derivatives_keep_the_flag_and_batches_are_new_arrays() -> None:
    for batched in (tm.vmap(flagged), tm.compile(tm.vmap(flagged)), tm.vmap(np.diag)):
        assert batched(np.stack([X, X])).flags.writeable
    assert not tm.vjp(flagged, X)[0].flags.writeable
    assert tm.vjp(made_writeable_again, X)[0].flags.writeable
    gradient = tm.compile(tm.grad(lambda x: flagged(x).sum()))(X)
    assert gradient.flags.writeable
    np.testing.assert_array_equal(gradient, [2.0, 2.0])


VIEWS: dict[str, Callable[[Any], Any]] = {
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "broadcast_to of the same shape": lambda x: np.broadcast_to(x, x.shape),
    "row of broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape))[0],
    "squeeze": lambda x: np.squeeze(np.broadcast_to(x, (1, *x.shape))),
    "copy": lambda x: np.broadcast_to(x, (2, *x.shape)).copy(),
    "diagonal": lambda x: np.diagonal(np.outer(x, x)),
    "method": lambda x: np.outer(x, x).diagonal(),
    "diag": lambda x: np.diag(np.outer(x, x)),
    "diag of a vector": lambda x: np.diag(x),  # noqa: PLW0108
    "linalg": lambda x: np.linalg.diagonal(np.outer(x, x)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2),
    "sum of windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum(-1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_numpy_makes_read_only_is_a_read_only_result(name: str) -> None:
    function = VIEWS[name]
    compiled = tm.compile(function, backend="numpy")
    for _ in range(2):
        assert flags_of(compiled(X)) == flags_of(function(X))
    assert tm.jvp(function, (X,), (X,))[0].flags.writeable == function(X).flags.writeable
    if not function(X).flags.writeable:
        with pytest.raises(ValueError, match="read-only"):
            compiled(X)[...] = 1.0


def test_an_argument_may_be_made_read_only() -> None:
    def function(x: Any) -> Any:
        x.setflags(write=False)
        return x * 2

    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for _ in range(2):
        x = X.copy()
        np.testing.assert_array_equal(compiled(x), 2 * X)
        assert not x.flags.writeable
