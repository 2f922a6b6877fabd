"""Arrays that no machine can hold: NumPy's own exception, with NumPy's text."""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
HUGE = 2_000_000_000

OF_INTS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda n: np.zeros((n, n)),
    "three axes": lambda n: np.zeros((n, n, n), complex),
    "ones": lambda n: np.ones((n, n)) * 2.0,
    "full": lambda n: np.full((n, n, n), 2.5).sum(),
    "arange": lambda n: np.arange(n * n * 4),
    "linspace": lambda n: np.linspace(0, 1, n * n * 8),
    "broadcast_to": lambda n: np.broadcast_to(np.float64(1), (n, n, n)).sum(),
}
OF_VALUES: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: np.zeros((int(x.sum()), int(x.sum()))),
    "ones": lambda x: np.ones((len(x[x > 0]) * HUGE, HUGE)),
    "full": lambda x: np.full((int(x[0]), HUGE, HUGE), 0.5),
}


def text_of_error(function: Callable[..., Any], *given: Any) -> tuple[type[BaseException], str]:
    with pytest.raises((ValueError, MemoryError)) as found:
        function(*given)
    return type(found.value), str(found.value)


@BACKENDS
@pytest.mark.parametrize("name", OF_INTS)
def test_a_huge_int_has_numpys_error(name: str, backend: str) -> None:
    function = OF_INTS[name]
    expected = text_of_error(function, HUGE)
    assert text_of_error(tm.compile(function, backend=backend), HUGE) == expected
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for n in (3, 4):
        np.testing.assert_array_equal(compiled(n), function(n))
    assert text_of_error(compiled, HUGE) == expected
    np.testing.assert_array_equal(compiled(5), function(5))


@BACKENDS
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_huge_computed_length_has_numpys_error(name: str, backend: str) -> None:
    function, x = OF_VALUES[name], np.array([3e9, 4e9])
    expected = text_of_error(function, x)
    assert text_of_error(tm.compile(function, backend=backend), x) == expected
    assert text_of_error(tm.grad(lambda x: function(x).sum() * x[0]), x) == expected


# ---- arrays that nothing reads, or of which only a part is read ------------------------------------------

