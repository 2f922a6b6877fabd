"""Lists, tuples and dicts at traced places: reads, writes, methods, and entries that are functions or objects."""

from collections import Counter, defaultdict, deque
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check, check_gradient
from samples.thinning import mostly_on_numpy
from tracemill.compiler.errors import ConcretizationError, RecompileWarning, SideEffectWarning

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
PLACES = np.array([1, 0, 2, 1, 1, 0] * 6)
PRICES = {0: 0.5, 3: 2.5, 7: -1.0}
SQUARE = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0, (1, 1): 4.0}


class Triple(NamedTuple):
    a: float
    b: float
    c: float


# ---- dictionaries ----------------------------------------------------------------------------------------


def bill(keys: Any) -> Any:
    total = 0.0
    for key in keys:
        if key in PRICES:
            total = 0.9 * total + PRICES[key]
        else:
            total -= 1.0
    return total, PRICES.get(keys[0], 9.0), keys[1] not in PRICES


def tally(places: Any) -> Any:
    counts = {0: 0, 1: 0, 2: 0, 9: 0}
    for place in places:
        counts[place] += 1
    return counts[0], counts[1], counts[9]


@BACKENDS
def test_a_dictionary_is_read_at_a_traced_key(backend: str) -> None:
    check(bill, (np.array([3, 4, 7, 0]),), (np.array([5, 3, 3, 0]),), backend=backend)
    check(lambda i: SQUARE[i[0], i[1]] + SQUARE.get((i[1], 7), 0.5), (np.array([1, 0]),), backend=backend)
    check(lambda x: {1.5: 2.0, 2.0: 3.0}[x[0]], (np.array([1.5]),), backend=backend)


def by_itself(x: Any) -> Any:
    key = float(x[0])
    table = {key: x[1]}
    return table[key] * key + hash(x[1]) % 5 + hash(float(x[1])) % 3


def different(x: Any) -> Any:
    table: dict[float, Any] = {}
    seen = set()
    for number in x:
        table[float(number)] = table.get(float(number), 0.0) + number
        if number not in seen:
            seen.add(number)
    return len(table), len(seen), sum(table.values()) * max(table.values())


@BACKENDS
@pytest.mark.parametrize("function", [by_itself, different])
def test_a_computed_float_may_be_a_new_key_for_calls_with_its_value(function: Any, backend: str) -> None:
    calls = [np.array([1.5, 2.0, 2.0]), np.array([2.5, 2.0, -1.0]), np.array([1.5, 2.0, 2.0])]
    check(function, *zip(calls), backend=backend, programs=2)
    check(
        function,
        (np.array([-0.0, 0.0, np.inf]),),
        (np.array([0.0, 0.0, np.inf]),),
        backend=backend,
        programs=2,
    )


def test_an_array_keeps_its_derivative_when_its_numbers_become_keys() -> None:
    check_gradient(lambda x: different(x)[-1] * x, np.array([2.5, 2.0, -1.0]))
    compiled = tm.compile(tm.grad(lambda x: different(x)[-1]))
    np.testing.assert_allclose(compiled(np.array([2.5, 2.0, 2.0])), [4.0, 10.5, 10.5])


def test_a_function_runs_uncompiled_if_a_program_computes_another_last_digit_of_a_key() -> None:
    """Sums in C add in another order than NumPy. What the function changed while it was traced is undone first."""
    state = {"calls": 0}

    def f(x: Any) -> Any:
        state["calls"] += 1
        return x[:2] * len({float(x.sum()), 0.5})

    rng = np.random.default_rng(0)
    half = rng.normal(size=50_000)
    x = np.concatenate([half, -rng.permutation(half)])  # their sum is what is lost by rounding
    compiled = tm.compile(f, backend="c")
    with (
        pytest.warns(SideEffectWarning, match="calls"),
        pytest.warns(
            RecompileWarning, match=r"runs uncompiled: the program computes another last digit: a key of"
        ),
    ):
        np.testing.assert_array_equal(compiled(x), 2 * x[:2])
    assert state["calls"] == 1
    np.testing.assert_array_equal(compiled(-x), -2 * x[:2])
    assert (state["calls"], len(compiled.signatures())) == (2, 1)


