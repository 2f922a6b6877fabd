"""Every use of NumPy's functions gives results in NumPy's memory order, and views where NumPy gives views.

The uses are those of the samples, on arguments in Fortran order and in strided, permuted and reversed layouts.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.layout.layout_programs import different_order, quiet
from samples import numpy_functions, numpy_linalg, numpy_math
from samples.grouping import Case, in_groups
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import UnsupportedAttributeError

Use = Callable[..., Any]
Layout = Callable[[Array], Array]


def in_c_order(x: Array) -> Array:
    return x.copy()


def in_fortran_order(x: Array) -> Array:
    return x.copy(order="F")


def permuted(x: Array) -> Array:
    """With the first two axes exchanged in memory; reversed there if it has one axis."""
    if x.ndim < 2:
        return x[::-1].copy()[::-1]
    return x.swapaxes(0, 1).copy(order="C").swapaxes(0, 1)


def strided(x: Array) -> Array:
    """Every second element of a longer array."""
    return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x.copy()


LAYOUTS = (in_c_order, in_fortran_order, permuted, strided)


def uses() -> Iterator[tuple[str, int, Use, list[Any]]]:
    """Each use of the tables: the function's name, the number of the use, and the arrays that it takes."""
    for table, arrays_of in (
        (numpy_functions.all_uses(), numpy_functions.arguments_of),
        (numpy_linalg.USES, numpy_linalg.arguments_of),
    ):
        for name, of_name in table.items():
            for number, use in enumerate(of_name):
                yield name, number, use, arrays_of(use)
    for chapter in numpy_math.CHAPTERS.values():
        for name, (kinds, functions) in chapter.items():
            x = numpy_math.X[numpy_math.OF_KIND[kinds[0]][0]]
            for number, use in enumerate(functions):
                yield name, number, use, [x]


