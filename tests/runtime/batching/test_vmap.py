"""`vmap`: equal to the loop over slices, with every misuse named."""

import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from support.random_arrays import numbers, same
from tracemill.compiler.errors import (
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)


class Point(NamedTuple):
    x: Any
    y: Any


@tm.register_dataclass
@dataclass
class Ball:
    centre: Any
    radius: Any


def loss(x: Any, scale: Any = 1.0) -> Any:
    return np.sum(x) * scale


# ---- inputs ----------------------------------------------------------------------------------------------


def test_vmap_maps_a_ufunc_over_the_first_axis() -> None:
    x = numbers(3, 4)
    same(tm.vmap(np.sin)(x), np.sin(x))


@pytest.mark.parametrize("kwargs", [{}, {"scale": 2.0}])
def test_a_call_without_inputs_is_an_error(kwargs: Any) -> None:
    with pytest.raises(TransformArgumentError, match=r"vmap\(loss\): no inputs"):
        tm.vmap(loss)(**kwargs)
    assert issubclass(TransformArgumentError, ValueError)


def test_axis_size_replaces_inputs() -> None:
    same(tm.vmap(lambda: np.ones(2), axis_size=3)(), np.ones((3, 2)))


@pytest.mark.parametrize("in_dims", ["0", {"x": 0}, 0.0, None, True])
def test_in_dims_of_a_wrong_type_is_named(in_dims: Any) -> None:
    with pytest.raises(TransformArgumentError, match=f"not {type(in_dims).__name__}"):
        tm.vmap(loss, in_dims)(np.ones((2, 3)))


def test_a_list_of_in_dims_is_accepted_as_a_tuple() -> None:
    x, y = numbers(3, 2), numbers(2)
    same(tm.vmap(np.dot, [0, None])(x, y), x @ y)


def test_more_dims_than_arguments_shows_both_structures() -> None:
    with pytest.raises(TreeMismatchError, match=r"vmap\(loss\): in_dims=\(0, 0\).*structure \(\*,\)"):
        tm.vmap(loss, (0, 0))(np.ones((2, 3)))
    assert issubclass(TreeMismatchError, ValueError)


@pytest.mark.parametrize(
    "build", [lambda x: [x, x], lambda x: {"a": (x, None), "b": x}, lambda x: Point(x, x)]
)
def test_an_int_applies_to_every_leaf(build: Any) -> None:
    x = numbers(3, 2)
    got = tm.vmap(lambda tree: tree, 0)(build(x))
    assert type(got) is type(build(x))
    same(got[0] if isinstance(got, (list, tuple)) else got["b"], x)


def test_a_prefix_covers_a_whole_dict() -> None:
    x, w = numbers(3, 2), numbers(2)
    parameters = {"w": w, "scale": 2.0, "name": "dot"}

    def f(x: Any, p: Any) -> Any:
        assert p["name"] == "dot"
        return np.dot(x, p["w"]) * p["scale"]

    same(tm.vmap(f, (0, None))(x, parameters), x @ w * 2.0)


def test_a_prefix_may_give_dims_for_parts_of_a_dict() -> None:
    x, w = numbers(2, 3), numbers(2)
    got = tm.vmap(lambda p: np.dot(p["x"], p["rest"]["w"]), ({"x": 1, "rest": None},))(
        {"x": x, "rest": {"w": w}}
    )
    same(got, w @ x)


def test_a_list_of_dims_fits_a_list() -> None:
    x, y = numbers(3, 2), numbers(2, 3)
    same(tm.vmap(lambda pair: pair[0] + pair[1], ([0, 1],))([x, y]), x + y.T)


@pytest.mark.parametrize("dims", [(0, 0), {0: 0, 1: 0}, [0], [0, 0, 0], [0, [0]]])
def test_containers_of_another_type_or_length_do_not_fit_a_list(dims: Any) -> None:
    with pytest.raises(TreeMismatchError, match=r"in_dims=.* structure \(\[\*, \*\],\)"):
        tm.vmap(lambda pair: pair[0], (dims,))([np.ones(3), np.ones(3)])