@BACKENDS
def test_a_nan_among_keys_is_found_by_its_identity(backend: str) -> None:
    def f(x: Any) -> Any:
        key, table = x[0], {}
        table[key] = 1.0
        table[key] = 2.0
        return (
            len(table),
            table[key],
            len({key, x[0], *x.tolist()}),
            key in (0.0, key),
            key in (0.0, x[0]),
            key in {0.0, key},
        )

    check(f, (np.array([np.nan, np.nan]),), backend=backend)


def test_returned_dictionaries_and_sets_have_computed_floats_as_keys() -> None:
    def f(x: Any) -> Any:
        return {x[0].item(): 1, x[1]: 2}, {float(x[2])}

    compiled = tm.compile(f)
    for values in ([0.5, 1.5, 2.5], [-0.0, 1.5, 2.5]):
        found, expected = compiled(np.array(values)), f(np.array(values))
        assert found == expected
        assert str(found) == str(expected)


@BACKENDS
def test_a_dictionary_that_has_the_keys_is_written_to(backend: str) -> None:
    check(tally, (PLACES,), backend=backend)
    check(tally, (PLACES[:3],), backend=backend)
    assert type(tm.compile(tally, backend=backend)(PLACES[:3])[0]) is int


@pytest.mark.parametrize("key", [4, -1])
def test_a_missing_key_raises_pythons_error(key: int) -> None:
    with pytest.raises(KeyError):
        tm.compile(lambda keys: PRICES[keys[0]])(np.array([key]))
    with pytest.raises(KeyError):
        tm.compile(tm.vmap(lambda k: PRICES[k]))(np.array([0, 3, key]))


def test_a_batch_raises_only_where_the_key_is_looked_up() -> None:
    def guarded(key: Any) -> Any:
        if key in PRICES:
            return PRICES[key] * 2.0
        return -5.0

    np.testing.assert_array_equal(tm.compile(tm.vmap(guarded))(np.array([0, 4, 7])), [1.0, -5.0, -2.0])


def test_values_of_a_dictionary_have_derivatives() -> None:
    def weighted(x: Any, keys: Any) -> Any:
        table = {0: x[0], 2: x[1] * x[1]}
        total = 0.0
        for key in keys:
            total = 2.0 * total + table[key]
        return total

    found = tm.compile(tm.grad(weighted))(np.array([3.0, 5.0]), np.array([2, 0, 2]))
    np.testing.assert_allclose(found, [2.0, 50.0])


def test_the_function_itself_adds_a_missing_key() -> None:
    def counted(places: Any) -> Any:
        counts: dict[Any, int] = {0: 0, 1: 0}
        for place in places:
            counts[place] = counts.get(place, 0) + 1
        return counts[0]

    check(counted, (np.array([0, 1, 1]),), (np.array([0, 1, 2]),), (np.array([0, 0, 1]),))
    with pytest.raises(KeyError, match=r"cannot add a key .* begin with all keys"):
        tm.vmap(counted)(np.array([[0, 1, 2]]))

    def made(places: Any) -> Any:
        counts: Any = defaultdict(int)
        counts[places[0]] += 1
        return counts[0]

    check(made, (PLACES,), (PLACES[::-1],), programs=2)
    with pytest.raises(ConcretizationError, match=r"begin with all keys, dict.fromkeys"):
        tm.compile(tm.vmap(made))(np.stack([PLACES, PLACES]))


def test_a_counter_gives_zero_where_a_key_is_missing() -> None:
    check(lambda p: Counter({0: 4, 1: 2})[p[0]], (np.array([1]),), (np.array([2]),))


def test_get_without_a_default_is_for_the_keys_of_the_call() -> None:
    check(lambda p: PRICES.get(p[0]) is None, (PLACES,), (np.array([77]),), programs=2)
    with pytest.raises(ConcretizationError, match=r"give a number, table.get\(k, 0.0\)"):
        tm.compile(tm.vmap(lambda p: PRICES.get(p[0])))(np.stack([PLACES, PLACES]))


# ---- lists and what is alike -----------------------------------------------------------------------------


@BACKENDS
def test_sequences_of_every_kind_are_read(backend: str) -> None:
    def read(p: Any) -> Any:
        return Triple(1.0, 2.0, 3.0)[p[0]], deque([4.0, 5.0])[p[1]], range(3, 9, 2)[p[0]], (7, 8)[-1 - p[1]]

    check(read, (np.array([2, 1]),), (np.array([-1, 0]),), backend=backend)