UNREAD: dict[str, Callable[[Any, Any], Any]] = {
    "not used": lambda x, n: (np.zeros((n, n)), x.sum())[1],
    "length": lambda x, n: len(np.ones((n, n))) + x[0],
    "shape": lambda x, n: np.full((n, n), x[0]).shape[0] * x[0],
    "a part": lambda x, n: np.zeros((n, n, n))[:1, 0, 0] + x[0],
    "sum": lambda x, n: np.ones((n, n)).sum() + x[0],
    "sum of full": lambda x, n: np.full((n, n), x[1]).sum(),
    "any": lambda x, n: np.zeros((n, n), np.int8).any() + x[0],
    "eye": lambda x, n: np.eye(n, n)[0, 0] + x[0],
    "identity": lambda x, n: np.identity(n * 4).sum() + x[0],
    "arange": lambda x, n: np.arange(n * n)[2] + x[0],
    "linspace": lambda x, n: np.linspace(0.0, x[0], n * n)[0],
    "zeros_like": lambda x, n: np.zeros_like(x, shape=(n, n)).sum(),
    "repeat": lambda x, n: np.repeat(x, n * n // 4).sum(),
    "pad": lambda x, n: np.pad(x, n * n // 4)[0],
    "indices": lambda x, n: np.indices((n, n))[0, 0, 0] + x[0],
}
N = 10**9


def written(x: Any, n: Any) -> Any:
    z = np.zeros((n, n))
    z[0, 0] = x[0]
    return x.sum()


def handled(x: Any, n: Any) -> Any:
    try:
        np.zeros((n, n))
    except (ValueError, MemoryError):
        return -1.0
    return x.sum()


def in_a_branch(x: Any, n: Any) -> Any:
    if x[1] > 3.0:
        np.zeros((n, n))
    return x.sum()


@BACKENDS
@pytest.mark.parametrize("function", [*UNREAD.values(), written], ids=[*UNREAD, "written"])
def test_what_nothing_reads_has_numpys_error_too(function: Callable[..., Any], backend: str) -> None:
    """The number of entries is a constant, an int, or a value."""
    x = np.array([1.0, 2.0])
    expected = text_of_error(function, x, N)
    constant = tm.compile(lambda x: function(x, N), backend=backend)
    of_int = tm.compile(function, backend=backend, on_recompile="ignore")
    of_value = tm.compile(lambda x, y: function(x, int(y)), backend=backend, on_recompile="ignore")
    assert text_of_error(constant, x) == expected
    assert text_of_error(of_value, x, float(N)) == expected
    for n in (3, 4):
        assert of_int(x, n) == of_value(x, float(n)) == function(x, n)
    assert text_of_error(of_int, x, N) == expected
    assert text_of_error(of_value, x, float(N)) == expected
    assert of_int(x, 5) == of_value(x, 5.0) == function(x, 5)


@BACKENDS
def test_a_handler_sees_the_error(backend: str) -> None:
    x = np.array([1.0, 2.0])
    of_int = tm.compile(handled, backend=backend, on_recompile="ignore")
    of_value = tm.compile(lambda x, y: handled(x, int(y)), backend=backend, on_recompile="ignore")
    for n in (3, 4, N, 5, N):
        assert of_int(x, n) == of_value(x, float(n)) == handled(x, n)
    assert tm.compile(lambda x: handled(x, N), backend=backend)(x) == -1.0


@BACKENDS
def test_a_branch_makes_no_array_unless_it_runs(backend: str) -> None:
    of_value = tm.compile(lambda x, y: in_a_branch(x, int(y)), backend=backend)
    assert of_value(np.array([1.0, 2.0]), float(N)) == 3.0
    assert of_value(np.array([1.0, 4.0]), 3.0) == 5.0
    with pytest.raises(MemoryError, match="Unable to allocate"):
        of_value(np.array([1.0, 4.0]), float(N))


@pytest.mark.parametrize("name", ["not used", "length", "sum of full", "pad"])
def test_without_compile_numpy_itself_raises(name: str) -> None:
    function, x = UNREAD[name], np.array([1.0, 2.0])
    expected = text_of_error(function, x, N)
    assert text_of_error(tm.grad(function), x, N) == expected
    assert text_of_error(tm.vmap(function, in_dims=(0, None)), x[None], N)[0] is expected[0]


def test_the_error_names_the_line() -> None:
    def f(x: Any) -> Any:
        np.ones((N, N))
        return x

    with pytest.raises(MemoryError) as found:
        tm.compile(f)(np.ones(2))
    assert "in f\n    np.ones((N, N))" in "".join(traceback.format_tb(found.value.__traceback__))


@BACKENDS
def test_np_tile_has_numpys_error_of_another_shape(backend: str) -> None:
    compiled = tm.compile(lambda x, n: np.tile(x, int(n)).sum(), backend=backend, on_recompile="ignore")
    for copies in (2.0, 1e17, 3.0, 1e17):
        if copies < 9:
            assert compiled(np.ones(2), copies) == 2 * copies
            continue
        with pytest.raises(MemoryError, match=r"Unable to allocate 1\.39 EiB"):
            compiled(np.ones(2), copies)


def test_sizes_of_arguments_decide_in_each_call() -> None:
    compiled = tm.compile(lambda x: (np.zeros((len(x), len(x), 2**40)), x.sum())[1], dynamic=True)
    assert compiled(np.zeros(0)) == 0.0
    for length in (2, 3):
        with pytest.raises(MemoryError):
            compiled(np.ones(length))


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "function",
    [lambda n: np.zeros(n)[:1].sum(), lambda n: np.zeros(n).sum(), lambda n: np.full((n,), 2.0).mean()],
    ids=["a part", "a sum", "a mean"],
)
def test_a_length_that_is_too_large_after_smaller_ones(
    function: Any, backend: str, c_toolchain: object
) -> None:
    compiled = tm.compile(function, backend=backend)
    for n in (3, 5, 7):
        assert compiled(n) == function(n)
    with pytest.raises(ValueError, match="array is too big"):
        compiled(2**61)
    with pytest.raises(MemoryError):
        compiled(10**18)


# ---- results of arithmetic on arrays that are broadcast ----------------------------------------------------

BROADCAST: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, y: x[:, None, None] * y[:, None] * x,
    "sum": lambda x, y: (x[:, None, None] * y[:, None] * x).sum(),
    "part": lambda x, y: (x[:, None, None] + y[:, None] + x)[0, 0, :2],
    "outer": lambda x, y: np.multiply.outer(np.outer(x, y), x).max(),
    "comparison": lambda x, y: (x[:, None, None] < y[:, None] * x).any(),
    "of chosen": lambda x, y: (x[x > 0][:, None, None] * y[:, None] * x).sum(),
}


@BACKENDS
@pytest.mark.parametrize("name", BROADCAST)
def test_a_product_that_is_too_large_is_a_memory_error_and_not_an_endless_sum(
    name: str, backend: str
) -> None:
    function = BROADCAST[name]
    compiled = tm.compile(function, backend=backend, dynamic=True, on_recompile="ignore")
    for n in (3, 5):
        few = np.arange(1.0, n)
        np.testing.assert_array_equal(compiled(few, few), function(few, few))
    many = np.ones(200_000)
    for one in (compiled, tm.compile(function, backend=backend)):
        with pytest.raises(MemoryError):
            one(many, many)