def test_kinds_of_dicts_are_not_confused() -> None:
    with pytest.raises(TreeMismatchError, match="OrderedDict"):
        tm.vmap(lambda d: d["a"], ({"a": 0},))(OrderedDict(a=np.ones(3)))


def test_namedtuples_and_registered_dataclasses_keep_their_type() -> None:
    x, r = numbers(3, 2), numbers(3)
    ball = tm.vmap(lambda b: Ball(b.centre * 2, b.radius + 1))(Ball(x, r))
    assert type(ball) is Ball
    same(ball.centre, x * 2)
    same(ball.radius, r + 1)
    point = tm.vmap(lambda p: Point(p.y, p.x), (Point(0, 1),))(Point(x, x.T))
    assert type(point) is Point
    same(point.x, x)


def test_dims_may_be_given_in_the_dataclass() -> None:
    x, r = numbers(2, 3), numbers(2)
    same(tm.vmap(lambda b: b.centre + b.radius, (Ball(1, None),))(Ball(x, r)), x.T + r)


@pytest.mark.parametrize("dim", [0.0, True, "0"])
def test_a_dim_that_is_not_an_int_is_named_with_its_path(dim: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=rf"args\[1\]\['w'\] must be an int or None, not {type(dim).__name__}"
    ):
        tm.vmap(lambda x, p: x, (0, {"w": dim}))(np.ones(2), {"w": np.ones(2)})


@pytest.mark.parametrize(
    ("dim", "shape", "valid"),
    [(2, (3, 4), "-2 to 1"), (-3, (3, 4), "-2 to 1"), (0, (), "it is 0-d"), (-1, (), "it is 0-d")],
)
def test_a_dim_out_of_range_gives_the_valid_range(dim: int, shape: Any, valid: str) -> None:
    with pytest.raises(TransformArgumentError, match=rf"dim {dim} is out of range for args\[0\].*{valid}"):
        tm.vmap(np.sin, dim)(np.ones(shape))


def test_negative_dims_count_from_the_end() -> None:
    x = numbers(3, 4)
    same(tm.vmap(np.sum, -1)(x), x.sum(0))


@pytest.mark.parametrize("argument", [2.0, "text", np.float64(1.0), object()])
def test_a_dim_for_what_is_not_an_array_says_to_use_none(argument: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=r"args\[1\] has dim 0 but is \w+, not an array: use None"
    ):
        tm.vmap(lambda x, y: x, 0)(np.ones(3), argument)


@pytest.mark.parametrize("argument", [2.0, "text", None, object(), True, np.float64(1.0)])
def test_what_has_no_dim_is_passed_through_unchanged(argument: Any) -> None:
    seen = []

    def f(x: Any, other: Any) -> Any:
        seen.append(other)
        return x

    tm.vmap(f, (0, None))(np.ones(3), argument)
    assert seen[0] is argument


def test_nothing_mapped_is_an_error() -> None:
    with pytest.raises(
        TransformArgumentError, match="every dim is None: map at least one argument or give axis_size"
    ):
        tm.vmap(np.add, (None, None))(np.ones(3), np.ones(3))


def test_axis_size_makes_the_batch_of_what_is_not_mapped() -> None:
    x = numbers(3)
    same(tm.vmap(np.sin, None, axis_size=2)(x), np.stack([np.sin(x)] * 2))


@pytest.mark.parametrize("size", [-1, 2.0, True])
def test_an_impossible_axis_size_is_an_error(size: Any) -> None:
    with pytest.raises(TransformArgumentError, match="axis_size must be an int of at least 0"):
        tm.vmap(np.sin, axis_size=size)(np.ones(3))


def test_different_sizes_are_listed_with_their_paths() -> None:
    with pytest.raises(TransformArgumentError, match=r"args\[0\] has 2, args\[1\]\['w'\] has 3"):
        tm.vmap(lambda x, p: x)(np.ones(2), {"w": np.ones(3)})
    with pytest.raises(TransformArgumentError, match=r"args\[0\] has 2; axis_size is 5"):
        tm.vmap(np.sin, axis_size=5)(np.ones(2))