@BACKENDS
def test_rows_of_a_list_of_lists_are_written_to(backend: str) -> None:
    def pairs(p: Any) -> Any:
        grid = [[0.0] * 3 for _ in range(3)]
        for i in range(len(p) - 1):
            grid[p[i]][p[i + 1]] += 1.0
        return np.array(grid)

    def nested(p: Any) -> Any:
        table = {0: {0: 1.0, 1: 2.0}, 1: {0: 3.0, 1: 4.0}}
        table[p[1]][p[0]] = 7.0
        return table[0][1], table[1][0]

    check(pairs, (PLACES[:6],), backend=backend)
    check(nested, (np.array([0, 1]),), (np.array([1, 0]),), backend=backend)


@BACKENDS
def test_arrays_of_a_list_are_written_to_in_place(backend: str) -> None:
    def summed(p: Any, x: Any) -> Any:
        rows = [np.zeros(2), np.ones(2), x * 2.0]
        first = rows[0]
        for k in p:
            rows[k] += x
            rows[k][0] *= 0.5
        return np.stack(rows), first

    check(summed, (PLACES, np.array([1.0, 3.0])), backend=backend)
    check(summed, (PLACES[:3], np.array([1.0, 3.0])), backend=backend)


def test_a_chosen_row_sees_later_writes() -> None:
    def aliased(p: Any) -> Any:
        grid = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        row = grid[p[0]]
        row[p[1]] = 9
        grid[1][1] = 50
        return row[0], row[1], grid[1][0], sum(row)

    check(aliased, (np.array([1, 0]),), (np.array([2, 1]),))

    def of_arrays(p: Any, x: Any) -> Any:
        rows = [x * 1.0, x * 2.0]
        row = rows[p[0]]
        rows[1][0] = 50.0
        return row.sum()

    check(of_arrays, (np.array([1]), np.ones(2)), (np.array([0]), np.ones(2)))


@BACKENDS
def test_methods_of_lists_take_traced_places_and_numbers(backend: str) -> None:
    def changed(p: Any) -> Any:
        entries = [1.0, 2.0, 3.0, 4.0]
        taken = entries.pop(p[0])
        entries.insert(p[1], 9.0)
        entries.remove(p[2] * 1.0)
        return taken, np.array(entries), entries.index(9.0), [0, 1, 1].count(p[1])

    check(changed, (np.array([2, 1, 4]),), (np.array([-1, 0, 2]),), (np.array([0, 3, 3]),), backend=backend)
    with pytest.raises(ValueError, match="not in list"):
        tm.compile(changed)(np.array([0, 0, 1]))


# ---- functions and objects -------------------------------------------------------------------------------


class Dense:
    def __init__(self, weights: Any, bias: Any) -> None:
        self.weights, self.bias, self.calls = weights, bias, 0

    def __call__(self, x: Any) -> Any:
        return np.tanh(self.weights @ x + self.bias)

    def counted(self, x: Any) -> Any:
        self.calls += 1
        return self(x)


class Relu:
    def counted(self, x: Any) -> Any:
        return np.maximum(x, 0.0)


def layers() -> list[Dense]:
    return [Dense(np.eye(2) * k, np.ones(2) / (k + 1)) for k in range(3)]


LAYERS = layers()
STEPS = [lambda x: x + 1.0, np.sqrt, lambda x: 0.5 * x]


@pytest.mark.sampled("36-c")
@pytest.mark.parametrize(("count", "backend"), mostly_on_numpy([36, 3], 2))
def test_one_of_several_functions_or_objects_is_called(count: int, backend: str) -> None:
    def functions(p: Any, x: Any) -> Any:
        for k in p:
            x = STEPS[k](x)
        return x

    def objects(p: Any, x: Any) -> Any:
        for k in p:
            x = LAYERS[k](x)
        return x, LAYERS[p[0]].bias, isinstance(LAYERS[p[0]], Dense)

    def written(p: Any, x: Any) -> Any:
        own = layers()
        for k in p:
            x = own[k].counted(x)
        return x, own[0].calls, own[1].calls

    def unlike(p: Any, x: Any) -> Any:
        own = [Dense(np.eye(2), np.ones(2)), Relu()]
        return own[p[0]].counted(x)

    for function in (functions, objects, written, unlike):
        check(
            function,
            (PLACES[:count], np.array([0.3, -0.7]) if function is not functions else 2.0),
            backend=backend,
        )


