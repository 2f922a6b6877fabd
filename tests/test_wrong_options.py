"""Each argument of each public function replaced by what it cannot be: errors say so, and no other kind comes out."""

import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArgumentTypeError,
    TracemillError,
    TransformArgumentError,
    TransformTypeError,
)

VECTOR = np.ones(3)
MATRIX = np.ones((4, 2))
COMPILE: dict[str, Any] = {
    "backend": "numpy",
    "static_argnums": (),
    "static_argnames": (),
    "max_variants": 3,
    "donate_argnums": (),
    "autotune": False,
    "dynamic": None,
    "constraints": (),
    "on_recompile": "ignore",
    "convert": True,
}


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(20_000):
        found = [found]
    return found


def _holding_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


class _Unshowable:
    def __repr__(self) -> str:
        raise LookupError("has no text")


WRONG: dict[str, Any] = {
    "None": None,
    "-1": -1,
    "2**70": 2**70,
    "a number of 5001 digits": 10**5000,
    "NaN": float("nan"),
    "1e300": 1e300,
    "an empty text": "",
    "a text": "x",
    "bytes": b"ab",
    "a null byte": "a\0b",
    "half a character": "\ud800",
    "a dict": {"a": 1},
    "a set": {1},
    "an empty tuple": (),
    "five numbers": (1, 2, 3, 4, 5),
    "an object": object(),
    "a class": Path,
    "np.add": np.add,
    "lists of unequal lengths": [[1], [1, 2]],
    "a deep list": _deep(),
    "a list in itself": _holding_itself(),
    "1j": 1j,
    "an array of objects": np.array([object()]),
    "an array of texts": np.array(["a"]),
    "an array without entries": np.ones(0),
    "a record": np.zeros(2, [("a", "i4")]),
    "a generator": iter(()),
    "a dtype": np.dtype(np.float64),
    "a module": np,
    "...": ...,
    "a slice": slice(None),
    "what has no text": _Unshowable(),
    "2**64 - 1": np.uint64(2**64 - 1),
}
HONEST = (TracemillError, TypeError, ValueError, LookupError, OverflowError)
"""`LookupError` is that of `_Unshowable`, or of an index as in NumPy, and `OverflowError` NumPy's for a number."""


def sum_of_saved(policy: Any) -> Any:
    return tm.grad(lambda x: np.sum(tm.checkpoint(np.sin, policy=policy)(x)))(VECTOR)


def square_sum(x: Any) -> Any:
    return np.sum(x**2)


def step(carry: Any, x: Any) -> Any:
    return carry + x, carry


def is_small(x: Any) -> Any:
    return x[0] < 3


Use = Callable[[Any], object]
Recipe = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Use]


def unused(_: Any) -> None:
    """Nothing more is done with a result."""


def on(*args: Any) -> Use:
    return lambda function: function(*args)