@pytest.mark.parametrize(
    "f",
    [
        np.sin,
        np.sum,
        lambda x: x[0],
        lambda x: np.outer(x, x),
        np.flip,
        lambda x: x @ np.ones((3, 2)),
    ],
)
def test_an_empty_batch_has_the_shapes_of_any_other(f: Any) -> None:
    got = tm.vmap(f)(np.ones((0, 3)))
    assert got.shape == (0, *np.shape(f(np.ones(3))))
    assert got.dtype == np.float64


def test_keyword_arguments_are_not_mapped_unless_named() -> None:
    x, scale = numbers(3, 2), numbers(3)
    same(tm.vmap(loss)(x, scale=scale), x.sum(1)[:, None] * scale)
    same(tm.vmap(loss, kw_dims={"scale": 0})(x, scale=scale), x.sum(1) * scale)
    same(tm.vmap(loss, kw_dims={"x": 1})(x=x), x.sum(0))


def test_kw_dims_must_name_what_is_passed() -> None:
    with pytest.raises(TransformArgumentError, match="kw_dims has 'scale', which the call does not pass"):
        tm.vmap(loss, kw_dims={"scale": 0})(np.ones(3))
    with pytest.raises(TreeMismatchError, match="kw_dims="):
        tm.vmap(loss, kw_dims={"scale": [0]})(np.ones(3), scale=np.ones(3))
    with pytest.raises(TransformArgumentError, match="kw_dims must be a dict"):
        tm.vmap(loss, kw_dims=[0])(np.ones(3))  # type: ignore[arg-type]


# ---- the order of the checks -----------------------------------------------------------------------------


def test_the_checks_come_in_the_promised_order() -> None:
    """Each call has every later fault, too."""
    x, y = np.ones((2, 3)), np.ones((4, 3))

    def fails(match: str, in_dims: Any, out_dims: Any, *args: Any) -> None:
        with pytest.raises(TransformArgumentError, match=match):
            tm.vmap(lambda *a: a[0], in_dims, out_dims)(*args)

    fails("out_dims must contain", "0", "0")
    fails("in_dims must be", "0", 5)
    fails("no inputs", (0, 0.5), 5)
    with pytest.raises(TreeMismatchError):
        tm.vmap(lambda *a: a[0], (0.5, (0, 0)))(1.0, y)
    fails(r"args\[0\] must be an int", (0.5, 7), 5, 1.0, y)
    fails(r"args\[0\] has dim 7 but is float", (7, 7), 5, 1.0, y)
    fails(r"out of range for args\[1\]", (0, 7), 5, x, y)
    fails("every dim is None", (None, None), 5, x, y)
    fails("different sizes", (0, 0), 5, x, y)
    fails("out_dim 5 is out of range", (0, None), 5, x, y)


def test_messages_name_the_function_and_show_partials_as_such() -> None:
    functions: list[tuple[Any, str]] = [
        (loss, "loss"),
        (functools.partial(loss, scale=2.0), r"partial\(loss\)"),
        (functools.partial(functools.partial(loss), scale=2.0), r"partial\(loss\)"),
        (np.sin, "sin"),
        (lambda x: x, "<lambda>"),
        (Scale(2.0), "Scale"),
        (Scale(2.0).apply, "apply"),
    ]
    for f, name in functions:
        with pytest.raises(TransformArgumentError, match=rf"^vmap\({name}\): dim 3"):
            tm.vmap(f, 3)(np.ones(2))