def in_layouts(count: int) -> Iterator[Case]:
    """All uses: the first of each function in twice `count` layouts, the others each in other layouts."""
    for name, number, use, arrays in uses():
        step = len(LAYOUTS) // count
        layouts = LAYOUTS[:: step // 2] if number == 0 else LAYOUTS[number % step :: step]
        yield Case(name, f"{name}-{number}", (use, arrays, layouts))


def first_uses_and_some_layouts() -> Iterator[Case]:
    """The first use of every third function with arrays in Fortran order; all uses with some layouts are slow."""
    first_uses = [(name, use, arrays) for name, number, use, arrays in uses() if number == 0]
    for name, use, arrays in first_uses[::3]:
        yield Case(name, name, (use, arrays, (in_fortran_order,)))
    for number, case in enumerate(in_layouts(1)):
        yield case._replace(is_slow=True, is_exhaustive=number % 8 > 0)


def some_uses(count: int, step: int = 1) -> Iterator[Case]:
    """The first use of every n-th function, and few of the others; with ``--more``, all."""
    functions = 0
    for number, case in enumerate(in_layouts(count)):
        is_first = case.name.endswith("-0")
        functions += is_first
        is_taken = functions % step == 0 if is_first else number % 16 == 0
        yield case._replace(is_slow=True, is_exhaustive=not is_taken)


def arranged(layout: Layout, arrays: list[Any]) -> list[Any]:
    return [layout(x) if isinstance(x, np.ndarray) else x for x in arrays]


def array_leaves(results: Any) -> list[Array]:
    return [x for x in optree.tree_leaves(results) if isinstance(x, np.ndarray)]


def overwriting(use: Use) -> Use:
    """The use; its results are then written to."""

    def overwritten(*args: Any) -> None:
        for result in optree.tree_leaves(use(*args)):
            if isinstance(result, np.ndarray) and result.ndim:
                repeats = any(s == 0 and n > 1 for s, n in zip(result.strides, result.shape, strict=True))
                if result.size and repeats:
                    raise ValueError(
                        "read-only: NumPy warns that it will refuse to write to a broadcast array"
                    )
                result[...] = 1

    return overwritten


def outcome(function: Use, arguments: list[Any]) -> Any:
    """What the function makes of its arguments, or that the view to which it writes is read-only, or will be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", FutureWarning)  # of np.broadcast_arrays
            function(*arguments)
    except (ValueError, FutureWarning) as error:
        if "read-only" not in str(error) and "writeable" not in str(error):
            raise
        return "read-only"
    return arguments


@in_groups(some_uses(1))
def test_results_have_numpys_memory_order(use: Use, arrays: list[Any], layouts: Sequence[Layout]) -> None:
    problems = []
    for layout in layouts:
        ours, theirs = arranged(layout, arrays), arranged(layout, arrays)
        with quiet():
            try:
                expected = array_leaves(use(*theirs))
            except ValueError as error:  # NumPy cannot write to this layout: the other test compares errors
                if "read-only" not in str(error):
                    raise
                continue
            found = array_leaves(tm.compile(use, backend="numpy")(*ours))
        for want, got in zip(expected, found, strict=True):
            shared = any(want is not x and np.may_share_memory(want, x) for x in [*theirs, *expected])
            if want.size and (problem := different_order(got, want, shared)):
                problems.append(f"{layout.__name__}: {problem[1]}, strides {got.strides} for {want.strides}")
    assert not problems, "\n".join(problems)


@in_groups(some_uses(1, step=3))
def test_writes_to_results_are_seen_in_arguments_where_numpy_gives_views(
    use: Use, arrays: list[Any], layouts: Sequence[Layout]
) -> None:
    problems = []
    for layout in layouts:
        ours, theirs = arranged(layout, arrays), arranged(layout, arrays)
        expected = outcome(overwriting(use), theirs)
        found = outcome(tm.compile(overwriting(use), backend="numpy"), ours)
        if isinstance(expected, str) or isinstance(found, str):
            if expected != found:
                problems.append(f"{layout.__name__}: {found} for {expected}")
            continue
        for want, got in zip(expected, found, strict=True):
            if not np.array_equal(got, want, equal_nan=np.asarray(want).dtype.kind in "fc"):
                problems.append(f"{layout.__name__}: an argument is\n{got}\ninstead of\n{want}")
    assert not problems, "\n".join(problems)


STACKS: dict[str, Use] = {
    "solve": lambda x: np.linalg.solve(x, x[..., :2]),
    "qr": np.linalg.qr,
    "raw qr": lambda x: np.linalg.qr(x, "raw"),
    "r of qr": lambda x: np.linalg.qr(x[..., :2], "r"),
    "complete qr": lambda x: np.linalg.qr(x[..., :2], "complete"),
    "svd": np.linalg.svd,
    "svdvals": np.linalg.svdvals,
    "eigh": np.linalg.eigh,
    "eigvalsh": np.linalg.eigvalsh,
    "eigvals of complex matrices": lambda x: np.linalg.eigvals(x + 1j),
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "pinv": np.linalg.pinv,
    "norm": lambda x: np.linalg.norm(x, axis=(0, 1)),
    "spectral norm": lambda x: np.linalg.norm(x, 2, axis=(-2, -1)),
    "cond": np.linalg.cond,
    "matrix_rank": np.linalg.matrix_rank,
    "power": lambda x: np.linalg.matrix_power(x, 3),
    "power of the inverse": lambda x: np.linalg.matrix_power(x, -3),
    "trace": np.trace,
    "tensordot": lambda x: np.tensordot(x, x, axes=([1], [1])),
    "matvec": lambda x: np.matvec(x, x[..., 0]),
    "vecdot": lambda x: np.vecdot(x, x),
    "cross": lambda x: np.cross(x[..., :3], x[..., 1:]),
    "product": lambda x: x @ x[0],
    "outer sum": lambda x: np.einsum("abij,abjk->ikab", x, x),
    "in pairs": lambda x: np.einsum("abij,abjk->ikab", x, x, optimize=True),
    "nanquantile": lambda x: np.nanquantile(x, [0.2, 0.7], axis=(1, 2)),
    "linspace": lambda x: np.linspace(x[0], x[1], 3, axis=1),
    "geomspace": lambda x: np.geomspace(x[0] ** 2 + 1, x[1] ** 2 + 2, 3, axis=-1),
    "block": lambda x: np.block([[x[0], x[1]], [x[1], x[0]]]),
    "average": lambda x: np.average(x, axis=1, weights=[1, 2, 1], returned=True),
}  # fmt: skip


@pytest.mark.sampled("matrix_rank-axes2", "average-axes0", every=8)
@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1, 0, 2, 3), (3, 2, 1, 0), (1, 2, 3, 0), (2, 0, 3, 1)])
@pytest.mark.parametrize("use", STACKS.values(), ids=STACKS)
def test_results_of_stacks_of_matrices_have_numpys_memory_order(use: Use, axes: tuple[int, ...]) -> None:
    drawn = np.random.default_rng(1).uniform(size=(2, 3, 4, 4)) + 2 * np.eye(4)
    x = drawn.transpose(axes).copy().transpose(np.argsort(axes))
    for want, got in zip(
        array_leaves(use(x)), array_leaves(tm.compile(use, backend="numpy")(x)), strict=True
    ):
        assert different_order(got, want, shared=False) is None


def test_the_walk_covers_the_functions_that_are_sampled() -> None:
    assert len({name for name, *_ in uses()}) >= 250


@in_groups(first_uses_and_some_layouts())
def test_flags_say_who_owns_the_memory_if_it_is_known(
    use: Use, arrays: list[Any], layouts: Sequence[Layout]
) -> None:
    def owners(*args: Any) -> list[bool]:
        return [x.flags.owndata for x in array_leaves(use(*args))]

    problems = []
    for layout in layouts:
        try:
            with quiet():
                expected = owners(*arranged(layout, arrays))
        except ValueError as error:  # NumPy cannot write to this layout: another test compares errors
            if "read-only" not in str(error):
                raise
            continue
        try:
            found = tm.compile(owners, backend="numpy")(*arranged(layout, arrays))
        except UnsupportedAttributeError as error:
            if "write np.array(x)" not in str(error):  # the fix
                problems.append(f"{layout.__name__}: {error}")
            continue
        if found != expected:
            problems.append(f"{layout.__name__}: {found} for {expected}")
    assert not problems, "\n".join(problems)