def recipes() -> dict[str, Recipe]:
    """A call of each function that takes more than arrays, and what is done with its result."""
    differentiating: dict[str, Any] = {"argnums": 0, "has_aux": False, "argnames": None}
    batched: dict[str, Any] = {"chunk_size": None, "memory_limit": None, "randomness": "error"}
    checked = {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "fast": True}
    graph = tm.compile(np.sin).lower(VECTOR).graph
    artifact = tm.export(np.sin, VECTOR)
    over = {"axis_name": "i"}

    def mapped(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: tm.vmap(lambda x: function(x, *args, **kwargs), axis_name="i")(MATRIX)

    transforms: dict[str, Recipe] = {
        "grad": (tm.grad, (square_sum,), {**differentiating, "convert": None}, on(VECTOR)),
        "jacfwd": (tm.jacfwd, (np.sin,), {**differentiating, **batched}, on(VECTOR)),
        "jacobian": (
            tm.jacobian,
            (np.sin,),
            {**differentiating, **batched, "mode": "auto", "sparse": False},
            on(VECTOR),
        ),
        "hessian": (tm.hessian, (square_sum,), {**differentiating, **batched}, on(VECTOR)),
        "hvp": (tm.hvp, (square_sum, (VECTOR,), (VECTOR,)), {"argnums": 0, **batched}, unused),
        "jvp": (tm.jvp, (np.sin, (VECTOR,), (VECTOR,)), {"convert": None}, unused),
        "vjp": (tm.vjp, (np.sin, VECTOR), {"convert": None}, lambda found: found[1](VECTOR)),
        "a cotangent": (tm.vjp(np.sin, VECTOR)[1], (VECTOR,), {}, unused),
        "sparsity": (tm.sparsity, (np.sin,), {"argnums": 0, "argnames": None}, on(VECTOR)),
        "vmap": (
            tm.vmap,
            (np.sin,),
            {"in_dims": 0, "out_dims": 0, "kw_dims": None, "axis_size": None, "axis_name": None, **batched},
            on(MATRIX),
        ),
        "chunk_vmap": (tm.chunk_vmap, (np.sin,), {"in_dims": 0, "out_dims": 0, "chunks": 2}, on(MATRIX)),
        "map": (tm.map, (np.sin, MATRIX), {"batch_size": None}, unused),
        "gradcheck": (tm.gradcheck, (np.sin, (VECTOR,)), dict(checked), unused),
        "gradgradcheck": (tm.gradgradcheck, (np.sin, (VECTOR,)), {**checked, "grad_outputs": None}, unused),
        "autograd.grad": (
            _recorded_grad,
            (None, None),
            {"grad_outputs": None, "allow_unused": False},
            unused,
        ),
    }
    loops: dict[str, Recipe] = {
        "scan": (
            tm.scan,
            (step, VECTOR, np.ones((4, 3))),
            {"length": None, "unroll": 1, "checkpoint_every": None},
            unused,
        ),
        "while_loop": (tm.while_loop, (is_small, lambda x: x + 1, VECTOR), {"max_steps": 9}, unused),
        "fori_loop": (tm.fori_loop, (-1, 3, lambda i, x: x + i, VECTOR), {}, unused),
        "associative_scan": (tm.associative_scan, (np.add, VECTOR), {"axis": 0}, unused),
        "cond": (tm.cond, (True, np.sin, np.cos, VECTOR), {}, unused),
        "switch": (tm.switch, (0, [np.sin, np.cos], VECTOR), {}, unused),
        "top_k": (tm.top_k, (VECTOR, 2), {"axis": -1}, unused),
        "all_gather": (mapped(tm.all_gather), (), {**over, "axis": 0}, unused),
        "ppermute": (mapped(tm.ppermute), ("i", [(0, 1)]), {}, unused),
        "psum": (mapped(tm.psum), ("i",), {}, unused),
        "psum of": (
            lambda x: tm.vmap(lambda _: tm.psum(x, "i"), axis_name="i")(MATRIX),
            (VECTOR,),
            {},
            unused,
        ),
        "debug_print": (tm.debug_print, ("", 1.0), {}, unused),
        "pure_callback": (tm.pure_callback, (np.sin, VECTOR, VECTOR), {"vmap_method": "sequential"}, unused),
    }
    records: dict[str, Recipe] = {
        "compile": (tm.compile, (np.sin,), COMPILE, on(VECTOR)),
        "a compiled function": (tm.compile(np.sin, backend="numpy"), (VECTOR,), {}, unused),
        "export": (tm.export, (np.sin, VECTOR), {"targets": ("cpu",), "constraints": ()}, unused),
        "Artifact": (
            tm.Artifact,
            (artifact.interface, artifact.signature, artifact.program, artifact.settings),
            {"code": {}},
            repr,
        ),
        "Dim": (tm.Dim, ("B",), {"min": 0, "max": 4, "multiple_of": 1}, repr),
        "Graph": (
            tm.Graph,
            ("f", graph.inputs, graph.calls, graph.outputs),
            {},
            lambda g: tm.Interpreter(g).run(VECTOR),
        ),
        "Sparsity": (tm.Sparsity, (np.eye(3, dtype=bool), ()), {}, lambda s: (repr(s), s.row_colours)),
        "Policy": (tm.checkpoint_policies.Policy, ((), ()), {}, sum_of_saved),
        "checkpoint": (tm.checkpoint, (np.sin,), {"policy": tm.checkpoint_policies.nothing}, on(VECTOR)),
        "custom_rule": (tm.custom_rule, (np.sin,), {"nondiff": ()}, on(VECTOR)),
        "parse": (tm.parse, (str(graph),), {"constants": {}, "functions": {}}, unused),
        "replace_pattern": (tm.replace_pattern, (graph, graph, graph), {}, unused),
        "choice": (lambda *args: tm.random.default_rng(0).choice(*args), (5, 2), {}, unused),
        "integers": (lambda *args: tm.random.default_rng(0).integers(*args), (0, 5, 2), {}, unused),
        "an entry of a variable": (lambda i: tm.autograd.variable(VECTOR)[i], (0,), {}, unused),
    }
    return {**transforms, **loops, **records}


def _recorded_grad(outputs: Any, inputs: Any, **options: Any) -> object:
    x = tm.autograd.variable(VECTOR)
    y = np.sum(x**2)
    return tm.autograd.grad(y if outputs is None else outputs, x if inputs is None else inputs, **options)


def used(recipe: Recipe, args: list[Any], kwargs: dict[str, Any]) -> object:
    function, _, _, use = recipe
    return use(function(*args, **kwargs))


def wrong_calls(
    recipe: Recipe, count: int, drawn: random.Random
) -> Iterator[tuple[str, Callable[[], object]]]:
    _, args, kwargs, _ = recipe
    for place in [*range(len(args)), *kwargs]:
        for label in drawn.sample(sorted(WRONG), count):
            given, more = list(args), dict(kwargs)
            if isinstance(place, int):
                given[place] = WRONG[label]
            else:
                more[place] = WRONG[label]
            yield f"{label} as {place}", partial(used, recipe, given, more)


@pytest.mark.parametrize(
    "count",
    [1, pytest.param(4, marks=pytest.mark.slow), pytest.param(len(WRONG), marks=pytest.mark.exhaustive)],
)
def test_each_argument_is_refused_by_an_error_that_says_so(
    count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn, faults = random.Random(0), []
    for name, recipe in recipes().items():
        _, args, kwargs, _ = recipe
        used(recipe, list(args), kwargs)
        for what, call in wrong_calls(recipe, count, drawn):
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                try:
                    call()
                except HONEST:
                    continue
                except Exception as error:
                    faults.append(f"{name}, {what}: {error!r:.200}")
    assert not faults, "\n".join(faults)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda x: tm.grad(np.sin, argnames=x), TransformTypeError, "argnames must be a str"),
        (lambda x: tm.compile(np.sin, backend=x), TracemillError, "backend <a list that cannot be shown>"),
        (lambda x: tm.vmap(np.sin, out_dims=x)(MATRIX), TracemillError, "out_dims is a list that nests more"),
        (lambda x: tm.debug_print("{}", x), TracemillError, "debug_print is a list that nests more"),
        (
            lambda x: tm.checkpoint_policies.Policy(ops=x),
            TransformTypeError,
            "ops must be a tuple of strings",
        ),
        (lambda x: tm.load("x.tmill", types=x), TransformTypeError, "types must contain classes"),
        (tm.load, TransformTypeError, "path must be a str or a pathlib.Path, not list: <a list"),
        (lambda x: tm.Artifact(x, x, x, x), ArgumentTypeError, "interface must be its Interface, not list"),
        (lambda x: tm.Sparsity(np.eye(3, dtype=bool), x), ArgumentTypeError, "without_rule must be a tuple"),
        (
            lambda x: tm.autograd.grad(np.sum(tm.autograd.variable(VECTOR)), x),
            TracemillError,
            "inputs is a list that",
        ),
    ],
)
def test_what_nests_too_deep_to_be_shown_is_refused_by_name(
    make: Callable[[Any], object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make(_deep())


def test_a_path_with_a_null_byte_is_refused_by_name() -> None:
    with pytest.raises(TransformArgumentError, match="load: path holds a null byte"):
        tm.load("a\0b")


def test_bounds_of_a_loop_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(TransformArgumentError, match="hi must fit into 64 bits with a sign"):
        tm.fori_loop(0, np.uint64(2**64 - 1), lambda _, x: x, 1.0)