def test_arrays_that_cannot_be_traced_are_named_with_their_path() -> None:
    with pytest.raises(TypeError, match=r"vmap\(sin\): args\[0\] is a MaskedArray"):
        tm.vmap(np.sin)(np.ma.array([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"vmap\(<lambda>\): args\[1\]\['n'\]: arrays of dtype object"):
        tm.vmap(lambda x, d: x, (0, None))(np.ones(2), {"n": np.array(["a", None])})


def test_what_is_not_a_function_cannot_be_mapped() -> None:
    with pytest.raises(TransformTypeError, match="needs a function, not int"):
        tm.vmap(3)  # type: ignore[arg-type]


class Scale:
    """Multiplies."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    def apply(self, x: Any) -> Any:
        return x * self.factor


def test_methods_partials_lambdas_and_callable_objects_are_functions() -> None:
    x = numbers(3, 2)
    for f in (Scale(2.0), Scale(2.0).apply, functools.partial(np.multiply, 2.0), lambda x: x * 2.0):
        same(tm.vmap(f)(x), x * 2.0)


def test_the_mapped_function_keeps_name_and_doc() -> None:
    assert tm.vmap(loss).__name__ == "loss"
    assert tm.vmap(np.sin).__doc__ == np.sin.__doc__
    assert tm.vmap(Scale(2.0)).__name__ == "Scale"
    assert tm.vmap(Scale(2.0)).__doc__ == "Multiplies."
    assert tm.vmap(functools.partial(loss)).__name__ == "loss"


# ---- outputs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        lambda x: (),
        lambda x: (x, [x, {"a": x}]),
        lambda x: Point(x, None),
        lambda x: {"b": x, "a": (x,)},
        lambda x: None,
    ],
)
def test_output_trees_keep_their_structure(build: Any) -> None:
    x = numbers(3, 2)
    got = tm.vmap(build)(x)
    assert repr(got) == repr(build(x))


def test_out_dims_may_be_a_tree_or_a_prefix() -> None:
    x = numbers(3, 2)
    tree = tm.vmap(lambda x: {"a": x, "b": (x, x)}, out_dims={"a": 1, "b": (0, 1)})(x)
    same(tree["a"], x.T)
    same(tree["b"][1], x.T)
    prefix = tm.vmap(lambda x: (x, [x, x]), out_dims=(0, 1))(x)
    same(prefix[0], x)
    same(prefix[1][0], x.T)
    same(tm.vmap(lambda x: Point(x, x), out_dims=Point(1, 0))(x).x, x.T)


@pytest.mark.parametrize("out_dims", [(0, 0), [0], {"a": 0}, (0, [0])])
def test_out_dims_of_another_structure_shows_both(out_dims: Any) -> None:
    with pytest.raises(TreeMismatchError, match=r"out_dims=.* structure \(\*,\)"):
        tm.vmap(lambda x: (x,), out_dims=out_dims)(np.ones(3))
    with pytest.raises(TreeMismatchError, match=r"out_dims=.* structure \*"):
        tm.vmap(lambda x: x, out_dims=out_dims)(np.ones(3))


@pytest.mark.parametrize("out_dims", ["0", 0.5, True, (0, "0"), {"a": 1.0}])
def test_a_wrong_out_dim_is_found_before_the_function_runs(out_dims: Any) -> None:
    def never(x: Any) -> Any:
        raise AssertionError("the function must not run")

    with pytest.raises(
        TransformArgumentError, match=r"out_dims must contain ints and None, not (str|float|bool)"
    ):
        tm.vmap(never, out_dims=out_dims)(np.ones(3))


def test_negative_out_dims_count_physical_axes() -> None:
    x = numbers(3, 2)
    same(tm.vmap(lambda x: x, out_dims=-1)(x), x.T)
    same(tm.vmap(lambda x: x, out_dims=-2)(x), x)


@pytest.mark.parametrize("out_dim", [2, -3])
def test_out_dims_out_of_range_name_the_path_of_the_output(out_dim: int) -> None:
    with pytest.raises(
        TransformArgumentError, match=rf"out_dim {out_dim} is out of range for output\['a'\]\[1\].*-2 to 1"
    ):
        tm.vmap(lambda x: {"a": [1, x]}, out_dims=out_dim)(np.ones((3, 2)))


@pytest.mark.parametrize("out_dims", [0, None, 7])
@pytest.mark.parametrize("output", [3, "text", None, 2.5, True])
def test_outputs_that_are_not_arrays_are_returned_unchanged(output: Any, out_dims: Any) -> None:
    assert tm.vmap(lambda x: output, out_dims=out_dims)(np.ones(3)) is output


NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "a literal": lambda x, k: 21.0,
    "an argument": lambda x, k: k,
    "computed": lambda x, k: (k * 2 + 1, -k),
    "of the shape": lambda x, k: len(x) * 1.5,
    "by a loop": lambda x, k: sum(k for _ in range(3)),
}


@pytest.mark.parametrize("number", [3.0, 3])
@pytest.mark.parametrize("out_dims", [0, None, -1])
@pytest.mark.parametrize("name", NUMBERS)
def test_pythons_numbers_that_do_not_depend_on_the_batch_stay_numbers(
    name: str, out_dims: Any, number: Any
) -> None:
    x, function = np.ones((4, 2)), NUMBERS[name]
    expected = function(x[0], number)
    mapped = tm.vmap(function, (0, None), out_dims)
    for call in (mapped, tm.compile(mapped), tm.compile(mapped, dynamic=True)):
        assert call(x, number) == expected
    chunked = tm.vmap(function, (0, None), out_dims, chunk_size=3)
    assert chunked(x, number) == tm.compile(chunked)(x, number) == expected


def test_derivatives_of_a_number_that_does_not_depend_on_the_batch_are_those_of_the_number() -> None:
    def total(k: Any) -> Any:
        return np.sum(tm.vmap(lambda x, k: k * 2, (0, None))(np.ones(4), k))

    assert tm.value_and_grad(total)(3.0) == tm.compile(tm.value_and_grad(total))(3.0) == (6.0, 2.0)
    assert tm.jvp(total, (3.0,), (1.0,)) == (6.0, 2.0)


def test_an_array_without_axes_that_does_not_depend_on_the_batch_is_repeated() -> None:
    mapped = tm.vmap(lambda x, k: (k * 2, np.float64(1)), (0, None))
    for call in (mapped, tm.compile(mapped)):
        for found, expected in zip(call(np.ones(4), np.float64(3)), (6.0, 1.0), strict=True):
            np.testing.assert_array_equal(found, [expected] * 4)


def test_outputs_beside_arrays_are_returned_unchanged_too() -> None:
    marker = object()
    got, other = tm.vmap(lambda x: (x, marker))(np.ones(3))
    same(got, np.ones(3))
    assert other is marker


def test_a_mapped_output_needs_an_out_dim() -> None:
    with pytest.raises(TransformArgumentError, match=r"output\['a'\] depends on the batch.*cannot be None"):
        tm.vmap(lambda x: {"a": x}, out_dims=None)(np.ones(3))


def test_an_unmapped_output_is_repeated() -> None:
    y = numbers(2)
    same(tm.vmap(lambda x: y * 2)(np.ones(3)), np.stack([y * 2] * 3))
    same(tm.vmap(lambda x: np.zeros((2, 4)), out_dims=-1)(np.ones(3)), np.zeros((2, 4, 3)))


def test_an_unmapped_output_without_out_dim_is_returned_as_is() -> None:
    y = numbers(2)
    same(tm.vmap(lambda x: y * 2, out_dims=None)(np.ones(3)), y * 2)
    got = tm.vmap(lambda x: np.zeros(3), out_dims=None)(np.ones(3))
    got[0] = 1.0  # an array of the caller's own
    same(got, np.array([1.0, 0.0, 0.0]))


def test_results_are_arrays_of_their_own() -> None:
    x, y = numbers(3, 2), numbers(3, 2)
    for f in (lambda x, y: x, lambda x, y: x.T, lambda x, y: x[::-1]):
        got = tm.vmap(f)(x, y)
        assert not np.shares_memory(got, x)
        assert got.flags.writeable
    assert type(tm.vmap(lambda x, y: y, (0, None), None)(x, np.array(2.0))) is np.ndarray
    first, second = tm.vmap(lambda x, y: (x, x))(x, y)
    assert not np.shares_memory(first, second)
    repeated = tm.vmap(lambda x: np.float64(1.0))(np.ones(3))
    repeated[0] = 5.0
    same(repeated, np.array([5.0, 1.0, 1.0]))