def test_functions_at_places_have_derivatives_and_batches() -> None:
    def function(p: Any, x: Any) -> Any:
        for k in p:
            x = LAYERS[k](x)
        return x.sum()

    x = np.array([0.3, -0.7])
    steps = 1e-6 * np.eye(2)
    expected = [(function(PLACES, x + d) - function(PLACES, x - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(tm.compile(tm.grad(function, argnums=1))(PLACES, x), expected, rtol=1e-6)
    batch = np.stack([PLACES, PLACES[::-1]])
    found = tm.compile(tm.vmap(function, in_dims=(0, None)))(batch, x)
    np.testing.assert_allclose(found, [function(p, x) for p in batch])


# ---- what a program cannot choose ------------------------------------------------------------------------


def test_a_choice_that_no_program_can_make_is_for_the_call_at_hand() -> None:
    compiled = tm.compile(lambda p: f"{['a', 'b'][p[0]]}!", on_recompile="ignore")
    assert [compiled(np.array([place])) for place in (0, 1, 0)] == ["a!", "b!", "a!"]
    check(lambda p: [np.ones(2), np.ones(3)][p[0]], (np.array([0]),), (np.array([1]),), programs=2)


def test_in_a_batch_such_a_choice_is_refused_with_a_fix() -> None:
    places = np.stack([PLACES, PLACES])
    with pytest.raises(
        ConcretizationError, match=r"'a' or 'b', depending on other values, is converted to a string"
    ):
        tm.compile(tm.vmap(lambda p: f"{['a', 'b'][p[0]]}!"))(places)
    with pytest.raises(
        ConcretizationError, match=r"the arrays have different shapes: \(2,\), \(3,\)\. .*pad them"
    ):
        tm.compile(tm.vmap(lambda p: [np.ones(2), np.ones(3)][p[0]]))(places)


def test_an_int_that_is_an_argument_chooses_anything() -> None:
    check(lambda i, x: len(["a", "bb", "ccc"][i]) * x, (1, 2.0), (2, 2.0))
    check(lambda i, x: len({0: "a", 5: "bb"}[i]) * x, (5, 2.0), (0, 2.0), programs=2)
    check(lambda i, x: [x, x[1:]][i], (1, np.ones(3)), (0, np.ones(3)), programs=2)


class Squares(dict[Any, Any]):
    """The squares of its keys."""

    def __missing__(self, key: Any) -> Any:
        self[key] = found = key * key
        return found


def test_a_dict_of_a_class_computes_what_it_lacks() -> None:
    def squared(a: Any, b: Any) -> Any:
        table = Squares()
        return table[a] + table[b] + table[a], len(table)

    check(squared, (3, 4), (3, 3), (0, 1), programs=3)


def test_the_key_error_of_a_dict_without_such_keys_names_the_key() -> None:
    def found(key: Any) -> Any:
        table: dict[Any, Any] = {"x": 1}
        return table[key]

    with pytest.raises(KeyError, match=r"^3$"):
        tm.compile(found)(3)
    with pytest.raises(KeyError, match=r"^\(3, 4\)$"):
        tm.compile(lambda a, b: {1: 2}[(a, b)])(3, 4)  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_tree_of_dicts_is_walked_until_a_leaf(backend: str) -> None:
    tree: dict[str, Any] = {
        "f": 0, "t": 0.5, "l": {"v": 1}, "r": {"f": 1, "t": -0.2, "l": {"v": 2}, "r": {"v": 3}},
    }  # fmt: skip

    def leaf(x: Any) -> Any:
        node = tree
        while "v" not in node:
            node = node["l"] if x[node["f"]] < node["t"] else node["r"]
        return node["v"]

    compiled = tm.compile(leaf, backend=backend)
    for x in ([0.1, 0.2], [0.9, 0.2], [0.9, -0.9]):
        assert compiled(np.array(x)) == leaf(np.array(x))

    def leaves(rows: Any) -> Any:
        return np.array([leaf(row) for row in rows])

    rows = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_array_equal(tm.compile(leaves, backend=backend)(rows), leaves(rows))
